//! Datagrams back into frames, in bounded memory.

use std::collections::VecDeque;

use crate::coded::ReceivedFrame;
use crate::params::StreamParams;
use crate::units::{FrameId, Timestamp};

/// Frames that are put together side by side.
pub const WINDOW_FRAMES: usize = 3;

/// What became of a datagram. None of these is an error: hostile bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramOutcome {
    /// It brought something new.
    Accepted,
    /// All of it was there already.
    Duplicate,
    /// Its frame, or a newer one, has been released.
    Late,
    /// Its frame is further ahead than a sender can be.
    TooFarAhead,
    /// It is not a datagram of this stream; the text says why.
    Malformed(&'static str),
    /// No stream has begun.
    Unexpected,
}

/// A frame as it left the reassembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledFrame {
    /// Its number.
    pub id: FrameId,
    /// Its blocks.
    pub frame: ReceivedFrame,
    /// When it was captured, sender's clock.
    pub capture: Timestamp,
    /// When the last datagram seen left, sender's clock.
    pub sent: Timestamp,
    /// When the first datagram came.
    pub first_received: Timestamp,
    /// When the last datagram came.
    pub last_received: Timestamp,
}

impl AssembledFrame {
    /// Whether every block is there.
    pub fn is_complete(&self) -> bool {
        self.frame.missing() == 0
    }
}

/// Puts frames together from datagrams in any order.
#[derive(Debug)]
pub struct Reassembler {
    ready: VecDeque<AssembledFrame>,
}

impl Reassembler {
    /// A reassembler for a stream whose first frame is `start_frame`.
    pub fn new(params: &StreamParams, start_frame: FrameId, now: Timestamp) -> Self {
        todo!()
    }

    /// Takes a datagram.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> DatagramOutcome {
        todo!()
    }

    /// The next frame that is complete or was pushed out by newer ones; ids only rise.
    pub fn poll_frame(&mut self) -> Option<AssembledFrame> {
        self.ready.pop_front()
    }
}
