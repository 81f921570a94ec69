//! The network thread's part of the sound that is sent.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use common::config::{Peer, PublicKey};
use common::path::{Path, ProtocolViolation};
use common::stats::SoundSentCounts;
use common::stream::sound::{SoundPacket, SoundSender, SoundSenderEvent};
use common::units::{Bitrate, Timestamp};
use common::wire::control::ControlMessage;
use net::limited;
use net::link::{Action, LinkState, Stream};
use net::quoted::Quoted;
use shell::record::Switch;
use shell::settings::SoundSide;
use sound::click::Tempo;
use sound::format::Coding;

use super::own::OwnRecording;
use super::wanted::Wanted;

/// Line on which PCM leaves too little for pictures, for so long, and the line from which on it does not, bits a second.
const OPUS_BELOW_BPS: u64 = 4_000_000;
const OPUS_AFTER: Duration = Duration::from_secs(2);
const PCM_FROM_BPS: u64 = 8_000_000;
const PCM_AFTER: Duration = Duration::from_secs(20);
const _: () = assert!(OPUS_BELOW_BPS < PCM_FROM_BPS, "on a steady line the coding does not change to and fro");

/// The sending end of a stream of sound between the coder's thread and the network.
pub struct SoundLink {
    stream: SoundSender,
    packets: Receiver<SoundPacket>,
    wanted: Wanted,
    is_automatic: bool,
    /// Time since which the line asks for the other coding.
    other_since: Option<Timestamp>,
    side: SoundSide,
    /// The own word about the click that the other side knows; none: its own word counts there, too.
    click: Option<Option<Tempo>>,
    /// The peer that was connected last.
    peer: Option<PublicKey>,
    recording: Switch,
    recorded: Option<OwnRecording>,
    is_stopping: bool,
}

impl SoundLink {
    pub(super) fn new(packets: Receiver<SoundPacket>, wanted: Wanted, is_automatic: bool, side: SoundSide) -> Self {
        let stream = SoundSender::new();
        Self {
            stream,
            packets,
            wanted,
            is_automatic,
            other_since: None,
            side,
            click: Some(None),
            peer: None,
            recording: Switch::default(),
            recorded: None,
            is_stopping: false,
        }
    }

    /// Records what is sent, as it was captured, whenever `recording` runs.
    pub fn record(&mut self, recording: Switch) {
        self.recording = recording;
    }

    fn follow_recording(&mut self) {
        let tap = self.recording.tap();
        let is_same = tap.as_ref().zip(self.recorded.as_ref()).is_some_and(|(tap, recorded)| recorded.is_into(tap));
        if !is_same {
            self.recorded = tap.map(OwnRecording::new);
        }
    }

