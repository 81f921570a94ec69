//! The vector by which a small square is found in a larger one, of all there are: those of one row at once.

use crate::cpu::simd::multiversion;
use crate::motion::search::{COARSE_RANGE as RANGE, COARSE_SIDE as SIDE};

/// Side of the large square.
pub(crate) const REACH: usize = SIDE + 2 * RANGE as usize;
/// Samples from one of its rows to the next: what lies behind a row counts for nothing.
pub(crate) const PITCH: usize = REACH + SIDE;
const _: () = assert!(SIDE * SIDE * 255 + 2 * RANGE as usize <= u16::MAX as usize, "a cost is 16 bits");

multiversion! {
    /// Returns the vector by which `own` is found in `room` with the least difference and least components; 0 is in the middle.
    pub(crate) fn nearest(own: &[[u8; SIDE]; SIDE], room: &[[u8; PITCH]; REACH]) -> [i32; 2] = nearest_body;
}

#[inline(always)]
fn nearest_body(own: &[[u8; SIDE]; SIDE], room: &[[u8; PITCH]; REACH]) -> [i32; 2] {
    let mut best = (u16::MAX, [0; 2]);
    for (rows, dy) in room.windows(SIDE).zip(-RANGE..) {
        // Of all vectors with this component at once, and a few that are none.
        let mut sums = [0_u16; REACH];
        for (own, row) in own.iter().zip(rows) {
            for x in 0..SIDE {
                let Some(from) = row[x..].first_chunk::<REACH>() else { continue };
                for (sum, &sample) in sums.iter_mut().zip(from) {
                    *sum = sum.wrapping_add(sample.abs_diff(own[x]).into());
                }
            }
        }
        for (&sum, dx) in sums.iter().zip(-RANGE..=RANGE) {
            let cost = sum.wrapping_add((dx.unsigned_abs() + dy.unsigned_abs()) as u16);
            best = best.min((cost, [dx, dy]));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Simd;

    #[test]
    fn every_instruction_set_finds_the_least_difference() {
        let noise = |x: usize, y: usize| ((31 * x + 7 * y) as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
        let mut room = [[0; PITCH]; REACH];
        for (y, row) in room.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(x, sample)| *sample = noise(x, y));
        }
        let place = |at: i32| (RANGE + at) as usize;
        for [dx, dy] in [[0, 0], [RANGE, -RANGE], [-RANGE, 5], [3, RANGE]] {
            let mut own = [[0; SIDE]; SIDE];
            for (own, row) in own.iter_mut().zip(&room[place(dy)..]) {
                own.copy_from_slice(&row[place(dx)..][..SIDE]);
            }
            own[3][4] ^= 1;
            assert_eq!([nearest(&own, &room), Simd::Baseline.force(|| nearest(&own, &room))], [[dx, dy]; 2]);
        }
        // Of several that differ as little, the one with the least components.
        assert_eq!(nearest(&[[9; SIDE]; SIDE], &[[9; PITCH]; REACH]), [0, 0]);
    }
}
