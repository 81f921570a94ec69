//! Vectors for processors without an instruction set of their own here.

use super::{Isa, Vector, VectorSample};

/// No instructions but those that every processor of the target has.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Portable;

impl Isa for Portable {
    type F32 = Array<f32>;
    type F64 = Array<f64>;
    type I32 = Array<i32>;
}

const ARRAY_LANES: usize = 4;

/// A vector for any processor.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Array<T>([T; ARRAY_LANES]);

impl<T: VectorSample> Vector for Array<T> {
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
