//! A coded frame as datagrams.

use crate::coded::CodedFrame;
use crate::units::{FrameId, Timestamp};

/// Smallest datagram limit that is obeyed; QUIC always carries more.
pub const DATAGRAM_BYTES_MIN: usize = 128;

/// A datagram of a frame, complete but for [`crate::wire::media::stamp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Header and payload.
    pub bytes: Vec<u8>,
    /// Index of the first block that it carries.
    pub first_block: usize,
}

/// Cuts `frame` into datagrams of at most `max_datagram` bytes (at least [`DATAGRAM_BYTES_MIN`]): whole blocks
/// in coding order, and a block that fits into no datagram in parts.
pub fn packetise(frame: &CodedFrame, id: FrameId, capture: Timestamp, max_datagram: usize) -> Vec<Packet> {
    todo!()
}
