//! Events that the sending end of a stream of video gives its owner.

use std::time::Duration;

use crate::reason::ReasonCounts;
use crate::stats::SenderCounts;
use crate::units::Timestamp;
use crate::wire::states::StatesReport;

/// Points in a frame's life before the stream, sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// Time at which the picture was taken.
    pub capture: Timestamp,
    /// Time at which the coded frame was ready.
    pub coded: Timestamp,
}

/// An event that the owner of a sending end must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The receiver is ready: give frames.
    Streaming,
    /// The receiver tells which frames its decoder used.
    States(StatesReport),
    /// After [`finish`](super::VideoSender::finish): everything is out and the peer has confirmed, has gone, or has
    /// not answered within a second. Close and exit.
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

/// The counts of a sending end since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Frames of which every datagram left.
    pub frames_sent: u64,
    /// Frames of which some or all datagrams were dropped for a newer frame or because the connection was lost.
    pub frames_cut: u64,
    /// Frames given while no receiver was ready.
    pub frames_unwanted: u64,
    /// Coded bytes of the frames sent whole, without headers.
    pub coded_bytes: u64,
    /// Datagrams that left, parity included.
    pub datagrams_sent: u64,
    /// Datagrams dropped, parity included.
    pub datagrams_dropped: u64,
    /// Those that reach the statistics as they are.
    pub counts: SenderCounts,
    /// Time from `coded` of the last frame sent whole to its last datagram.
    pub last_pace: Duration,
    /// Reports of states that were malformed.
    pub states_malformed: u64,
    /// Frames that did not leave whole, by reason.
    pub reasons: ReasonCounts,
}
