//! Header of a media datagram, little-endian.
//!
//! ```text
//!  0 u8   version << 4 | kind           kind 0, a run of blocks:      kind 1, part of one large block:
//!  1 u8   step                          24 u24 first block            24 u24 block
//!  2 u16  protection group, 0 = none    27 u16 number of blocks       27 u16 length of the block
//!  4 u32  sequence number               29 the run                    29 u16 offset of this part
//!  8 u32  frame                                                       31 the part
//! 12 u24  fine blocks
//! 15 u48  capture time, us, sender's clock
//! 21 u24  from capture to the socket, us, saturating
//! ```

use crate::coded::{FrameHeader, StepIndex};
use crate::units::{FrameId, SequenceNumber, Timestamp};

/// Version of the layout, in the high half of the first byte.
pub const MEDIA_VERSION: u8 = 1;
/// Header of a run of blocks.
pub const BLOCKS_HEADER_BYTES: usize = 29;
/// Header of a part of a block.
pub const FRAGMENT_HEADER_BYTES: usize = 31;
/// Blocks that one datagram can hold.
pub const RUN_BLOCKS_MAX: usize = u16::MAX as usize;

const KIND_BLOCKS: u8 = 0;
const KIND_FRAGMENT: u8 = 1;
const U24_MAX: u32 = 0xff_ffff;

/// Header of a media datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHeader {
    /// Number of the datagram in its connection.
    pub sequence: SequenceNumber,
    /// The frame it belongs to.
    pub frame: FrameId,
    /// The frame's steps.
    pub steps: FrameHeader,
    /// When the frame was captured, sender's clock; 48 bits.
    pub capture: Timestamp,
    /// From capture to handing the datagram to the socket, microseconds; 24 bits, saturating.
    pub sent_offset_us: u32,
    /// What follows the header.
    pub content: Content,
}

/// What a media datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A run of consecutive blocks.
    Blocks {
        /// Index of the first block, 24 bits.
        first: u32,
        /// Number of blocks.
        count: u16,
    },
    /// Part of a block that is too large for one datagram.
    Fragment {
        /// Index of the block, 24 bits.
        block: u32,
        /// Length of the whole block, bytes.
        total: u16,
        /// Where this part starts in it, bytes.
        offset: u16,
    },
}

impl MediaHeader {
    /// Appends the header to `out`; the payload follows. Values of more than their bits are saturated.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, index) = match self.content {
            Content::Blocks { first, .. } => (KIND_BLOCKS, first),
            Content::Fragment { block, .. } => (KIND_FRAGMENT, block),
        };
        out.extend([MEDIA_VERSION << 4 | kind, self.steps.step.index(), 0, 0]);
        out.extend(self.sequence.0.to_le_bytes());
        out.extend(self.frame.0.to_le_bytes());
        out.extend(u24(self.steps.fine_blocks));
        out.extend(&self.capture.as_us().min((1 << 48) - 1).to_le_bytes()[..6]);
        out.extend(u24(self.sent_offset_us));
        out.extend(u24(index));
        match self.content {
            Content::Blocks { count, .. } => out.extend(count.to_le_bytes()),
            Content::Fragment { total, offset, .. } => {
                out.extend(total.to_le_bytes());
                out.extend(offset.to_le_bytes());
            }
        }
    }

    /// Splits a datagram into header and payload, or says why it is none.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let (head, rest) = datagram.split_first_chunk::<BLOCKS_HEADER_BYTES>().ok_or("shorter than its header")?;
        if head[0] >> 4 != MEDIA_VERSION {
            return Err("another version of the media header");
        }
        if head[2] != 0 || head[3] != 0 {
            return Err("an unknown protection group");
        }
        let u16_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let u24_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]);
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (content, payload) = match head[0] & 0xf {
            KIND_BLOCKS => (Content::Blocks { first: u24_at(24), count: u16_at(27) }, rest),
            KIND_FRAGMENT => {
                let (offset, payload) = rest.split_first_chunk::<2>().ok_or("shorter than its header")?;
                let offset = u16::from_le_bytes(*offset);
                (Content::Fragment { block: u24_at(24), total: u16_at(27), offset }, payload)
            }
            _ => return Err("an unknown kind of datagram"),
        };
        let header = Self {
            sequence: SequenceNumber(u32_at(4)),
            frame: FrameId(u32_at(8)),
            steps: FrameHeader {
                step: StepIndex::new(head[1]).ok_or("a step beyond the coarsest")?,
                fine_blocks: u24_at(12),
            },
            capture: Timestamp::from_us(u64::from(u32_at(15)) | u64::from(u16_at(19)) << 32),
            sent_offset_us: u24_at(21),
            content,
        };
        Ok((header, payload))
    }
}

/// Writes the two fields that are known only when a datagram leaves into one made by [`MediaHeader::write`].
pub fn stamp(datagram: &mut [u8], sequence: SequenceNumber, sent_offset_us: u32) {
    if let Some(head) = datagram.first_chunk_mut::<BLOCKS_HEADER_BYTES>() {
        head[4..8].copy_from_slice(&sequence.0.to_le_bytes());
        head[21..24].copy_from_slice(&u24(sent_offset_us));
    }
}

fn u24(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.min(U24_MAX).to_le_bytes();
    [a, b, c]
}
