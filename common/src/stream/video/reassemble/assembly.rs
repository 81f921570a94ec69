//! One frame in the making.

use std::collections::BTreeMap;
use std::ops::Range;

use picture::coded::{BlockState, ReceivedFrame};
use picture::run::{BLOCK_BYTES_MAX, Run};

use super::error::PieceError;
use crate::stream::video::packetise::DATAGRAM_BYTES_MIN;
use crate::stream::video::protection::{FrameShards, ParityShard, read_shard};
use crate::units::{FrameId, Timestamp};
use crate::wire::media::{Content, FRAGMENT_HEADER_BYTES, MediaHeader};

/// Bytes that a frame may have per block: twice what 1024 coefficients of 32 bits take.
pub(super) const BYTES_PER_BLOCK_MAX: usize = 8192;
/// Smallest part of a block, unless it is the last.
const PART_BYTES_MIN: usize = 32;
const _: () = assert!(
    (DATAGRAM_BYTES_MIN - FRAGMENT_HEADER_BYTES) / 2 >= PART_BYTES_MIN,
    "the even parts of a block fill more than half of their datagrams"
);

/// A frame as it left the reassembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledFrame {
    /// Its number.
    pub id: FrameId,
    /// Distance to the reference frame, frames; 0: none. With one, the slices of vectors come before the blocks.
    pub reference: u8,
    /// Its blocks.
    pub frame: ReceivedFrame,
    /// Time of capture, sender's clock.
    pub capture: Timestamp,
    /// Time of sending the last datagram that brought something, sender's clock.
    pub sent: Timestamp,
    /// Arrival of the first datagram.
    pub first_received: Timestamp,
    /// Arrival of the last datagram that brought something.
    pub last_received: Timestamp,
}

impl AssembledFrame {
    /// Returns true if every block is there.
    pub fn is_complete(&self) -> bool {
        self.frame.missing() == 0
    }

    /// Returns true if no block is there: only parity or parts of blocks came.
    pub fn is_empty(&self) -> bool {
        self.frame.missing() == self.frame.block_count()
    }
}

/// The gain by parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Missing datagrams rebuilt.
    pub datagrams: u64,
    /// Groups that contradict themselves, and rebuilt datagrams that are none of this stream.
    pub malformed: u64,
}

/// A payload that has been checked on its own.
pub(super) enum Piece<'a> {
    Run { first: usize, blocks: Run<'a> },
    Part { block: usize, total: usize, offset: usize, bytes: &'a [u8] },
    Parity(ParityShard<'a>),
}

impl<'a> Piece<'a> {
    pub(super) fn check(header: &MediaHeader, payload: &'a [u8], blocks: usize) -> Result<Self, PieceError> {
        match header.content {
            Content::Blocks { first, count, form } => {
                let (first, count) = (first as usize, usize::from(count));
                if count == 0 {
                    return Err(PieceError::EmptyRun);
                }
                if first + count > blocks {
                    return Err(PieceError::BeyondLastBlock);
                }
                if payload.len() > BYTES_PER_BLOCK_MAX * blocks {
                    return Err(PieceError::TooManyBytes);
                }
                Ok(Self::Run { first, blocks: Run::parse(form, payload, count)? })
            }
            Content::Fragment { block, total, offset } => {
                let (block, total, offset) = (block as usize, usize::from(total), usize::from(offset));
                if block >= blocks {
                    return Err(PieceError::BeyondLastBlock);
                }
                if total > BLOCK_BYTES_MAX.min(BYTES_PER_BLOCK_MAX * blocks) || offset + payload.len() > total {
                    return Err(PieceError::BeyondBlock);
                }
                if payload.len() < PART_BYTES_MIN && (payload.is_empty() || offset + payload.len() < total) {
                    return Err(PieceError::PartTooShort);
                }
                Ok(Self::Part { block, total, offset, bytes: payload })
            }
            Content::Parity { data, parity } => {
                let place = header.place.ok_or(PieceError::ParityWithoutGroup)?;
                Ok(Self::Parity(ParityShard::check(place, data, parity, payload)?))
            }
        }
    }
}

/// Contribution of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// All of it was there.
    Nothing,
    /// Parity that repairs nothing yet.
    Parity,
    /// Blocks or parts of them, its own or rebuilt ones.
    Blocks,
}

/// A frame in the making.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) frame: AssembledFrame,
    /// Partial blocks by block index.
    parts: BTreeMap<usize, PartialBlock>,
    bytes: usize,
    shards: FrameShards,
}

