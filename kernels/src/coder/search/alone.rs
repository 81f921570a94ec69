//! Units each on its own, row by row, with the vectors beside and above and the last frame's.
//!
//! With low effort a vector that is nearly as good as those beside and above is looked around only a little, as in Tourapis,
//! "Enhanced predictive zonal search for single and multiple frame motion estimation" (VCIP 2002), and differences are those
//! of every other row.

use std::ops::Range;

use rayon::prelude::*;

use super::coarse::Coarse;
use super::sums::start;
use super::{Effort, Search, add, neighbour};
use crate::cpu::motion::square::{difference_16, difference_32, difference_of_half_32};
use crate::motion::field::{Field, Motion, UNIT, UNIT_CELLS, median};
use crate::motion::overlap::one;
use crate::motion::search::{NEIGHBOUR_STRIDE, PARTS, STRIDE};

/// Offset at which the search around a vector begins that is good enough, quarters of a sample.
const ENOUGH_STRIDE: i32 = 1;
/// Units after which the clock is looked at.
const LOOK_UNITS: usize = 16;
/// Cost of a vector that is good enough, in eighths of the least of those beside and above.
const ENOUGH_EIGHTHS: u64 = 9;

const THEREABOUTS: [[i32; 2]; 3] = [[0, 0], [1, 0], [0, 1]];
const AROUND: [[i32; 2]; 9] = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, 1], [1, -1], [-1, -1]];

/// A vector and its cost.
type Found = ([i32; 2], u64);

/// State in which a unit begins.
#[derive(Clone, Copy)]
enum Begin<'a> {
    /// The vectors of the last frame, and a search over the picture.
    Last(Option<&'a Field>, Option<&'a [Coarse; 2]>),
    /// Those found before.
    Again(&'a Field),
}

