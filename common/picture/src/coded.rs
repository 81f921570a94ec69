//! A coded frame: a small header and one byte string per block, in coding order.

use std::ops::Range;

/// Quantiser step as an index on a logarithmic scale of eight steps per octave.
///
/// Index `i` means the step `(1 + (i mod 8) / 8) * 2^(i div 8 - 4)`: 1/16 at 0, 1 at 32, 2^22 at 208, which
/// quantises every coefficient of the largest picture to zero (|LL| <= 128 * 16384 = 2^21). The steps are exact
/// in f32, and doubling a step adds eight to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(u8);

impl StepIndex {
    /// The finest step, 1/16.
    pub const MIN: Self = Self(0);
    /// The coarsest step, 2^22.
    pub const MAX: Self = Self(208);

    /// The step 1: integers stay as they are.
    pub const ONE: Self = Self(32);

    /// Returns the step at `index`; `None` beyond [`Self::MAX`].
    pub const fn new(index: u8) -> Option<Self> {
        if index > Self::MAX.0 { None } else { Some(Self(index)) }
    }

    /// Returns the index, 0 to 208.
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Returns the next coarser step; the coarsest is its own.
    #[must_use]
    pub const fn coarser(self) -> Self {
        Self(if self.0 < Self::MAX.0 { self.0 + 1 } else { self.0 })
    }

    /// Returns the step `by` indices coarser, at most the coarsest.
    #[must_use]
    pub const fn coarser_by(self, by: u8) -> Self {
        let index = self.0.saturating_add(by);
        if index > Self::MAX.0 { Self::MAX } else { Self(index) }
    }

    /// Returns the next finer step; the finest is its own.
    #[must_use]
    pub const fn finer(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Returns the quantiser step, in units of an 8-bit sample.
    pub fn step(self) -> f32 {
        f32::from(8 + u16::from(self.0 % 8)) * 2f32.powi(i32::from(self.0 / 8) - 7)
    }
}

/// The facts about a frame that a decoder needs besides the stream's parameters. They fit in every datagram, so that
/// any datagram alone makes a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Quantiser step of the first [`Self::fine_blocks`] blocks; the others use the next coarser step.
    pub step: StepIndex,
    /// Number of blocks, in coding order, that use `step` itself.
    pub fine_blocks: u32,
}

impl FrameHeader {
    /// Returns the quantiser step of block `index`.
    pub const fn step_of(&self, index: usize) -> StepIndex {
        if index < self.fine_blocks as usize { self.step } else { self.step.coarser() }
    }
}

/// A whole coded frame as an encoder makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// Distance to the frame that it is predicted from, frames; 0: none, it is coded alone.
    ///
    /// With a reference, the slices of vectors ([`crate::vectors::VectorLayout`]) come before the blocks. The header
    /// counts blocks only.
    pub reference: u8,
    /// Steps.
    pub header: FrameHeader,
    /// `ends[i]` is where block `i` ends in `data`; it starts where block `i - 1` ends. Empty: all zero.
    pub ends: Vec<u32>,
    /// The blocks' bytes one after another.
    pub data: Vec<u8>,
}

impl CodedFrame {
    /// Creates a frame without a reference from the bytes of its blocks, in coding order.
    pub fn from_blocks(header: FrameHeader, blocks: &[Vec<u8>]) -> Self {
        let mut frame = Self {
            reference: 0,
            header,
            ends: Vec::with_capacity(blocks.len()),
            data: Vec::with_capacity(blocks.iter().map(Vec::len).sum()),
        };
        for block in blocks {
            frame.data.extend_from_slice(block);
            frame.ends.push(frame.data.len() as u32);
        }
        frame
    }

    /// Creates a frame predicted from the one `reference` frames before it, of slices of vectors and of the blocks that
    /// prediction leaves.
    pub fn predicted(reference: u8, slices: &[Vec<u8>], blocks: &Self) -> Self {
        let mut frame = Self { reference, ..Self::from_blocks(blocks.header, slices) };
        let vectors = frame.data.len() as u32;
        frame.data.extend_from_slice(&blocks.data);
        frame.ends.extend(blocks.ends.iter().map(|end| vectors + end));
        frame
    }

