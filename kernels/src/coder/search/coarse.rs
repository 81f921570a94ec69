//! Search over the whole picture, on the means of its squares: where vectors begin after a cut.

use picture::frame::FrameSize;
use picture::pyramid::Rect;
use rayon::prelude::*;

use crate::cpu::motion::overlap::difference;
use crate::motion::field::{UNIT, WINDOW};
use crate::motion::overlap::mean;

/// Side of the squares.
const COARSE: usize = 4;
/// Reach of the search, squares.
const COARSE_RANGE: i32 = 12;

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
        // Unit and overlap are as large as a window.
        let side = (WINDOW / COARSE) as i32;
        let middle = |at: usize| (at * UNIT / COARSE) as i32 - side / 4;
        let (left, top) = (middle(x), middle(y));
        let at = |coarse: &Self, x: i32, y: i32| {
            let (x, y) = (x.clamp(0, coarse.columns as i32 - 1), y.clamp(0, coarse.rows as i32 - 1));
            coarse.means[y as usize * coarse.columns + x as usize]
        };
        // The part of the reference that any vector may need, once.
        let reach = (side + 2 * COARSE_RANGE) as usize;
        let mut room = vec![0; reach * reach];
        for (row, y) in room.chunks_mut(reach).zip(top - COARSE_RANGE..) {
            for (to, x) in row.iter_mut().zip(left - COARSE_RANGE..) {
                *to = at(reference, x, y);
            }
        }
        let side = side as usize;
        let mut own = vec![0; side * side];
        for (row, y) in own.chunks_mut(side).zip(top..) {
            for (to, x) in row.iter_mut().zip(left..) {
                *to = at(self, x, y);
            }
        }
        let rect = Rect { x: 0, y: 0, width: side, height: side };
        let vectors =
            (-COARSE_RANGE..=COARSE_RANGE).flat_map(|dy| (-COARSE_RANGE..=COARSE_RANGE).map(move |dx| [dx, dy]));
        let cost = |[dx, dy]: [i32; 2]| {
            let from = (dy + COARSE_RANGE) as usize * reach + (dx + COARSE_RANGE) as usize;
            (difference(&own, side, &room[from..], reach, rect) + dx.unsigned_abs() + dy.unsigned_abs(), [dx, dy])
        };
        let quarters = 4 * COARSE as i32;
        vectors.map(cost).min().map_or([0, 0], |(_, [dx, dy])| [quarters * dx, quarters * dy])
    }
}
