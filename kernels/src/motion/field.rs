//! The vectors of a frame: blocks of 32 x 32 samples of luma, split into units of 16 x 16 and these into cells of 8 x 8.

use picture::frame::FrameSize;
use picture::vectors::{VECTOR_BLOCK, VectorLayout};

/// Side of a unit, whose window is what overlaps, samples of luma.
pub(crate) const UNIT: usize = 16;
/// Side of a cell, the smallest part with a vector of its own, samples of luma.
pub(crate) const CELL: usize = 8;
/// Samples of the largest window along an axis, and from one row to the next of any.
pub(crate) const WINDOW: usize = 2 * UNIT;
/// The weights of the cells of a unit add up to this.
pub(crate) const CELL_WEIGHT: u8 = 8;
/// Cells in a row of a block.
pub(crate) const BLOCK_CELLS: usize = VECTOR_BLOCK / CELL;
/// Cells in a row of a unit.
pub(crate) const UNIT_CELLS: usize = UNIT / CELL;
const _: () = assert!(UNIT.is_multiple_of(CELL) && VECTOR_BLOCK.is_multiple_of(UNIT));
/// Largest component of a vector, quarters of a sample.
pub(crate) const VECTOR_MAX: i16 = 2047;

/// Taps of the filter for samples half way between two: those of four samples on one side, the nearest one last. They add up
/// to 32.
pub(crate) const HALF_TAPS: [i32; 4] = [-1, 4, -11, 40];

/// The source of a part's prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// From the reference, so many quarters of a sample of luma to the right and below; each at most [`VECTOR_MAX`] either way.
    Vector {
        /// To the right.
        x: i16,
        /// Below.
        y: i16,
    },
    /// From nothing: one sample of each channel, as [`Motion::flat`] rounds it.
    Flat([u8; 3]),
}

impl Motion {
    /// From the same place of the reference.
    pub(crate) const ZERO: Self = Self::Vector { x: 0, y: 0 };

    /// Returns the vector, cut to [`VECTOR_MAX`].
    pub(crate) fn vector(x: i32, y: i32) -> Self {
        let cut = |value: i32| value.clamp(-i32::from(VECTOR_MAX), VECTOR_MAX.into()) as i16;
        Self::Vector { x: cut(x), y: cut(y) }
    }

    /// Returns samples rounded to those that are coded: luma to the middle of 4 values, chroma to that of 8.
    pub(crate) fn flat([y, cb, cr]: [u8; 3]) -> Self {
        Self::Flat([y & !3 | 2, cb & !7 | 4, cr & !7 | 4])
    }

    /// Returns the vector's components; those of what has none are 0.
    pub(crate) fn components(self) -> [i32; 2] {
        match self {
            Self::Vector { x, y } => [x.into(), y.into()],
            Self::Flat(_) => [0, 0],
        }
    }

    pub(crate) fn is_flat(self) -> bool {
        matches!(self, Self::Flat(_))
    }
}

/// The vectors of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    layout: VectorLayout,
    /// Units that lie at least in part in the picture: columns and rows.
    units: [usize; 2],
    /// Of each block, whether it is one part.
    whole: Vec<bool>,
    /// Of each unit, whether it is four cells; also of units outside the picture, which are not.
    quartered: Vec<bool>,
    cells: Vec<Motion>,
}

impl Field {
    /// Creates whole blocks that do not move, of pictures of this size.
    pub(crate) fn new(size: FrameSize) -> Self {
        let layout = VectorLayout::new(size);
        let blocks = layout.columns() * layout.rows();
        Self {
            layout,
            units: [size.width().div_ceil(UNIT), size.height().div_ceil(UNIT)],
            whole: vec![true; blocks],
            quartered: vec![false; 4 * blocks],
            cells: vec![Motion::ZERO; BLOCK_CELLS * BLOCK_CELLS * blocks],
        }
    }

    /// Returns one of these whole blocks, quartered units of all blocks, and motions of their cells, row by row.
    pub(crate) fn of(size: FrameSize, [whole, quartered]: [Vec<bool>; 2], cells: Vec<Motion>) -> Self {
        let field = Self::new(size);
        let lengths = [whole.len(), quartered.len(), cells.len()];
        debug_assert_eq!(lengths, [field.whole.len(), field.quartered.len(), field.cells.len()], "of this size");
        Self { whole, quartered, cells, ..field }
    }

    /// Returns its blocks and slices.
    pub(crate) fn layout(&self) -> &VectorLayout {
        &self.layout
    }

