//! Vectors of samples: what the transform needs of an instruction set.

#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(not(target_arch = "aarch64"))]
pub(super) mod portable;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

use crate::sample::{RoundedStep, Sample};

/// A number of the processor back end: the reference's arithmetic, and that of vectors.
pub(super) trait VectorSample: Sample {
    /// Vectors of an instruction set.
    type Vector<I: Isa>: Vector<Element = Self>;

    /// True if it has the reversible wavelet's steps only; else it has all but those.
    const REVERSIBLE: bool;

    /// Returns the coefficient that takes back what `coefficient` does.
    fn negated(coefficient: Self::Coefficient) -> Self::Coefficient;

    /// Scales as [`Sample::scale`] does; reversible wavelets have no scales.
    fn scaled(self, by: Self) -> Self;
}

macro_rules! float {
    ($type:ty, $vector:ident) => {
        impl VectorSample for $type {
            type Vector<I: Isa> = I::$vector;

            const REVERSIBLE: bool = false;

            fn negated(coefficient: Self) -> Self {
                -coefficient
            }

            #[inline(always)]
            fn scaled(self, by: Self) -> Self {
                self.scale(by)
            }
        }
    };
}

float!(f32, F32);
float!(f64, F64);

impl VectorSample for i32 {
    type Vector<I: Isa> = I::I32;

    const REVERSIBLE: bool = true;

    fn negated(coefficient: RoundedStep) -> RoundedStep {
        RoundedStep { adds: !coefficient.adds, ..coefficient }
    }

    #[inline(always)]
    fn scaled(self, _by: Self) -> Self {
        self
    }
}

/// A few samples side by side. Arithmetic is that of [`Sample`], lane by lane.
///
/// # Safety
///
/// All functions need a processor that has the instruction set which the vector is for.
pub(super) trait Vector: Copy {
    /// Type of a lane's value.
    type Element: VectorSample;
    /// Number of lanes.
    const LANES: usize;
    /// Lanes that follow each other along a row. The other parts of the vector go along other stretches of the row:
    /// where an instruction moves lanes within 128 bits only, delaying them takes one instruction instead of three.
    const PART: usize;

    /// Returns the same value in all lanes.
    unsafe fn splat(value: Self::Element) -> Self;
    /// Reads [`Self::LANES`] samples.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Asks for the cache line of `at`, wherever that may be, to be read soon.
    unsafe fn prefetch(_at: *const Self::Element) {}
    /// Writes [`Self::LANES`] samples.
    unsafe fn store(self, to: *mut Self::Element);
    /// Reads [`Self::PART`] samples for each part, `apart` from those of the part before.
    #[inline(always)]
    unsafe fn load_parts(from: *const Self::Element, _apart: usize) -> Self {
        // SAFETY: the caller vouches for as many samples; there is one part.
        unsafe { Self::load(from) }
    }
    /// Writes what [`Self::load_parts`] reads.
    #[inline(always)]
    unsafe fn store_parts(self, to: *mut Self::Element, _apart: usize) {
        // SAFETY: as above.
        unsafe { self.store(to) }
    }
    /// Reads twice as many samples for each part: those at even and those at odd positions.
    unsafe fn load_pairs(from: *const Self::Element, apart: usize) -> (Self, Self);
    /// Writes what [`Self::load_pairs`] reads.
    unsafe fn store_pairs(even: Self, odd: Self, to: *mut Self::Element, apart: usize);
    /// Returns the lanes of each part moved up by one, with the part's last lane of the vector `before` in front.
    unsafe fn delayed(self, before: Self) -> Self;
    /// Lifts as [`Sample::lift`] does.
    unsafe fn lift(self, a: Self, b: Self, tap: <Self::Element as Sample>::Coefficient) -> Self;
    /// Scales as [`VectorSample::scaled`] does.
    unsafe fn scaled(self, by: Self::Element) -> Self;
}

/// An instruction set: its vectors.
pub(super) trait Isa: Copy {
    /// Vector of single precision.
    type F32: Vector<Element = f32>;
    /// Vector of double precision.
    type F64: Vector<Element = f64>;
    /// Vector of integers.
    type I32: Vector<Element = i32>;
}
