//! Instruction set of the inner loops: the same Rust bodies, compiled several times.

use std::sync::OnceLock;

/// Instruction sets that inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simd {
    /// AVX-512 (F, BW, CD, DQ, VL) besides the next.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2, FMA, BMI and LZCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Instructions that every processor of the target has.
    Baseline,
}

impl Simd {
    /// Returns the best set of this processor.
    pub(super) fn detect() -> Self {
        static FOUND: OnceLock<Simd> = OnceLock::new();
        #[cfg(test)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        *FOUND.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                let avx2 = is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt");
                let avx512 = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl");
                if avx2 && avx512 {
                    return Self::Avx512;
                }
                if avx2 {
                    return Self::Avx2;
                }
            }
            Self::Baseline
        })
    }

    /// Runs `work` with this set; what `work` gives to other threads still runs with the best one.
    #[cfg(test)]
    pub(super) fn force<R>(self, work: impl FnOnce() -> R) -> R {
        FORCED.set(Some(self));
        let result = work();
        FORCED.set(None);
        result
    }

    /// Returns the name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            Self::Baseline => "baseline instructions",
        }
    }
}

/// Returns `value` cut to the limits and rounded towards zero, NaN to the lower limit. `as` would round each value on
/// its own, with branches for what an i32 does not hold; this compiles to vectors.
#[inline(always)]
pub(super) fn truncated<const LEAST: i32, const MOST: i32>(value: f32) -> i32 {
    const { assert!(-(1 << 30) <= LEAST && LEAST <= MOST && MOST <= 1 << 30) };
    let within = value.max(LEAST as f32).min(MOST as f32);
    // SAFETY: the limits are below those of an i32 even when they are rounded to f32, and no NaN is left.
    unsafe { within.to_int_unchecked() }
}

#[cfg(test)]
thread_local! {
    /// Instruction set that [`Simd::force`] asks for.
    static FORCED: std::cell::Cell<Option<Simd>> = const { std::cell::Cell::new(None) };
}

/// Runs `work`, a closure that is `#[inline(always)]`, compiled for the best instruction set there is.
#[inline(always)]
pub fn fast<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        fn avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        fn avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        match Simd::detect() {
            // SAFETY: `detect` found every feature that the function is compiled with.
            Simd::Avx512 => return unsafe { avx512(work) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { avx2(work) },
            Simd::Baseline => {}
        }
    }
    work()
}

/// Defines `fn $name` that runs `$body`, an `#[inline(always)]` function of the same arguments, compiled for the
/// best instruction set there is. Fused multiply-adds in the body become single instructions.
///
/// A body with a type parameter gets the instruction set ([`super::vector::Isa`]) as its first one.
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$type:ident: $bound:path>($($arg:ident: $ty:ty),* $(,)?) = $body:ident;) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
        $vis fn $name<$type: $bound>($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::cpu::vector::x86::{Avx2, Avx512};
                #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
                #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512<$type: $bound>($($arg: $ty),*) {
                    $body::<Avx512, $type>($($arg),*)
                }
                #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2<$type: $bound>($($arg: $ty),*) {
                    $body::<Avx2, $type>($($arg),*)
                }
                match $crate::cpu::simd::Simd::detect() {
                    // SAFETY: `detect` found every feature that the function is compiled with.
                    $crate::cpu::simd::Simd::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::cpu::simd::Simd::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::cpu::simd::Simd::Baseline => {}
                }
            }
            #[cfg(target_arch = "aarch64")]
            $body::<$crate::cpu::vector::neon::Neon, $type>($($arg),*);
            #[cfg(not(target_arch = "aarch64"))]
            $body::<$crate::cpu::vector::portable::Portable, $type>($($arg),*);
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:path;) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
                #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[allow(clippy::too_many_arguments, reason = "the arguments are those of the body")]
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match $crate::cpu::simd::Simd::detect() {
                    // SAFETY: `detect` found every feature that the function is compiled with.
                    $crate::cpu::simd::Simd::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::cpu::simd::Simd::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::cpu::simd::Simd::Baseline => {}
                }
            }
            $body($($arg),*)
        }
    };
}
pub(super) use multiversion;
