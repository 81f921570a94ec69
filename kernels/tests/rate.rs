//! Number of blocks that the search for a budget codes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::ops::Range;

use kernels::parts::{BlockCoder, RateControl};
use kernels::{DeviceError, Target};
use picture::coded::StepIndex;

const BLOCKS: usize = 1_000;
const BYTES: usize = 400_000;

/// Blocks whose bytes halve every so many steps; with a prediction that is exact, all but an `exact`th of them at steps coarser than
/// that of the frame before.
#[derive(Clone, Copy)]
struct Model {
    coded: usize,
    halve: f64,
    times: f64,
    noise: u8,
    exact: f64,
}

/// A picture coded alone.
const ALONE: Model = Model { coded: 0, halve: 7.0, times: 1.0, noise: 0, exact: 1.0 };

impl BlockCoder for Model {
    fn block_count(&self) -> usize {
        BLOCKS
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError> {
        self.coded += range.len();
        for (index, length) in range.zip(lengths) {
            let finest = 1e5 * (1.0 + (index % 7) as f64) / (1.0 + index as f64 / 100.0);
            let bytes = self.times * finest * 0.5_f64.powf(f64::from(step.index()) / self.halve);
            *length = if step.index() > self.noise { bytes / self.exact } else { bytes } as u32;
        }
        Ok(())
    }
}

/// Returns the blocks coded for a budget after a frame of [`BYTES`], in frames.
fn frames_coded(budget: usize) -> f64 {
    let (mut rate, mut model) = (RateControl::new(BLOCKS, 16), ALONE);
    rate.code(&mut model, Target::Bytes(BYTES)).unwrap();
    model.coded = 0;
    let first = rate.first_steps(Target::Bytes(budget))[0];
    let header = rate.code(&mut model, Target::Bytes(budget)).unwrap();
    assert!(first.index().abs_diff(header.step.index()) <= 1, "{first:?}, {header:?}");
    let mut fresh = RateControl::new(BLOCKS, 16);
    assert_eq!(header, fresh.code(&mut { ALONE }, Target::Bytes(budget)).unwrap(), "budget {budget}");
    model.coded as f64 / BLOCKS as f64
}

#[test]
fn another_budget_takes_little_more_than_one_pass() {
    for budget in [BYTES / 20, BYTES / 3, BYTES * 3 / 5, BYTES * 9 / 10, BYTES, BYTES * 11 / 10, BYTES * 3] {
        let frames = frames_coded(budget);
        assert!(frames < 1.5, "{frames} frames were coded for {budget} bytes");
    }
}

/// Motion that begins, a scene that changes, a prediction that is exact: bytes fall slowly over the steps, or all at once.
#[test]
fn a_frame_unlike_the_one_before_takes_few_passes() {
    let mut passes = Vec::new();
    for halve in [1.5, 3.0, 7.0, 14.0] {
        for times in [0.01, 0.1, 0.5, 0.9, 1.2, 2.0, 10.0, 100.0] {
            for (noise, exact) in [(0, 1.0), (38, 1.0), (38, 10.0), (38, 1e3), (45, 100.0), (60, 100.0)] {
                let (mut rate, mut model) = (RateControl::new(BLOCKS, 16), ALONE);
                let before = rate.code(&mut model, Target::Bytes(BYTES)).unwrap();
                // As many bytes at the step of the frame before as that one had, so many times.
                let times = times * 0.5_f64.powf(f64::from(before.step.index()) * (1.0 / 7.0 - 1.0 / halve));
                model = Model { coded: 0, halve, times, noise, exact };
                let mut fresh = RateControl::new(BLOCKS, 16);
                let header = rate.code(&mut model, Target::Bytes(BYTES)).unwrap();
                let frames = model.coded as f64 / BLOCKS as f64;
                assert_eq!(
                    header,
                    fresh.code(&mut { model }, Target::Bytes(BYTES)).unwrap(),
                    "{halve} {times} {noise} {exact}"
                );
                passes.push(frames);
            }
        }
    }
    let (most, mean) = (passes.iter().copied().fold(0.0, f64::max), passes.iter().sum::<f64>() / passes.len() as f64);
    assert!(most < 10.0 && mean < 5.1, "{most} frames were coded, {mean} on average");
}
