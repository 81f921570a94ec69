//! The two passes that refine the first one by a plane: neighbours of what is not 0, then the bits of what was not 0 before.

use super::cleanup::NEGATIVE;
use super::read::{Backward, Forward};
use crate::jpeg2000::block::tier1::Segment;

/// Rows of a stripe, and columns whose signs come together.
const SIDE: usize = 4;

/// Marks of the coefficients that are not 0, with a border of one: after the first pass, and after this one.
struct Map {
    marks: Vec<u8>,
    stride: usize,
}

const BEFORE: u8 = 1;
const FOUND: u8 = 2;

impl Map {
    fn at(&self, x: usize, y: usize) -> usize {
        (x + 1) * self.stride + y + 1
    }

    /// Returns true if one of the eight around is not 0, of those below only if `sees_below`.
    fn has_neighbour(&self, at: usize, sees_below: bool) -> bool {
        let columns = [at - self.stride, at, at + self.stride];
        columns
            .into_iter()
            .any(|at| self.marks[at - 1] | self.marks[at] | if sees_below { self.marks[at + 1] } else { 0 } != 0)
    }
}

/// Refines a block of columns of `height` values down to `plane`.
pub(super) fn refine(segment: &Segment, values: &mut [u32], height: usize, plane: u32, is_causal: bool) {
    let (width, stride) = (values.len() / height, height + 2);
    let mut map = Map { marks: vec![0; (width + 2) * stride], stride };
    for x in 0..width {
        for y in 0..height {
            let at = map.at(x, y);
            map.marks[at] = if values[x * height + y] != 0 { BEFORE } else { 0 };
        }
    }
    let mut bits = Forward::new(&segment.bytes, 0);
    for top in (0..height).step_by(SIDE) {
        let bottom = (top + SIDE).min(height);
        for first in (0..width).step_by(SIDE) {
            let places = |x: usize| (top..bottom).map(move |y| (x, y));
            let group = first..(first + SIDE).min(width);
            for (x, y) in group.clone().flat_map(places) {
                let at = map.at(x, y);
                // A stripe that is causal does not see the one below.
                let sees_below = !is_causal || y + 1 < top + SIDE;
                if map.marks[at] == 0 && map.has_neighbour(at, sees_below) && bits.take(1) != 0 {
                    map.marks[at] = FOUND;
                }
            }
            for (x, y) in group.flat_map(places) {
                if map.marks[map.at(x, y)] == FOUND {
                    values[x * height + y] = 3 << plane | if bits.take(1) != 0 { NEGATIVE } else { 0 };
                }
            }
        }
    }
    if segment.passes < 2 {
        return;
    }
    let mut bits = Backward::new(&segment.bytes);
    for top in (0..height).step_by(SIDE) {
        for x in 0..width {
            for y in top..(top + SIDE).min(height) {
                if map.marks[map.at(x, y)] == BEFORE {
                    let value = &mut values[x * height + y];
                    let place = 2 << plane;
                    *value = *value & !place | if bits.take(1) != 0 { place } else { 0 } | place >> 1;
                }
            }
        }
    }
}
