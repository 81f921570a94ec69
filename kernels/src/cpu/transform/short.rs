//! Rows and columns of a few samples, and the ends of long ones, one sample after another.
//!
//! A coefficient near one end of a row depends on samples near the two ends only. So the ends of a long row are those
//! of a short one made of its first and last [`END`] samples: only the middle, where the two meet, differs.

use picture::params::Boundary;

use super::filter::LiftingFilter;
use crate::cpu::vector::VectorSample;

/// Samples of each end that decide the coefficients there.
pub(super) const END: usize = 16;
/// Most samples of a short row: two ends, and one more if the long row is odd.
pub(super) const SHORT: usize = 2 * END + 1;
/// Values of each half, at each end, that depend on the boundary and not on the middle.
pub(super) const TOUCHED: usize = 4;
const _: () = assert!(2 * TOUCHED <= END, "what the boundary touches lies in the ends");

/// A short row as halves: even (low) samples, then odd (high) ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short<T> {
    even: [T; SHORT / 2 + 1],
    odd: [T; SHORT / 2 + 1],
    length: usize,
}

/// Returns the length of the short row that stands for one of `length`.
pub(super) fn short_length(length: usize) -> usize {
    if length <= SHORT { length } else { 2 * END + length % 2 }
}

/// Returns the place of sample `at` of the short row in the row of `length` that it stands for.
#[inline(always)]
pub(super) fn end_row(at: usize, length: usize) -> usize {
    let short = short_length(length);
    if 2 * at < short { at } else { length - short + at }
}

/// Returns true if sample `at` of the short row is also one of the long row.
#[inline(always)]
pub(super) fn is_end(at: usize, length: usize) -> bool {
    let short = short_length(length);
    short == length || at < 2 * TOUCHED || at >= short - 2 * TOUCHED
}

impl<T: VectorSample> Short<T> {
    /// Creates a row of `length` samples, at most [`SHORT`].
    #[inline(always)]
    pub(super) fn from_samples(length: usize, sample: impl Fn(usize) -> T) -> Self {
        let mut row = Self { even: Default::default(), odd: Default::default(), length };
        for (n, even) in row.even.iter_mut().enumerate().take(length.div_ceil(2)) {
            *even = sample(2 * n);
        }
        for (n, odd) in row.odd.iter_mut().enumerate().take(length / 2) {
            *odd = sample(2 * n + 1);
        }
        row
    }

    /// Returns samples 2n, or low coefficients.
    #[inline(always)]
    pub(super) fn even(&self) -> &[T] {
        &self.even[..self.length.div_ceil(2)]
    }

    /// Returns samples 2n + 1, or high coefficients.
    #[inline(always)]
    pub(super) fn odd(&self) -> &[T] {
        &self.odd[..self.length / 2]
    }

    /// Returns sample `at`, after [`Self::merge`].
    #[inline(always)]
    pub(super) fn sample(&self, at: usize) -> T {
        if at.is_multiple_of(2) { self.even[at / 2] } else { self.odd[at / 2] }
    }

    /// Splits samples into coefficients; a single sample stays.
    #[inline(always)]
    pub(super) fn split(&mut self, filter: &LiftingFilter<T>, boundary: Boundary) {
        if self.length > 1 {
            self.lift(filter, boundary, 0);
            self.scale(filter);
        }
    }

    /// Coefficients to samples.
    #[inline(always)]
    pub(super) fn merge(&mut self, filter: &LiftingFilter<T>, boundary: Boundary) {
        if self.length > 1 {
            self.scale(filter);
            self.lift(filter, boundary, 1);
        }
    }

    #[inline(always)]
    fn scale(&mut self, filter: &LiftingFilter<T>) {
        self.even.iter_mut().for_each(|even| *even = even.scaled(filter.low_scale));
        self.odd.iter_mut().for_each(|odd| *odd = odd.scaled(filter.high_scale));
    }

    /// Takes all steps; those of parity `predict` change odd samples.
    #[inline(always)]
    fn lift(&mut self, filter: &LiftingFilter<T>, boundary: Boundary, predict: usize) {
        let (evens, odds) = (self.length.div_ceil(2), self.length / 2);
        for step in 0..filter.count {
            let taps = filter.step(step);
            if step % 2 == predict {
                lift_half(&mut self.odd[..odds], &self.even[..evens], taps, 1, self.length, boundary);
            } else {
                lift_half(&mut self.even[..evens], &self.odd[..odds], taps, 0, self.length, boundary);
            }
        }
    }
}

/// Takes one step: `targets` are the samples of the given parity of a row of `length`, `others` those between.
#[inline(always)]
fn lift_half<T: VectorSample>(
    targets: &mut [T],
    others: &[T],
    taps: &[T::Coefficient],
    parity: usize,
    length: usize,
    boundary: Boundary,
) {
    // The neighbours of target n are others n - 1 - k + parity and n + k + parity.
    let inside = taps.len() - parity..(others.len() + 1).saturating_sub(taps.len() + parity).min(targets.len());
    for (n, target) in targets.iter_mut().enumerate() {
        for (k, &tap) in taps.iter().enumerate() {
            *target = if inside.contains(&n) {
                target.lift(tap, others[n + parity - 1 - k], others[n + parity + k])
            } else {
                let at = (2 * n + parity) as isize;
                let [a, b] = [at - 1 - 2 * k as isize, at + 1 + 2 * k as isize]
                    .map(|at| neighbour(at, others, length, boundary));
                target.lift(tap, a, b)
            };
        }
    }
}

/// Returns the sample at `at`, which may lie beyond the ends of a row of `length`; `others` holds its parity.
#[inline(always)]
fn neighbour<T: VectorSample>(at: isize, others: &[T], length: usize, boundary: Boundary) -> T {
    if (0..length as isize).contains(&at) {
        return others[at as usize / 2];
    }
    match boundary {
        Boundary::Symmetric => others[mirror(at, length) / 2],
        Boundary::Periodic => others[at.div_euclid(2).rem_euclid(others.len() as isize) as usize],
        Boundary::Zero => T::default(),
    }
}

/// Returns the index of the sample that one beyond the ends of a row of `length` mirrors; `length` >= 2.
#[inline(always)]
pub(super) fn mirror(at: isize, length: usize) -> usize {
    let period = 2 * (length - 1);
    let at = at.unsigned_abs() % period;
    if at < length { at } else { period - at }
}
