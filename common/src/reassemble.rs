//! Datagrams back into frames, in bounded memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use crate::coded::{BlockState, ReceivedFrame};
use crate::params::StreamParams;
use crate::pyramid::BlockLayout;
use crate::units::{FrameId, Timestamp};
use crate::wire::media::{Content, MediaHeader};
use crate::wire::run::{BLOCK_BYTES_MAX, Run};

/// Frames that are put together side by side.
pub const WINDOW_FRAMES: usize = 3;

/// Bytes that a frame may have per block: twice what 1024 coefficients of 32 bits take.
const BYTES_PER_BLOCK_MAX: usize = 8192;
/// Frames that a datagram may be ahead of the newest one however short the time between them.
const AHEAD_FRAMES_MIN: i128 = 64;
/// Sources without a clock of their own may be this much faster than their nominal rate for long.
const SPEED_MAX: i128 = 4;
/// Smallest part of a block, unless it is the last.
const PART_BYTES_MIN: usize = 32;
const TOO_MANY_BYTES: &str = "more bytes than a frame can have";
/// Complete frames that are remembered to tell duplicates from late datagrams.
const REMEMBERED: usize = 8;

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
    /// When the last datagram that brought something left, sender's clock.
    pub sent: Timestamp,
    /// When the first datagram came.
    pub first_received: Timestamp,
    /// When the last datagram that brought something came.
    pub last_received: Timestamp,
}

impl AssembledFrame {
    /// Whether every block is there.
    pub fn is_complete(&self) -> bool {
        self.frame.missing() == 0
    }
}

/// Puts frames together from datagrams in any order.
///
/// A complete frame is released at once, and the older ones that are still held are dropped: a frame never comes
/// after a newer one. When a fourth frame begins, the oldest is released as it is. Releasing at a deadline is the
/// owner's part ([`Self::pending`], [`Self::release`]).
#[derive(Debug)]
pub struct Reassembler {
    blocks: usize,
    interval: Duration,
    /// Oldest first.
    held: VecDeque<Assembly>,
    ready: VecDeque<AssembledFrame>,
    released: FrameId,
    complete: VecDeque<FrameId>,
    newest: FrameId,
    newest_at: Timestamp,
}

impl Reassembler {
    /// A reassembler for a stream whose first frame is `start_frame`.
    pub fn new(params: &StreamParams, start_frame: FrameId, now: Timestamp) -> Self {
        let before = FrameId(start_frame.0.wrapping_sub(1));
        Self {
            blocks: BlockLayout::new(params).blocks().len(),
            interval: params.frame_rate.interval(),
            held: VecDeque::with_capacity(WINDOW_FRAMES),
            ready: VecDeque::new(),
            released: before,
            complete: VecDeque::with_capacity(REMEMBERED),
            newest: before,
            newest_at: now,
        }
    }

    /// Takes a datagram. Afterwards take what [`Self::poll_frame`] gives.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> DatagramOutcome {
        match MediaHeader::parse(datagram) {
            Ok((header, payload)) => self.on_media(&header, payload, now),
            Err(reason) => DatagramOutcome::Malformed(reason),
        }
    }

    /// Takes a datagram whose header has been parsed.
    pub fn on_media(&mut self, header: &MediaHeader, payload: &[u8], now: Timestamp) -> DatagramOutcome {
        self.take(header, payload, now).unwrap_or_else(DatagramOutcome::Malformed)
    }

    /// The next frame that is complete or was pushed out by newer ones; ids only rise.
    pub fn poll_frame(&mut self) -> Option<AssembledFrame> {
        self.ready.pop_front()
    }

    /// The incomplete frames held, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &AssembledFrame> {
        self.held.iter().map(|assembly| &assembly.frame)
    }

    /// Gives an incomplete frame away as it is and drops the older ones; `None` if it is not held.
    pub fn release(&mut self, id: FrameId) -> Option<AssembledFrame> {
        let at = self.held.iter().position(|assembly| assembly.frame.id == id)?;
        let assembly = self.held.drain(..=at).next_back()?;
        self.released = id;
        Some(assembly.frame)
    }

    /// The last frame released; before the first one, the number before the stream's first.
    pub fn last_released(&self) -> FrameId {
        self.released
    }

    fn take(&mut self, header: &MediaHeader, payload: &[u8], now: Timestamp) -> Result<DatagramOutcome, &'static str> {
        if header.steps.fine_blocks as usize > self.blocks {
            return Err("more fine blocks than blocks");
        }
        let piece = Piece::check(header.content, payload, self.blocks)?;
        if !header.frame.is_newer_than(self.released) {
            let known = self.complete.contains(&header.frame);
            return Ok(if known { DatagramOutcome::Duplicate } else { DatagramOutcome::Late });
        }
        let elapsed = now.since(self.newest_at).as_micros() / self.interval.as_micros().max(1);
        if i128::from(header.frame.ahead_of(self.newest)) > elapsed as i128 * SPEED_MAX + AHEAD_FRAMES_MIN {
            return Ok(DatagramOutcome::TooFarAhead);
        }
        let Some(at) = self.find_or_open(header, now) else { return Ok(DatagramOutcome::Late) };
        let assembly = &mut self.held[at];
        if assembly.frame.frame.header != header.steps || assembly.frame.capture != header.capture {
            return Err("contradicts an earlier datagram of its frame");
        }
        if !assembly.add(piece, BYTES_PER_BLOCK_MAX * self.blocks)? {
            return Ok(DatagramOutcome::Duplicate);
        }
        assembly.frame.last_received = now;
        assembly.frame.sent = header.capture + Duration::from_micros(header.sent_offset_us.into());
        if header.frame.is_newer_than(self.newest) {
            self.newest = header.frame;
        }
        self.newest_at = now;
        if assembly.frame.is_complete() {
            self.complete.truncate(REMEMBERED - 1);
            self.complete.push_front(header.frame);
            let frame = self.release(header.frame);
            self.ready.extend(frame);
        }
        Ok(DatagramOutcome::Accepted)
    }

    /// Where the frame is held; `None` if there is no room because three newer ones are.
    fn find_or_open(&mut self, header: &MediaHeader, now: Timestamp) -> Option<usize> {
        let older = |assembly: &Assembly| header.frame.is_newer_than(assembly.frame.id);
        let mut at = self.held.iter().take_while(|assembly| older(assembly)).count();
        if self.held.get(at).is_some_and(|assembly| assembly.frame.id == header.frame) {
            return Some(at);
        }
        if self.held.len() == WINDOW_FRAMES {
            at = at.checked_sub(1)?;
            let oldest = self.held.front()?.frame.id;
            let oldest = self.release(oldest);
            self.ready.extend(oldest);
        }
        self.held.insert(at, Assembly::new(header, self.blocks, now));
        Some(at)
    }
}