    /// Returns the number of blocks, slices of vectors and empty ones included.
    pub fn block_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the place of block `index` in [`Self::data`].
    pub fn range(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        start..self.ends[index] as usize
    }

    /// Returns the bytes of block `index`; empty if all its coefficients are zero.
    pub fn block(&self, index: usize) -> &[u8] {
        &self.data[self.range(index)]
    }
}

/// A block as a decoder is given it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState<'a> {
    /// Nothing arrived.
    Missing,
    /// All coefficients are zero.
    Zero,
    /// The block's bytes, at least one.
    Coded(&'a [u8]),
}

/// A frame as it arrived: any subset of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Steps.
    pub header: FrameHeader,
    slots: Vec<Slot>,
    data: Vec<u8>,
    missing: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    Missing,
    Zero,
    /// Place of its bytes: 32 bits hold the largest frame, and there are many slots.
    Coded(Range<u32>),
}

impl ReceivedFrame {
    /// Creates a frame of `blocks` blocks of which none has arrived.
    pub fn empty(header: FrameHeader, blocks: usize) -> Self {
        Self { header, slots: vec![Slot::Missing; blocks], data: Vec::new(), missing: blocks }
    }

    /// Returns the number of blocks, missing ones included.
    pub fn block_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of missing blocks.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// Returns the bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.data.len() + self.slots.len() * size_of::<Slot>()
    }

    /// Adds the bytes of block `index` (empty: all zero). Returns false, changing nothing, if it was there
    /// already or `index` is beyond the frame.
    pub fn insert(&mut self, index: usize, bytes: &[u8]) -> bool {
        let Some(slot @ Slot::Missing) = self.slots.get_mut(index) else { return false };
        if bytes.is_empty() {
            *slot = Slot::Zero;
        } else {
            let Ok(end) = u32::try_from(self.data.len() + bytes.len()) else { return false };
            *slot = Slot::Coded(self.data.len() as u32..end);
            self.data.extend_from_slice(bytes);
        }
        self.missing -= 1;
        true
    }

    /// Takes the blocks `range` away, as if they had not come.
    pub fn forget(&mut self, range: Range<usize>) {
        for slot in self.slots.get_mut(range).into_iter().flatten() {
            if std::mem::replace(slot, Slot::Missing) != Slot::Missing {
                self.missing += 1;
            }
        }
    }

    /// Returns what is known of block `index`; `Missing` beyond the frame.
    pub fn block(&self, index: usize) -> BlockState<'_> {
        match self.slots.get(index) {
            None | Some(Slot::Missing) => BlockState::Missing,
            Some(Slot::Zero) => BlockState::Zero,
            Some(Slot::Coded(range)) => BlockState::Coded(&self.data[range.start as usize..range.end as usize]),
        }
    }
}

impl From<&CodedFrame> for ReceivedFrame {
    fn from(frame: &CodedFrame) -> Self {
        let mut received = Self::empty(frame.header, frame.block_count());
        received.data.reserve(frame.data.len());
        for index in 0..frame.block_count() {
            received.insert(index, frame.block(index));
        }
        received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_exact_and_double_every_eight() {
        assert_eq!(StepIndex(0).step(), 0.0625);
        assert_eq!(StepIndex(32).step(), 1.0);
        assert_eq!(StepIndex(33).step(), 1.125);
        assert_eq!(StepIndex::MAX.step(), 4_194_304.0);
        for index in 8..=StepIndex::MAX.0 {
            assert_eq!(StepIndex(index).step(), 2.0 * StepIndex(index - 8).step());
        }
    }

    #[test]
    fn a_received_frame_keeps_the_first_copy_of_a_block() {
        let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
        let mut frame = ReceivedFrame::empty(header, 2);
        assert!(frame.insert(1, b"ab"));
        assert!(!frame.insert(1, b"cd") && !frame.insert(2, b"x"));
        assert_eq!(
            (frame.missing(), frame.block(0), frame.block(1)),
            (1, BlockState::Missing, BlockState::Coded(b"ab"))
        );
    }
}
