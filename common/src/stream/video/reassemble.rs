//! Datagrams back into frames, in bounded memory.

mod assembly;
mod error;

use std::collections::VecDeque;
use std::time::Duration;

use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::vectors::VectorLayout;

pub use self::assembly::{AssembledFrame, Recovered};
use self::assembly::{Assembly, Brought, Piece};
pub use self::error::PieceError;
use crate::act_limit::ActLimit;
use crate::path::DEAD_LINE;
use crate::stream::video::protection::prepare;
use crate::units::{FrameId, Timestamp};
use crate::wire::media::MediaHeader;

/// Frames that are put together side by side.
pub const WINDOW_FRAMES: usize = 3;

/// Frames that a datagram may be ahead of the newest one however short the time between them.
const AHEAD_FRAMES_MIN: i128 = 64;
const _: () = assert!(WINDOW_FRAMES < AHEAD_FRAMES_MIN as usize, "a frame of the window is never too far ahead");
/// Factor by which sources without a clock of their own may be faster than their nominal rate for long.
const SPEED_MAX: i128 = 4;
/// Bytes of blocks that the frames held may have together: one for each sample of a picture, or this if that is more. A
/// larger frame would take more bytes than the picture itself.
const HELD_BYTES_MIN: usize = 8 << 20;
/// Complete frames that are remembered to tell duplicates from late datagrams.
const REMEMBERED: usize = 8;

/// The fate of a datagram. None of these is an error: hostile bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatagramOutcome {
    /// It brought something new.
    Accepted,
    /// All of it was there already.
    Duplicate,
    /// Its frame, or a newer one, has been released.
    Late,
    /// Its frame is further ahead than a sender can be, or one of more than a sender can send.
    TooFarAhead,
    /// It is not a datagram of this stream; the text says why.
    Malformed(PieceError),
    /// No stream has begun.
    Unexpected,
}

/// Puts frames together from datagrams in any order.
///
/// A complete frame is released at once, and the older ones that are still held are dropped: a frame never comes
/// after a newer one. When a fourth frame begins, the oldest is released as it is. Releasing at a deadline is the
/// owner's part ([`Self::pending`], [`Self::release`]). A recording has no deadline: [`Self::that_waits`].
#[derive(Debug)]
pub struct Reassembler {
    blocks: usize,
    /// Slices of a frame with a reference.
    slices: usize,
    reference_max: u8,
    interval: Duration,
    /// Bytes that the frames held may have together.
    bytes_max: usize,
    /// Frames held at most.
    window: usize,
    /// True if no frame is dropped for a newer one that is complete.
    waits: bool,
    /// Frames that may begin.
    begins: ActLimit,
    /// Oldest first.
    held: VecDeque<Assembly>,
    ready: VecDeque<AssembledFrame>,
    released: FrameId,
    complete: VecDeque<FrameId>,
    newest: FrameId,
    newest_at: Timestamp,
    recovered: Recovered,
}

impl Reassembler {
    /// Creates a reassembler for a stream whose first frame is `start_frame`.
    pub fn new(params: &StreamParams, start_frame: FrameId, now: Timestamp) -> Self {
        prepare();
        let before = FrameId(start_frame.0.wrapping_sub(1));
        let interval = params.frame_rate.interval();
        // As many as a line holds back before it is given up, but not fewer than `AHEAD_FRAMES_MIN`.
        let at_once = (DEAD_LINE.as_micros() / interval.as_micros().max(1)) as u32;
        Self {
            blocks: BlockLayout::new(params).blocks().len(),
            slices: VectorLayout::new(params.size).slices(),
            reference_max: params.codec.profile.states(),
            interval,
            bytes_max: params.chroma.picture_format().bytes(params.size).max(HELD_BYTES_MIN),
            window: WINDOW_FRAMES,
            waits: false,
            begins: ActLimit::new(at_once.max(AHEAD_FRAMES_MIN as u32), interval / SPEED_MAX as u32, now),
            held: VecDeque::with_capacity(WINDOW_FRAMES),
            ready: VecDeque::new(),
            released: before,
            complete: VecDeque::with_capacity(REMEMBERED),
            newest: before,
            newest_at: now,
            recovered: Recovered::default(),
        }
    }

    /// Creates a reassembler for a recording: it holds `window` frames and gives each of them out, in order, when it is
    /// complete or has to make room.
    pub fn that_waits(params: &StreamParams, start_frame: FrameId, window: usize, now: Timestamp) -> Self {
        Self { window, waits: true, ..Self::new(params, start_frame, now) }
    }

