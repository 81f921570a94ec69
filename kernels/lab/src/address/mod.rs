//! Address tables: for every output of one level in one dimension the inputs it is made of, and their weights.
//!
//! A row of n samples and its coefficients, the `ceil(n / 2)` low ones followed by the `floor(n / 2)` high ones, are
//! linear functions of one another. Written out row by row, with the extension at the ends resolved to positions
//! inside (Wong, Leung, Heng and Wang, 2007, section V), that function is all that an engine needs to know: one
//! engine then serves any filter bank and any boundary, forward and inverse.

mod bank;
mod extension;
mod lifting;
mod residual;
mod rounded;
mod row;

use picture::params::Boundary;

pub(crate) use self::residual::check;
#[cfg(feature = "opencl")]
pub(crate) use self::rounded::{InputPlace, Lifted, Rounded};
pub(crate) use self::row::Row;
use crate::filter::Filter;

/// Returns the coefficients of a row of `n` samples, low ones first. A row of one sample is its own low half.
pub(crate) fn forward(filter: &Filter, boundary: Boundary, n: usize) -> Vec<Row> {
    let rows = match filter {
        _ if n < 2 => vec![Row::unit(0); n],
        Filter::Lifted(steps) => lifting::forward(steps, boundary, n),
        Filter::Bank(bank) => extension::forward(bank, boundary, n),
    };
    rows.into_iter().map(Row::tidy).collect()
}

/// Returns the `n` samples of a row, from its coefficients, low ones first.
pub(crate) fn inverse(filter: &Filter, boundary: Boundary, n: usize) -> Vec<Row> {
    let rows = match filter {
        _ if n < 2 => vec![Row::unit(0); n],
        Filter::Lifted(steps) => lifting::inverse(steps, boundary, n),
        Filter::Bank(bank) => extension::inverse(bank, boundary, n),
    };
    rows.into_iter().map(Row::tidy).collect()
}
