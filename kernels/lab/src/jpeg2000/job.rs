//! Code-blocks on their way from the square to their bytes.

use kernels::parts::Values;

use super::geometry::{BandPlace, BlockPlace};
use super::ht;
use super::tier1::{self, CodedBlock, FRACTION_BITS};

/// Units of a band's coefficients.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Our coefficient over the standard's.
    pub(super) ratio: f64,
    /// Length in the picture of one of the standard's coefficients.
    pub(super) length: f64,
    /// The quantiser's step.
    pub(super) step: f64,
}

impl Scale {
    /// Returns the squared error in the picture of one squared quantiser step.
    pub(super) fn weight(self) -> f64 {
        (self.step * self.length).powi(2)
    }
}

/// A code-block, and how its coefficients count.
pub(super) struct Job {
    pub(super) component: usize,
    pub(super) band: BandPlace,
    pub(super) place: BlockPlace,
    /// Its first coefficient in the square, and the square's side.
    pub(super) start: usize,
    pub(super) side: usize,
    pub(super) scale: Scale,
}

/// A coefficient's sign.
const NEGATIVE: u32 = 1 << 31;

impl Job {
    /// Codes the block; returns its energy in squared quantiser steps, too, which a block of high throughput does not need.
    pub(super) fn code(&self, squares: &Values, is_high_throughput: bool) -> (CodedBlock, f64) {
        let inverse = 1.0 / (self.scale.step * self.scale.ratio);
        if is_high_throughput {
            let whole = |value: i32| value.unsigned_abs() | (value as u32 & NEGATIVE);
            let scale = inverse as f32;
            let rounded = |value: f32| ((value.abs() * scale) as u32).min(i32::MAX as u32) | value.to_bits() & NEGATIVE;
            let values = match squares {
                Values::I32(squares) => self.columns(&squares[self.component], whole),
                Values::F32(squares) => self.columns(&squares[self.component], rounded),
                Values::F64(_) => Vec::new(),
            };
            let all = values.iter().fold(0, |all, value| all | value) & !NEGATIVE;
            if all == 0 {
                return (CodedBlock::default(), 0.0);
            }
            let bytes = ht::encode(&values, self.place.height);
            return (CodedBlock::of_one_pass((u32::BITS - all.leading_zeros()) as u8, bytes), 0.0);
        }
        let BlockPlace { width, height, .. } = self.place;
        let mut values = vec![0_u32; width * height];
        match squares {
            Values::I32(squares) => {
                turn(&squares[self.component][self.start..], self.side, &mut values, width, |value: i32| {
                    value.unsigned_abs() << FRACTION_BITS | u32::from(value < 0) << 31
                });
            }
            Values::F32(squares) => {
                let scale = (inverse * f64::from(1 << FRACTION_BITS)) as f32;
                turn(&squares[self.component][self.start..], self.side, &mut values, width, |value: f32| {
                    ((value.abs() * scale) as u32).min(i32::MAX as u32) | u32::from(value < 0.0) << 31
                });
            }
            Values::F64(_) => {}
        }
        let unit = f64::from(1 << FRACTION_BITS);
        let energy = values.iter().map(|value| (f64::from(value & !NEGATIVE) / unit).powi(2)).sum();
        (tier1::encode(&values, width, self.band.band), energy)
    }

    /// Returns the block column by column, as it lies in the square.
    fn columns<T: Copy>(&self, square: &[T], value: impl Fn(T) -> u32) -> Vec<u32> {
        let BlockPlace { width, height, .. } = self.place;
        let mut values = Vec::with_capacity(width * height);
        for column in square[self.start..].chunks(self.side).take(width) {
            values.extend(column[..height].iter().map(|&from| value(from)));
        }
        values
    }
}

/// Copies rows of a block that are columns of a square from row to row of `side`.
fn turn<T: Copy>(square: &[T], side: usize, out: &mut [u32], width: usize, value: impl Fn(T) -> u32) {
    let height = out.len() / width.max(1);
    for x in 0..width {
        let column = &square[x * side..x * side + height];
        column.iter().enumerate().for_each(|(y, &from)| out[y * width + x] = value(from));
    }
}
