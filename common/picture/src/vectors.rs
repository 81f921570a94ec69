//! Layout of a predicted frame's motion vectors: blocks of 32 x 32 samples of luma, row by row, in slices of whole rows
//! of blocks. A slice decodes with nothing but its own bytes.

use std::ops::Range;

use crate::frame::FrameSize;

/// Side of a block, samples of luma.
pub const VECTOR_BLOCK: usize = 32;

/// Most blocks of a slice that has more than one row.
const SLICE_BLOCKS: usize = 256;
const _: () = assert!(VECTOR_BLOCK.is_power_of_two());

/// The blocks and slices of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorLayout {
    columns: usize,
    rows: usize,
    rows_per_slice: usize,
}

impl VectorLayout {
    /// Returns the layout for pictures of this size.
    pub fn new(size: FrameSize) -> Self {
        let (columns, rows) = (size.width().div_ceil(VECTOR_BLOCK), size.height().div_ceil(VECTOR_BLOCK));
        Self { columns, rows, rows_per_slice: (SLICE_BLOCKS / columns).max(1) }
    }

    /// Columns of blocks.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of rows of blocks.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of slices.
    pub fn slices(&self) -> usize {
        self.rows.div_ceil(self.rows_per_slice)
    }

    /// Returns the rows of blocks of a slice.
    pub fn rows_of(&self, slice: usize) -> Range<usize> {
        let start = slice * self.rows_per_slice;
        start.min(self.rows)..(start + self.rows_per_slice).min(self.rows)
    }

    /// Returns the slice that a row of blocks belongs to.
    pub fn slice_of(&self, row: usize) -> usize {
        row / self.rows_per_slice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_blocks_is_in_one_slice() {
        for (width, height, slices) in [(1, 1, 1), (352, 288, 1), (1280, 720, 4), (1920, 1080, 9), (16384, 100, 4)] {
            let layout = VectorLayout::new(FrameSize::new(width, height).unwrap());
            assert_eq!(layout.slices(), slices, "{width} x {height}");
            let rows: Vec<_> = (0..slices).flat_map(|slice| layout.rows_of(slice)).collect();
            assert_eq!(rows, (0..layout.rows()).collect::<Vec<_>>());
            assert!((0..slices).all(|slice| layout.rows_of(slice).all(|row| layout.slice_of(row) == slice)));
        }
    }
}
