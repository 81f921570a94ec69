//! The network thread's part of the sound that comes.

use std::sync::mpsc::Receiver;

use common::config::Peer;
use common::path::{Path, ProtocolViolation};
use common::stream::sound::{SoundReceiver, SoundReceiverEvent};
use common::units::Timestamp;
use common::wire::control::ControlMessage;
use common::wire::sound::{Bodies, SoundHeader};
use net::clock;
use net::limited;
use net::link::{Action, LinkState, Stream};
use rtrb::Producer;
use shell::record::{Switch, Tap};
use shell::settings::SoundSide;
use sound::click::Tempo;
use sound::playout::Feed;
use sound::unit::Unit;

use super::ear::Hearing;

/// The network thread's ends of what the card's callback takes.
pub(super) struct Ends {
    pub(super) feed: Feed,
    pub(super) tempi: Producer<Option<Tempo>>,
}

/// Change of a click's begin, us, that is followed: the clocks of two machines drift apart, and their distance is known to half of it.
const TEMPO_US: u64 = 1_000;

/// The receiving end of a stream of sound between the network and the card's callback.
pub struct HearingLink {
    stream: SoundReceiver,
    ends: Receiver<Ends>,
    end: Option<Ends>,
    /// The click as the callback has it.
    tempo: Option<Tempo>,
    hearing: Hearing,
    side: SoundSide,
    recording: Switch,
    /// The way into the recording that runs.
    tap: Option<Tap>,
    is_stopping: bool,
}

impl HearingLink {
    pub(super) fn new(ends: Receiver<Ends>, hearing: Hearing, side: SoundSide) -> Self {
        Self {
            stream: SoundReceiver::new(),
            ends,
            end: None,
            tempo: None,
            hearing,
            side,
            recording: Switch::default(),
            tap: None,
            is_stopping: false,
        }
    }

    /// Records what comes, also what comes too late to be heard, whenever `recording` runs.
    pub fn record(&mut self, recording: Switch) {
        self.recording = recording;
        self.follow_recording(clock::now());
    }

    fn follow_recording(&mut self, now: Timestamp) {
        let tap = self.recording.tap();
        let is_same = match (&self.tap, &tap) {
            (Some(before), Some(after)) => before.is_of_same(after),
            (before, after) => before.is_none() && after.is_none(),
        };
        if is_same {
            return;
        }
        if self.tap.is_some() {
            self.stream.pause_recording();
            self.take_recorded(now);
        }
        if tap.is_some() {
            self.stream.record();
        }
        self.tap = tap;
    }

    /// Ends the recording: what lacks now will not come any more.
    pub fn end_recording(&mut self) {
        self.stream.end_recording();
        self.take_recorded(clock::now());
        self.side.set_lacking(self.tap.as_ref().map(|_| self.stream.lacking()));
    }

    fn take_recorded(&mut self, now: Timestamp) {
        while let Some(sound) = self.stream.poll_recorded() {
            self.tap.iter().for_each(|tap| tap.sound(sound.clone(), now));
        }
    }

    /// Returns the ear of the card that is open.
    pub fn hearing(&self) -> Hearing {
        self.hearing.clone()
    }

    fn take_events(&mut self, path: &mut Path, now: Timestamp) {
        if let Some(newer) = self.ends.try_iter().last() {
            (self.end, self.tempo) = (Some(newer), None);
        }
        while let Some(event) = self.stream.poll_event() {
            match event {
                // Also without a card: it may come later, and a recording needs none.
                SoundReceiverEvent::Offered(_) => {
                    self.stream.ready(path, now);
                    limited!(info, "the other side sends sound");
                }
                SoundReceiverEvent::Click(click) => self.side.on_click_there(click, path.clock().offset_us()),
                SoundReceiverEvent::Ended => limited!(info, "the other side sends no more sound"),
            }
        }
    }
}

/// Returns the click that both hear, on this machine's monotonic clock. `offset_us`: the peer's clock less this one's.
fn tempo(side: &SoundSide, offset_us: Option<i64>) -> Option<Tempo> {
    let (tempo, is_theirs) = side.click()?;
    let offset_us = if is_theirs { offset_us? } else { 0 };
    let start_us =
        clock::to_monotonic(Timestamp::from_us(tempo.start_us)).saturating_add_signed(offset_us.saturating_neg());
    Some(Tempo { start_us, ..tempo })
}

/// Gives each sound of a packet to `put`.
fn units(header: &SoundHeader, sounds: Bodies<'_>, now: Timestamp, mut put: impl FnMut(&Unit)) {
    let mut unit = Unit {
        epoch: header.epoch,
        capture_us: header.envelope.capture.as_us(),
        arrival_us: clock::to_monotonic(now),
        copies: header.copies,
        is_muted: header.is_muted,
        level: header.level,
        ..Unit::new(header.number, header.format)
    };
    if header.is_muted {
        put(&unit);
    }
    for (back, body, sound) in sounds {
        let Some(bytes) = unit.bytes.get_mut(..sound.len()) else { continue };
        bytes.copy_from_slice(sound);
        unit.number = header.number.wrapping_sub(back.into());
        unit.is_muted = header.is_muted && back == 0;
        (unit.copies_back, unit.body, unit.len) = (back, body, sound.len() as u16);
        put(&unit);
    }
}

impl Stream for HearingLink {
    fn on_connected(&mut self, _: &Peer, _: &mut Path, _: Timestamp) {
        self.stream.on_connected();
    }

    fn on_disconnected(&mut self, _: &mut Path, _: Timestamp) {
        self.stream.on_disconnected();
        self.side.set_received(self.stream.counters().packets_received);
        self.side.forget_click_there();
    }