    fn take_packets(&mut self, path: &mut Path, now: Timestamp) {
        self.follow_recording();
        while let Ok(packet) = self.packets.try_recv() {
            self.stream.set_format(packet.format, path, now);
            match &mut self.recorded {
                Some(recording) if self.stream.is_streaming() => recording.on_packet(&packet, now),
                Some(recording) => recording.on_pause(),
                None => {}
            }
            self.stream.on_packet(packet);
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.stream.poll_event() {
            match event {
                SoundSenderEvent::Streaming => limited!(info, "sound is sent"),
                SoundSenderEvent::Recorded => limited!(info, "the other side records the sound"),
                SoundSenderEvent::Refused(reason) => {
                    limited!(info, "the other side takes no sound: {}", Quoted(&reason));
                }
            }
        }
    }

    /// Tells what has been sent.
    fn report(&self) {
        let counters = self.stream.counters();
        let counts = SoundSentCounts {
            sound_packets_sent: counters.packets_sent,
            sound_packets_unsent: counters.packets_late,
            sound_bytes_sent: counters.bytes_sent,
        };
        self.side.set_sent(counts, self.stream.is_streaming());
    }

    /// Changes the coding where the line asks for it for long enough. A low rate that somebody asked for does not, nor a line that is not
    /// known.
    fn follow_line(&mut self, path: &Path, now: Timestamp) {
        let coding = self.wanted.get();
        let line = path.line().filter(|_| self.is_automatic && self.stream.is_streaming());
        let Some((other, after)) = line.and_then(|line| other_coding(coding, line)) else {
            self.other_since = None;
            return;
        };
        if now.since(*self.other_since.get_or_insert(now)) >= after {
            self.other_since = None;
            self.wanted.set(other);
            let why = if other == Coding::Opus { "Opus: the line bears little" } else { "PCM" };
            limited!(info, "sound is coded with {why} from now on");
        }
    }
}

/// Returns the coding that is better on a line of so many bits a second, and for how long it must have been.
fn other_coding(coding: Coding, line: Bitrate) -> Option<(Coding, Duration)> {
    match (coding == Coding::Opus, line.as_bps()) {
        (true, PCM_FROM_BPS..) => Some((Coding::Pcm16, PCM_AFTER)),
        (false, ..OPUS_BELOW_BPS) => Some((Coding::Opus, OPUS_AFTER)),
        _ => None,
    }
}

impl Stream for SoundLink {
    fn on_connected(&mut self, peer: &Peer, path: &mut Path, now: Timestamp) {
        let is_same = self.peer.replace(peer.key) == Some(peer.key);
        self.stream.on_connected(is_same, path, now);
    }

    fn on_greeted(&mut self, _: &mut Path) {
        self.stream.on_greeted();
    }

    fn on_disconnected(&mut self, path: &mut Path, now: Timestamp) {
        self.stream.on_disconnected(path, now);
        self.click = Some(None);
        self.report();
    }

    fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        self.stream.on_control(message, path, now)
    }

    fn on_wake(&mut self, path: &mut Path, now: Timestamp) {
        self.take_packets(path, now);
    }

    fn on_tick(&mut self, _: Option<LinkState>, path: &mut Path, now: Timestamp) {
        self.take_packets(path, now);
        self.follow_line(path, now);
        self.report();
        let click = self.side.own_click();
        if self.stream.is_streaming() && std::mem::replace(&mut self.click, click) != click {
            click.into_iter().for_each(|click| self.stream.set_click(click));
        }
    }

    fn handle_timeout(&mut self, _: &mut Path, now: Timestamp) {
        self.stream.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.stream.poll_timeout()
    }

    fn on_stop(&mut self, now: Timestamp) {
        self.stream.stop(now);
        self.report();
        self.is_stopping = true;
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.stream.poll_control()
    }

    fn poll_datagram(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        self.take_packets(path, now);
        self.stream.poll_datagram(path, now)
    }

    /// A call goes on as long as its pictures do, and until a recording at the other end has what it lacks.
    fn keeps_call(&self) -> bool {
        self.stream.is_lingering()
    }

    fn holds_connection(&self) -> bool {
        self.stream.is_lingering()
    }

    fn poll_action(&mut self, _: &mut Path, _: Timestamp) -> Option<Action> {
        self.take_events();
        (self.is_stopping && !self.stream.is_lingering()).then_some(Action::End)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_line_gets_opus_and_a_wide_one_pcm_and_between_them_nothing_changes() {
        let other =
            |coding, mbit: u64| other_coding(coding, Bitrate::from_bps(1_000_000 * mbit)).map(|(other, _)| other);
        for pcm in [Coding::Pcm16, Coding::Pcm24] {
            assert_eq!([1, 3, 4, 6, 50].map(|mbit| other(pcm, mbit).is_some()), [true, true, false, false, false]);
        }
        assert_eq!(other(Coding::Pcm16, 2), Some(Coding::Opus));
        assert_eq!([1, 4, 7, 8].map(|mbit| other(Coding::Opus, mbit)), [None, None, None, Some(Coding::Pcm16)]);
    }
}
