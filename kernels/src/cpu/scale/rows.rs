//! The arithmetic of scaling, row by row.
//!
//! Pixels are 0x00RRGGBB. Weights have 8 bits, and two channels share a multiplication; a quarter, as at twice the
//! size, needs none.

#[cfg(target_arch = "x86_64")]
use crate::cpu::simd::Simd;
use crate::cpu::simd::multiversion;

/// Weights are parts of this.
pub(in crate::cpu) const ONE: u32 = 256;
const _: () =
    assert!(PAIR as u64 * ONE as u64 + HALF as u64 <= u32::MAX as u64, "a weighted pair of channels fits 32 bits");
/// The weights where the size doubles.
const QUARTER: u32 = ONE / 4;
const THREE_QUARTERS: u32 = ONE - QUARTER;
/// Red and blue, or what is left of alpha and green after a shift by 8 bits.
const PAIR: u32 = 0x00ff_00ff;
/// Half a unit in both channels of a pair of sums.
pub(super) const HALF: u32 = 0x0080_0080;
/// Bits that a shift by one leaves to each byte.
const HALVES: u32 = 0x7f7f_7f7f;

/// For each column the first of two neighbours, and the second one's weight.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) first: Vec<u32>,
    pub(super) weights: Vec<u32>,
}

/// The items that fall on one, with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cpu) struct Covered {
    pub(in crate::cpu) first: usize,
    pub(in crate::cpu) weights: Vec<u32>,
}

/// Returns a row of the picture at the new width, which is not less.
pub(super) fn widen(row: &[u32], columns: &Columns, out: &mut [u32]) {
    let Columns { first, weights } = columns;
    #[cfg(target_arch = "x86_64")]
    if Simd::detect() != Simd::Baseline {
        // SAFETY: each other set has AVX2.
        return unsafe { widen_avx2(row, first, weights, out) };
    }
    widen_body(row, first, weights, out);
}

#[inline(always)]
fn widen_body(row: &[u32], first: &[u32], weights: &[u32], out: &mut [u32]) {
    // Fetched one by one, blended many at once.
    const AT_ONCE: usize = 64;
    let (mut left, mut right) = ([0; AT_ONCE], [0; AT_ONCE]);
    let last = row.len() - 1;
    let columns = first.chunks(AT_ONCE).zip(weights.chunks(AT_ONCE));
    for ((first, weights), out) in columns.zip(out.chunks_mut(AT_ONCE)) {
        for ((left, right), &first) in left.iter_mut().zip(&mut right).zip(first) {
            let first = first as usize;
            (*left, *right) = (row[first.min(last)], row[(first + 1).min(last)]);
        }
        for (((out, &left), &right), &weight) in out.iter_mut().zip(&left).zip(&right).zip(weights) {
            *out = mixed(left, right, weight);
        }
    }
}

/// Does what [`widen_body`] does, but fetches eight pixels at once: as the picture does not shrink, the neighbours of
/// eight columns are nine pixels at most.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn widen_avx2(row: &[u32], first: &[u32], weights: &[u32], out: &mut [u32]) {
    use std::arch::x86_64::{__m256i, _mm256_permutevar8x32_epi32};
    use std::mem::transmute;
    // SAFETY: both have 32 bytes, and any are a value of either.
    let vector = |pixels: [u32; 8]| unsafe { transmute::<[u32; 8], __m256i>(pixels) };
    // SAFETY: as above.
    let array = |vector: __m256i| unsafe { transmute::<__m256i, [u32; 8]>(vector) };
    let mut done = 0;
    let groups = first.as_chunks::<8>().0.iter().zip(weights.as_chunks::<8>().0);
    for ((first, weights), out) in groups.zip(out.as_chunks_mut::<8>().0) {
        // The last columns are left: what they need ends with the row.
        let Some(&near) = row.get(first[0] as usize..).and_then(<[u32]>::first_chunk::<9>) else { break };
        let ([left @ .., _], [_, right @ ..]) = (near, near);
        let places = vector(first.map(|at| at.wrapping_sub(first[0])));
        let left = array(_mm256_permutevar8x32_epi32(vector(left), places));
        let right = array(_mm256_permutevar8x32_epi32(vector(right), places));
        for (((out, left), right), &weight) in out.iter_mut().zip(left).zip(right).zip(weights) {
            *out = mixed(left, right, weight);
        }
        done += out.len();
    }
    widen_body(row, &first[done..], &weights[done..], &mut out[done..]);
}

multiversion! {
    /// Returns what [`widen`] does where the new width is twice the old one, without fetching pixels one by one.
    pub(super) fn double(row: &[u32], out: &mut [u32]) = double_body;
}

#[inline(always)]
fn double_body(row: &[u32], out: &mut [u32]) {
    let [first, out @ .., last] = out else { return };
    (*first, *last) = (row[0], row[row.len() - 1]);
    for (pair, (&left, &right)) in out.as_chunks_mut::<2>().0.iter_mut().zip(row.iter().zip(&row[1..])) {
        *pair = quarters(left, right);
    }
}

multiversion! {
    /// Blends two rows; `weight`: of the second.
    pub(super) fn blend(first: &[u32], second: &[u32], weight: u32, out: &mut [u32]) = blend_body;
}

#[inline(always)]
fn blend_body(first: &[u32], second: &[u32], weight: u32, out: &mut [u32]) {
    if weight == 0 {
        return out.copy_from_slice(first);
    }
    let pixels = out.iter_mut().zip(first).zip(second);
    match weight {
        QUARTER => {
            for ((out, &first), &second) in pixels {
                *out = quarters(first, second)[0];
            }
        }
        THREE_QUARTERS => {
            for ((out, &first), &second) in pixels {
                *out = quarters(first, second)[1];
            }
        }
        _ => {
            for ((out, &first), &second) in pixels {
                *out = mixed(first, second, weight);
            }
        }
    }
}

