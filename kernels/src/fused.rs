//! Fused multiply-adds that are rounded once, whatever the processor and its C library.
//!
//! Outside of functions compiled for processors that have the instruction, `f32::mul_add` is a call of the C library's `fmaf`, which
//! is not exact everywhere: a picture would then depend on who decodes it.

/// Returns `a * b + c` rounded once.
#[inline(always)]
pub(crate) fn fused(a: f32, b: f32, c: f32) -> f32 {
    // Exact: 24 bits by 24.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What was rounded away (Knuth, "The Art of Computer Programming" II, 4.2.2, theorem B).
    let rounded = sum - product;
    let error = (product - (sum - rounded)) + (c - rounded);
    // Rounded to odd instead, so that the second rounding finds no half where there is none (Boldo and Melquiond, "Emulation of FMA
    // and correctly rounded sums", 2008).
    let is_even_of_two = sum.is_finite() && error != 0.0 && sum.to_bits() & 1 == 0;
    let towards_zero = (error > 0.0) != (sum > 0.0);
    let odd = if towards_zero { sum.to_bits().wrapping_sub(1) } else { sum.to_bits().wrapping_add(1) };
    if is_even_of_two { f64::from_bits(odd) as f32 } else { sum as f32 }
}

/// Returns `a * b + c` rounded once, if the sum has at most 53 bits from its first to its last: then there is but one rounding.
#[inline(always)]
pub(crate) fn fused_short(a: f32, b: f32, c: f32) -> f32 {
    (f64::from(a) * f64::from(b) + f64::from(c)) as f32
}

#[cfg(test)]
mod tests {
    use picture::coded::StepIndex;

    use super::*;
    use crate::reference::quantise::Quantiser;

    /// Returns `a * b + c` in whole numbers: of f32 that are not too small, to the nearest, halves to even.
    fn by_whole_numbers(a: f32, b: f32, c: f32) -> f32 {
        // As a mantissa and the exponent of its last bit.
        let parts = |value: f32| {
            let (bits, sign) = (value.to_bits(), if value.is_sign_negative() { -1 } else { 1_i128 });
            let exponent = (bits >> 23 & 255) as i32;
            let mantissa = i128::from(bits & 0x7f_ffff);
            if exponent == 0 { (sign * mantissa, -149) } else { (sign * (mantissa | 1 << 23), exponent - 150) }
        };
        let ([(a, ea), (b, eb), (c, ec)], last) = ([a, b, c].map(parts), 0);
        let least = (ea + eb).min(ec);
        let sum = ((a * b) << (ea + eb - least)) + (c << (ec - least));
        let (magnitude, mut exponent) = (sum.unsigned_abs(), least);
        // The last bit that is kept.
        let cut = ((128 - magnitude.leading_zeros()) as i32 - 24).max(-149 - exponent).max(last);
        let (mut kept, rest) = (magnitude >> cut, magnitude & ((1 << cut) - 1));
        let half = if cut == 0 { u128::MAX } else { 1 << (cut - 1) };
        kept += u128::from(rest > half || rest == half && kept & 1 == 1);
        exponent += cut;
        let value = (kept as f64 * f64::from(exponent).exp2()) as f32;
        if sum < 0 { -value } else { value }
    }

    #[test]
    fn sums_are_rounded_once_at_ugly_values() {
        // A half by so little that the sum in f64 is one: 1 + 2^-24 + 2^-60.
        let tiny = (-60_f32).exp2();
        let [near, least] = [1.0 + f32::EPSILON, f32::from_bits(1)];
        let halves = [
            (1.0, (-24_f32).exp2(), 1.0),
            (near, 1.0, (-24_f32).exp2()),
            (tiny, 1.0, 1.0),
            (1.0 - f32::EPSILON / 2.0, near, -1.0),
            (near, near, -near),
            (4097.0, 4097.0, (-40_f32).exp2()),
            (8_193.0, 2_049.0, (-36_f32).exp2()),
            (-8_193.0, 2_049.0, -(-36_f32).exp2()),
            (8_193.0, 2_049.0, -(-36_f32).exp2()),
            (least, 0.5, 0.0),
            (least, 0.75, least),
            (f32::MIN_POSITIVE, 0.5, -least),
        ];
        for (a, b, c) in halves {
            let wanted = by_whole_numbers(a, b, c);
            assert_eq!(fused(a, b, c).to_bits(), wanted.to_bits(), "{a:e} * {b:e} + {c:e}: {wanted:e}");
        }
        // In f64 alone one of them would be wrong.
        assert!(halves.into_iter().any(|(a, b, c)| fused_short(a, b, c) != fused(a, b, c)));
        // What is no number, and what is none any more.
        assert!(fused(f32::INFINITY, 0.0, 1.0).is_nan() && fused(f32::NAN, 1.0, 1.0).is_nan());
        assert_eq!([fused(f32::MAX, 2.0, 1.0), fused(-f32::MAX, 2.0, 1.0)], [f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(
            [fused(0.0, 1.0, -0.0), fused(-0.0, 1.0, -0.0)].map(f32::to_bits),
            [0.0, -0.0_f32].map(f32::to_bits)
        );
    }

    #[test]
    fn sums_are_rounded_once_at_any_values() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 32) as u32
        };
        let mut twice = 0;
        for _ in 0..400_000 {
            let [a, b, c] = [(); 3].map(|()| {
                // Mantissas with few bits meet halves; exponents near one another.
                let mantissa = next() & [0x7f_ffff, 0x7f_f000, 0x7f_0000, 0x40_0001][next() as usize % 4];
                f32::from_bits(mantissa | (next() % 40 + 107) << 23 | next() & 1 << 31)
            });
            let wanted = by_whole_numbers(a, b, c);
            assert_eq!(fused(a, b, c), wanted, "{a:e} * {b:e} + {c:e}");
            twice += u32::from(fused_short(a, b, c) != wanted);
        }
        assert!(twice > 0, "sums that two roundings get wrong are among them");
    }

    #[test]
    fn what_is_dequantised_is_short() {
        for index in (0..=StepIndex::MAX.index()).filter_map(StepIndex::new) {
            let quantiser = Quantiser::new(index);
            for magnitude in (1..400).chain((9..24).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 77])) {
                for offset in [quantiser.offset, quantiser.offset_of_one] {
                    let magnitude = magnitude as f32;
                    assert_eq!(
                        fused_short(magnitude, quantiser.step, offset),
                        fused(magnitude, quantiser.step, offset),
                        "{magnitude} at {index:?}"
                    );
                }
            }
        }
    }
}