    fn on_control(&mut self, message: ControlMessage, path: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        self.stream.on_control(message, path)
    }

    fn on_datagram(&mut self, bytes: &[u8], path: &mut Path, now: Timestamp) {
        let Some((header, sounds)) = self.stream.on_datagram(bytes, path, now) else { return };
        if let Some(Ends { feed, .. }) = &mut self.end {
            // For what has no room the ring keeps count.
            units(&header, sounds, now, |unit| _ = feed.push(unit));
        }
        self.take_recorded(now);
    }

    fn on_tick(&mut self, _: Option<LinkState>, path: &mut Path, now: Timestamp) {
        self.take_events(path, now);
        let tempo = tempo(&self.side, path.clock().offset_us());
        if let Some(Ends { tempi, .. }) = &mut self.end
            && self.tempo.zip(tempo).is_none_or(|(before, now)| !before.is_near(&now, TEMPO_US))
            && self.tempo.is_some() | tempo.is_some()
            && tempi.push(tempo).is_ok()
        {
            self.tempo = tempo;
        }
        self.follow_recording(now);
        self.stream.on_tick(now);
        self.take_recorded(now);
        self.side.set_lacking(self.tap.as_ref().map(|_| self.stream.lacking()));
        self.side.set_received(self.stream.counters().packets_received);
        let ear = self.hearing.ear();
        ear.iter().for_each(|ear| ear.controls.set_volume(self.side.volume()));
        let delay_us = ear.and_then(|ear| ear.delay_us(path.clock().offset_us()?));
        self.side.set_ear_us(delay_us.and_then(|delay_us| u32::try_from(delay_us).ok()));
    }

    fn on_stop(&mut self, _: Timestamp) {
        self.stream.stop();
        self.side.set_received(self.stream.counters().packets_received);
        self.is_stopping = true;
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.stream.poll_control()
    }

    /// A call goes on as long as its pictures do, and until its recording has what it lacks.
    fn keeps_call(&self) -> bool {
        self.stream.is_ending()
    }

    fn holds_connection(&self) -> bool {
        self.stream.is_ending()
    }

    fn poll_action(&mut self, path: &mut Path, now: Timestamp) -> Option<Action> {
        self.take_events(path, now);
        self.take_recorded(now);
        (self.is_stopping && !self.stream.is_ending()).then_some(Action::End)
    }
}

#[cfg(test)]
mod tests {
    use sound::click::Metre;

    use super::*;

    #[test]
    fn a_click_is_the_same_instant_by_both_clocks_and_the_own_one_counts() {
        let side = SoundSide::default();
        assert_eq!(tempo(&side, Some(5)), None);
        let metre = Metre::new(90_000, 3).unwrap();
        let click = |start_us| Tempo { metre, count_in_bars: 1, goes_on: true, start_us };
        let at = |start_us| Some(click(clock::to_monotonic(Timestamp::from_us(start_us))));
        side.on_click_there(Some(click(9_000_000)), None);
        assert_eq!(tempo(&side, None), None, "nobody knows yet when that is");
        // The peer's clock is two seconds ahead, or behind.
        assert_eq!(tempo(&side, Some(2_000_000)), at(7_000_000));
        assert_eq!(tempo(&side, Some(-2_000_000)), at(11_000_000));
        for (start_us, offset_us) in [(u64::MAX, 0), (u64::MAX, i64::MIN), (0, i64::MAX)] {
            side.on_click_there(Some(click(start_us)), Some(offset_us));
            assert!(tempo(&side, Some(offset_us)).is_some(), "whatever a peer makes up");
        }
        side.begin_click(Some(metre), true, Timestamp::from_us(3_000_000));
        assert_eq!(tempo(&side, Some(2_000_000)), at(6_000_000), "a second, and a bar of two");
        let [near, far] = [6_000_900, 6_001_000].map(at);
        let is_near =
            |other: Option<Tempo>| at(6_000_000).zip(other).is_some_and(|(own, other)| own.is_near(&other, TEMPO_US));
        assert!(is_near(near) && !is_near(far));
    }

    #[test]
    fn a_packet_becomes_a_unit_for_itself_and_one_for_each_copy() {
        use common::units::SequenceNumber;
        use common::wire::media::Envelope;
        use common::wire::sound::write_body;
        use sound::adpcm;
        use sound::format::{Channels, Coding, Format};
        use sound::level::Level;
        use sound::unit::Body;

        let format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 64 };
        let envelope =
            Envelope { stream: 1, sequence: SequenceNumber(0), capture: Timestamp::from_us(77), sent_offset_us: 0 };
        for is_muted in [false, true] {
            let header = SoundHeader {
                envelope,
                format,
                epoch: 3,
                copies: 2,
                body: Body::Adpcm,
                is_muted,
                level: Level(4),
                number: 1,
            };
            let mut bytes = Vec::new();
            header.write(&mut bytes);
            if !is_muted {
                write_body(format, &[9; 256], &mut bytes);
            }
            (0..2).for_each(|copy| write_body(format, &vec![copy; adpcm::block_bytes(2, 64)], &mut bytes));
            let (header, sounds) = SoundHeader::parse(&bytes).unwrap();
            let mut made = Vec::new();
            units(&header, sounds, Timestamp::from_us(99), |unit| {
                made.push((unit.number, unit.copies_back, unit.is_muted, unit.len, unit.bytes[0]));
            });
            let own = if is_muted { (1, 0, true, 0, 0) } else { (1, 0, false, 256, 9) };
            assert_eq!(made, [own, (0, 1, false, 70, 0), (u32::MAX, 2, false, 70, 1)]);
        }
    }
}
