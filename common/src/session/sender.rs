//! The sending end.

use std::time::Duration;

use super::ProtocolViolation;
use crate::coded::CodedFrame;
use crate::params::StreamParams;
use crate::units::{Bitrate, Timestamp};
use crate::wire::control::ControlMessage;

/// Points in a frame's life before the session, sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// When the picture was taken.
    pub capture: Timestamp,
    /// When the coded frame was ready.
    pub coded: Timestamp,
}

/// What the owner of a sending session must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The receiver is ready: give frames.
    Streaming,
    /// After [`SenderSession::finish`]: everything is out and the peer has confirmed, has gone, or has not
    /// answered within a second. Close and exit.
    Finished,
    /// The peer is done for good.
    PeerFinished,
    /// The peer stops but may come back.
    PeerStopping,
    /// The peer has a newer connection from us.
    PeerReplaced,
    /// The peer says that we broke the protocol, and how.
    PeerRejected(String),
}

/// What a sending session has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Frames of which every datagram left.
    pub frames_sent: u64,
    /// Frames of which some or all datagrams were dropped for a newer frame.
    pub frames_cut: u64,
    /// Frames given while no receiver was ready.
    pub frames_unwanted: u64,
    /// Coded bytes of the frames sent whole, without headers.
    pub coded_bytes: u64,
    /// Datagrams that left, repeats included.
    pub datagrams_sent: u64,
    /// Datagrams dropped for a newer frame.
    pub datagrams_dropped: u64,
    /// Bytes of the datagrams that left.
    pub bytes_sent: u64,
    /// Datagrams that the receiver has reported lost.
    pub datagrams_lost: u64,
    /// Datagrams that the receiver has reported received.
    pub datagrams_received: u64,
    /// Round trip as the receiver measures it.
    pub rtt: Option<Duration>,
}

/// The sending end of a stream.
#[derive(Debug)]
pub struct SenderSession {}

#[expect(unused_variables, clippy::todo, reason = "signatures first")]
#[allow(missing_docs, reason = "signatures first")]
impl SenderSession {
    pub fn new(params: StreamParams, rate: Bitrate) -> Self { todo!() }
    pub fn on_connected(&mut self, now: Timestamp, max_datagram: usize) { todo!() }
    pub fn on_disconnected(&mut self, now: Timestamp) { todo!() }
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> { todo!() }
    pub fn is_streaming(&self) -> bool { todo!() }
    pub fn budget_bytes(&self) -> usize { todo!() }
    pub fn on_frame(&mut self, frame: CodedFrame, times: FrameTimes, now: Timestamp) { todo!() }
    pub fn set_max_datagram(&mut self, bytes: usize) { todo!() }
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> { todo!() }
    pub fn poll_control(&mut self) -> Option<ControlMessage> { todo!() }
    pub fn poll_timeout(&self) -> Option<Timestamp> { todo!() }
    pub fn handle_timeout(&mut self, now: Timestamp) { todo!() }
    pub fn poll_event(&mut self) -> Option<SenderEvent> { todo!() }
    pub fn finish(&mut self, now: Timestamp) { todo!() }
    pub fn stop(&mut self) { todo!() }
    pub fn stats(&self) -> SenderCounters { todo!() }
}
