//! Quantisers: a plain one with a dead zone, and the encoder's, which weighs error against bits.

use picture::coded::StepIndex;

use super::quad::Shape;
use crate::fused::fused_short;

/// Largest quantised magnitude: [`crate::tables::MAX_LENGTH`] bits.
pub(crate) const MAX_MAGNITUDE: f32 = 16_777_215.0;
/// Value at which a magnitude of 1 is reconstructed, in steps beyond 1. Less than half, because small magnitudes are
/// more frequent than large ones and because the encoder rounds some of those below 1 up.
pub(crate) const RECONSTRUCTION_OF_ONE: f32 = 0.3;
/// Value at which larger magnitudes are reconstructed, likewise.
pub(crate) const RECONSTRUCTION: f32 = 0.48;

/// Thresholds are in this many parts of a step.
pub(crate) const PARTS: u8 = 64;
/// Magnitude, in parts, from which on it is cut to an integer without regard to its neighbours.
pub(crate) const PLAIN: u8 = 3 * PARTS;
/// Addition of a non-zero coefficient elsewhere in the quad to the activity that [`first_threshold`] takes.
pub(crate) const BESIDE_ONE: u8 = 2;
/// Addition of a magnitude of at least 2 elsewhere in the quad to the activity that [`second_threshold`] takes.
pub(crate) const BESIDE_TWO: u8 = 5;

/// Slopes of the straight lines `start - slope * activity` that the first threshold follows, in parts of a step: where there is
/// little activity, and where there is more.
pub(crate) const FIRST_SLOPES: [u8; 2] = [9, 1];
/// Start and slope of the second threshold's line, likewise.
pub(crate) const SECOND: [u8; 2] = [152, 3];

/// The zone in which magnitudes become 0, by the starts of the first threshold's lines, in parts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeadZone {
    /// The start where there is little activity.
    pub quiet: u8,
    /// The start where there is more.
    pub busy: u8,
}

impl DeadZone {
    /// That of pictures.
    pub(crate) const OF_PICTURES: Self = Self { quiet: 76, busy: 55 };
    /// That of what a prediction leaves: wider, because a small error that stays can be corrected in the next frame.
    pub(crate) const OF_RESIDUALS: Self = Self { quiet: 88, busy: 60 };
}

/// Returns the value from which on a magnitude becomes 1, in parts of a step.
///
/// `activity` is the sum of what the four quads beside, above and below have for their largest magnitude, 0, 1 or 2
/// (cut to an integer, more counts as 2), plus [`BESIDE_ONE`] if another coefficient of the quad is at least 1. A 1
/// among zeros costs many bits and is worth them only if it is large.
pub(crate) const fn first_threshold(zone: DeadZone, activity: u8) -> u8 {
    let quiet = zone.quiet.saturating_sub(FIRST_SLOPES[0].wrapping_mul(activity));
    let busy = zone.busy.saturating_sub(FIRST_SLOPES[1].wrapping_mul(activity));
    if quiet > busy { quiet } else { busy }
}

/// Returns the value from which on a magnitude becomes 2, in parts of a step. `activity` is that of [`first_threshold`]
/// with [`BESIDE_TWO`] if another coefficient of the quad is at least 2.
pub(crate) const fn second_threshold(activity: u8) -> u8 {
    let line = SECOND[0].saturating_sub(SECOND[1].wrapping_mul(activity));
    if line > 2 * PARTS { line } else { 2 * PARTS }
}

/// Up to so many magnitudes of 1 in a detail block and nothing larger are not worth the bytes that any block takes: the
/// block becomes all zero.
pub(crate) const SPARSE_ONES: u16 = 12;

/// A quantiser step in the form each side computes with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// 1 / step, rounded to f32.
    pub inverse: f32,
    /// The step.
    pub step: f32,
    /// `RECONSTRUCTION_OF_ONE` times the step, rounded to f32.
    pub offset_of_one: f32,
    /// `RECONSTRUCTION` times the step, rounded to f32.
    pub offset: f32,
    /// Magnitude, in parts of a step, from which on an encoder cuts without regard to neighbours: `PLAIN`.
    pub plain: u8,
    /// Up to how many ones alone an encoder leaves out of a detail block: `SPARSE_ONES`.
    pub sparse_ones: u16,
    /// An encoder's first threshold.
    pub(crate) dead_zone: DeadZone,
}

