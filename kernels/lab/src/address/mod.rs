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

use picture::params::Boundary;

pub(crate) use self::residual::check;
#[cfg(feature = "opencl")]
pub(crate) use self::rounded::{InputPlace, Lifted, Rounded};
use crate::filter::Filter;

/// The inputs of one output, with their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    terms: Vec<(usize, f64)>,
}

impl Row {
    /// Returns (index of the input, weight), each input once.
    pub(crate) fn terms(&self) -> &[(usize, f64)] {
        &self.terms
    }

    fn unit(source: usize) -> Self {
        Self { terms: vec![(source, 1.0)] }
    }

    /// Adds an input.
    fn add(&mut self, source: usize, weight: f64) {
        match self.terms.iter_mut().find(|(there, _)| *there == source) {
            Some((_, sum)) => *sum += weight,
            None => self.terms.push((source, weight)),
        }
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        other.terms.iter().for_each(|&(source, weight)| self.add(source, factor * weight));
    }

    fn scale(&mut self, factor: f64) {
        self.terms.iter_mut().for_each(|(_, weight)| *weight *= factor);
    }

    /// Sorts by input, and drops weights of 0.
    fn tidy(mut self) -> Self {
        self.terms.retain(|(_, weight)| *weight != 0.0);
        self.terms.sort_unstable_by_key(|(source, _)| *source);
        self
    }
}

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

/// The half of a row that a lifting step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Even,
    Odd,
}

/// Returns the place of item `i` of a half of a row of `n` >= 2 samples, by `boundary`; `None` where it is zero.
fn in_half(half: Half, i: isize, n: usize, boundary: Boundary) -> Option<usize> {
    let (parity, count) = match half {
        Half::Even => (0, n.div_ceil(2) as isize),
        Half::Odd => (1, (n / 2) as isize),
    };
    let at = match boundary {
        Boundary::Symmetric => (mirror(2 * i + parity, n) - parity) / 2,
        Boundary::Periodic => i.rem_euclid(count),
        Boundary::Zero => i,
    };
    usize::try_from(at).ok().filter(|at| *at < count as usize)
}

/// Returns position `i` mirrored about the first and the last of `n` >= 2 samples until it is one of them.
fn mirror(i: isize, n: usize) -> isize {
    let last = n as isize - 1;
    last - (i.rem_euclid(2 * last) - last).abs()
}

/// Returns the neighbours of item `i` that the pair `k` of lifting step `step` adds up, and the half they are in.
fn neighbours(step: usize, i: usize, k: usize) -> (Half, [isize; 2]) {
    let (i, k) = (i as isize, k as isize);
    if step.is_multiple_of(2) { (Half::Even, [i - k, i + 1 + k]) } else { (Half::Odd, [i - 1 - k, i + k]) }
}
