//! The wavelet transform of one plane in its square.
//!
//! Forward, level 1 first: the rows of the low band, then its columns, are split into a low half (front) and a
//! high half (at half the side of the low band's square). Inverse: the same backwards. With smooth padding only
//! the visible part of each level is transformed, with the boundary at its end; everything else stays zero.

use common::params::Boundary;
use common::pyramid::Pyramid;

use crate::lifting::{ALPHA, BETA, DELTA, GAMMA, K, K_INVERSE};

/// Transforms `plane` (row by row, the pyramid's plane size) into a square of coefficients.
pub fn forward(plane: &[f32], pyramid: &Pyramid, boundary: Boundary) -> Vec<f32> {
    let side = pyramid.side();
    let width = pyramid.plane().width();
    let mut square = vec![0.0; side * side];
    for (to, from) in square.chunks_exact_mut(side).zip(plane.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
    for level in 1..=pyramid.levels() {
        let (columns, rows) = pyramid.transform_extent(level);
        let half = side >> level;
        for y in 0..rows {
            let row: Vec<f32> = square[y * side..][..columns].to_vec();
            let (low, high) = split(&row, boundary);
            square[y * side..][..low.len()].copy_from_slice(&low);
            square[y * side + half..][..high.len()].copy_from_slice(&high);
            // What neither half covers is a remnant of the samples.
            square[y * side + low.len()..y * side + half].fill(0.0);
            square[y * side + half + high.len()..y * side + 2 * half].fill(0.0);
        }
        for x in 0..2 * half {
            let column: Vec<f32> = (0..rows).map(|y| square[y * side + x]).collect();
            let (low, high) = split(&column, boundary);
            for y in 0..half {
                square[y * side + x] = low.get(y).copied().unwrap_or(0.0);
                square[(half + y) * side + x] = high.get(y).copied().unwrap_or(0.0);
            }
        }
    }
    square
}

/// Transforms a square of coefficients back into its plane.
pub fn inverse(square: &[f32], pyramid: &Pyramid, boundary: Boundary) -> Vec<f32> {
    let side = pyramid.side();
    let mut square = square.to_vec();
    for level in (1..=pyramid.levels()).rev() {
        let (columns, rows) = pyramid.transform_extent(level);
        let half = side >> level;
        for x in 0..2 * half {
            let low: Vec<f32> = (0..rows.div_ceil(2)).map(|y| square[y * side + x]).collect();
            let high: Vec<f32> = (0..rows / 2).map(|y| square[(half + y) * side + x]).collect();
            for (y, value) in merge(&low, &high, boundary).into_iter().enumerate() {
                square[y * side + x] = value;
            }
        }
        for y in 0..rows {
            let low = square[y * side..][..columns.div_ceil(2)].to_vec();
            let high = square[y * side + half..][..columns / 2].to_vec();
            square[y * side..][..columns].copy_from_slice(&merge(&low, &high, boundary));
        }
    }
    let plane = pyramid.plane();
    square.chunks_exact(side).take(plane.height()).flat_map(|row| &row[..plane.width()]).copied().collect()
}

/// One-dimensional forward transform: (low, high) halves of `row`, the low one a sample longer if it is odd.
/// A row of one sample is its own low half.
pub fn split(row: &[f32], boundary: Boundary) -> (Vec<f32>, Vec<f32>) {
    let mut s: Vec<f32> = row.iter().copied().step_by(2).collect();
    let mut d: Vec<f32> = row.iter().copied().skip(1).step_by(2).collect();
    if d.is_empty() {
        return (s, d);
    }
    update_odd(&mut d, &s, ALPHA, boundary);
    update_even(&mut s, &d, BETA, boundary);
    update_odd(&mut d, &s, GAMMA, boundary);
    update_even(&mut s, &d, DELTA, boundary);
    s.iter_mut().for_each(|s| *s *= K);
    d.iter_mut().for_each(|d| *d *= K_INVERSE);
    (s, d)
}

/// One-dimensional inverse transform of the halves that [`split`] makes.
pub fn merge(low: &[f32], high: &[f32], boundary: Boundary) -> Vec<f32> {
    if high.is_empty() {
        return low.to_vec();
    }
    let mut s: Vec<f32> = low.iter().map(|s| s * K_INVERSE).collect();
    let mut d: Vec<f32> = high.iter().map(|d| d * K).collect();
    update_even(&mut s, &d, -DELTA, boundary);
    update_odd(&mut d, &s, -GAMMA, boundary);
    update_even(&mut s, &d, -BETA, boundary);
    update_odd(&mut d, &s, -ALPHA, boundary);
    let mut row = vec![0.0; s.len() + d.len()];
    row.iter_mut().step_by(2).zip(s).for_each(|(to, s)| *to = s);
    row.iter_mut().skip(1).step_by(2).zip(d).for_each(|(to, d)| *to = d);
    row
}

/// `d[n] += coefficient (s[n] + s[n+1])`
fn update_odd(d: &mut [f32], s: &[f32], coefficient: f32, boundary: Boundary) {
    for n in 0..d.len() {
        let next = s.get(n + 1).copied().unwrap_or(match boundary {
            Boundary::Symmetric => s[n],
            Boundary::Periodic => s[0],
            Boundary::Zero => 0.0,
        });
        d[n] = coefficient.mul_add(s[n] + next, d[n]);
    }
}

/// `s[n] += coefficient (d[n-1] + d[n])`
fn update_even(s: &mut [f32], d: &[f32], coefficient: f32, boundary: Boundary) {
    let last = d.len() - 1;
    for (n, s) in s.iter_mut().enumerate() {
        let before = match (n.checked_sub(1), boundary) {
            (Some(n), _) => d[n],
            (None, Boundary::Symmetric) => d[0],
            (None, Boundary::Periodic) => d[last],
            (None, Boundary::Zero) => 0.0,
        };
        let after = d.get(n).copied().unwrap_or(match boundary {
            Boundary::Symmetric => d[last],
            Boundary::Periodic => d[0],
            Boundary::Zero => 0.0,
        });
        *s = coefficient.mul_add(before + after, *s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_any_length_comes_back() {
        for boundary in [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero] {
            for length in 1..40_usize {
                let row: Vec<f32> = (0..length).map(|n| ((n * n * 37 + 11 * n) % 256) as f32 - 128.0).collect();
                let (low, high) = split(&row, boundary);
                assert_eq!((low.len(), high.len()), (length.div_ceil(2), length / 2));
                for (a, b) in merge(&low, &high, boundary).iter().zip(&row) {
                    assert!((a - b).abs() < 1e-3, "{boundary:?} {length}: {a} for {b}");
                }
            }
        }
    }

    #[test]
    fn a_constant_row_has_no_detail_and_gain_sqrt_2() {
        let (low, high) = split(&[100.0; 9], Boundary::Symmetric);
        assert!(high.iter().all(|d| d.abs() < 1e-3));
        assert!(low.iter().all(|s| (s - 141.421_36).abs() < 1e-2), "{low:?}");
    }
}