impl Quantiser {
    /// Keeps integers of up to [`crate::tables::MAX_LENGTH`] bits as they are.
    pub(crate) const EXACT: Self = Self {
        inverse: 1.0,
        step: 1.0,
        offset_of_one: 0.0,
        offset: 0.0,
        plain: PARTS,
        sparse_ones: 0,
        dead_zone: DeadZone::OF_PICTURES,
    };

    /// Returns the quantiser of a step, for pictures.
    pub fn new(step: StepIndex) -> Self {
        let step = step.step();
        let (offset_of_one, offset) = (RECONSTRUCTION_OF_ONE * step, RECONSTRUCTION * step);
        let (plain, sparse_ones, dead_zone) = (PLAIN, SPARSE_ONES, DeadZone::OF_PICTURES);
        Self { inverse: 1.0 / step, step, offset_of_one, offset, plain, sparse_ones, dead_zone }
    }

    /// Returns the same with another dead zone.
    #[must_use]
    pub(crate) fn with_dead_zone(self, dead_zone: DeadZone) -> Self {
        Self { dead_zone, ..self }
    }

    /// Returns the same with what it reconstructs divided by 2^`levels`, which is exact. Without that many of the
    /// finest levels the low band, whose range doubles with each, is the picture.
    #[must_use]
    pub(crate) fn without_levels(self, levels: usize) -> Self {
        let scale = 0.5_f32.powi(levels as i32);
        let (offset_of_one, offset) = (scale * self.offset_of_one, scale * self.offset);
        Self { step: scale * self.step, offset_of_one, offset, ..self }
    }

    /// Returns the `trunc(|coefficient| / step)`, at most [`MAX_MAGNITUDE`], with the coefficient's sign.
    pub fn quantise(self, coefficient: f32) -> i32 {
        let magnitude = (coefficient.abs() * self.inverse).min(MAX_MAGNITUDE) as i32;
        if coefficient < 0.0 { -magnitude } else { magnitude }
    }

    /// Quantises a block for the fewest bits and the least error: magnitudes of [`Self::plain`] and more as
    /// [`Self::quantise`] does, smaller ones to 0, 1 or 2 by [`first_threshold`] and [`second_threshold`]. What is then
    /// [sparse](Self::is_sparse) is all zero.
    pub fn quantise_block(self, coefficients: &[f32], shape: Shape) -> Vec<i32> {
        let mut quantised = self.decide(coefficients, shape.width);
        let (peak, ones) = quantised.iter().fold((0, 0), |(peak, ones), value| {
            let magnitude = value.unsigned_abs();
            (magnitude.max(peak), ones + u32::from(magnitude == 1))
        });
        if peak == 1 && self.is_sparse(shape.class, ones as usize) {
            quantised.fill(0);
        }
        quantised
    }

    /// Returns true if so many ones and nothing else are too few for a block of this class ([`Shape::class`]). Low
    /// bands and roots have few coefficients, and each counts in much of the picture.
    pub(crate) const fn is_sparse(self, class: usize, ones: usize) -> bool {
        class > 0 && ones <= self.sparse_ones as usize
    }

    fn decide(self, coefficients: &[f32], width: usize) -> Vec<i32> {
        let parts = |coefficient: f32| (coefficient.abs() * self.inverse * f32::from(PARTS)) as u8;
        let whole = |y: usize, x: usize| {
            let inside = x < width && y * width + x < coefficients.len();
            if inside { (parts(coefficients[y * width + x]) / PARTS).min(2) } else { 0 }
        };
        let four =
            |y: usize, x: usize| [(2 * y, 2 * x), (2 * y, 2 * x + 1), (2 * y + 1, 2 * x), (2 * y + 1, 2 * x + 1)];
        let quad = |y: Option<usize>, x: Option<usize>| match (y, x) {
            (Some(y), Some(x)) => four(y, x).map(|(y, x)| whole(y, x)).into_iter().fold(0, u8::max),
            _ => 0,
        };
        let quantise = |(index, &coefficient): (usize, &f32)| {
            let parts = parts(coefficient);
            if parts >= self.plain {
                return self.quantise(coefficient);
            }
            let (row, column) = (index / width, index % width);
            let (y, x) = (row / 2, column / 2);
            let others = four(y, x).into_iter().filter(|&place| place != (row, column));
            let largest = others.map(|(y, x)| whole(y, x)).fold(0, u8::max);
            let activity = quad(Some(y), x.checked_sub(1))
                + quad(Some(y), Some(x + 1))
                + quad(y.checked_sub(1), Some(x))
                + quad(Some(y + 1), Some(x));
            let first = first_threshold(self.dead_zone, activity + if largest >= 1 { BESIDE_ONE } else { 0 });
            let second = second_threshold(activity + if largest >= 2 { BESIDE_TWO } else { 0 });
            let magnitude = i32::from(parts >= first) + i32::from(parts >= second);
            if coefficient < 0.0 { -magnitude } else { magnitude }
        };
        coefficients.iter().enumerate().map(quantise).collect()
    }

