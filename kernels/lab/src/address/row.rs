//! One output of a table, and places in rows.

use picture::params::Boundary;

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

    pub(super) fn unit(source: usize) -> Self {
        Self { terms: vec![(source, 1.0)] }
    }

    /// Adds an input.
    pub(super) fn add(&mut self, source: usize, weight: f64) {
        match self.terms.iter_mut().find(|(there, _)| *there == source) {
            Some((_, sum)) => *sum += weight,
            None => self.terms.push((source, weight)),
        }
    }

    pub(super) fn add_scaled(&mut self, other: &Self, factor: f64) {
        other.terms.iter().for_each(|&(source, weight)| self.add(source, factor * weight));
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.terms.iter_mut().for_each(|(_, weight)| *weight *= factor);
    }

    /// Sorts by input, and drops weights of 0.
    pub(super) fn tidy(mut self) -> Self {
        self.terms.retain(|(_, weight)| *weight != 0.0);
        self.terms.sort_unstable_by_key(|(source, _)| *source);
        self
    }
}

/// The half of a row that a lifting step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Even,
    Odd,
}

/// Returns the place of item `i` of a half of a row of `n` >= 2 samples, by `boundary`; `None` where it is zero.
pub(super) fn in_half(half: Half, i: isize, n: usize, boundary: Boundary) -> Option<usize> {
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
pub(super) fn mirror(i: isize, n: usize) -> isize {
    let last = n as isize - 1;
    last - (i.rem_euclid(2 * last) - last).abs()
}

/// Returns the neighbours of item `i` that the pair `k` of lifting step `step` adds up, and the half they are in.
pub(super) fn neighbours(step: usize, i: usize, k: usize) -> (Half, [isize; 2]) {
    let (i, k) = (i as isize, k as isize);
    if step.is_multiple_of(2) { (Half::Even, [i - k, i + 1 + k]) } else { (Half::Odd, [i - 1 - k, i + k]) }
}