/// A payload that has been checked on its own.
enum Piece<'a> {
    Run { first: usize, blocks: Run<'a> },
    Part { block: usize, total: usize, offset: usize, bytes: &'a [u8] },
}

impl<'a> Piece<'a> {
    fn check(content: Content, payload: &'a [u8], blocks: usize) -> Result<Self, &'static str> {
        match content {
            Content::Blocks { first, count } => {
                let (first, count) = (first as usize, usize::from(count));
                if count == 0 {
                    return Err("a run of no blocks");
                }
                if first + count > blocks {
                    return Err("a run beyond the last block");
                }
                if payload.len() > BYTES_PER_BLOCK_MAX * blocks {
                    return Err(TOO_MANY_BYTES);
                }
                Ok(Self::Run { first, blocks: Run::parse(payload, count)? })
            }
            Content::Fragment { block, total, offset } => {
                let (block, total, offset) = (block as usize, usize::from(total), usize::from(offset));
                if block >= blocks {
                    return Err("a part of a block beyond the last");
                }
                if total > BLOCK_BYTES_MAX.min(BYTES_PER_BLOCK_MAX * blocks) || offset + payload.len() > total {
                    return Err("a part beyond the end of its block");
                }
                if payload.len() < PART_BYTES_MIN && (payload.is_empty() || offset + payload.len() < total) {
                    return Err("a part of too few bytes");
                }
                Ok(Self::Part { block, total, offset, bytes: payload })
            }
        }
    }
}

/// A frame in the making.
#[derive(Debug)]
struct Assembly {
    frame: AssembledFrame,
    /// By block index.
    parts: BTreeMap<usize, PartialBlock>,
    bytes: usize,
}

impl Assembly {
    fn new(header: &MediaHeader, blocks: usize, now: Timestamp) -> Self {
        let frame = AssembledFrame {
            id: header.frame,
            frame: ReceivedFrame::empty(header.steps, blocks),
            capture: header.capture,
            sent: header.capture,
            first_received: now,
            last_received: now,
        };
        Self { frame, parts: BTreeMap::new(), bytes: 0 }
    }

    /// Whether the piece brought something new.
    fn add(&mut self, piece: Piece<'_>, bytes_max: usize) -> Result<bool, &'static str> {
        match piece {
            Piece::Run { first, blocks } => {
                let mut is_new = false;
                for (index, block) in (first..).zip(blocks) {
                    if self.bytes + block.len() > bytes_max {
                        return Err(TOO_MANY_BYTES);
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
                        return Err(TOO_MANY_BYTES);
                    }
                    self.bytes += total;
                }
                let partial = self.parts.entry(block).or_insert_with(|| PartialBlock::new(total));
                if partial.bytes.len() != total {
                    return Err("contradicts an earlier part of its block");
                }
                let is_new = partial.fill(offset, bytes);
                if partial.holes.is_empty()
                    && let Some(whole) = self.parts.remove(&block)
                {
                    self.frame.frame.insert(block, &whole.bytes);
                }
                Ok(is_new)
            }
        }
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

#[cfg(test)]
#[path = "reassemble_tests.rs"]
mod tests;