impl Assembly {
    pub(super) fn new(header: &MediaHeader, blocks: usize, now: Timestamp) -> Self {
        let frame = AssembledFrame {
            id: header.frame,
            reference: header.reference,
            frame: ReceivedFrame::empty(header.steps, blocks),
            capture: header.envelope.capture,
            sent: header.envelope.capture,
            first_received: now,
            last_received: now,
        };
        Self { frame, parts: BTreeMap::new(), bytes: 0, shards: FrameShards::default() }
    }

    /// Adds a datagram and what its protection group gives with it; its blocks may take `room` bytes more.
    pub(super) fn take(
        &mut self,
        piece: Piece<'_>,
        header: &MediaHeader,
        payload: &[u8],
        room: usize,
        recovered: &mut Recovered,
    ) -> Result<Brought, PieceError> {
        let room_max = BYTES_PER_BLOCK_MAX * self.frame.frame.block_count();
        let bytes_max = self.bytes.saturating_add(room).min(room_max);
        let mut brought = match piece {
            Piece::Parity(shard) => {
                if self.shards.keep_parity(&shard)? {
                    Brought::Parity
                } else {
                    Brought::Nothing
                }
            }
            piece => {
                if self.add(piece, bytes_max)? {
                    Brought::Blocks
                } else {
                    Brought::Nothing
                }
            }
        };
        let Some(place) = header.place.filter(|_| brought != Brought::Nothing) else { return Ok(brought) };
        if brought == Brought::Blocks {
            self.shards.keep_data(place, &header.content, payload);
        }
        match self.shards.recover(place.group) {
            Ok(shards) => {
                for shard in shards {
                    match self.add_rebuilt(&shard, header, bytes_max) {
                        Ok(true) => {
                            recovered.datagrams += 1;
                            brought = Brought::Blocks;
                        }
                        Ok(false) => {}
                        Err(_) => recovered.malformed += 1,
                    }
                }
            }
            Err(_) => recovered.malformed += 1,
        }
        Ok(brought)
    }

    /// Adds a data shard as if its datagram had come; the rest of its header is that of any datagram of its frame.
    fn add_rebuilt(&mut self, shard: &[u8], of_frame: &MediaHeader, bytes_max: usize) -> Result<bool, PieceError> {
        let (content, payload) = read_shard(shard)?;
        let header = MediaHeader { place: None, content, ..*of_frame };
        self.add(Piece::check(&header, payload, self.frame.frame.block_count())?, bytes_max)
    }

    /// Returns true if the piece brought something new.
    fn add(&mut self, piece: Piece<'_>, bytes_max: usize) -> Result<bool, PieceError> {
        match piece {
            Piece::Run { first, blocks } => {
                let mut is_new = false;
                for (index, block) in (first..).zip(blocks) {
                    if self.bytes + block.len() > bytes_max {
                        return Err(PieceError::TooManyBytes);
                    }
                    if self.frame.frame.insert(index, block) {
                        self.bytes += block.len();
                        is_new = true;
                    }
                }
                Ok(is_new)
            }
            Piece::Part { block, total, offset, bytes } => {
                if self.frame.frame.block(block) != BlockState::Missing {
                    return Ok(false);
                }
                if !self.parts.contains_key(&block) {
                    if self.bytes + total > bytes_max {
                        return Err(PieceError::TooManyBytes);
                    }
                    self.bytes += total;
                }
                let partial = self.parts.entry(block).or_insert_with(|| PartialBlock::new(total));
                if partial.bytes.len() != total {
                    return Err(PieceError::Contradiction);
                }
                let is_new = partial.fill(offset, bytes);
                if partial.holes.is_empty()
                    && let Some(whole) = self.parts.remove(&block)
                {
                    self.frame.frame.insert(block, &whole.bytes);
                }
                Ok(is_new)
            }
            Piece::Parity(_) => Ok(false),
        }
    }

    /// Returns the bytes of its blocks.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes kept for rebuilding.
    pub(super) fn shard_bytes(&self) -> usize {
        self.shards.bytes()
    }
}

/// A block of which parts have come.
#[derive(Debug)]
struct PartialBlock {
    bytes: Vec<u8>,
    holes: Vec<Range<usize>>,
}

impl PartialBlock {
    fn new(total: usize) -> Self {
        Self { bytes: vec![0; total], holes: std::iter::once(0..total).collect() }
    }

    /// Writes a part into the holes that it covers; false if it covers none.
    fn fill(&mut self, offset: usize, part: &[u8]) -> bool {
        let mut is_new = false;
        for hole in std::mem::take(&mut self.holes) {
            let (start, end) = (hole.start.max(offset), hole.end.min(offset + part.len()));
            if start >= end {
                self.holes.push(hole);
                continue;
            }
            self.bytes[start..end].copy_from_slice(&part[start - offset..end - offset]);
            self.holes.extend([hole.start..start, end..hole.end].into_iter().filter(|hole| !hole.is_empty()));
            is_new = true;
        }
        is_new
    }
}
