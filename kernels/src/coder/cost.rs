//! The cost of vectors before they are coded.

use crate::motion::contexts::{
    CONTEXTS, EXPONENT, EXPONENTS, FLAT, Learnt, QUARTER, SPLIT, ZERO, of_part, quartered_near, same_context,
    split_near,
};
use crate::motion::field::{Field, Motion};
use crate::tables::PROBABILITY_BITS;

/// The costs of vectors, in sixteenths of a bit, in contexts as the last frame left them.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    bits: [[u16; 2]; CONTEXTS],
    /// Of a magnitude with its sign, by axis and binary digits behind the first one.
    magnitudes: [[u16; EXPONENTS]; 2],
}

/// Cost of a part's motion, by where the part is.
pub(super) struct PartCosts<'a> {
    costs: &'a Costs,
    flat: [u16; 2],
    same: [u16; 2],
    pub(super) expected: [i32; 2],
}

impl PartCosts<'_> {
    /// Of a part with this motion.
    pub(super) fn of(&self, motion: Motion) -> u32 {
        match motion {
            Motion::Vector { .. } => self.of_vector(motion.components()),
            Motion::Flat(_) => u32::from(self.flat[1]) + 16 * 16,
        }
    }

    /// Of a part with this vector.
    pub(super) fn of_vector(&self, vector: [i32; 2]) -> u32 {
        let difference = [vector[0] - self.expected[0], vector[1] - self.expected[1]];
        let is_same = usize::from(difference == [0, 0]);
        let first = u32::from(self.flat[0]) + u32::from(self.same[is_same]);
        if is_same == 1 {
            return first;
        }
        let costs = self.costs;
        first + costs.component(0, difference[0], true) + costs.component(1, difference[1], difference[0] != 0)
    }
}

impl Costs {
    /// Returns the state at the start of a slice.
    pub(crate) fn new() -> Self {
        Self::of(&[Learnt::new()])
    }

    /// Returns the mean of what slices have learnt; at least one.
    pub(crate) fn of(slices: &[Learnt]) -> Self {
        let count = slices.len().max(1) as u32;
        let mean = |context| slices.iter().map(|slice| slice.of_one(context)).sum::<u32>() / count;
        let all = 1 << PROBABILITY_BITS;
        let bits: [[u16; 2]; CONTEXTS] =
            std::array::from_fn(|context| [cost(all - mean(context)), cost(mean(context))]);
        let magnitude = |axis: usize, digits: usize| {
            let exponent = EXPONENT + EXPONENTS * axis;
            let more: u16 = (0..digits).map(|digit: usize| bits[exponent + digit][1]).sum();
            // Digits behind the first one cost a bit, and so does the sign.
            more + bits[exponent + digits][0] + 16 * (digits as u16 + 1)
        };
        Self { bits, magnitudes: [0, 1].map(|axis| std::array::from_fn(|digits| magnitude(axis, digits))) }
    }

    /// Returns costs of which no two are alike for long.
    #[cfg(test)]
    pub(crate) fn any(seed: u16) -> Self {
        let cost = |at: usize| 1 + (at as u16 ^ seed).wrapping_mul(40_503) % 90;
        Self {
            bits: std::array::from_fn(|context| [cost(2 * context), cost(2 * context + 1)]),
            magnitudes: [0, 1]
                .map(|axis| std::array::from_fn(|digits| 16 * digits as u16 + cost(99 + 2 * digits + axis))),
        }
    }

    /// Returns them in a row for a device: those of a 0 and a 1 of each context, then those of magnitudes.
    pub(crate) fn table(&self) -> Vec<u32> {
        let all = self.bits.iter().flatten().chain(self.magnitudes.iter().flatten());
        all.map(|&bits| bits.into()).collect()
    }

    /// Of a part of a field.
    pub(super) fn part(&self, field: &Field, x: usize, y: usize, side: usize) -> PartCosts<'_> {
        let (flat, same, expected) = of_part(field, x, y, side);
        PartCosts { costs: self, flat: self.bits[flat], same: self.bits[same], expected }
    }

    /// Of a part beside which nothing is flat.
    pub(super) fn beside(&self, (expected, differ): ([i32; 2], usize), side: usize) -> PartCosts<'_> {
        PartCosts {
            costs: self,
            flat: self.bits[FLAT],
            same: self.bits[same_context(side, differ, expected)],
            expected,
        }
    }

    fn component(&self, axis: usize, value: i32, may_be_zero: bool) -> u32 {
        let zero = if may_be_zero { u32::from(self.bits[ZERO + axis][usize::from(value == 0)]) } else { 0 };
        if value == 0 {
            return zero;
        }
        let digits = (value.unsigned_abs().ilog2() as usize).min(EXPONENTS - 1);
        zero + u32::from(self.magnitudes[axis][digits])
    }

    /// Of whether a block is split.
    pub(crate) fn split(&self, field: &Field, x: usize, y: usize, split: bool) -> u32 {
        let first = field.layout().rows_of(field.layout().slice_of(y)).start;
        self.bits[SPLIT + split_near(field, x, y, first)][usize::from(split)].into()
    }

    /// Returns the cost of whether a unit is quartered.
    pub(crate) fn quarter(&self, field: &Field, x: usize, y: usize, quartered: bool) -> u32 {
        let first = 2 * field.layout().rows_of(field.layout().slice_of(y / 2)).start;
        self.bits[QUARTER + quartered_near(field, x, y, first)][usize::from(quartered)].into()
    }
}

/// Returns `-log2(of_4096 / 4096)` in sixteenths of a bit, rounded up.
fn cost(of_4096: u32) -> u16 {
    // log2(v) in sixteenths is that of v^16 rounded down.
    let power = u64::from(of_4096.max(1));
    let (mut mantissa, mut exponent) = (power, 0);
    for _ in 0..4 {
        mantissa *= mantissa;
        exponent *= 2;
        while mantissa >= 1 << 24 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let log = exponent + mantissa.ilog2();
    (16 * PROBABILITY_BITS).saturating_sub(log) as u16
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;

    use super::super::slice::encode;
    use super::*;
    use crate::motion::dering::Dering;
    use crate::motion::field::BLOCK_CELLS;

    #[test]
    fn costs_are_logarithms() {
        assert_eq!([4096, 2048, 1024, 16, 2896, 2897].map(cost), [0, 16, 32, 128, 9, 8]);
    }

    #[test]
    fn what_a_vector_costs_is_what_its_slice_takes() {
        // Of one block per slice, so that nothing is learnt in between.
        let field = |motion| {
            let mut field = Field::new(FrameSize::new(32, 32).unwrap());
            field.fill(0, 0, BLOCK_CELLS, motion);
            field
        };
        for motion in [Motion::vector(1, 0), Motion::vector(-300, 1500), Motion::vector(0, -5)] {
            let field = field(motion);
            let bytes = encode(&field, &Dering::none(FrameSize::new(32, 32).unwrap()), 0, 3).0.len();
            let parts = Costs::new().part(&Field::new(FrameSize::new(32, 32).unwrap()), 0, 0, BLOCK_CELLS).of(motion);
            // The state takes 16 bits besides, and the split flag one.
            assert!((parts as usize + 16 * 17).abs_diff(16 * 8 * bytes) <= 16 * 8, "{motion:?} {parts} {bytes}");
        }
    }
}