    /// Takes a datagram. Afterwards take what [`Self::poll_frame`] gives.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> DatagramOutcome {
        match MediaHeader::parse(datagram) {
            Ok((header, payload)) => self.on_media(&header, payload, now),
            Err(reason) => DatagramOutcome::Malformed(reason.into()),
        }
    }

    /// Takes a datagram whose header has been parsed.
    pub fn on_media(&mut self, header: &MediaHeader, payload: &[u8], now: Timestamp) -> DatagramOutcome {
        self.take(header, payload, now).unwrap_or_else(DatagramOutcome::Malformed)
    }

    /// Returns the next frame that is complete or was pushed out by newer ones; ids only rise.
    pub fn poll_frame(&mut self) -> Option<AssembledFrame> {
        self.ready.pop_front()
    }

    /// Returns the frames held, oldest first.
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

    /// Gives the oldest frame held away as it is.
    pub fn release_oldest(&mut self) -> Option<AssembledFrame> {
        let oldest = self.held.front()?.frame.id;
        self.release(oldest)
    }

    /// Returns the last frame released; before the first one, the number before the stream's first.
    pub fn last_released(&self) -> FrameId {
        self.released
    }

    /// Returns what parity has brought since the last call.
    pub fn take_recovered(&mut self) -> Recovered {
        std::mem::take(&mut self.recovered)
    }

    /// Returns the bytes of blocks and parity held for frames that are not whole yet.
    pub fn held_bytes(&self) -> usize {
        self.held.iter().map(|assembly| assembly.bytes() + assembly.shard_bytes()).sum()
    }

    fn take(&mut self, header: &MediaHeader, payload: &[u8], now: Timestamp) -> Result<DatagramOutcome, PieceError> {
        if header.steps.fine_blocks as usize > self.blocks {
            return Err(PieceError::FineBlocks);
        }
        if header.reference > self.reference_max {
            return Err(PieceError::UnknownReference);
        }
        let blocks = self.blocks + if header.reference > 0 { self.slices } else { 0 };
        let piece = Piece::check(header, payload, blocks)?;
        if !header.frame.is_newer_than(self.released) {
            let known = self.complete.contains(&header.frame);
            return Ok(if known { DatagramOutcome::Duplicate } else { DatagramOutcome::Late });
        }
        let elapsed = now.since(self.newest_at).as_micros() / self.interval.as_micros().max(1);
        if i128::from(header.frame.ahead_of(self.newest)) > elapsed as i128 * SPEED_MAX + AHEAD_FRAMES_MIN {
            return Ok(DatagramOutcome::TooFarAhead);
        }
        let at = match self.find_or_open(header, blocks, now) {
            Ok(at) => at,
            Err(outcome) => return Ok(outcome),
        };
        let room = self.bytes_max.saturating_sub(self.held.iter().map(Assembly::bytes).sum());
        let assembly = &mut self.held[at];
        let known = (assembly.frame.frame.header, assembly.frame.reference, assembly.frame.capture);
        if known != (header.steps, header.reference, header.envelope.capture) {
            return Err(PieceError::Contradiction);
        }
        match assembly.take(piece, header, payload, room, &mut self.recovered)? {
            Brought::Nothing => return Ok(DatagramOutcome::Duplicate),
            Brought::Parity => {}
            Brought::Blocks => {
                assembly.frame.last_received = now;
                assembly.frame.sent = header.envelope.sent();
            }
        }
        if header.frame.is_newer_than(self.newest) {
            self.newest = header.frame;
        }
        self.newest_at = now;
        if self.waits {
            while self.held.front().is_some_and(|first| first.frame.is_complete()) {
                let frame = self.release_oldest();
                self.ready.extend(frame);
            }
        } else if assembly.frame.is_complete() {
            self.complete.truncate(REMEMBERED - 1);
            self.complete.push_front(header.frame);
            let frame = self.release(header.frame);
            self.ready.extend(frame);
        }
        Ok(DatagramOutcome::Accepted)
    }

    /// Returns the frame's place, or the datagram's fate: it is late if three newer frames are held.
    fn find_or_open(&mut self, header: &MediaHeader, blocks: usize, now: Timestamp) -> Result<usize, DatagramOutcome> {
        let older = |assembly: &Assembly| header.frame.is_newer_than(assembly.frame.id);
        let mut at = self.held.iter().take_while(|assembly| older(assembly)).count();
        if self.held.get(at).is_some_and(|assembly| assembly.frame.id == header.frame) {
            return Ok(at);
        }
        let is_full = self.held.len() >= self.window;
        if is_full && at == 0 {
            return Err(DatagramOutcome::Late);
        }
        if !self.begins.take(now) {
            return Err(DatagramOutcome::TooFarAhead);
        }
        if is_full {
            let oldest = self.release_oldest();
            self.ready.extend(oldest);
            at -= 1;
        }
        self.held.insert(at, Assembly::new(header, blocks, now));
        Ok(at)
    }
}

#[cfg(test)]
#[path = "reassemble_tests.rs"]
mod tests;
