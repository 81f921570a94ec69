//! Units each on its own, all at once: the plain form of what devices do (`cl/motion/search_alone.cl`).

use super::coarse::Coarse;
use super::{Search, split};
use crate::motion::field::{Field, Motion, UNIT_CELLS, median};
use crate::motion::overlap::one;
use crate::motion::search::{NEIGHBOUR_STRIDE, STRIDE, Wanted};

impl Search<'_> {
    /// Returns the vectors of units as a device finds them that is told this, before they are joined.
    pub(crate) fn search_apart(&self, wanted: &Wanted<'_>) -> Field {
        let (last, coarse) =
            (wanted.last, [self.planes[0], self.reference_plane].map(|plane| Coarse::new(plane, self.size)));
        let [columns, rows] = split(self.size).units();
        let units = |of: &dyn Fn(usize, usize) -> [i32; 2]| {
            let mut field = split(self.size);
            for (x, y) in (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))) {
                let [right, below] = of(x, y);
                field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, Motion::vector(right, below));
            }
            field
        };
        let mut found = units(&|x, y| {
            let expected = last.map_or([0, 0], |last| at(last, x, y));
            let mut candidates = vec![expected, [0, 0]];
            candidates.extend(wanted.looks_everywhere.then(|| coarse[0].search(&coarse[1], x, y)));
            candidates.extend(last.into_iter().flat_map(|last| around(last, x, y)));
            self.best_apart((x, y), (expected, 0), &candidates, STRIDE, true)
        });
        for _ in 0..wanted.passes {
            found = units(&|x, y| {
                let (before, first) = (at(&found, x, y), found.layout().rows_of(found.layout().slice_of(y / 2)).start);
                let left = if x > 0 { at(&found, x - 1, y) } else { [0, 0] };
                let expected = if y > 2 * first {
                    let other = if x + 1 < columns { x + 1 } else { x.saturating_sub(1) };
                    median(left, at(&found, x, y - 1), at(&found, other, y - 1))
                } else {
                    (left, 0)
                };
                let candidates = [vec![before, expected.0, [0, 0]], around(&found, x, y)].concat();
                let best = self.best_apart((x, y), expected, &candidates, 0, false);
                if best == before { best } else { self.best_apart((x, y), expected, &[best], NEIGHBOUR_STRIDE, false) }
            });
        }
        found
    }

    fn best_apart(
        &self,
        (x, y): (usize, usize),
        expected: ([i32; 2], usize),
        candidates: &[[i32; 2]],
        stride: i32,
        is_first: bool,
    ) -> [i32; 2] {
        let [columns, rows] = split(self.size).units();
        let costs = self.costs.beside(expected, UNIT_CELLS);
        let is_outermost = x == 0 || y == 0 || x + 1 == columns || y + 1 == rows;
        let cost = |vector, _| {
            let difference = match is_outermost {
                true => self.difference_of_unit([x, y], vector, u32::MAX),
                false if is_first => self.difference_of_half([x, y], vector, u32::MAX),
                false => self.difference_of_window([x, y], vector, u32::MAX),
            };
            difference + self.bits(costs.of_vector(vector))
        };
        self.best(cost, candidates, |_| stride).0
    }
}

fn at(field: &Field, x: usize, y: usize) -> [i32; 2] {
    one(field.unit(x, y)).components()
}

/// Returns the vectors of the units around one, row by row.
fn around(field: &Field, x: usize, y: usize) -> Vec<[i32; 2]> {
    let steps = (0..9).filter(|&step| step != 4).map(|step| [step % 3 - 1, step / 3 - 1]);
    steps.filter_map(|step| super::neighbour(field, x, y, step)).map(Motion::components).collect()
}
