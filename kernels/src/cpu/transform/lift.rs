//! All lifting steps on vectors that come in one after another, along a row or down the columns.
//!
//! With `u` the vector that the last step made and `t` the one before, a step is `t <- t + tap (u + u delayed)`, and
//! then `u delayed` is the next target: every step lags one more sample behind. Nothing but the last vectors of each
//! step is kept. Along a row a vector is delayed by a lane, down the columns by a row.

use std::mem::replace;

use super::filter::LiftingFilter;
use crate::cpu::vector::Vector;
use crate::sample::Sample;

/// Access to the neighbour before.
pub(super) trait Neighbours {
    /// Returns `now` moved by one sample; `before` is the vector that came before and becomes `now`.
    unsafe fn delayed<V: Vector>(now: V, before: &mut V) -> V;
}

/// Samples follow each other from lane to lane.
pub(super) struct Along;

impl Neighbours for Along {
    #[inline(always)]
    unsafe fn delayed<V: Vector>(now: V, before: &mut V) -> V {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { now.delayed(replace(before, now)) }
    }
}

/// Samples follow each other from vector to vector.
pub(super) struct Down;

impl Neighbours for Down {
    #[inline(always)]
    unsafe fn delayed<V: Vector>(now: V, before: &mut V) -> V {
        replace(before, now)
    }
}

/// The coefficients of all steps.
type StepCoefficients<V, const STEPS: usize, const TAPS: usize> =
    [[<<V as Vector>::Element as Sample>::Coefficient; TAPS]; STEPS];

/// The steps and what they remember.
#[derive(Clone, Copy)]
pub(super) struct Lift<V: Vector, const STEPS: usize, const TAPS: usize> {
    coefficients: StepCoefficients<V, STEPS, TAPS>,
    /// The first target before, which lags one sample more if steps have two pairs.
    late: V,
    /// Delayed once, twice and three times, the neighbours of each step.
    near: [V; STEPS],
    far: [V; STEPS],
    farthest: [V; STEPS],
    /// Target and neighbours that wait for each step in [`Self::pipelined`].
    waiting: [(V, V); STEPS],
}

impl<V: Vector, const STEPS: usize, const TAPS: usize> Lift<V, STEPS, TAPS> {
    /// Vectors that [`Self::load`] and [`Self::store`] move.
    pub(super) const VECTORS: usize = if TAPS == 1 { STEPS } else { 3 * STEPS + 1 };

    /// Remembers zeros.
    #[inline(always)]
    pub(super) unsafe fn new(filter: &LiftingFilter<V::Element>) -> Self {
        // SAFETY: the caller vouches for the instruction set.
        let zero = unsafe { V::splat(V::Element::default()) };
        let (zeros, waiting) = ([zero; STEPS], [(zero, zero); STEPS]);
        Self { coefficients: filter.all(), late: zero, near: zeros, far: zeros, farthest: zeros, waiting }
    }

    /// Remembers what [`Self::store`] wrote.
    #[inline(always)]
    pub(super) unsafe fn load(&mut self, from: *const V::Element) {
        // SAFETY: the caller vouches for `VECTORS` vectors.
        unsafe {
            for step in 0..STEPS {
                self.near[step] = V::load(from.add(step * V::LANES));
                if TAPS == 2 {
                    self.far[step] = V::load(from.add((STEPS + step) * V::LANES));
                    self.farthest[step] = V::load(from.add((2 * STEPS + step) * V::LANES));
                }
            }
            if TAPS == 2 {
                self.late = V::load(from.add(3 * STEPS * V::LANES));
            }
        }
    }

    /// Writes what is remembered between calls of [`Self::all`].
    #[inline(always)]
    pub(super) unsafe fn store(&self, to: *mut V::Element) {
        // SAFETY: the caller vouches for `VECTORS` vectors.
        unsafe {
            for step in 0..STEPS {
                self.near[step].store(to.add(step * V::LANES));
                if TAPS == 2 {
                    self.far[step].store(to.add((STEPS + step) * V::LANES));
                    self.farthest[step].store(to.add((2 * STEPS + step) * V::LANES));
                }
            }
            if TAPS == 2 {
                self.late.store(to.add(3 * STEPS * V::LANES));
            }
        }
    }

    /// Takes one step: the next target and its neighbours, and the vector of the other kind beside these neighbours.
    #[inline(always)]
    unsafe fn step<D: Neighbours>(&mut self, step: usize, (t, u): (V, V), forward: bool) -> ((V, V), V) {
        let taps = self.coefficients[step];
        // SAFETY: the caller vouches for the instruction set; no memory is touched.
        unsafe {
            let near = D::delayed(u, &mut self.near[step]);
            if TAPS == 1 {
                return ((near, t.lift(near, u, taps[0])), if forward { u } else { near });
            }
            let far = D::delayed(near, &mut self.far[step]);
            let farthest = D::delayed(far, &mut self.farthest[step]);
            let target = t.lift(far, near, taps[0]).lift(farthest, u, taps[1]);
            ((farthest, target), if forward { near } else { far })
        }
    }

    /// Returns the first step's target as late as its neighbours.
    #[inline(always)]
    unsafe fn first<D: Neighbours>(&mut self, target: V) -> V {
        // SAFETY: the caller vouches for the instruction set.
        if TAPS == 1 { target } else { unsafe { D::delayed(target, &mut self.late) } }
    }

    /// Takes all steps on a pair of vectors, the first step's target and its neighbours. Returns the last step's target
    /// and the vector of the other kind at the same position.
    #[inline(always)]
    pub(super) unsafe fn all<D: Neighbours>(&mut self, target: V, neighbours: V, forward: bool) -> (V, V) {
        // SAFETY: the caller vouches for the instruction set.
        unsafe {
            let (mut pair, mut other) = ((self.first::<D>(target), neighbours), neighbours);
            for step in 0..STEPS {
                (pair, other) = self.step::<D>(step, pair, forward);
            }
            (pair.1, other)
        }
    }

    /// Does the same, but what it returns is of `STEPS - 1` calls before: each step takes what the step before it made
    /// in the last call, so that no step waits for another. Else the processor has too little to do at a time.
    #[inline(always)]
    pub(super) unsafe fn pipelined<D: Neighbours>(&mut self, target: V, neighbours: V, forward: bool) -> (V, V) {
        // SAFETY: the caller vouches for the instruction set.
        unsafe {
            self.waiting[0] = (self.first::<D>(target), neighbours);
            let mut last = (target, neighbours);
            for step in (0..STEPS).rev() {
                let (pair, other) = self.step::<D>(step, self.waiting[step], forward);
                if step + 1 < STEPS {
                    self.waiting[step + 1] = pair;
                } else {
                    last = (pair.1, other);
                }
            }
            last
        }
    }
}
