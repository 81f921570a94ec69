//! Error of a filter bank on a row: synthesis times analysis, less the identity.

use std::collections::BTreeSet;

use picture::params::{Boundary, Padding};
use picture::pyramid::Pyramid;

use super::{Row, forward, inverse};
use crate::bank::{BankError, MAX_RESIDUAL};
use crate::filter::Filter;
use crate::transform::TransformParams;

/// Refuses a filter bank that does not reconstruct every row and column of this transform.
pub(crate) fn check(params: &TransformParams) -> Result<(), BankError> {
    let Filter::Bank(_) = params.filter else {
        return Ok(());
    };
    let Some((length, residual)) = worst(params, params.boundary, params.padding) else {
        return Ok(());
    };
    let boundaries = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];
    let all = [Padding::Smooth, Padding::Zero].into_iter().flat_map(|p| boundaries.map(|b| (b, p)));
    let instead = all.filter(|&(boundary, padding)| worst(params, boundary, padding).is_none()).collect();
    let boundary = format!("{:?}", params.boundary).to_lowercase();
    Err(BankError::NotPerfectAtEnds { boundary, length, residual, instead })
}

/// Returns the length with the largest residual, if that is too large.
fn worst(params: &TransformParams, boundary: Boundary, padding: Padding) -> Option<(usize, f64)> {
    let residuals = lengths(params, boundary, padding).into_iter().map(|n| (n, residual(&params.filter, boundary, n)));
    residuals.filter(|(_, residual)| *residual > MAX_RESIDUAL).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Lengths of the rows and columns that are transformed.
fn lengths(params: &TransformParams, boundary: Boundary, padding: Padding) -> BTreeSet<usize> {
    let params = TransformParams { boundary, padding, ..params.clone() };
    let extents = |pyramid: Pyramid| (1..=pyramid.levels()).map(move |level| pyramid.transform_extent(level));
    params.pyramids().into_iter().flat_map(extents).flat_map(|(w, h)| [w, h]).collect()
}

/// Returns the largest entry of synthesis times analysis minus the identity, for rows of `n` samples.
fn residual(filter: &Filter, boundary: Boundary, n: usize) -> f64 {
    let (analysis, synthesis) = (forward(filter, boundary, n), inverse(filter, boundary, n));
    let mut product = vec![0.0; n];
    let mut residual = 0.0_f64;
    for (at, row) in synthesis.iter().enumerate() {
        let terms = || row.terms().iter().map(|&(coefficient, weight)| (weight, &analysis[coefficient]));
        for (weight, coefficient) in terms() {
            coefficient.terms().iter().for_each(|(sample, tap)| product[*sample] += weight * tap);
        }
        product[at] -= 1.0;
        residual = residual.max(product[at].abs());
        for (sample, _) in terms().flat_map(|(_, coefficient): (f64, &Row)| coefficient.terms()) {
            residual = residual.max(product[*sample].abs());
            product[*sample] = 0.0;
        }
        product[at] = 0.0;
    }
    residual
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bank::{FilterBank, FilterTaps, Pair};
    use crate::filter::WAVELETS;

    const BOUNDARIES: [Boundary; 3] = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];

    fn taps(first: i32, taps: &[f64]) -> FilterTaps {
        FilterTaps { first, taps: taps.to_vec() }
    }

    /// Returns the Haar bank, with sums and differences.
    fn haar() -> Filter {
        let analysis = Pair { low: taps(0, &[0.5, 0.5]), high: taps(0, &[0.5, -0.5]) };
        let synthesis = Pair { low: taps(0, &[1.0, 1.0]), high: taps(0, &[1.0, -1.0]) };
        Filter::Bank(Arc::new(FilterBank::new(analysis, synthesis).unwrap()))
    }

    #[test]
    fn every_wavelet_gives_back_every_row_with_every_boundary() {
        for wavelet in WAVELETS {
            for boundary in BOUNDARIES {
                for n in 1..40 {
                    let residual = residual(&Filter::Lifted(wavelet), boundary, n);
                    assert!(residual < 1e-12, "{wavelet} {boundary:?} {n}: {residual}");
                }
            }
        }
    }

    #[test]
    fn as_banks_they_do_so_where_the_extension_commutes_with_lifting() {
        for wavelet in WAVELETS {
            let bank = Filter::Bank(Arc::new(FilterBank::of(&wavelet)));
            for n in 2..40 {
                assert!(residual(&bank, Boundary::Symmetric, n) < 1e-12, "{wavelet} symmetric {n}");
                let periodic = residual(&bank, Boundary::Periodic, n);
                assert_eq!(periodic < 1e-12, n % 2 == 0, "{wavelet} periodic {n}: {periodic}");
                assert!(residual(&bank, Boundary::Zero, n) > 1e-3, "{wavelet} zero {n}");
                for boundary in [Boundary::Symmetric, Boundary::Periodic] {
                    if boundary == Boundary::Symmetric || n % 2 == 0 {
                        let (of_bank, of_lifting) =
                            (forward(&bank, boundary, n), forward(&Filter::Lifted(wavelet), boundary, n));
                        assert!(near(&of_bank, &of_lifting), "{wavelet} {boundary:?} {n}");
                    }
                }
            }
        }
    }

    fn near(a: &[Row], b: &[Row]) -> bool {
        let dense = |row: &Row, n: usize| {
            let mut all = vec![0.0; n];
            row.terms().iter().for_each(|(source, weight)| all[*source] = *weight);
            all
        };
        let close = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-12);
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| close(dense(x, a.len()), dense(y, a.len())))
    }

    #[test]
    fn filters_of_even_length_are_mirrored_between_samples() {
        for n in 2..20 {
            assert!(residual(&haar(), Boundary::Symmetric, n) < 1e-15, "{n}");
            assert_eq!(residual(&haar(), Boundary::Zero, n) < 1e-15, n % 2 == 0, "{n}");
        }
    }
}
