//! Vectors of samples: what the transform needs of an instruction set.

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
    /// Lanes that follow each other along a row. The other parts of the vector go along other stretches of the row: where
    /// an instruction moves lanes within 128 bits only, delaying them takes one instruction instead of three.
    const PART: usize;

    /// The same value in all lanes.
    unsafe fn splat(value: Self::Element) -> Self;
    /// Reads [`Self::LANES`] samples.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Asks for the cache line of `at`, wherever that may be, to be read soon.
    unsafe fn prefetch(_at: *const Self::Element) {}
    /// Writes [`Self::LANES`] samples.
    unsafe fn store(self, to: *mut Self::Element);
    /// Reads [`Self::PART`] samples for each part, `apart` from those of the part before.
    unsafe fn load_parts(from: *const Self::Element, apart: usize) -> Self;
    /// Writes what [`Self::load_parts`] reads.
    unsafe fn store_parts(self, to: *mut Self::Element, apart: usize);
    /// Reads twice as many samples for each part: those at even and those at odd positions.
    unsafe fn load_pairs(from: *const Self::Element, apart: usize) -> (Self, Self);
    /// Writes what [`Self::load_pairs`] reads.
    unsafe fn store_pairs(even: Self, odd: Self, to: *mut Self::Element, apart: usize);
    /// The lanes of each part moved up by one, with the part's last lane of the vector `before` in front.
    unsafe fn delayed(self, before: Self) -> Self;
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
    const PART: usize = ARRAY_LANES;

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
    unsafe fn load_parts(from: *const T, _apart: usize) -> Self {
        // SAFETY: the caller vouches for as many samples.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn store_parts(self, to: *mut T, _apart: usize) {
        // SAFETY: the caller vouches for as many samples.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const T, _apart: usize) -> (Self, Self) {
        // SAFETY: the caller vouches for twice as many samples.
        let pairs = unsafe { from.cast::<[[T; 2]; ARRAY_LANES]>().read_unaligned() };
        (Self(pairs.map(|pair| pair[0])), Self(pairs.map(|pair| pair[1])))
    }

    #[inline(always)]
    unsafe fn store_pairs(even: Self, odd: Self, to: *mut T, _apart: usize) {
        let mut pairs = [[T::default(); 2]; ARRAY_LANES];
        for ((pair, even), odd) in pairs.iter_mut().zip(even.0).zip(odd.0) {
            *pair = [even, odd];
        }
        // SAFETY: the caller vouches for twice as many samples.
        unsafe { to.cast::<[[T; 2]; ARRAY_LANES]>().write_unaligned(pairs) }
    }

    #[inline(always)]
    unsafe fn delayed(self, before: Self) -> Self {
        let mut lanes = self.0;
        lanes.rotate_right(1);
        lanes[0] = before.0[ARRAY_LANES - 1];
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
