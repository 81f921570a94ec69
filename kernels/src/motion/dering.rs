//! The filter in the loop: which squares of a predicted frame are smoothed, and how strongly, before the frame is shown and
//! referred to.

use picture::frame::FrameSize;
use picture::vectors::VectorLayout;

/// Strengths that a slice may have, one for all of its squares: the difference from which on a neighbour counts for nothing.
pub(crate) const STRENGTHS: [u8; 4] = [4, 8, 14, 22];
/// Bits of the index of a strength.
pub(crate) const STRENGTH_BITS: u32 = STRENGTHS.len().ilog2();
/// Neighbours of a sample, to the right and below, and how much each of them counts: of 32, all together.
pub(crate) const TAPS: [([i32; 2], u8); 20] = {
    let (near, diagonal, far) = (3, 2, 1);
    [
        ([-1, 0], near),
        ([1, 0], near),
        ([0, -1], near),
        ([0, 1], near),
        ([-1, -1], diagonal),
        ([1, -1], diagonal),
        ([-1, 1], diagonal),
        ([1, 1], diagonal),
        ([-2, -1], far),
        ([-2, 0], far),
        ([-2, 1], far),
        ([2, -1], far),
        ([2, 0], far),
        ([2, 1], far),
        ([-1, -2], far),
        ([0, -2], far),
        ([1, -2], far),
        ([-1, 2], far),
        ([0, 2], far),
        ([1, 2], far),
    ]
};
/// Samples around one that it is filtered with.
pub(crate) const REACH: usize = 2;
/// Binary digits of the sum behind the point.
pub(crate) const SUM_BITS: u32 = 6;

/// Rows of a square of which one counts for its gains.
pub(crate) const GAINS_STEP: usize = 2;

/// The squared error of a square with each strength, less that without, of the first row and every [`GAINS_STEP`]th one from it.
pub(crate) type Gains = [i32; STRENGTHS.len()];

/// The squares of a frame that are filtered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dering {
    columns: usize,
    /// Of each square, row by row: its strength, or 0.
    strengths: Vec<u8>,
}

impl Dering {
    /// Creates one that filters nothing of pictures of this size.
    pub(crate) fn none(size: FrameSize) -> Self {
        let layout = VectorLayout::new(size);
        Self { columns: layout.columns(), strengths: vec![0; layout.columns() * layout.rows()] }
    }

    /// Returns true if nothing is filtered.
    pub(crate) fn is_none(&self) -> bool {
        self.strengths.iter().all(|&strength| strength == 0)
    }

    /// Returns the strength of each square, row by row; 0 where nothing is filtered.
    pub(crate) fn strengths(&self) -> &[u8] {
        &self.strengths
    }

    /// Returns the strengths of row `y` of squares.
    pub(crate) fn row(&self, y: usize) -> &[u8] {
        &self.strengths[y * self.columns..][..self.columns]
    }

    /// Returns the strength of square (x, y).
    pub(crate) fn at(&self, x: usize, y: usize) -> u8 {
        self.row(y)[x]
    }

    /// Gives square (x, y) this strength.
    pub(crate) fn set(&mut self, x: usize, y: usize, strength: u8) {
        self.strengths[y * self.columns + x] = strength;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns any squares, with any strength for each slice; every fourth filters nothing.
    pub(crate) fn any_dering(size: FrameSize, seed: u64) -> Dering {
        let (layout, mut dering) = (VectorLayout::new(size), Dering::none(size));
        for (x, y) in (0..layout.rows()).flat_map(|y| (0..layout.columns()).map(move |x| (x, y))) {
            let of_slice = layout.slice_of(y) as u64 + seed;
            let of_square = (seed + (x + 31 * y) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
            if !of_slice.is_multiple_of(4) && of_square > 2 {
                dering.set(x, y, STRENGTHS[of_slice as usize % STRENGTHS.len()]);
            }
        }
        dering
    }
}
