//! Number of blocks that the search for a budget codes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::ops::Range;

use kernels::parts::{BlockCoder, RateControl};
use kernels::{DeviceError, Target};
use picture::coded::StepIndex;

const BLOCKS: usize = 1_000;
const BYTES: usize = 400_000;

/// Blocks whose bytes halve every seven steps.
struct Model {
    coded: usize,
}

impl BlockCoder for Model {
    fn block_count(&self) -> usize {
        BLOCKS
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError> {
        self.coded += range.len();
        for (index, length) in range.zip(lengths) {
            let finest = 1e5 * (1.0 + (index % 7) as f64) / (1.0 + index as f64 / 100.0);
            *length = (finest * 0.5_f64.powf(f64::from(step.index()) / 7.0)) as u32;
        }
        Ok(())
    }
}

/// Returns the blocks coded for a budget after a frame of [`BYTES`], in frames.
fn frames_coded(budget: usize) -> f64 {
    let (mut rate, mut model) = (RateControl::new(BLOCKS, 16), Model { coded: 0 });
    rate.code(&mut model, Target::Bytes(BYTES)).unwrap();
    model.coded = 0;
    let first = rate.first_steps(Target::Bytes(budget))[0];
    let header = rate.code(&mut model, Target::Bytes(budget)).unwrap();
    assert!(first.index().abs_diff(header.step.index()) <= 1, "{first:?}, {header:?}");
    let mut fresh = RateControl::new(BLOCKS, 16);
    assert_eq!(header, fresh.code(&mut Model { coded: 0 }, Target::Bytes(budget)).unwrap(), "budget {budget}");
    model.coded as f64 / BLOCKS as f64
}

#[test]
fn another_budget_takes_little_more_than_one_pass() {
    for budget in [BYTES / 20, BYTES / 3, BYTES * 3 / 5, BYTES * 9 / 10, BYTES, BYTES * 11 / 10, BYTES * 3] {
        let frames = frames_coded(budget);
        assert!(frames < 1.5, "{frames} frames were coded for {budget} bytes");
    }
}
