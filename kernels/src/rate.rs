//! Rate control: the finest quantiser steps whose frame fits a byte budget. Integers only, so that every back
//! end, given the same pictures and budgets, chooses the same steps.
//!
//! A frame has two steps: its first `fine_blocks` blocks use `step`, the others the next coarser one. The search
//! codes a frame as the last one ended, or, if the budget is another, where that frame would probably have ended with
//! this budget. It then recodes blocks from there on (finer) or back (coarser) up to the block where the budget is met.
//! If that is far, it first codes whole frames until the budget lies between two neighbouring steps.

use std::ops::Range;

use picture::coded::{FrameHeader, StepIndex};
use picture::run::{FRAME_HEADER_BYTES, directory_bytes, map_bytes};

use crate::{DeviceError, EncodeError, Target};

/// Codes blocks of the current frame at a given step.
pub trait BlockCoder {
    /// Returns the number of blocks of a frame.
    fn block_count(&self) -> usize;

    /// Codes the blocks `range` at `step`, replacing what was coded for them before, and writes the number of
    /// bytes of each to `lengths` (as long as `range`).
    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError>;
}

/// First step index of a stream without a frame yet: a step of 8.
const FIRST_GUESS: u8 = 56;

/// Blocks that are coded at a time to know whether all of them fit.
const TRIED: usize = 96;

/// Rate control of one stream.
#[derive(Debug)]
pub struct RateControl {
    /// Blocks recoded at a time near the budget.
    chunk: usize,
    /// End of the last frame's search.
    last: FrameHeader,
    lengths: Vec<u32>,
    chunk_lengths: Vec<u32>,
}

impl RateControl {
    /// Creates the rate control for frames of `blocks` blocks. `chunk` is how many blocks a back end likes to code in
    /// one go; it does not change the result.
    pub fn new(blocks: usize, chunk: usize) -> Self {
        let chunk = chunk.clamp(1, blocks.max(1));
        let step = StepIndex::new(FIRST_GUESS).unwrap_or(StepIndex::MIN);
        let last = FrameHeader { step, fine_blocks: blocks as u32 };
        Self { chunk, last, lengths: vec![0; blocks], chunk_lengths: vec![0; chunk] }
    }

    /// Returns the bytes of each block of the last frame.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the steps at which a search for this target begins to code, in whole or in part.
    pub fn first_steps(&self, target: Target) -> Vec<StepIndex> {
        match target {
            Target::Step(step) => vec![step],
            Target::Bytes(bytes) => {
                let step = self.beginning(bytes.saturating_sub(smallest_bytes(self.lengths.len()))).step;
                if step.coarser() == step { vec![step] } else { vec![step, step.coarser()] }
            }
            Target::Lossless => Vec::new(),
        }
    }

    /// Codes a frame. When it returns, the coder's last code of every block is the one that belongs to the header
    /// returned and to [`Self::lengths`].
    pub fn code(&mut self, coder: &mut impl BlockCoder, target: Target) -> Result<FrameHeader, EncodeError> {
        let blocks = coder.block_count();
        let budget = match target {
            Target::Step(step) => {
                coder.code(0..blocks, step, &mut self.lengths)?;
                self.last = FrameHeader { step, fine_blocks: blocks as u32 };
                return Ok(self.last);
            }
            Target::Bytes(bytes) => bytes,
            Target::Lossless => return Err(EncodeError::WrongTarget { stream: "lossy" }),
        };
        let smallest_bytes = smallest_bytes(blocks);
        if budget < smallest_bytes {
            return Err(EncodeError::BudgetTooSmall { asked_bytes: budget, smallest_bytes });
        }
        self.last = self.search(coder, budget - smallest_bytes)?;
        Ok(self.last)
    }