impl Search<'_> {
    /// Gives each unit a vector.
    pub(super) fn search_alone(&self, field: &mut Field, last: Option<&Field>, coarse: Option<&[Coarse; 2]>) {
        self.units_alone(field, Begin::Last(last, coarse));
        if (self.effort > Effort::Low || self.effort == Effort::Low && last.is_none()) && !(self.is_late)() {
            // What one unit has found helps those above and to the left of it, too.
            let found = field.clone();
            self.units_alone(field, Begin::Again(&found));
        }
    }

    fn units_alone(&self, field: &mut Field, begin: Begin<'_>) {
        let (layout, [columns, rows]) = (*field.layout(), field.units());
        let search = |slice| {
            let blocks = layout.rows_of(slice);
            self.slice_alone(2 * blocks.start..(2 * blocks.end).min(rows), [columns, rows], begin)
        };
        let found: Vec<_> = (0..layout.slices()).into_par_iter().flat_map_iter(search).collect();
        for (at, (vector, _)) in found.into_iter().enumerate() {
            let (x, y) = (at % columns, at / columns);
            field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, Motion::vector(vector[0], vector[1]));
        }
    }

    /// Returns the vectors of rows of units, each with its cost.
    fn slice_alone(&self, rows: Range<usize>, [columns, all_rows]: [usize; 2], begin: Begin<'_>) -> Vec<Found> {
        let mut found = Vec::<Found>::with_capacity(rows.len() * columns);
        let mut own = Vec::with_capacity(16);
        let (is_quick, is_near, mut is_late) = (self.effort <= Effort::Low, self.effort == Effort::Near, false);
        let (last, steps) = match begin {
            Begin::Last(last, _) => (last, &THEREABOUTS[..]),
            Begin::Again(found) => (Some(found), &AROUND[..]),
        };
        for (y, x) in rows.clone().flat_map(|y| (0..columns).map(move |x| (y, x))) {
            let at = found.len();
            let others = (y > rows.start).then(|| {
                // The unit above, and the next one to its right, or left at the end of a row.
                let up = at - columns;
                [found[up], if x + 1 < columns { found[up + 1] } else { found[up - usize::from(x > 0)] }]
            });
            let left = if x > 0 { found[at - 1] } else { ([0, 0], u64::MAX) };
            let (expected, least_beside) = expected(left, others);
            let enough = if is_quick && at > 0 { (least_beside / 8).saturating_mul(ENOUGH_EIGHTHS) } else { 0 };
            own.clear();
            [expected.0, [0, 0], left.0].into_iter().for_each(|candidate| add(&mut own, candidate));
            others.into_iter().flatten().for_each(|(candidate, _)| add(&mut own, candidate));
            for &step in steps {
                if let Some(motion) = last.and_then(|last| neighbour(last, x, y, step)) {
                    add(&mut own, motion.components());
                }
            }
            // Some clocks take as long as a vector.
            if x % LOOK_UNITS == 0 {
                is_late = (self.is_late)();
            }
            if let (Begin::Last(_, Some([source, reference])), false) = (begin, is_late) {
                add(&mut own, source.search(reference, x, y));
            }
            let costs = self.costs.beside(expected, UNIT_CELLS);
            // A window is a square four times as large as the unit; where much of it lies outside, the unit itself counts.
            let is_outermost = x == 0 || y == 0 || x + 1 == columns || y + 1 == all_rows;
            let cost = |vector, least: u64| {
                let bits = self.bits(costs.of_vector(vector));
                let most = |worth: u64| u32::try_from(least.saturating_sub(bits) / worth).unwrap_or(u32::MAX);
                let difference = match is_outermost {
                    true => self.difference_of_unit([x, y], vector, most(PARTS)),
                    false if is_quick => self.difference_of_half([x, y], vector, most(PARTS / 2)),
                    false => self.difference_of_window([x, y], vector, most(PARTS / 4)),
                };
                difference + bits
            };
            found.push(match begin {
                Begin::Last(..) => self.best(cost, &own, |least| match least {
                    _ if is_late => 0,
                    least if is_near => {
                        if least <= enough {
                            0
                        } else {
                            NEIGHBOUR_STRIDE
                        }
                    }
                    least if least <= enough => ENOUGH_STRIDE,
                    _ => STRIDE,
                }),
                Begin::Again(before) if is_late => (one(before.unit(x, y)).components(), u64::MAX),
                Begin::Again(before) => {
                    let best = self.best(cost, &own, |_| 0);
                    let is_new = best.0 != one(before.unit(x, y)).components();
                    if is_new { self.best(cost, &[best.0], |_| NEIGHBOUR_STRIDE) } else { best }
                }
            });
        }
        found
    }

    /// Returns what a unit differs from its prediction by this vector, in [`PARTS`]; `most`: a sum of samples that is enough to know.
    #[inline(always)]
    pub(super) fn difference_of_unit(&self, [x, y]: [usize; 2], vector: [i32; 2], most: u32) -> u64 {
        let [left, top] = [x, y].map(|at| (UNIT * at) as i32);
        let (source, taps) = (self.source.from(left, top), self.taps(left, top, vector));
        u64::from(difference_16(source, self.source.pitch, taps, most)) * PARTS
    }

    /// Returns the same of its window, by every other row.
    #[inline(always)]
    pub(super) fn difference_of_half(&self, [x, y]: [usize; 2], vector: [i32; 2], most: u32) -> u64 {
        let (source, taps) = (self.source.from(start(x), start(y)), self.taps(start(x), start(y), vector));
        u64::from(difference_of_half_32(source, self.source.pitch, taps, most)) * (PARTS / 2)
    }

    /// Returns the same of its window.
    #[inline(always)]
    pub(super) fn difference_of_window(&self, [x, y]: [usize; 2], vector: [i32; 2], most: u32) -> u64 {
        let (source, taps) = (self.source.from(start(x), start(y)), self.taps(start(x), start(y), vector));
        u64::from(difference_32(source, self.source.pitch, taps, most)) * (PARTS / 4)
    }
}

/// Returns what is expected of a unit beside `left` and below the two `others`, if there are some, and the least of their costs.
#[inline(always)]
fn expected(left: Found, others: Option<[Found; 2]>) -> (([i32; 2], usize), u64) {
    match others {
        Some([up, other]) => (median(left.0, up.0, other.0), left.1.min(up.1).min(other.1)),
        None => ((left.0, 0), left.1),
    }
}
