//! The wavelet transform of one plane in its square, in any element.
//!
//! Forward, level 1 first: the rows of the low band, then its columns, are split into a low half (front) and a
//! high half (at half the side of the low band's square). Inverse: the same backwards. With smooth padding only
//! the visible part of each level is transformed, with the boundary at its end; everything else stays zero.

use picture::params::Boundary;
use picture::pyramid::Pyramid;

use crate::sample::{Sample, Steps};

/// Transforms `plane` (row by row, the pyramid's plane size) into a square of coefficients.
pub fn forward<T: Sample>(plane: &[T], pyramid: &Pyramid, steps: &Steps<T>, boundary: Boundary) -> Vec<T> {
    forward_by(plane, pyramid, |row| split(row, steps, boundary))
}

/// Transforms as [`forward`] does, with any function that makes the (low, high) halves of a row.
pub fn forward_by<T: Sample>(plane: &[T], pyramid: &Pyramid, split: impl Fn(&[T]) -> (Vec<T>, Vec<T>)) -> Vec<T> {
    let side = pyramid.side();
    let width = pyramid.plane().width();
    let zero = T::default();
    let mut square = vec![zero; side * side];
    for (to, from) in square.chunks_exact_mut(side).zip(plane.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
    for level in 1..=pyramid.levels() {
        let (columns, rows) = pyramid.transform_extent(level);
        let half = side >> level;
        for y in 0..rows {
            let (low, high) = split(&square[y * side..][..columns]);
            square[y * side..][..low.len()].copy_from_slice(&low);
            square[y * side + half..][..high.len()].copy_from_slice(&high);
            // What neither half covers is a remnant of the samples.
            square[y * side + low.len()..y * side + half].fill(zero);
            square[y * side + half + high.len()..y * side + 2 * half].fill(zero);
        }
        for x in 0..2 * half {
            let column: Vec<T> = (0..rows).map(|y| square[y * side + x]).collect();
            let (low, high) = split(&column);
            for y in 0..half {
                square[y * side + x] = low.get(y).copied().unwrap_or(zero);
                square[(half + y) * side + x] = high.get(y).copied().unwrap_or(zero);
            }
        }
    }
    square
}

/// Transforms a square of coefficients back into its plane.
pub fn inverse<T: Sample>(square: &[T], pyramid: &Pyramid, steps: &Steps<T>, boundary: Boundary) -> Vec<T> {
    inverse_by(square, pyramid, |low, high| merge(low, high, steps, boundary))
}

/// Transforms as [`inverse`] does, with any function that makes a row of its (low, high) halves.
pub fn inverse_by<T: Sample>(square: &[T], pyramid: &Pyramid, merge: impl Fn(&[T], &[T]) -> Vec<T>) -> Vec<T> {
    let side = pyramid.side();
    let mut square = square.to_vec();
    for level in (1..=pyramid.levels()).rev() {
        let (columns, rows) = pyramid.transform_extent(level);
        let half = side >> level;
        for x in 0..2 * half {
            let low: Vec<T> = (0..rows.div_ceil(2)).map(|y| square[y * side + x]).collect();
            let high: Vec<T> = (0..rows / 2).map(|y| square[(half + y) * side + x]).collect();
            for (y, value) in merge(&low, &high).into_iter().enumerate() {
                square[y * side + x] = value;
            }
        }
        for y in 0..rows {
            let low = &square[y * side..][..columns.div_ceil(2)];
            let high = &square[y * side + half..][..columns / 2];
            let row = merge(low, high);
            square[y * side..][..columns].copy_from_slice(&row);
        }
    }
    let plane = pyramid.plane();
    square.chunks_exact(side).take(plane.height()).flat_map(|row| &row[..plane.width()]).copied().collect()
}

/// Transforms a row forward: (low, high) halves of `row`, the low one a sample longer if it is odd. A row of one sample
/// is its own low half.
pub fn split<T: Sample>(row: &[T], steps: &Steps<T>, boundary: Boundary) -> (Vec<T>, Vec<T>) {
    let mut s: Vec<T> = row.iter().copied().step_by(2).collect();
    let mut d: Vec<T> = row.iter().copied().skip(1).step_by(2).collect();
    if d.is_empty() {
        return (s, d);
    }
    for (index, step) in steps.steps.iter().enumerate() {
        apply(&mut s, &mut d, index, step, boundary, T::lift);
    }
    s.iter_mut().for_each(|s| *s = s.scale(steps.low_scale));
    d.iter_mut().for_each(|d| *d = d.scale(steps.high_scale));
    (s, d)
}

/// Transforms the halves that [`split`] makes back to a row.
pub(crate) fn merge<T: Sample>(low: &[T], high: &[T], steps: &Steps<T>, boundary: Boundary) -> Vec<T> {
    if high.is_empty() {
        return low.to_vec();
    }
    let mut s: Vec<T> = low.iter().map(|s| s.scale(steps.high_scale)).collect();
    let mut d: Vec<T> = high.iter().map(|d| d.scale(steps.low_scale)).collect();
    for (index, step) in steps.steps.iter().enumerate().rev() {
        apply(&mut s, &mut d, index, step, boundary, T::unlift);
    }
    let mut row = vec![T::default(); s.len() + d.len()];
    row.iter_mut().step_by(2).zip(s).for_each(|(to, s)| *to = s);
    row.iter_mut().skip(1).step_by(2).zip(d).for_each(|(to, d)| *to = d);
    row
}

/// Applies lifting step `index` to a row of even samples `s` and odd samples `d`: steps 0, 2, .. change `d` by pairs of
/// `s`, steps 1, 3, .. change `s` by pairs of `d`.
fn apply<T: Sample>(
    s: &mut [T],
    d: &mut [T],
    index: usize,
    step: &[T::Coefficient],
    boundary: Boundary,
    lift: impl Fn(T, T::Coefficient, T, T) -> T,
) {
    let length = s.len() + d.len();
    // The neighbours of an odd sample start at its own index, those of an even one at the index before.
    let (changed, neighbours, left) = if index.is_multiple_of(2) {
        (d, HalfRow { samples: s, phase: 0, length, boundary }, 0)
    } else {
        (s, HalfRow { samples: d, phase: 1, length, boundary }, -1)
    };
    for (n, value) in changed.iter_mut().enumerate() {
        let left = n as isize + left;
        for (k, &coefficient) in (0..).zip(step) {
            *value = lift(*value, coefficient, neighbours.at(left - k), neighbours.at(left + 1 + k));
        }
    }
}

/// The even (phase 0) or odd (phase 1) samples of a row, continued beyond its ends.
struct HalfRow<'a, T> {
    samples: &'a [T],
    phase: usize,
    /// Of the whole row, at least 2.
    length: usize,
    boundary: Boundary,
}

