//! Vectors of NEON, which every 64-bit ARM processor has.
//!
//! SAFETY of this file: NEON is always there, and callers vouch for the memory behind the pointers.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]

use std::arch::aarch64::*;

use super::{Isa, Vector};
use crate::sample::RoundedStep;

/// NEON.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Neon;

impl Isa for Neon {
    type F32 = F32x4;
    type F64 = F64x2;
    type I32 = I32x4;
}

macro_rules! vector {
    ($(#[$meta:meta])* $name:ident($inner:ty, $pair:ident), $element:ty, $lanes:literal, $tap:ty;
     $dup:ident, $load:ident, $store:ident, $load2:ident, $store2:ident, $ext:ident;
     lift($target:ident, $a:ident, $b:ident, $t:ident) $lift:block
     scaled($x:ident, $by:ident) $scaled:block
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(in super::super) struct $name($inner);

        impl Vector for $name {
            type Element = $element;
            const LANES: usize = $lanes;
            const PART: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self { unsafe { Self($dup(value)) } }
            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self { unsafe { Self($load(from)) } }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) { unsafe { $store(to, self.0) } }
            #[inline(always)]
            unsafe fn load_pairs(from: *const $element, _apart: usize) -> (Self, Self) {
                let pairs = unsafe { $load2(from) };
                (Self(pairs.0), Self(pairs.1))
            }
            #[inline(always)]
            unsafe fn store_pairs(even: Self, odd: Self, to: *mut $element, _apart: usize) {
                unsafe { $store2(to, $pair(even.0, odd.0)) }
            }
            #[inline(always)]
            unsafe fn delayed(self, before: Self) -> Self {
                unsafe { Self($ext::<{ $lanes - 1 }>(before.0, self.0)) }
            }
            #[inline(always)]
            unsafe fn lift(self, a: Self, b: Self, $t: $tap) -> Self {
                let ($target, $a, $b) = (self.0, a.0, b.0);
                unsafe { Self($lift) }
            }
            #[inline(always)]
            #[allow(unused_unsafe, reason = "integers are not scaled")]
            unsafe fn scaled(self, $by: $element) -> Self {
                let $x = self.0;
                unsafe { Self($scaled) }
            }
        }
    };
}

vector! {
    /// Four single precision numbers.
    F32x4(float32x4_t, float32x4x2_t), f32, 4, f32;
    vdupq_n_f32, vld1q_f32, vst1q_f32, vld2q_f32, vst2q_f32, vextq_f32;
    lift(target, a, b, tap) { vfmaq_f32(target, vdupq_n_f32(tap), vaddq_f32(a, b)) }
    scaled(x, by) { vmulq_f32(x, vdupq_n_f32(by)) }
}

vector! {
    /// Two double precision numbers.
    F64x2(float64x2_t, float64x2x2_t), f64, 2, f64;
    vdupq_n_f64, vld1q_f64, vst1q_f64, vld2q_f64, vst2q_f64, vextq_f64;
    lift(target, a, b, tap) { vfmaq_f64(target, vdupq_n_f64(tap), vaddq_f64(a, b)) }
    scaled(x, by) { vmulq_f64(x, vdupq_n_f64(by)) }
}

vector! {
    /// Four integers.
    I32x4(int32x4_t, int32x4x2_t), i32, 4, RoundedStep;
    vdupq_n_s32, vld1q_s32, vst1q_s32, vld2q_s32, vst2q_s32, vextq_s32;
    lift(target, a, b, tap) {
        let sum = vaddq_s32(vaddq_s32(a, b), vdupq_n_s32(tap.offset));
        // A shift to the left by a negative count is an arithmetic shift to the right.
        let rounded = vshlq_s32(sum, vdupq_n_s32(-(tap.shift as i32)));
        let sign = vdupq_n_s32(if tap.adds { 0 } else { -1 });
        vaddq_s32(target, vsubq_s32(veorq_s32(rounded, sign), sign))
    }
    scaled(x, _by) { x }
}
