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
        let far = distance(total, budget);
        let mut header = if far > 1 {
            step = self.approach(coder, if total > budget { up(step, far) } else { down(step, far) }, budget)?;
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

    /// Codes whole frames, first at `step`, until one is near `budget`; returns its step.
    fn approach(
        &mut self,
        coder: &mut impl BlockCoder,
        mut step: StepIndex,
        budget: usize,
    ) -> Result<StepIndex, EncodeError> {
        let blocks = coder.block_count();
        // Steps known to be too fine and to fit.
        let (mut too_fine, mut fits) = (None, None);
        loop {
            coder.code(0..blocks, step, &mut self.lengths)?;
            let total = cost(&self.lengths);
            if total > budget {
                too_fine = Some(step)
            } else {
                fits = Some(step)
            }
            let far = distance(total, budget);
            let jump = match (too_fine, fits) {
                _ if far <= 1 => None,
                (Some(fine), Some(coarse)) if coarse.index() - fine.index() <= 1 => None,
                (Some(fine), Some(coarse)) => Some(if total > budget {
                    up(step, far).min(coarse.finer())
                } else {
                    down(step, far).max(fine.coarser())
                }),
                _ => Some(if total > budget { up(step, far) } else { down(step, far) }),
            };
            match jump {
                Some(next) if next != step => step = next,
                _ => return Ok(step),
            }
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
fn distance(total: usize, budget: usize) -> u8 {
    times_smaller(total, budget, INDEX).clamp(1, StepIndex::MAX.index().into()) as u8
}

fn up(step: StepIndex, by: u8) -> StepIndex {
    StepIndex::new(step.index().saturating_add(by)).unwrap_or(StepIndex::MAX)
}

fn down(step: StepIndex, by: u8) -> StepIndex {
    StepIndex::new(step.index().saturating_sub(by)).unwrap_or(StepIndex::MIN)
}