impl<T: Sample> HalfRow<'_, T> {
    fn at(&self, index: isize) -> T {
        let count = self.samples.len();
        match usize::try_from(index) {
            Ok(inside) if inside < count => self.samples[inside],
            _ => match self.boundary {
                Boundary::Symmetric => self.samples[mirror(2 * index + self.phase as isize, self.length) / 2],
                Boundary::Periodic => self.samples[index.rem_euclid(count as isize) as usize],
                Boundary::Zero => T::default(),
            },
        }
    }
}

/// Returns the position that one beyond the ends mirrors about the first and the last sample, as often as it takes;
/// `length` >= 2.
fn mirror(position: isize, length: usize) -> usize {
    let period = 2 * (length - 1);
    let position = position.unsigned_abs() % period;
    if position < length { position } else { period - position }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifting::{CDF53, CDF97, DD137, Lifting};

    const BOUNDARIES: [Boundary; 3] = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];

    /// Returns the largest difference after a round trip of rows of 1 to 39 samples with every wavelet and boundary.
    fn round_trips<T: Sample>(
        wavelets: &[Lifting],
        sample: impl Fn(i32) -> T,
        difference: impl Fn(T, T) -> f64,
    ) -> f64 {
        let mut largest = 0.0_f64;
        for lifting in wavelets {
            let steps = T::steps(lifting);
            for boundary in BOUNDARIES {
                for length in 1..40 {
                    let row: Vec<T> = (0..length).map(|n| sample((n * n * 37 + 11 * n) % 256 - 128)).collect();
                    let (low, high) = split(&row, &steps, boundary);
                    assert_eq!((low.len(), high.len()), (row.len().div_ceil(2), row.len() / 2));
                    let merged = merge(&low, &high, &steps, boundary);
                    assert_eq!(merged.len(), row.len());
                    largest = merged.iter().zip(&row).map(|(&a, &b)| difference(a, b)).fold(largest, f64::max);
                }
            }
        }
        largest
    }

    #[test]
    fn a_row_of_any_length_comes_back() {
        let error = round_trips(&[CDF97, CDF53, DD137], |n| n as f32, |a, b| f64::from((a - b).abs()));
        assert!(error < 1e-3, "f32: {error}");
        let error = round_trips(&[CDF97, CDF53, DD137], f64::from, |a, b| (a - b).abs());
        assert!(error < 1e-11, "f64: {error}");
        let error = round_trips(&[CDF53], |n| n, |a, b| (a - b).abs().into());
        assert!(error == 0.0, "i32: {error}");
        // Numbers so large that sums wrap around.
        let error = round_trips(&[CDF53], |n| n.wrapping_mul(0x7654_3210), |a, b| (a != b).into());
        assert!(error == 0.0, "i32, large");
    }

    #[test]
    fn a_constant_row_has_no_detail_and_gain_sqrt_2() {
        for wavelet in [CDF97, DD137] {
            let (low, high) = split(&[100.0; 9], &f64::steps(&wavelet), Boundary::Symmetric);
            assert!(high.iter().all(|d: &f64| d.abs() < 1e-7), "{high:?}");
            assert!(low.iter().all(|s| (s - 100.0 * 2.0_f64.sqrt()).abs() < 1e-7), "{low:?}");
        }
        let (low, high) = split(&[100; 9], &i32::steps(&CDF53), Boundary::Symmetric);
        assert_eq!((low, high), (vec![100; 5], vec![0; 4]));
    }

    #[test]
    fn positions_are_mirrored_about_the_end_samples_as_often_as_it_takes() {
        assert_eq!([-4, -3, -2, -1, 0, 1, 2, 3, 4, 5].map(|p| mirror(p, 3)), [0, 1, 2, 1, 0, 1, 2, 1, 0, 1]);
        assert_eq!([-3, -2, -1, 2, 3].map(|p| mirror(p, 2)), [1, 0, 1, 0, 1]);
    }
}
