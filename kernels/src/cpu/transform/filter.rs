//! The lifting steps of a wavelet in one direction, as the loops of this back end take them.

use crate::cpu::vector::VectorSample;
use crate::lifting::Lifting;
use crate::sample::{Sample, Steps};

/// Most neighbour pairs of a lifting step.
pub(super) const MOST_TAPS: usize = 2;
/// Most lifting steps.
pub(super) const MOST_STEPS: usize = 4;

/// Pairs of samples by which coefficients lag behind the samples that come in.
pub(super) const fn lag(steps: usize, taps: usize) -> usize {
    steps / 2 * (2 * taps - 1)
}

/// Pairs of samples after which a pair is no longer remembered: as many as come in before the first that counts.
pub(super) const fn memory(steps: usize, taps: usize) -> usize {
    2 * lag(steps, taps)
}

/// Lifting steps in the order in which they are applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiftingFilter<T: Sample> {
    /// Coefficients of each step, nearest neighbours first.
    steps: [[T::Coefficient; MOST_TAPS]; MOST_STEPS],
    /// Number of steps, 2 or 4.
    pub(super) count: usize,
    /// Neighbour pairs of each step, 1 or 2.
    pub(super) taps: usize,
    /// Scale of the low band: after the steps forward, before them inverse.
    pub(super) low_scale: T,
    /// Scale of the high band.
    pub(super) high_scale: T,
}

impl<T: VectorSample> LiftingFilter<T> {
    /// Returns the steps that split.
    pub(super) fn forward(lifting: &Lifting) -> Self {
        let Steps { steps, low_scale, high_scale } = T::steps(lifting);
        Self::new(&steps, low_scale, high_scale)
    }

    /// Returns the steps that merge.
    pub(super) fn inverse(lifting: &Lifting) -> Self {
        let Steps { mut steps, low_scale, high_scale } = T::steps(lifting);
        steps.reverse();
        steps.iter_mut().flatten().for_each(|coefficient| *coefficient = T::negated(*coefficient));
        Self::new(&steps, high_scale, low_scale)
    }

    fn new(steps: &[Vec<T::Coefficient>], low_scale: T, high_scale: T) -> Self {
        let (count, taps) = (steps.len(), steps[0].len());
        let at = |step: usize, tap: usize| steps[step.min(count - 1)][tap.min(taps - 1)];
        let steps = std::array::from_fn(|step| std::array::from_fn(|tap| at(step, tap)));
        Self { steps, count, taps, low_scale, high_scale }
    }

    /// Returns the coefficients of step `index`, nearest neighbours first.
    #[inline(always)]
    pub(super) fn step(&self, index: usize) -> &[T::Coefficient] {
        &self.steps[index][..self.taps]
    }

    /// Returns the coefficients of the first `STEPS` steps.
    #[inline(always)]
    pub(super) fn all<const STEPS: usize, const TAPS: usize>(&self) -> [[T::Coefficient; TAPS]; STEPS] {
        std::array::from_fn(|step| std::array::from_fn(|tap| self.steps[step][tap]))
    }

    /// Pairs of samples by which coefficients lag behind the samples that come in.
    pub(super) fn lag(&self) -> usize {
        lag(self.count, self.taps)
    }
}
