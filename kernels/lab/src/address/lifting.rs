//! Rows of a wavelet: the lifting steps carried out on linear forms instead of numbers, so that every boundary rule
//! and length is what lifting makes of it.

use kernels::parts::Lifting;
use picture::params::Boundary;

use super::row::{Row, in_half, neighbours};

/// Returns the low and then the high coefficients of a row of `n` >= 2 samples.
pub(super) fn forward(lifting: &Lifting, boundary: Boundary, n: usize) -> Vec<Row> {
    let mut even: Vec<Row> = (0..n).step_by(2).map(Row::unit).collect();
    let mut odd: Vec<Row> = (1..n).step_by(2).map(Row::unit).collect();
    for (step, coefficients) in lifting.steps.iter().enumerate() {
        lift(step, &mut even, &mut odd, coefficients, 1.0, boundary);
    }
    even.iter_mut().for_each(|row| row.scale(lifting.low_scale));
    odd.iter_mut().for_each(|row| row.scale(lifting.high_scale));
    even.append(&mut odd);
    even
}

/// Returns the samples of a row of `n` >= 2.
pub(super) fn inverse(lifting: &Lifting, boundary: Boundary, n: usize) -> Vec<Row> {
    let mut even: Vec<Row> = (0..n.div_ceil(2)).map(Row::unit).collect();
    let mut odd: Vec<Row> = (n.div_ceil(2)..n).map(Row::unit).collect();
    even.iter_mut().for_each(|row| row.scale(1.0 / lifting.low_scale));
    odd.iter_mut().for_each(|row| row.scale(1.0 / lifting.high_scale));
    for (step, coefficients) in lifting.steps.iter().enumerate().rev() {
        lift(step, &mut even, &mut odd, coefficients, -1.0, boundary);
    }
    let (mut even, mut odd) = (even.into_iter(), odd.into_iter());
    (0..n).filter_map(|at| if at.is_multiple_of(2) { even.next() } else { odd.next() }).collect()
}

/// Takes one lifting step, its coefficients times `sign`.
fn lift(step: usize, even: &mut [Row], odd: &mut [Row], coefficients: &[f64], sign: f64, boundary: Boundary) {
    let n = even.len() + odd.len();
    let (target, source) = if step.is_multiple_of(2) { (odd, even) } else { (even, odd) };
    for (i, row) in target.iter_mut().enumerate() {
        for (k, coefficient) in coefficients.iter().enumerate() {
            let (half, pair) = neighbours(step, i, k);
            for neighbour in pair.into_iter().filter_map(|at| in_half(half, at, n, boundary)) {
                row.add_scaled(&source[neighbour], sign * coefficient);
            }
        }
    }
}
