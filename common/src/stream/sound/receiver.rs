//! The receiving end.

use std::collections::VecDeque;
use std::time::Duration;

use sound::click::Tempo;
use sound::format::Format;
use sound::unit::Body;

use super::completing::{Completing, RecordedSound};
use super::{LINGER, SOUND};
use crate::path::{Outbox, Path, ProtocolViolation, SOUND_RANK};
use crate::units::Timestamp;
use crate::wire::control::{ByeReason, ControlMessage};
use crate::wire::sound::{Bodies, SoundHeader};

/// Events of the receiving end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoundReceiverEvent {
    /// A stream is offered: say [`SoundReceiver::ready`] when it can be played.
    Offered(Format),
    /// The click that both hear from now on.
    Click(Option<Tempo>),
    /// The sender has ended the stream.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Disconnected,
    AwaitingWelcome,
    /// WelcomeSound is in.
    Offered,
    Streaming,
    /// No more sound comes but what the recording lacks, which is waited for until then; none: from the next tick on.
    Ending(Option<Timestamp>),
    /// A Bye has come or gone.
    Over,
}

/// Counts of the receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoundReceiverCounters {
    /// Packets that came.
    pub packets_received: u64,
    /// Datagrams of the stream that are no packet of sound, or came twice, or before the stream had begun.
    pub datagrams_unwanted: u64,
    /// Bytes of all datagrams.
    pub bytes_received: u64,
}

/// The receiving end of a stream of sound.
#[derive(Debug)]
pub struct SoundReceiver {
    phase: Phase,
    /// None: nothing is recorded.
    recorded: Option<Completing>,
    control: Outbox,
    events: VecDeque<SoundReceiverEvent>,
    /// True while what is recorded waits for nothing and takes nothing.
    is_paused: bool,
    /// True once the sender knows, on this connection, that it is recorded.
    is_told: bool,
    counters: SoundReceiverCounters,
}

impl Default for SoundReceiver {
    fn default() -> Self {
        Self::new()
    }
}

impl SoundReceiver {
    /// Creates an end without a connection.
    pub fn new() -> Self {
        Self {
            phase: Phase::Disconnected,
            recorded: None,
            control: Outbox::default(),
            events: VecDeque::new(),
            is_paused: false,
            is_told: false,
            counters: SoundReceiverCounters::default(),
        }
    }

    /// Takes a new connection. Ends an earlier one.
    pub fn on_connected(&mut self) {
        self.on_disconnected();
        if self.is_paused {
            (self.recorded, self.is_paused) = (None, false);
        }
        self.recorded.iter_mut().for_each(Completing::on_connected);
        self.is_told = false;
        self.phase = Phase::AwaitingWelcome;
    }

    /// Ends the connection; the stream waits for the next.
    pub fn on_disconnected(&mut self) {
        self.control.clear();
        self.phase = Phase::Disconnected;
    }

