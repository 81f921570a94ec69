//! The receiving end.

use std::time::Duration;

use super::ProtocolViolation;
use crate::clock::ClockOffset;
use crate::coded::ReceivedFrame;
use crate::params::StreamParams;
use crate::reassemble::DatagramOutcome;
use crate::units::{FrameId, Timestamp};
use crate::wire::control::ControlMessage;

/// Choices of a receiving session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// How long after its expected arrival a frame is waited for; none: one frame interval.
    pub latency_max: Option<Duration>,
}

/// A frame to decode and show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedFrame {
    /// Its number; later frames have higher ones.
    pub id: FrameId,
    /// Its blocks.
    pub frame: ReceivedFrame,
    /// Whether every block is there.
    pub complete: bool,
    /// When it was captured, sender's clock.
    pub capture: Timestamp,
    /// When the last datagram seen left, sender's clock.
    pub sent: Timestamp,
    /// When the first datagram came.
    pub first_received: Timestamp,
    /// When the last datagram came.
    pub last_received: Timestamp,
    /// When it was released to the decoder.
    pub released: Timestamp,
}

/// What the owner of a receiving session must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A stream begins (again): build the decoder, then call [`ReceiverSession::ready`].
    Start(StreamParams),
    /// A frame to decode.
    Frame(ArrivedFrame),
    /// The stream has ended, or [`ReceiverSession::finish`] was called: send what is queued, close and exit.
    Finished,
    /// The peer stops but may come back.
    PeerStopping,
    /// The peer has a newer connection from us.
    PeerReplaced,
    /// The peer says that we broke the protocol, and how.
    PeerRejected(String),
}

/// What a receiving session has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Frames released with all their blocks.
    pub frames_complete: u64,
    /// Frames released with blocks missing.
    pub frames_partial: u64,
    /// Frames sent (as far as their numbers tell) but never released.
    pub frames_lost: u64,
    /// Bytes of all datagrams.
    pub bytes_received: u64,
    /// Datagrams that brought something new.
    pub datagrams_accepted: u64,
    /// Datagrams that brought nothing new.
    pub datagrams_duplicate: u64,
    /// Datagrams that came after their frame, or a newer one, was released.
    pub datagrams_late: u64,
    /// Datagrams of frames impossibly far ahead.
    pub datagrams_too_far_ahead: u64,
    /// Datagrams that were none of this stream.
    pub datagrams_malformed: u64,
    /// Datagrams while no stream was on.
    pub datagrams_unexpected: u64,
}

/// The receiving end of a stream.
#[derive(Debug)]
pub struct ReceiverSession {}

#[expect(unused_variables, clippy::todo, reason = "signatures first")]
#[allow(missing_docs, reason = "signatures first")]
impl ReceiverSession {
    pub fn new(options: ReceiverOptions) -> Self { todo!() }
    pub fn on_connected(&mut self, now: Timestamp) { todo!() }
    pub fn on_disconnected(&mut self, now: Timestamp) { todo!() }
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> { todo!() }
    pub fn ready(&mut self) { todo!() }
    pub fn is_streaming(&self) -> bool { todo!() }
    pub fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) -> DatagramOutcome { todo!() }
    pub fn poll_control(&mut self) -> Option<ControlMessage> { todo!() }
    pub fn poll_timeout(&self) -> Option<Timestamp> { todo!() }
    pub fn handle_timeout(&mut self, now: Timestamp) { todo!() }
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> { todo!() }
    pub fn finish(&mut self) { todo!() }
    pub fn stop(&mut self) { todo!() }
    pub fn stats(&self) -> ReceiverCounters { todo!() }
    pub fn clock(&self) -> &ClockOffset { todo!() }
}
