//! The three passes over a bit plane, the same for the encoder and the decoder.

use super::contexts::{Flags, NEIGHBOURS, REFINED, SIGNIFICANT, VISITED, refinement_of, sign_of, significance_of};
use crate::jpeg2000::geometry::Subband;

/// Rows that are scanned column by column.
const STRIPE: usize = 4;

/// The side that knows the coefficients, or learns them. `at` is the index of a coefficient in its block.
pub(super) trait Side {
    /// Tells whether a coefficient becomes significant.
    fn significance(&mut self, at: usize, context: u8) -> bool;

    /// Tells whether a coefficient that has become significant is negative; `flips`: the decision is the opposite.
    fn sign(&mut self, at: usize, context: u8, flips: bool) -> bool;

    /// Codes the next bit of a significant coefficient.
    fn refine(&mut self, at: usize, context: u8);

    /// Tells which of four coefficients, `stride` apart, is the first to become significant.
    fn run(&mut self, at: usize, stride: usize) -> Option<usize>;
}

/// A block on its way through its planes.
pub(super) struct Block {
    width: usize,
    height: usize,
    flags: Flags,
    significance: &'static [u8; 256],
    is_causal: bool,
}

impl Block {
    pub(super) fn new(width: usize, height: usize, band: Subband, is_causal: bool) -> Self {
        let (flags, significance) = (Flags::new(width, height), significance_of(band));
        Self { width, height, flags, significance, is_causal }
    }

    fn flags_at(&self, place: usize, y: usize) -> u16 {
        if self.is_causal && y % STRIPE == STRIPE - 1 { self.flags.get_causal(place) } else { self.flags.get(place) }
    }

    /// Calls `code` with the column and rows of each column of a stripe.
    fn scan(&mut self, mut code: impl FnMut(&mut Self, usize, std::ops::Range<usize>)) {
        for top in (0..self.height).step_by(STRIPE) {
            let rows = top..(top + STRIPE).min(self.height);
            for x in 0..self.width {
                code(self, x, rows.clone());
            }
        }
    }

    fn become_significant(&mut self, side: &mut impl Side, (at, place, y): (usize, usize, usize)) {
        let (context, flips) = sign_of(self.flags_at(place, y));
        let is_negative = side.sign(at, context, flips);
        self.flags.set_significant(place, is_negative);
    }

    /// The first pass: coefficients with significant neighbours.
    pub(super) fn propagate(&mut self, side: &mut impl Side) {
        self.scan(|block, x, rows| {
            let (mut place, mut at) = (block.flags.place(x, rows.start), rows.start * block.width + x);
            for y in rows {
                let flags = block.flags_at(place, y);
                if flags & SIGNIFICANT == 0 && flags & NEIGHBOURS != 0 {
                    block.flags.set(place, VISITED);
                    if side.significance(at, block.significance[usize::from(flags & NEIGHBOURS)]) {
                        block.become_significant(side, (at, place, y));
                    }
                }
                (place, at) = (place + block.flags.stride, at + block.width);
            }
        });
    }

    /// The second pass: coefficients that were significant before the plane.
    pub(super) fn refine(&mut self, side: &mut impl Side) {
        self.scan(|block, x, rows| {
            let (mut place, mut at) = (block.flags.place(x, rows.start), rows.start * block.width + x);
            for y in rows {
                let flags = block.flags_at(place, y);
                if flags & (SIGNIFICANT | VISITED) == SIGNIFICANT {
                    side.refine(at, refinement_of(flags));
                    block.flags.set(place, REFINED);
                }
                (place, at) = (place + block.flags.stride, at + block.width);
            }
        });
    }

    /// The third pass: all others, of which four without significant neighbours are one decision.
    pub(super) fn clean(&mut self, side: &mut impl Side) {
        self.scan(|block, x, rows| {
            let stride = block.flags.stride;
            let (top, first) = (block.flags.place(x, rows.start), rows.start * block.width + x);
            let (height, width) = (rows.len(), block.width);
            let mut rows = rows.map(|y| (y, top + (y % STRIPE) * stride, first + (y % STRIPE) * width));
            let is_quiet = |(y, place, _)| block.flags_at(place, y) & (NEIGHBOURS | SIGNIFICANT | VISITED) == 0;
            if rows.len() == STRIPE && rows.clone().all(is_quiet) {
                let Some(run) = side.run(first, block.width) else { return };
                if let Some((y, place, at)) = rows.nth(run) {
                    block.become_significant(side, (at, place, y));
                }
            }
            for (y, place, at) in rows {
                let flags = block.flags_at(place, y);
                if flags & (SIGNIFICANT | VISITED) == 0
                    && side.significance(at, block.significance[usize::from(flags & NEIGHBOURS)])
                {
                    block.become_significant(side, (at, place, y));
                }
            }
            (0..height).for_each(|row| block.flags.clear(top + row * stride, VISITED));
        });
    }
}
