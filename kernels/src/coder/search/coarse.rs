//! Search over the whole picture, on the means of its squares: where vectors begin after a cut.

use picture::frame::FrameSize;
use picture::pyramid::Rect;
use rayon::prelude::*;

use crate::cpu::motion::nearest::{PITCH, REACH, nearest};
use crate::motion::field::UNIT;
use crate::motion::overlap::mean;
use crate::motion::search::{COARSE, COARSE_RANGE as RANGE, COARSE_SIDE as SIDE};

/// Means of squares of luma.
pub(super) struct Coarse {
    columns: usize,
    rows: usize,
    means: Vec<u8>,
}

impl Coarse {
    /// Of a plane of luma.
    pub(super) fn new(plane: &[u8], size: FrameSize) -> Self {
        let (columns, rows) = (size.width().div_ceil(COARSE), size.height().div_ceil(COARSE));
        let square = |(y, x): (usize, usize)| {
            let (left, top) = (COARSE * x, COARSE * y);
            let (width, height) = (COARSE.min(size.width() - left), COARSE.min(size.height() - top));
            mean(plane, size.width(), Rect { x: left, y: top, width, height })
        };
        let places = (0..rows).into_par_iter().flat_map_iter(|y| (0..columns).map(move |x| (y, x)));
        Self { columns, rows, means: places.map(square).collect() }
    }

    /// The vector of unit (x, y) and as much around it that is best in `reference`, quarters of a sample.
    pub(super) fn search(&self, reference: &Self, x: usize, y: usize) -> [i32; 2] {
        let middle = |at: usize| (at * UNIT / COARSE) as i32 - SIDE as i32 / 4;
        let (left, top) = (middle(x), middle(y));
        let at = |coarse: &Self, x: i32, y: i32| {
            let (x, y) = (x.clamp(0, coarse.columns as i32 - 1), y.clamp(0, coarse.rows as i32 - 1));
            coarse.means[y as usize * coarse.columns + x as usize]
        };
        // The part of the reference that any vector may need, once.
        let mut room = [[0; PITCH]; REACH];
        for (row, y) in room.iter_mut().zip(top - RANGE..) {
            for (to, x) in row[..REACH].iter_mut().zip(left - RANGE..) {
                *to = at(reference, x, y);
            }
        }
        let mut own = [[0; SIDE]; SIDE];
        for (row, y) in own.iter_mut().zip(top..) {
            for (to, x) in row.iter_mut().zip(left..) {
                *to = at(self, x, y);
            }
        }
        nearest(&own, &room).map(|squares| 4 * COARSE as i32 * squares)
    }
}
