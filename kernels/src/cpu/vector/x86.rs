//! Vectors of AVX2 with FMA, and of AVX-512.
//!
//! SAFETY of this file: the functions are called only where the instruction set was found (`simd::multiversion`), and
//! their callers vouch for the memory behind the pointers. Loads and stores need no alignment.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]

use std::arch::x86_64::*;

use super::{Isa, Vector};
use crate::sample::RoundedStep;

/// AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Avx2;

impl Isa for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type I32 = I32x8;
}

/// AVX-512 F, BW, DQ, VL.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Avx512;

impl Isa for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type I32 = I32x16;
}

/// Defines a vector: bodies of the functions of [`Vector`].
macro_rules! vector {
    ($(#[$meta:meta])* $name:ident($inner:ty), $element:ty, $lanes:literal, $part:literal, $tap:ty;
     splat($value:ident) $splat:block
     load($from:ident) $load:block
     store($this:ident, $to:ident) $store:block
     $(load_parts($from1:ident, $apart1:ident) $load_parts:block
     store_parts($this1:ident, $to1:ident, $apart2:ident) $store_parts:block)?
     load_pairs($from2:ident, $apart3:pat) $load_pairs:block
     store_pairs($even:ident, $odd:ident, $to2:ident, $apart4:pat) $store_pairs:block
     delayed($now:ident, $before:ident) $delayed:block
     lift($target:ident, $a:ident, $b:ident, $t:ident) $lift:block
     scaled($x:ident, $by:ident) $scaled:block
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(in super::super) struct $name($inner);

        impl Vector for $name {
            type Element = $element;
            const LANES: usize = $lanes;
            const PART: usize = $part;

            #[inline(always)]
            unsafe fn splat($value: $element) -> Self { unsafe { Self($splat) } }
            #[inline(always)]
            unsafe fn load($from: *const $element) -> Self { unsafe { Self($load) } }
            #[inline(always)]
            unsafe fn prefetch(at: *const $element) { unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) } }
            #[inline(always)]
            unsafe fn store(self, $to: *mut $element) { let $this = self.0; unsafe { $store } }
            $(#[inline(always)]
            unsafe fn load_parts($from1: *const $element, $apart1: usize) -> Self { unsafe { Self($load_parts) } }
            #[inline(always)]
            unsafe fn store_parts(self, $to1: *mut $element, $apart2: usize) {
                let $this1 = self.0;
                unsafe { $store_parts }
            })?
            #[inline(always)]
            unsafe fn load_pairs($from2: *const $element, $apart3: usize) -> (Self, Self) {
                let (even, odd) = unsafe { $load_pairs };
                (Self(even), Self(odd))
            }
            #[inline(always)]
            unsafe fn store_pairs(even: Self, odd: Self, $to2: *mut $element, $apart4: usize) {
                let ($even, $odd) = (even.0, odd.0);
                unsafe { $store_pairs }
            }
            #[inline(always)]
            unsafe fn delayed(self, before: Self) -> Self {
                let ($now, $before) = (self.0, before.0);
                unsafe { Self($delayed) }
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
    /// Eight single precision numbers.
    F32x8(__m256), f32, 8, 4, f32;
    splat(value) { _mm256_set1_ps(value) }
    load(from) { _mm256_loadu_ps(from) }
    store(this, to) { _mm256_storeu_ps(to, this) }
    load_parts(from, apart) { _mm256_loadu2_m128(from.add(apart), from) }
    store_parts(this, to, apart) { _mm256_storeu2_m128(to.add(apart), to, this) }
    load_pairs(from, apart) {
        let (a, b) = (_mm256_loadu2_m128(from.add(apart), from), _mm256_loadu2_m128(from.add(apart + 4), from.add(4)));
        (_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b))
    }
    store_pairs(even, odd, to, apart) {
        _mm256_storeu2_m128(to.add(apart), to, _mm256_unpacklo_ps(even, odd));
        _mm256_storeu2_m128(to.add(apart + 4), to.add(4), _mm256_unpackhi_ps(even, odd));
    }
    delayed(now, before) {
        _mm256_castsi256_ps(_mm256_alignr_epi8::<12>(_mm256_castps_si256(now), _mm256_castps_si256(before)))
    }
    lift(target, a, b, tap) { _mm256_fmadd_ps(_mm256_set1_ps(tap), _mm256_add_ps(a, b), target) }
    scaled(x, by) { _mm256_mul_ps(x, _mm256_set1_ps(by)) }
}

vector! {
    /// Four double precision numbers.
    F64x4(__m256d), f64, 4, 2, f64;
    splat(value) { _mm256_set1_pd(value) }
    load(from) { _mm256_loadu_pd(from) }
    store(this, to) { _mm256_storeu_pd(to, this) }
    load_parts(from, apart) { _mm256_loadu2_m128d(from.add(apart), from) }
    store_parts(this, to, apart) { _mm256_storeu2_m128d(to.add(apart), to, this) }
    load_pairs(from, apart) {
        let (a, b) = (_mm256_loadu2_m128d(from.add(apart), from), _mm256_loadu2_m128d(from.add(apart + 2), from.add(2)));
        (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
    }
    store_pairs(even, odd, to, apart) {
        _mm256_storeu2_m128d(to.add(apart), to, _mm256_unpacklo_pd(even, odd));
        _mm256_storeu2_m128d(to.add(apart + 2), to.add(2), _mm256_unpackhi_pd(even, odd));
    }
    delayed(now, before) { _mm256_shuffle_pd::<0b0101>(before, now) }
    lift(target, a, b, tap) { _mm256_fmadd_pd(_mm256_set1_pd(tap), _mm256_add_pd(a, b), target) }
    scaled(x, by) { _mm256_mul_pd(x, _mm256_set1_pd(by)) }
}

vector! {
    /// Eight integers.
    I32x8(__m256i), i32, 8, 4, RoundedStep;
    splat(value) { _mm256_set1_epi32(value) }
    load(from) { _mm256_loadu_si256(from.cast()) }
    store(this, to) { _mm256_storeu_si256(to.cast(), this) }
    load_parts(from, apart) { _mm256_castps_si256(F32x8::load_parts(from.cast(), apart).0) }
    store_parts(this, to, apart) { F32x8(_mm256_castsi256_ps(this)).store_parts(to.cast(), apart) }
    load_pairs(from, apart) {
        let (even, odd) = F32x8::load_pairs(from.cast(), apart);
        (_mm256_castps_si256(even.0), _mm256_castps_si256(odd.0))
    }
    store_pairs(even, odd, to, apart) {
        let (even, odd) = (F32x8(_mm256_castsi256_ps(even)), F32x8(_mm256_castsi256_ps(odd)));
        F32x8::store_pairs(even, odd, to.cast(), apart);
    }
    delayed(now, before) { _mm256_alignr_epi8::<12>(now, before) }
    lift(target, a, b, tap) {
        let sum = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(tap.offset));
        let rounded = _mm256_sra_epi32(sum, _mm_cvtsi32_si128(tap.shift as i32));
        let sign = _mm256_set1_epi32(if tap.adds { 0 } else { -1 });
        _mm256_add_epi32(target, _mm256_sub_epi32(_mm256_xor_si256(rounded, sign), sign))
    }
    scaled(x, _by) { x }
}

vector! {
    /// Sixteen single precision numbers.
    F32x16(__m512), f32, 16, 16, f32;
    splat(value) { _mm512_set1_ps(value) }
    load(from) { _mm512_loadu_ps(from) }
    store(this, to) { _mm512_storeu_ps(to, this) }
    load_pairs(from, _) {
        let (a, b) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
        let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        let odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
        (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
    }
    store_pairs(even, odd, to, _) {
        let first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        let second = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
        _mm512_storeu_ps(to, _mm512_permutex2var_ps(even, first, odd));
        _mm512_storeu_ps(to.add(16), _mm512_permutex2var_ps(even, second, odd));
    }
    delayed(now, before) {
        _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(_mm512_castps_si512(now), _mm512_castps_si512(before)))
    }
    lift(target, a, b, tap) { _mm512_fmadd_ps(_mm512_set1_ps(tap), _mm512_add_ps(a, b), target) }
    scaled(x, by) { _mm512_mul_ps(x, _mm512_set1_ps(by)) }
}

vector! {
    /// Eight double precision numbers.
    F64x8(__m512d), f64, 8, 8, f64;
    splat(value) { _mm512_set1_pd(value) }
    load(from) { _mm512_loadu_pd(from) }
    store(this, to) { _mm512_storeu_pd(to, this) }
    load_pairs(from, _) {
        let (a, b) = (_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8)));
        let (even, odd) = (_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1));
        (_mm512_permutex2var_pd(a, even, b), _mm512_permutex2var_pd(a, odd, b))
    }
    store_pairs(even, odd, to, _) {
        let first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        let second = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
        _mm512_storeu_pd(to, _mm512_permutex2var_pd(even, first, odd));
        _mm512_storeu_pd(to.add(8), _mm512_permutex2var_pd(even, second, odd));
    }
    delayed(now, before) {
        _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(_mm512_castpd_si512(now), _mm512_castpd_si512(before)))
    }
    lift(target, a, b, tap) { _mm512_fmadd_pd(_mm512_set1_pd(tap), _mm512_add_pd(a, b), target) }
    scaled(x, by) { _mm512_mul_pd(x, _mm512_set1_pd(by)) }
}

vector! {
    /// Sixteen integers.
    I32x16(__m512i), i32, 16, 16, RoundedStep;
    splat(value) { _mm512_set1_epi32(value) }
    load(from) { _mm512_loadu_si512(from.cast()) }
    store(this, to) { _mm512_storeu_si512(to.cast(), this) }
    load_pairs(from, _) {
        let (even, odd) = F32x16::load_pairs(from.cast(), 0);
        (_mm512_castps_si512(even.0), _mm512_castps_si512(odd.0))
    }
    store_pairs(even, odd, to, _) {
        F32x16::store_pairs(F32x16(_mm512_castsi512_ps(even)), F32x16(_mm512_castsi512_ps(odd)), to.cast(), 0);
    }
    delayed(now, before) { _mm512_alignr_epi32::<15>(now, before) }
    lift(target, a, b, tap) {
        let sum = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_set1_epi32(tap.offset));
        let rounded = _mm512_sra_epi32(sum, _mm_cvtsi32_si128(tap.shift as i32));
        let sign = _mm512_set1_epi32(if tap.adds { 0 } else { -1 });
        _mm512_add_epi32(target, _mm512_sub_epi32(_mm512_xor_si512(rounded, sign), sign))
    }
    scaled(x, _by) { x }
}
