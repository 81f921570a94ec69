//! The arithmetic of a lifting step on single values, for each kind of sample.

use super::vector::{Isa, Vector};
use crate::wavelet::Wavelet;

/// A number that is transformed. All operations are those of the reference, so results agree to the bit.
pub(super) trait Sample: Copy + Default + Send + Sync + 'static {
    /// What a lifting step does with the sum of two neighbours.
    type Tap: Copy + Default + Send + Sync;
    /// Vectors of an instruction set.
    type Vector<I: Isa>: Vector<Element = Self>;

    /// Tap of a step: `step` counts from 0 in forward order, even ones predict.
    fn tap(coefficient: f64, step: usize, inverse: bool) -> Self::Tap;

    /// A scale factor.
    fn scale(factor: f64) -> Self;

    /// The sample after a lifting step with the neighbours `a` and `b`.
    fn lift(self, a: Self, b: Self, tap: Self::Tap) -> Self;

    /// The sample times a scale factor.
    fn scaled(self, by: Self) -> Self;
}

macro_rules! float {
    ($type:ty, $vector:ident) => {
        impl Sample for $type {
            type Tap = Self;
            type Vector<I: Isa> = I::$vector;

            fn tap(coefficient: f64, _step: usize, inverse: bool) -> Self {
                if inverse { -coefficient as Self } else { coefficient as Self }
            }

            fn scale(factor: f64) -> Self {
                factor as Self
            }

            #[inline(always)]
            fn lift(self, a: Self, b: Self, tap: Self) -> Self {
                tap.mul_add(a + b, self)
            }

            #[inline(always)]
            fn scaled(self, by: Self) -> Self {
                self * by
            }
        }
    };
}

float!(f32, F32);
float!(f64, F64);

/// A rounded step of the reversible wavelet: plus or minus `floor((a + b + offset) / 2^shift)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundedTap {
    pub(super) offset: i32,
    pub(super) shift: u32,
    /// 0 adds, -1 subtracts.
    pub(super) sign: i32,
}

impl Sample for i32 {
    type Tap = RoundedTap;
    type Vector<I: Isa> = I::I32;

    fn tap(_coefficient: f64, step: usize, inverse: bool) -> RoundedTap {
        let predict = step.is_multiple_of(2);
        let (offset, shift) = if predict { (0, 1) } else { (2, 2) };
        RoundedTap { offset, shift, sign: if predict == inverse { 0 } else { -1 } }
    }

    fn scale(_factor: f64) -> Self {
        1
    }

    #[inline(always)]
    fn lift(self, a: Self, b: Self, tap: RoundedTap) -> Self {
        let rounded = a.wrapping_add(b).wrapping_add(tap.offset).wrapping_shr(tap.shift);
        self.wrapping_add((rounded ^ tap.sign).wrapping_sub(tap.sign))
    }

    #[inline(always)]
    fn scaled(self, _by: Self) -> Self {
        self
    }
}

/// Most neighbour pairs of a lifting step.
pub(super) const MOST_TAPS: usize = 2;
/// Most lifting steps.
pub(super) const MOST_STEPS: usize = 4;

/// The lifting steps of a wavelet in one direction, in the order in which they are applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter<T: Sample> {
    steps: [[T::Tap; MOST_TAPS]; MOST_STEPS],
    /// Number of steps.
    pub(super) count: usize,
    /// Neighbour pairs of each step, 1 or 2.
    pub(super) taps: usize,
    /// Scale of the low band: after the steps forward, before them inverse.
    pub(super) low_scale: T,
    /// Scale of the high band.
    pub(super) high_scale: T,
}

impl<T: Sample> Filter<T> {
    /// Forward steps of a wavelet.
    pub(super) fn forward(wavelet: Wavelet) -> Self {
        Self::new(wavelet, false)
    }

    /// Inverse steps of a wavelet.
    pub(super) fn inverse(wavelet: Wavelet) -> Self {
        Self::new(wavelet, true)
    }

    fn new(wavelet: Wavelet, inverse: bool) -> Self {
        let lifting = wavelet.lifting();
        let count = lifting.steps.len();
        let mut steps = [[T::Tap::default(); MOST_TAPS]; MOST_STEPS];
        for (index, coefficients) in lifting.steps.iter().enumerate() {
            let to = &mut steps[if inverse { count - 1 - index } else { index }];
            for (tap, &coefficient) in to.iter_mut().zip(*coefficients) {
                *tap = T::tap(coefficient, index, inverse);
            }
        }
        // The inverse scales are those of the bands exchanged: 1/K and K.
        let (low, high) = if inverse {
            (lifting.high_scale, lifting.low_scale)
        } else {
            (lifting.low_scale, lifting.high_scale)
        };
        let taps = lifting.steps.iter().map(|step| step.len()).max().unwrap_or(1);
        Self { steps, count, taps, low_scale: T::scale(low), high_scale: T::scale(high) }
    }

    /// The taps of step `index`, nearest neighbours first.
    #[inline(always)]
    pub(super) fn step(&self, index: usize) -> &[T::Tap] {
        &self.steps[index][..self.taps]
    }

    /// How many pairs of rows before and after a pair its transform reaches.
    #[inline(always)]
    pub(super) fn reach(&self) -> usize {
        self.count / 2 * (2 * self.taps - 1)
    }
}