/// Returns what [`mixed`] does with the weights of twice the size, for all channels at once: three parts of `a` and one
/// of `b`, and one of `a` and three of `b`.
#[inline(always)]
fn quarters(a: u32, b: u32) -> [u32; 2] {
    // (3 a + b + 2) / 4 is the mean, rounded up, of a and the mean, rounded down, of a and b.
    let below = (a & b).wrapping_add((a ^ b) >> 1 & HALVES);
    let above = |one: u32| (one | below).wrapping_sub((one ^ below) >> 1 & HALVES);
    [above(a), above(b)]
}

/// Returns the weighted mean of `a` and `b`, of which `b` has `weight` of [`ONE`].
#[inline(always)]
fn mixed(a: u32, b: u32, weight: u32) -> u32 {
    // Both channels of a pair in one multiplication: a borrow of the lower one is paid back by the sum.
    let pair = |a: u32, b: u32| (a << 8).wrapping_add(b.wrapping_sub(a).wrapping_mul(weight)).wrapping_add(HALF) >> 8;
    pair(a & PAIR, b & PAIR) & PAIR | (pair(a >> 8 & PAIR, b >> 8 & PAIR) & PAIR) << 8
}

multiversion! {
    /// Adds `weight` of a row to the sums of its channels: red and blue, and green.
    pub(super) fn gather(row: &[u32], weight: u32, low: &mut [u32], high: &mut [u32]) = gather_body;
}

#[inline(always)]
fn gather_body(row: &[u32], weight: u32, low: &mut [u32], high: &mut [u32]) {
    for ((&pixel, low), high) in row.iter().zip(low).zip(high) {
        *low = low.wrapping_add((pixel & PAIR).wrapping_mul(weight));
        *high = high.wrapping_add((pixel >> 8 & PAIR).wrapping_mul(weight));
    }
}

/// Averages the columns of rows that have been added up.
pub(super) fn narrow(low: &[u32], high: &[u32], columns: &[Covered], out: &mut [u32]) {
    for (out, covered) in out.iter_mut().zip(columns) {
        let (mut red_blue, mut green) = (HALF, HALF);
        let sums = low[covered.first..].iter().zip(&high[covered.first..]);
        for ((&low, &high), &weight) in sums.zip(&covered.weights) {
            red_blue = red_blue.wrapping_add((low >> 8 & PAIR).wrapping_mul(weight));
            green = green.wrapping_add((high >> 8 & PAIR).wrapping_mul(weight));
        }
        *out = red_blue >> 8 & PAIR | green & 0x0000_ff00;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scaler, Way};
    use super::*;
    use crate::cpu::simd::Simd;

    /// Returns a row in which every pixel and channel differs from its neighbours.
    fn pixels(count: usize) -> Vec<u32> {
        (0..count as u32).map(|at| at.wrapping_mul(0x9e37_79b1) >> 8).collect()
    }

    #[test]
    fn quarters_are_what_the_weights_give() {
        for a in 0..256 {
            for b in 0..256 {
                // Two channels beside each other, so that what one loses or gains shows in the other.
                let (a, b) = (a << 16 | (255 - a) << 8 | b, b << 16 | a << 8 | (255 - b));
                assert_eq!(quarters(a, b), [mixed(a, b, QUARTER), mixed(a, b, THREE_QUARTERS)], "{a:x}, {b:x}");
            }
        }
    }

    #[test]
    fn twice_the_width_is_the_general_case() {
        for width in [1, 2, 3, 31, 200] {
            let row = pixels(width);
            let Way::Bilinear { columns, .. } = Scaler::new((width, 1), (2 * width, 2)).way else {
                unreachable!("it grows")
            };
            let (mut general, mut doubled) = (vec![1; 2 * width], vec![2; 2 * width]);
            widen(&row, &columns, &mut general);
            double(&row, &mut doubled);
            assert!(general == doubled, "{width} pixels");
        }
    }

    #[test]
    fn every_instruction_set_widens_alike_at_every_ratio() {
        for from in [1, 2, 8, 9, 10, 31, 200] {
            for to in (from..from + 40).chain([3 * from, 8 * from + 5, 2_560]) {
                let Way::Bilinear { columns, .. } = Scaler::new((from, 1), (to, 2)).way else {
                    unreachable!("it grows")
                };
                let row = pixels(from);
                let make = || {
                    let mut wide = vec![7; to];
                    widen(&row, &columns, &mut wide);
                    wide
                };
                assert!(Simd::Baseline.force(make) == make(), "{from} to {to}");
            }
        }
    }

    #[test]
    fn every_instruction_set_makes_the_same_rows() {
        let (from, to) = ((101, 3), (333, 3));
        let original = pixels(from.0 * from.1);
        let Way::Bilinear { columns, .. } = Scaler::new(from, to).way else { unreachable!("it grows") };
        let make = || {
            let (mut wide, mut twice, mut mixed) = (vec![0; to.0], vec![0; 2 * from.0], vec![0; from.0]);
            widen(&original[..from.0], &columns, &mut wide);
            double(&original[..from.0], &mut twice);
            let (first, second) = original[..2 * from.0].split_at(from.0);
            let blends = [77, QUARTER, THREE_QUARTERS].map(|weight| {
                blend(first, second, weight, &mut mixed);
                mixed.clone()
            });
            let (mut low, mut high) = (vec![HALF; from.0], vec![HALF; from.0]);
            gather(&original[..from.0], 200, &mut low, &mut high);
            (wide, twice, blends, low, high)
        };
        assert_eq!(Simd::Baseline.force(make), make());
    }
}
