//! Vectors of samples: what the horizontal transform needs of an instruction set.

#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

use super::filter::Element;
use crate::reference::sample::Sample;

/// A few samples side by side. Arithmetic is that of [`Sample`], lane by lane.
///
/// # Safety
///
/// All functions need a processor that has the instruction set which the vector is for.
pub(super) trait Vector: Copy {
    /// What a lane holds.
    type Element: Element;
    /// Number of lanes.
    const LANES: usize;

    /// The same value in all lanes.
    unsafe fn splat(value: Self::Element) -> Self;
    /// Reads [`Self::LANES`] samples.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes [`Self::LANES`] samples.
    unsafe fn store(self, to: *mut Self::Element);
    /// Reads twice as many samples: those at even and those at odd positions.
    unsafe fn load_pairs(from: *const Self::Element) -> (Self, Self);
    /// Writes what [`Self::load_pairs`] reads.
    unsafe fn store_pairs(even: Self, odd: Self, to: *mut Self::Element);
    /// The lanes moved up by one, with the last lane of the vector before in front. `carry` is what is kept from vector to
    /// vector, zero at first, in the form that takes the fewest shuffles.
    unsafe fn delayed(self, carry: &mut Self) -> Self;
    /// [`Sample::lift`].
    unsafe fn lift(self, a: Self, b: Self, tap: <Self::Element as Sample>::Coefficient) -> Self;
    /// [`Element::scaled`].
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

/// No instructions but those that every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Isa for Portable {
    type F32 = Array<f32>;
    type F64 = Array<f64>;
    type I32 = Array<i32>;
}

const ARRAY_LANES: usize = 4;

/// A vector for any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array<T>([T; ARRAY_LANES]);

impl<T: Element> Vector for Array<T> {
    type Element = T;
    const LANES: usize = ARRAY_LANES;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Self([value; ARRAY_LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller vouches for as many samples.
        Self(unsafe { from.cast::<[T; ARRAY_LANES]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller vouches for as many samples.
        unsafe { to.cast::<[T; ARRAY_LANES]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const T) -> (Self, Self) {
        // SAFETY: the caller vouches for twice as many samples.
        let pairs = unsafe { from.cast::<[[T; 2]; ARRAY_LANES]>().read_unaligned() };
        (Self(pairs.map(|pair| pair[0])), Self(pairs.map(|pair| pair[1])))
    }

    #[inline(always)]
    unsafe fn store_pairs(even: Self, odd: Self, to: *mut T) {
        let mut pairs = [[T::default(); 2]; ARRAY_LANES];
        for ((pair, even), odd) in pairs.iter_mut().zip(even.0).zip(odd.0) {
            *pair = [even, odd];
        }
        // SAFETY: the caller vouches for twice as many samples.
        unsafe { to.cast::<[[T; 2]; ARRAY_LANES]>().write_unaligned(pairs) }
    }

    #[inline(always)]
    unsafe fn delayed(self, carry: &mut Self) -> Self {
        let mut lanes = std::mem::replace(carry, self).0;
        lanes.rotate_right(1);
        lanes[1..].copy_from_slice(&self.0[..ARRAY_LANES - 1]);
        Self(lanes)
    }

    #[inline(always)]
    unsafe fn lift(mut self, a: Self, b: Self, tap: T::Coefficient) -> Self {
        for ((lane, a), b) in self.0.iter_mut().zip(a.0).zip(b.0) {
            *lane = lane.lift(tap, a, b);
        }
        self
    }

    #[inline(always)]
    unsafe fn scaled(self, by: T) -> Self {
        Self(self.0.map(|lane| lane.scaled(by)))
    }
}
