//! A noise in which every sample says its number.
//!
//! Left and right hold twelve bits each of the number, scrambled so that neighbours have nothing in common. The values are
//! [`STEP`] steps of 16 bits apart: rounding by one step does not hide the number, and the noise stays far below full scale.

/// The noise begins anew after so many samples, almost six minutes.
pub(crate) const WRAP: u64 = 1 << 24;
/// Steps of 16 bits between two values.
const STEP: i32 = 4;
/// Full scale in such steps.
const FULL: f32 = 32_768.0;
const MASK: u32 = (1 << 24) - 1;
const HALF: i32 = 1 << 11;
const FACTORS: [u32; 2] = [0x9e_3779, 0x85_ebcb];

/// Returns the sample of a number, left and right.
pub(crate) fn sample(number: u64) -> [f32; 2] {
    let word = FACTORS.iter().fold(number as u32 & MASK, |word, factor| {
        let word = word.wrapping_mul(*factor) & MASK;
        word ^ (word >> 12)
    });
    [word & 0xfff, word >> 12].map(|half| ((half as i32 - HALF) * STEP) as f32 / FULL)
}

/// Returns the number of a sample, less than [`WRAP`]; none: it is not of this noise.
pub(crate) fn number(sample: [f32; 2]) -> Option<u32> {
    let half = |value: f32| {
        let steps = (value * FULL).round() as i32;
        let half = (steps as f32 / STEP as f32).round() as i32;
        ((steps - half * STEP).abs() <= 1 && (-HALF..HALF).contains(&half)).then_some((half + HALF) as u32)
    };
    let mut word = half(sample[0])? | half(sample[1])? << 12;
    for factor in FACTORS.iter().rev() {
        word ^= word >> 12;
        word = word.wrapping_mul(inverse(*factor)) & MASK;
    }
    Some(word)
}

/// Returns true if both are the same but for rounding to 16 bits.
pub(crate) fn is_same(one: [f32; 2], other: [f32; 2]) -> bool {
    one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1.5 / FULL)
}

/// Returns the number that times `odd` is 1, of 24 bits (Newton's iteration).
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse & MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_says_its_number_even_if_it_was_rounded() {
        for number in (0..WRAP).step_by(997).chain([0, 1, WRAP - 1]) {
            let [left, right] = sample(number);
            assert!(left.abs() <= 0.25 && right.abs() <= 0.25);
            for off in [-1.0, 0.0, 1.0].map(|steps| steps / FULL) {
                assert_eq!(super::number([left + off, right - off]), Some(number as u32));
            }
            assert_eq!(super::number([left + 2.0 / FULL, right]), None);
        }
        assert_eq!(sample(5), sample(5 + WRAP));
        assert_eq!([[0.9, 0.0], [f32::NAN, 0.9]].map(number), [None; 2]);
    }

    #[test]
    fn neighbours_have_nothing_in_common() {
        let of = |from: u64| (0..4_096).map(move |n| sample(from + n)[0]);
        let energy: f32 = of(0).map(|value| value * value).sum();
        for shift in [1, 2, 3, 64, 1_000] {
            let product: f32 = of(0).zip(of(shift)).map(|(one, other)| one * other).sum();
            assert!(product.abs() < 0.1 * energy, "{shift}: {}", product / energy);
        }
    }
}
