//! The stream and the frames that are given to a recording.

use common::units::{FrameId, Timestamp};
use picture::coded::ReceivedFrame;
use picture::params::StreamParams;

/// A stream that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Counts the streams: one that begins again counts its frames from elsewhere.
    pub serial: u64,
    /// Its parameters.
    pub params: StreamParams,
    /// Number of its first frame.
    pub start: FrameId,
}

/// A frame as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFrame {
    /// Its number.
    pub id: FrameId,
    /// Distance to the reference frame; 0: it has none.
    pub reference: u8,
    /// Its blocks.
    pub frame: ReceivedFrame,
    /// Time of capture, on the sender's clock.
    pub capture: Timestamp,
}