    /// Columns and rows of units that lie at least in part in the picture.
    pub(crate) fn units(&self) -> [usize; 2] {
        self.units
    }

    /// Returns true if the unit (x, y) is in the picture.
    pub(crate) fn has_unit(&self, x: usize, y: usize) -> bool {
        x < self.units[0] && y < self.units[1]
    }

    /// Columns of cells.
    pub(crate) fn cell_columns(&self) -> usize {
        BLOCK_CELLS * self.layout.columns()
    }

    /// Returns the motion of cell (x, y).
    pub(crate) fn cell(&self, x: usize, y: usize) -> Motion {
        self.cells[y * self.cell_columns() + x]
    }

    /// Gives all cells of a square of `side` cells from (x, y) on the same motion.
    pub(crate) fn fill(&mut self, x: usize, y: usize, side: usize, motion: Motion) {
        let columns = self.cell_columns();
        for row in self.cells[y * columns..].chunks_mut(columns).take(side) {
            row[x..x + side].fill(motion);
        }
    }

    /// Returns true if block (x, y) is one part.
    pub(crate) fn is_whole(&self, x: usize, y: usize) -> bool {
        self.whole[y * self.layout.columns() + x]
    }

    pub(crate) fn set_whole(&mut self, x: usize, y: usize, whole: bool) {
        let at = y * self.layout.columns() + x;
        self.whole[at] = whole;
    }

    /// Returns true if unit (x, y) is four cells.
    pub(crate) fn is_quartered(&self, x: usize, y: usize) -> bool {
        self.quartered[y * 2 * self.layout.columns() + x]
    }

    pub(crate) fn set_quartered(&mut self, x: usize, y: usize, quartered: bool) {
        let at = y * 2 * self.layout.columns() + x;
        self.quartered[at] = quartered;
    }

    /// Returns the motions of the cells of unit (x, y), row by row: all the same unless it is quartered.
    pub(crate) fn unit(&self, x: usize, y: usize) -> Unit {
        let at = |dx, dy| self.cell(UNIT_CELLS * x + dx, UNIT_CELLS * y + dy);
        if self.is_quartered(x, y) { Unit::Four([at(0, 0), at(1, 0), at(0, 1), at(1, 1)]) } else { Unit::One(at(0, 0)) }
    }

    /// Returns the motion that the coder expects of the part of `side` cells at (x, y), and how much its neighbours
    /// differ: 0 not at all, 2 all of them.
    ///
    /// It is the median of the vectors to the left, above and above to the right, of which those count that lie in the slice
    /// and are coded before; where there is nothing above, the one to the left.
    pub(crate) fn expected(&self, x: usize, y: usize, side: usize) -> ([i32; 2], usize) {
        let slice = self.layout.slice_of(y / BLOCK_CELLS);
        let first = BLOCK_CELLS * self.layout.rows_of(slice).start;
        let left = x.checked_sub(1).map(|x| self.cell(x, y).components()).unwrap_or_default();
        let Some(above) = y.checked_sub(1).filter(|&above| above >= first) else { return (left, 0) };
        let up = self.cell(x, above).components();
        let right = x + side;
        let other = if right < self.cell_columns() && self.order(right, above) < self.order(x, y) {
            self.cell(right, above).components()
        } else {
            x.checked_sub(1).map(|x| self.cell(x, above).components()).unwrap_or_default()
        };
        median(left, up, other)
    }

    /// The place of a cell in the order of coding.
    fn order(&self, x: usize, y: usize) -> usize {
        let block = (y / BLOCK_CELLS) * self.layout.columns() + x / BLOCK_CELLS;
        let bit = |value: usize, bit: usize| value >> bit & 1;
        16 * block + 8 * bit(y, 1) + 4 * bit(x, 1) + 2 * bit(y, 0) + bit(x, 0)
    }
}

/// The median of three vectors, and how many of them differ: 0 none, 2 all.
pub(crate) fn median(left: [i32; 2], up: [i32; 2], other: [i32; 2]) -> ([i32; 2], usize) {
    let equal = [left == up, up == other, left == other].into_iter().filter(|&equal| equal).count();
    let middle = |[a, b, c]: [i32; 3]| a.max(b).min(a.min(b).max(c));
    let vector = [0, 1].map(|axis| middle([left[axis], up[axis], other[axis]]));
    (vector, [2, 1, 1, 0][equal])
}

/// The motion of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Of all of it.
    One(Motion),
    /// Of its cells, row by row.
    Four([Motion; 4]),
}
