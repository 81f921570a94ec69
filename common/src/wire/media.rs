//! Header of a media datagram, little-endian.
//!
//! ```text
//!  0 u4   version, in the high half     kind 0, a run of blocks:      kind 1, part of one large block:
//!    u1   among the last of its frame   26 u24 first block            26 u24 block
//!    u3   kind                          29 u16 number of blocks       29 u16 length of the block
//!  1 u8   stream                        31 the run                    31 u16 offset of this part
//!  2 u32  sequence number, of all                                     33 the part
//!         streams of the connection     kind 2, a parity shard of its group:
//!  6 u48  capture time, us,             26 u8  data shards k of the group
//!         sender's clock                27 u8  parity shards m of the group
//! 12 u24  from capture to the           28 the shard
//!         socket, us, saturating
//! 15 u8   step
//! 16 u8   protection group, 0 = none
//! 17 u8   index in the group
//! 18 u32  frame
//! 22 u24  fine blocks
//! 25 u8   reference: so many frames before this one; 0 = none
//! ```
//!
//! The first 15 bytes, the envelope, are those of every stream's datagrams; the path reads no more.
//!
//! Kind 3 is kind 0 with a list instead of a map.
//!
//! With a reference, the slices of vectors are the first blocks. Fine blocks are counted without them.
//!
//! A group's data shards have the indices `0..k`, its parity shards `k..k + m`; see [`crate::stream::video::protection`].

use std::time::Duration;

use picture::coded::{FrameHeader, StepIndex};
use picture::run::Form;

use crate::units::{FrameId, SequenceNumber, Timestamp};

/// Version of the layout, in the high half of the first byte.
pub const MEDIA_VERSION: u8 = 3;
/// Length of the envelope.
pub const ENVELOPE_BYTES: usize = 15;
/// Length of the beginning that the headers of all kinds share.
pub const COMMON_HEADER_BYTES: usize = ENVELOPE_BYTES + 11;
/// Header of a run of blocks.
pub const BLOCKS_HEADER_BYTES: usize = COMMON_HEADER_BYTES + 5;
/// Header of a part of a block.
pub const FRAGMENT_HEADER_BYTES: usize = COMMON_HEADER_BYTES + 7;
/// Header of a parity shard.
pub const PARITY_HEADER_BYTES: usize = COMMON_HEADER_BYTES + 2;
/// Protection groups that a frame can have; they are numbered from 1.
pub const GROUPS_MAX: u8 = 15;
/// Blocks that one datagram can hold.
pub const RUN_BLOCKS_MAX: usize = u16::MAX as usize;

const KIND_BLOCKS: u8 = 0;
const KIND_FRAGMENT: u8 = 1;
const KIND_PARITY: u8 = 2;
const KIND_LIST: u8 = 3;
const KIND_MASK: u8 = 7;
const LAST: u8 = 8;
const U24_MAX: u32 = 0xff_ffff;

/// Reasons for which bytes are no header of a media datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum HeaderError {
    #[error("shorter than its header")]
    TooShort,
    #[error("of another version")]
    OtherVersion,
    #[error("an unknown kind of datagram")]
    UnknownKind,
    #[error("an unknown protection group")]
    UnknownGroup,
    #[error("a step beyond the coarsest")]
    UnknownStep,
}

/// The part of a media datagram's header that is the same for every stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Number of its stream among those of its sender.
    pub stream: u8,
    /// Number of the datagram in its connection.
    pub sequence: SequenceNumber,
    /// Time of capture, sender's clock; 48 bits.
    pub capture: Timestamp,
    /// Time from capture to handing the datagram to the socket, microseconds; 24 bits, saturating.
    pub sent_offset_us: u32,
}

impl Envelope {
    /// Returns the time at which the datagram left, sender's clock.
    pub fn sent(&self) -> Timestamp {
        self.capture + Duration::from_micros(self.sent_offset_us.into())
    }

    /// Appends it to `out`, with the low half of the first byte.
    pub(crate) fn write(&self, low: u8, out: &mut Vec<u8>) {
        out.extend([MEDIA_VERSION << 4 | low, self.stream]);
        out.extend(self.sequence.0.to_le_bytes());
        out.extend(&self.capture.as_us().min((1 << 48) - 1).to_le_bytes()[..6]);
        out.extend(u24(self.sent_offset_us));
    }

    /// Reads the envelope of a datagram, or says why it has none.
    pub fn parse(datagram: &[u8]) -> Result<Self, HeaderError> {
        let head = datagram.first_chunk::<ENVELOPE_BYTES>().ok_or(HeaderError::TooShort)?;
        if head[0] >> 4 != MEDIA_VERSION {
            return Err(HeaderError::OtherVersion);
        }
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Ok(Self {
            stream: head[1],
            sequence: SequenceNumber(u32_at(2)),
            capture: Timestamp::from_us(
                u64::from(u32_at(6)) | u64::from(u16::from_le_bytes([head[10], head[11]])) << 32,
            ),
            sent_offset_us: u32::from_le_bytes([head[12], head[13], head[14], 0]),
        })
    }
}

/// Header of a media datagram of a video stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHeader {
    /// Stream, number, and when it left.
    pub envelope: Envelope,
    /// The frame it belongs to.
    pub frame: FrameId,
    /// The frame's steps.
    pub steps: FrameHeader,
    /// Distance to the reference frame, frames; 0: none.
    pub reference: u8,
    /// True if it is among the last of its frame to leave, of which one may get lost.
    pub is_last: bool,
    /// Its place in a protection group.
    pub place: Option<ShardPlace>,
    /// The kind of what follows the header.
    pub content: Content,
}

