//! The receiving end.

use std::collections::VecDeque;

use sound::format::Format;

use super::SOUND;
use crate::path::{Outbox, Path, ProtocolViolation};
use crate::units::Timestamp;
use crate::wire::control::{ByeReason, Click, ControlMessage};
use crate::wire::sound::{Bodies, SoundHeader};

/// Events of the receiving end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoundReceiverEvent {
    /// A stream is offered: say [`SoundReceiver::ready`] when it can be played.
    Offered(Format),
    /// The click that both hear from now on.
    Click(Option<Click>),
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
    control: Outbox,
    events: VecDeque<SoundReceiverEvent>,
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
            control: Outbox::default(),
            events: VecDeque::new(),
            counters: SoundReceiverCounters::default(),
        }
    }

    /// Takes a new connection. Ends an earlier one.
    pub fn on_connected(&mut self) {
        self.on_disconnected();
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
            path.receive(SOUND, now);
            self.phase = Phase::Streaming;
            self.control.push(ControlMessage::Ready);
        }
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
        let parsed = SoundHeader::parse(datagram).ok().filter(|_| self.is_streaming());
        let fresh = parsed.filter(|(header, _)| path.on_media(&header.envelope, now).is_some());
        *match fresh {
            Some(_) => &mut self.counters.packets_received,
            None => &mut self.counters.datagrams_unwanted,
        } += 1;
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

    /// Says that we stop.
    pub fn stop(&mut self) {
        if !matches!(self.phase, Phase::Disconnected | Phase::Over) {
            self.control.push(ControlMessage::Bye { reason: ByeReason::Stopping });
        }
        self.phase = Phase::Over;
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> SoundReceiverCounters {
        self.counters
    }
}