    /// Takes a message of the sending end.
    pub fn on_control(&mut self, message: ControlMessage, path: &mut Path) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (Phase::Disconnected | Phase::Over, _) => {}
            (_, ControlMessage::Bye { .. }) => {
                path.end_receiving(SOUND);
                self.phase = Phase::Over;
                self.events.push_back(SoundReceiverEvent::Ended);
            }
            (Phase::Streaming | Phase::Ending(_), ControlMessage::LateSound { number, found }) => {
                if !self.recorded.as_mut().is_some_and(|recorded| recorded.on_late(number, found)) {
                    path.violation("sound that nobody has asked for")?;
                }
                self.end_if_complete();
            }
            (Phase::Streaming, ControlMessage::SoundEnds { next }) if self.recorded.is_some() => self.close(Some(next)),
            (Phase::Ending(_), ControlMessage::SoundEnds { .. } | ControlMessage::Click(_)) => {}
            (Phase::AwaitingWelcome, ControlMessage::WelcomeSound { format }) => {
                self.phase = Phase::Offered;
                self.events.push_back(SoundReceiverEvent::Offered(format));
            }
            (Phase::Streaming, ControlMessage::Click(click)) => self.events.push_back(SoundReceiverEvent::Click(click)),
            (_, _) => path.violation("a message that no sender of sound sends")?,
        }
        Ok(())
    }

    /// Takes notice that the offered stream can be played.
    pub fn ready(&mut self, path: &mut Path, now: Timestamp) {
        if self.phase == Phase::Offered {
            path.receive(SOUND, SOUND_RANK, now);
            self.phase = Phase::Streaming;
            // First, so that also the first packet is kept.
            self.tell();
            self.control.push(ControlMessage::Ready);
        }
    }

    /// Records from this moment on: [`Self::poll_recorded`] gives the sound.
    pub fn record(&mut self) {
        self.recorded.get_or_insert_default();
        self.is_paused = false;
        if self.is_streaming() {
            self.tell();
        }
    }

    /// Ends the recording until it begins again: what lacks now will not come any more.
    pub fn pause_recording(&mut self) {
        self.recorded.iter_mut().for_each(Completing::pause);
        self.is_paused = self.recorded.is_some();
    }

    /// Tells the sender that it is recorded, once on a connection: it keeps what it sends for as long as that lasts.
    fn tell(&mut self) {
        if self.recorded.is_some() && !self.is_paused && !std::mem::replace(&mut self.is_told, true) {
            self.control.push(ControlMessage::RecordSound { goes_on: true });
        }
    }

    /// Asks for what a recording lacks. Call it a few times a second.
    pub fn on_tick(&mut self, now: Timestamp) {
        if let Phase::Ending(until) = &mut self.phase
            && *until.get_or_insert(now + LINGER) <= now
        {
            return self.bye();
        }
        self.ask();
    }

    fn ask(&mut self) {
        if matches!(self.phase, Phase::Streaming | Phase::Ending(_)) {
            let wanted = self.recorded.iter_mut().flat_map(Completing::ask);
            wanted.for_each(|message| self.control.push(message));
        }
    }

    /// Waits for nothing but what the recording lacks. `end`: the number behind the last packet, if the sender has said so.
    fn close(&mut self, end: Option<u32>) {
        self.phase = Phase::Ending(None);
        self.recorded.iter_mut().for_each(|recorded| recorded.close(end));
        self.ask();
        self.end_if_complete();
    }

    fn end_if_complete(&mut self) {
        if self.is_ending() && self.recorded.as_ref().is_none_or(Completing::is_complete) {
            self.bye();
        }
    }

    fn bye(&mut self) {
        if !matches!(self.phase, Phase::Disconnected | Phase::Over) {
            self.control.push(ControlMessage::Bye { reason: ByeReason::Stopping });
        }
        self.phase = Phase::Over;
    }

    /// Returns true while the recording is waited for after the end.
    pub fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending(_))
    }

    /// Returns how much sound the recording lacks that may still come.
    pub fn lacking(&self) -> Duration {
        self.recorded.as_ref().map_or(Duration::ZERO, Completing::lacking)
    }

    /// Returns the next sound for the recording, in the order of its capture.
    pub fn poll_recorded(&mut self) -> Option<RecordedSound> {
        self.recorded.as_mut()?.poll()
    }

    /// Ends the recording: what lacks now will not come any more.
    pub fn end_recording(&mut self) {
        self.recorded.iter_mut().for_each(Completing::give_up);
    }

    /// Returns true if sound may come.
    pub fn is_streaming(&self) -> bool {
        self.phase == Phase::Streaming
    }

    /// Takes a datagram. Returns its header and the sounds in it, if it is a packet of the stream that has not come before.
    pub fn on_datagram<'a>(
        &mut self,
        datagram: &'a [u8],
        path: &mut Path,
        now: Timestamp,
    ) -> Option<(SoundHeader, Bodies<'a>)> {
        self.counters.bytes_received += datagram.len() as u64;
        let is_wanted = self.is_streaming() || self.is_ending();
        let parsed = SoundHeader::parse(datagram).ok().filter(|_| is_wanted);
        let fresh = parsed.filter(|(header, _)| path.on_media(&header.envelope, now).is_some());
        *match fresh {
            Some(_) => &mut self.counters.packets_received,
            None => &mut self.counters.datagrams_unwanted,
        } += 1;
        let recorded = self.recorded.as_mut().filter(|_| !self.is_paused);
        if let (Some(recorded), Some((header, sounds))) = (recorded, fresh) {
            let SoundHeader { number, format, .. } = header;
            let capture = header.envelope.capture;
            if header.is_muted {
                recorded.on_sound(number, format, capture, None, now);
            }
            for (_, _, sound) in sounds.filter(|(back, body, _)| *back == 0 && *body == Body::Whole) {
                recorded.on_sound(number, format, capture, Some(sound), now);
            }
        }
        self.end_if_complete();
        fresh
    }

    /// Returns the next message for the sending end.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SoundReceiverEvent> {
        self.events.pop_front()
    }

    /// Says that we stop: nothing is wanted any more but what the recording lacks.
    pub fn stop(&mut self) {
        match self.phase {
            Phase::Streaming if self.recorded.as_ref().is_some_and(|recorded| !recorded.is_complete()) => {
                self.control.push(ControlMessage::RecordSound { goes_on: false });
                self.close(None);
            }
            Phase::Ending(_) => {}
            _ => self.bye(),
        }
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> SoundReceiverCounters {
        self.counters
    }
}