/// Place of a datagram in a protection group of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardPlace {
    /// 1 to [`GROUPS_MAX`].
    pub group: u8,
    /// Data shards come first, then parity shards.
    pub index: u8,
}

/// The kinds of media datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A run of consecutive blocks.
    Blocks {
        /// Index of the first block, 24 bits.
        first: u32,
        /// Number of blocks.
        count: u16,
        /// Form of the run.
        form: Form,
    },
    /// Part of a block that is too large for one datagram.
    Fragment {
        /// Index of the block, 24 bits.
        block: u32,
        /// Length of the whole block, bytes.
        total: u16,
        /// Start of this part in it, bytes.
        offset: u16,
    },
    /// A parity shard of its protection group.
    Parity {
        /// Data shards of the group, at least 1.
        data: u8,
        /// Parity shards of the group, at least 1; with the data shards at most 256.
        parity: u8,
    },
}

impl Content {
    /// Returns the kind of datagram, 0 to 7.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Blocks { form: Form::Map, .. } => KIND_BLOCKS,
            Self::Blocks { form: Form::List, .. } => KIND_LIST,
            Self::Fragment { .. } => KIND_FRAGMENT,
            Self::Parity { .. } => KIND_PARITY,
        }
    }

    /// Returns the length of the header of such a datagram, bytes.
    pub const fn header_bytes(&self) -> usize {
        match self {
            Self::Blocks { .. } => BLOCKS_HEADER_BYTES,
            Self::Fragment { .. } => FRAGMENT_HEADER_BYTES,
            Self::Parity { .. } => PARITY_HEADER_BYTES,
        }
    }

    /// Appends the header's fields behind those of all kinds. Values of more than their bits are saturated.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Blocks { first, count, form: _ } => {
                out.extend(u24(first));
                out.extend(count.to_le_bytes());
            }
            Self::Fragment { block, total, offset } => {
                out.extend(u24(block));
                out.extend(total.to_le_bytes());
                out.extend(offset.to_le_bytes());
            }
            Self::Parity { data, parity } => out.extend([data, parity]),
        }
    }

    /// Splits what follows the shared fields of a datagram of `kind` into the fields and the payload, or says what is
    /// wrong.
    pub fn parse(kind: u8, bytes: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        match kind {
            KIND_BLOCKS | KIND_LIST => {
                let (&[a, b, c, d, e], payload) = bytes.split_first_chunk().ok_or(HeaderError::TooShort)?;
                let first = u32::from_le_bytes([a, b, c, 0]);
                let form = if kind == KIND_LIST { Form::List } else { Form::Map };
                Ok((Self::Blocks { first, count: u16::from_le_bytes([d, e]), form }, payload))
            }
            KIND_FRAGMENT => {
                let (&[a, b, c, d, e, f, g], payload) = bytes.split_first_chunk().ok_or(HeaderError::TooShort)?;
                let block = u32::from_le_bytes([a, b, c, 0]);
                let (total, offset) = (u16::from_le_bytes([d, e]), u16::from_le_bytes([f, g]));
                Ok((Self::Fragment { block, total, offset }, payload))
            }
            KIND_PARITY => {
                let (&[data, parity], shard) = bytes.split_first_chunk().ok_or(HeaderError::TooShort)?;
                Ok((Self::Parity { data, parity }, shard))
            }
            _ => Err(HeaderError::UnknownKind),
        }
    }
}

impl MediaHeader {
    /// Returns the datagram of this header and `payload`. Values of more than their bits are saturated.
    pub fn datagram(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.content.header_bytes() + payload.len());
        self.write(&mut out);
        out.extend_from_slice(payload);
        out
    }

    /// Appends the header to `out`; the payload follows. Values of more than their bits are saturated.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (group, index) = self.place.map_or((0, 0), |place| (place.group, place.index));
        let last = if self.is_last { LAST } else { 0 };
        self.envelope.write(last | self.content.kind(), out);
        out.extend([self.steps.step.index(), group, index]);
        out.extend(self.frame.0.to_le_bytes());
        out.extend(u24(self.steps.fine_blocks));
        out.push(self.reference);
        self.content.write(out);
    }

    /// Splits a datagram into header and payload, or says why it is none.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let (head, rest) = datagram.split_first_chunk::<COMMON_HEADER_BYTES>().ok_or(HeaderError::TooShort)?;
        let envelope = Envelope::parse(datagram)?;
        let place = match (head[16], head[17]) {
            (0, 0) => None,
            (group @ 1..=GROUPS_MAX, index) => Some(ShardPlace { group, index }),
            _ => return Err(HeaderError::UnknownGroup),
        };
        let u24_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]);
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (content, payload) = Content::parse(head[0] & KIND_MASK, rest)?;
        let header = Self {
            envelope,
            frame: FrameId(u32_at(18)),
            steps: FrameHeader {
                step: StepIndex::new(head[15]).ok_or(HeaderError::UnknownStep)?,
                fine_blocks: u24_at(22),
            },
            reference: head[25],
            is_last: head[0] & LAST != 0,
            place,
            content,
        };
        Ok((header, payload))
    }
}

fn u24(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.min(U24_MAX).to_le_bytes();
    [a, b, c]
}
