//! The weighted sums of a frame's windows while they are chosen.

use picture::frame::FrameSize;
use rayon::prelude::*;

use crate::Picture;
use crate::cpu::motion::overlap::round_sums;
use crate::motion::field::{Field, UNIT, WINDOW};
use crate::motion::overlap::{WEIGHT, rising};

/// Side of the square that the windows of a block's units cover.
pub(super) const SQUARE: usize = 3 * UNIT;

/// Rows of samples that a thread takes at least.
const ROWS_PER_TASK: usize = 32;

/// The weights of a unit's window along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile(pub(super) [u16; WINDOW]);

/// The sums of a frame, with a border of half a unit. They are made once for all frames: memory that each frame takes from the
/// system, and reads before it writes, costs a message to every other processor for each of its pages.
pub(crate) struct Overlapped {
    /// Samples in a row.
    pub(super) pitch: usize,
    /// Row after row; [`WEIGHT`] squared times a sample where all units are in.
    pub(super) sums: Vec<u16>,
    /// Weights by column and by row of units.
    pub(super) across: Vec<Profile>,
    pub(super) down: Vec<Profile>,
}

/// The rows of sums of a row of units or blocks.
pub(super) struct Rows<'a> {
    pub(super) sums: &'a mut [u16],
    pub(super) pitch: usize,
}

/// Of units along an axis; the outermost ones reach beyond the picture.
fn profiles(units: usize) -> Vec<Profile> {
    let weight = |unit: usize, at: usize| match at.checked_sub(UNIT) {
        None if unit == 0 => WEIGHT,
        None => rising(at, UNIT),
        Some(_) if unit + 1 == units => WEIGHT,
        Some(at) => WEIGHT - rising(at, UNIT),
    };
    (0..units).map(|unit| Profile(std::array::from_fn(|at| weight(unit, at)))).collect()
}

/// The weights of a block of `units` units that all have one motion.
pub(super) fn joined(units: &[Profile]) -> [u16; SQUARE] {
    let mut sums = [0; SQUARE];
    for (at, unit) in units.iter().enumerate() {
        for (sum, weight) in sums[UNIT * at..].iter_mut().zip(unit.0) {
            *sum += weight;
        }
    }
    sums
}

impl Overlapped {
    /// Of pictures of this size, without any window.
    pub(crate) fn new(size: FrameSize) -> Self {
        let field = Field::new(size);
        let ([columns, rows], layout) = (field.units(), field.layout());
        let [width, height] = [layout.columns(), layout.rows()].map(|blocks| 2 * UNIT * blocks + UNIT);
        Self { pitch: width, sums: vec![0; width * height], across: profiles(columns), down: profiles(rows) }
    }

    /// Writes the luma that the sums of a picture's units predict.
    pub(crate) fn luma(&self, out: &mut Picture) {
        let size = out.size();
        let rows = out.data_mut()[..size.pixels()].par_chunks_mut(size.width());
        rows.enumerate().with_min_len(ROWS_PER_TASK).for_each(|(y, row)| {
            let from = (y + UNIT / 2) * self.pitch + UNIT / 2;
            round_sums(row, &self.sums[from..][..size.width()]);
        });
    }

    /// The rows of every other row of parts, from number `first` on: parts of `side` samples whose windows have half a unit more on
    /// each side.
    pub(super) fn every_other(
        &mut self,
        first: usize,
        side: usize,
    ) -> impl IndexedParallelIterator<Item = (usize, Rows<'_>)> {
        let pitch = self.pitch;
        let from = (first * side * pitch).min(self.sums.len());
        let rows = self.sums[from..].par_chunks_mut(2 * side * pitch).enumerate();
        rows.map(move |(at, sums)| (first + 2 * at, Rows { sums, pitch }))
    }
}

impl Rows<'_> {
    /// The sums of the window of unit or block of `side` samples in column `x`, rows [`Self::pitch`] apart.
    pub(super) fn at(&mut self, x: usize, side: usize) -> &mut [u16] {
        &mut self.sums[side * x..]
    }
}

/// The first sample of the window of a unit, along an axis.
pub(super) fn start(unit: usize) -> i32 {
    (UNIT * unit) as i32 - (UNIT / 2) as i32
}