    /// Returns the coefficient that a quantised one stands for: 0 for 0, else `|q| step + offset` with the sign, where
    /// the offset of 1 is [`Self::offset_of_one`].
    pub fn dequantise(self, quantised: i32) -> f32 {
        let offset = match quantised.unsigned_abs() {
            0 => return 0.0,
            1 => self.offset_of_one,
            _ => self.offset,
        };
        let magnitude = fused_short(quantised.unsigned_abs() as f32, self.step, offset);
        if quantised < 0 { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiser(index: u8) -> Quantiser {
        Quantiser::new(StepIndex::new(index).unwrap())
    }

    fn shape(class: usize) -> Shape {
        Shape { width: 8, height: 8, class, diagonal: false }
    }

    #[test]
    fn quantised_values_stand_for_their_bin() {
        let quantiser = quantiser(32 + 16);
        assert_eq!([3.9, -4.0, 4.1, -11.9].map(|c| quantiser.quantise(c)), [0, -1, 1, -2]);
        assert_eq!([0, 1, -2].map(|q| quantiser.dequantise(q)), [0.0, 5.2, -9.92]);
        assert_eq!(quantiser.quantise(1e30), (1 << 24) - 1);
    }

    #[test]
    fn a_lonely_coefficient_must_be_larger_than_one_in_company() {
        let mut block = [0.0; 64];
        block[9] = -1.18;
        assert_eq!(quantiser(32).quantise_block(&block, shape(0))[9], 0);
        block[9] = -1.1875;
        assert_eq!(quantiser(32).quantise_block(&block, shape(0))[9], -1);
        let company = quantiser(32).quantise_block(&[[0.97; 32], [-3.99; 32]].concat(), shape(1));
        assert_eq!(company[..16], [0; 16], "far from others");
        assert_eq!(company[16..], [vec![1; 16], vec![-3; 32]].concat(), "beside others");
    }

    #[test]
    fn a_few_ones_are_not_worth_a_block_of_detail() {
        let ones = |count: usize, last: f32| {
            let mut block = [0.0; 64];
            block[..count].fill(1.9);
            block[63] = last;
            block
        };
        let kept = |block: [f32; 64], class| quantiser(32).quantise_block(&block, shape(class)) != [0; 64];
        let most = usize::from(SPARSE_ONES);
        assert_eq!([most, most + 1].map(|count| kept(ones(count, 0.0), 1)), [false, true]);
        assert!(kept(ones(most, 0.0), 0), "a low band");
        assert!(kept(ones(1, 2.9), 1), "not ones alone");
        let exact = Quantiser::EXACT.quantise_block(&ones(1, 0.0), shape(1));
        assert_eq!(exact[0], 1, "lossless");
    }

    #[test]
    fn thresholds_fall_with_activity_and_stay_in_order() {
        for activity in 0..=8 + BESIDE_TWO {
            let second = second_threshold(activity);
            assert!((2 * PARTS..PLAIN).contains(&second) && second_threshold(activity + 1) <= second);
            let [first, next] = [activity, activity + 1].map(|a| first_threshold(DeadZone::OF_PICTURES, a));
            let [wider, next_wider] = [activity, activity + 1].map(|a| first_threshold(DeadZone::OF_RESIDUALS, a));
            assert!(next <= first && next_wider <= wider && first < wider && wider < 2 * PARTS);
        }
    }
}
