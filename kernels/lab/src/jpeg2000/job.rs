//! Code-blocks on their way from coefficients to their bytes.

use super::block::ht;
use super::block::tier1::{self, CodedBlock, FRACTION_BITS};
use super::geometry::{BandPlace, BlockPlace};

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

    /// Returns the quantised magnitude with so many binary digits over our coefficient.
    pub(super) fn inverse(self, digits: u32) -> f32 {
        (f64::from(1_u32 << digits) / (self.step * self.ratio)) as f32
    }
}

/// A code-block, and how its coefficients count.
pub(super) struct Job {
    pub(super) component: usize,
    pub(super) band: BandPlace,
    pub(super) place: BlockPlace,
    /// Column and row of its first coefficient among its component's, which lie on their side, and how far apart their rows are.
    pub(super) corner: (usize, usize),
    pub(super) pitch: usize,
    pub(super) scale: Scale,
}

/// A coefficient's sign.
const NEGATIVE: u32 = 1 << 31;

/// Memory that one block after another uses.
#[derive(Default)]
pub(super) struct JobScratch {
    /// A block column by column.
    pub(super) columns: Vec<u32>,
    rows: Vec<u32>,
    ht: ht::QuadScratch,
}

impl Job {
    /// Codes the block in `scratch`; returns its energy in squared quantiser steps, too, which a block of high throughput does not
    /// need.
    pub(super) fn code(&self, scratch: &mut JobScratch, is_high_throughput: bool) -> (CodedBlock, f64) {
        let JobScratch { columns, rows, ht } = scratch;
        if is_high_throughput {
            let all = columns.iter().fold(0, |all, value| all | value) & !NEGATIVE;
            if all == 0 {
                return (CodedBlock::default(), 0.0);
            }
            let bytes = ht::encode(columns, self.place.height, ht);
            return (CodedBlock::of_one_pass((u32::BITS - all.leading_zeros()) as u8, bytes), 0.0);
        }
        let BlockPlace { width, height, .. } = self.place;
        rows.resize(width * height, 0);
        for (x, column) in columns.chunks_exact(height.max(1)).enumerate() {
            column.iter().enumerate().for_each(|(y, value)| rows[y * width + x] = *value);
        }
        let unit = f64::from(1 << FRACTION_BITS);
        let energy = rows.iter().map(|value| (f64::from(value & !NEGATIVE) / unit).powi(2)).sum();
        (tier1::encode(rows, width, self.band.band), energy)
    }
}