    /// Returns true if a frame at `step` takes at most `bytes`. Codes only as many blocks as tell, and leaves what a search
    /// begins with as it is.
    pub fn fits(&self, coder: &mut impl BlockCoder, step: StepIndex, bytes: usize) -> Result<bool, DeviceError> {
        let blocks = coder.block_count();
        let (mut total, mut lengths) = (smallest_bytes(blocks), [0; TRIED]);
        for start in (0..blocks).step_by(TRIED) {
            let end = blocks.min(start + TRIED);
            let lengths = &mut lengths[..end - start];
            coder.code(start..end, step, lengths)?;
            total += cost(lengths);
            if total > bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the start of the search for `budget` bytes of blocks and their directory.
    fn beginning(&self, budget: usize) -> FrameHeader {
        let total = cost(&self.lengths);
        let parts = times_smaller(total, budget, PART);
        if total == 0 || parts <= PARTS_IGNORED {
            return self.last;
        }
        // Sixteenths of a step: of the bytes so many are in blocks with the coarser one.
        let coarse = cost(&self.lengths[self.last.fine_blocks as usize..]);
        let at = 16 * u32::from(self.last.step.index()) + (16 * coarse / total) as u32;
        let to = if total > budget { at + parts } else { at.saturating_sub(parts) };
        let mut rest = total * (to % 16) as usize / 16;
        let is_coarse = |length: &&u32| match rest.checked_sub(block_cost(**length)) {
            Some(less) => {
                rest = less;
                true
            }
            None => false,
        };
        let coarse_blocks = self.lengths.iter().rev().take_while(is_coarse).count();
        let step = u8::try_from(to / 16).ok().and_then(StepIndex::new).unwrap_or(StepIndex::MAX);
        FrameHeader { step, fine_blocks: (self.lengths.len() - coarse_blocks) as u32 }
    }

    /// Finds the steps for `budget` bytes of blocks and their directory.
    fn search(&mut self, coder: &mut impl BlockCoder, budget: usize) -> Result<FrameHeader, EncodeError> {
        let blocks = coder.block_count();
        let FrameHeader { mut step, fine_blocks } = self.beginning(budget);
        let fine = fine_blocks as usize;
        let (front, back) = self.lengths.split_at_mut(fine);
        coder.code(0..fine, step, front)?;
        coder.code(fine..blocks, step.coarser(), back)?;
        let total = cost(&self.lengths);
        let mut header = if distance(total, budget) > 1 {
            step = self.approach(coder, step, budget)?;
            FrameHeader { step, fine_blocks: blocks as u32 }
        } else if total > budget {
            self.coarsen(coder, step, fine, budget)?
        } else {
            self.refine(coder, step, fine, budget)?
        };
        // Until the budget is met inside the frame, all blocks have one step.
        loop {
            let fine = header.fine_blocks as usize;
            let all_fine = fine == blocks;
            step = if all_fine { header.step } else { header.step.coarser() };
            if cost(&self.lengths) > budget {
                header = self.coarsen(coder, step, blocks, budget)?;
            } else if all_fine && header.step != StepIndex::MIN {
                header = self.refine(coder, step.finer(), 0, budget)?;
            } else {
                return Ok(header);
            }
        }
    }

    /// Codes whole frames until one is near `budget`, or the next step is beyond it, after one at `step`, and partly at the next coarser
    /// one, was not; returns its step.
    ///
    /// Over the steps bytes fall slowly or, where a prediction is exact, all at once. So a jump is short at first and goes by the two
    /// last sizes then; and between a step that is too fine and one that fits it goes to the middle if theirs have not halved what lies
    /// between.
    fn approach(
        &mut self,
        coder: &mut impl BlockCoder,
        mut step: StepIndex,
        budget: usize,
    ) -> Result<StepIndex, EncodeError> {
        let (blocks, wanted) = (coder.block_count(), log2(budget));
        let mut size = log2(cost(&self.lengths));
        // Steps known to be too fine and to fit, and their sizes.
        let [mut too_fine, mut fits] =
            if size > wanted { [Some((step, size)), None] } else { [None, Some((step.coarser(), size))] };
        let mut jump = (wanted.abs_diff(size) / LOG_INDEX).clamp(1, JUMP_FIRST);
        let (mut width_before, mut is_whole) = (u32::MAX, false);
        loop {
            let next = match (too_fine, fits) {
                (Some((fine, more)), Some((coarse, less))) => {
                    let width = u32::from(coarse.index().saturating_sub(fine.index()));
                    if width <= 1 {
                        return Ok(step);
                    }
                    let by_size = width * (more - wanted) / more.saturating_sub(less).max(1);
                    let is_slow = 2 * width > width_before;
                    width_before = width;
                    up(fine, if is_slow { width / 2 } else { by_size.clamp(1, width - 1) })
                }
                (Some(_), None) => up(step, jump),
                (None, _) => down(step, jump),
            };
            if next == step && is_whole {
                return Ok(step);
            }
            coder.code(0..blocks, next, &mut self.lengths)?;
            let (total, before) = (cost(&self.lengths), size);
            (step, size, is_whole) = (next, log2(total), true);
            if distance(total, budget) <= 1 {
                return Ok(step);
            }
            let side = if total > budget { &mut too_fine } else { &mut fits };
            *side = Some((step, size));
            let gained = wanted.abs_diff(before).saturating_sub(wanted.abs_diff(size)).max(1);
            jump = (jump * wanted.abs_diff(size) / gained).clamp(1, 2 * jump);
        }
    }

    /// Gives `finer` to as many more blocks as still fit, when the frame fits with `finer` up to block `start` and the
    /// next coarser step from there on.
    fn refine(
        &mut self,
        coder: &mut impl BlockCoder,
        finer: StepIndex,
        mut start: usize,
        budget: usize,
    ) -> Result<FrameHeader, EncodeError> {
        let (blocks, step) = (coder.block_count(), finer.coarser());
        let mut total = cost(&self.lengths);
        while start < blocks {
            let end = blocks.min(start + self.chunk);
            let fine = &mut self.chunk_lengths[..end - start];
            coder.code(start..end, finer, fine)?;
            for index in start..end {
                let next = total - block_cost(self.lengths[index]) + block_cost(fine[index - start]);
                if next > budget {
                    let rest = index..end;
                    coder.code(rest.clone(), step, &mut self.lengths[rest])?;
                    return Ok(FrameHeader { step: finer, fine_blocks: index as u32 });
                }
                total = next;
                self.lengths[index] = fine[index - start];
            }
            start = end;
        }
        Ok(FrameHeader { step: finer, fine_blocks: blocks as u32 })
    }

    /// Gives the next coarser step to as few more blocks as make the frame fit, or to all, when it does not fit with
    /// `step` up to block `end`.
    fn coarsen(
        &mut self,
        coder: &mut impl BlockCoder,
        step: StepIndex,
        mut end: usize,
        budget: usize,
    ) -> Result<FrameHeader, EncodeError> {
        let mut total = cost(&self.lengths);
        let coarser = step.coarser();
        while end > 0 {
            let start = end.saturating_sub(self.chunk);
            let coarse = &mut self.chunk_lengths[..end - start];
            coder.code(start..end, coarser, coarse)?;
            for index in (start..end).rev() {
                if total <= budget {
                    let rest = start..index + 1;
                    coder.code(rest.clone(), step, &mut self.lengths[rest])?;
                    return Ok(FrameHeader { step, fine_blocks: index as u32 + 1 });
                }
                total = total - block_cost(self.lengths[index]) + block_cost(coarse[index - start]);
                self.lengths[index] = coarse[index - start];
            }
            end = start;
            if total <= budget {
                break;
            }
        }
        Ok(FrameHeader { step, fine_blocks: end as u32 })
    }
}

/// Returns the bytes of a block and of its entry in the directory.
fn block_cost(length: u32) -> usize {
    length as usize + directory_bytes(length as usize)
}

fn cost(lengths: &[u32]) -> usize {
    lengths.iter().map(|&length| block_cost(length)).sum()
}

/// Returns the bytes of a frame without any block.
fn smallest_bytes(blocks: usize) -> usize {
    FRAME_HEADER_BYTES + map_bytes(blocks)
}

/// About what a step index, and a sixteenth of one, leaves of a frame's bytes, of 2^15: seven indices halve them.
const INDEX: u64 = 29 << 10;
const PART: u64 = 32_566;
const _: () =
    assert!(INDEX < PART && PART < 1 << 15, "a coarser step leaves fewer bytes, and a sixteenth of one more of them");
/// Sixteenths that are no reason to begin elsewhere: frames do not use all of their budget.
const PARTS_IGNORED: u32 = 2;

/// Logarithm of the share of bytes that an index usually takes, as [`log2`] counts: a seventh of a half.
const LOG_INDEX: u32 = 256 / 7;
/// The first jump from a step to another, at most.
const JUMP_FIRST: u32 = 8;

/// Limit of a budget, more bytes than any frame has.
const BYTES_MAX: usize = 1 << 40;

/// Returns how many times the larger of `total` and `budget` must be multiplied by `share` of 2^15 to be no larger than
/// the other.
fn times_smaller(total: usize, budget: usize, share: u64) -> u32 {
    let [total, budget] = [total, budget].map(|bytes| bytes.min(BYTES_MAX) as u64);
    let (mut large, small) = (total.max(budget), total.min(budget).max(1));
    let mut times = 0;
    while large > small {
        large = (large * share) >> 15;
        times += 1;
    }
    times
}

/// Returns about how many step indices lie between the sizes `total` and `budget`, at least 1.
fn distance(total: usize, budget: usize) -> u32 {
    times_smaller(total, budget, INDEX).max(1)
}

/// Returns the logarithm of a size to the base 2, in parts of 256, within 23 of them.
fn log2(bytes: usize) -> u32 {
    let bytes = bytes.clamp(1, BYTES_MAX) as u64;
    (bytes.ilog2() << 8) + ((bytes << 8 >> bytes.ilog2()) & 0xff) as u32
}

fn up(step: StepIndex, by: u32) -> StepIndex {
    u8::try_from(u32::from(step.index()) + by).ok().and_then(StepIndex::new).unwrap_or(StepIndex::MAX)
}

fn down(step: StepIndex, by: u32) -> StepIndex {
    u8::try_from(u32::from(step.index()).saturating_sub(by)).ok().and_then(StepIndex::new).unwrap_or(StepIndex::MIN)
}
