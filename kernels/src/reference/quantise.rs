//! Dead-zone quantiser: the zero bin is twice as wide as the others.

use common::coded::StepIndex;

/// Largest quantised magnitude: [`crate::tables::MAX_LENGTH`] bits.
pub const MAX_MAGNITUDE: f32 = 16_777_215.0;
/// Where in its bin, in steps, a magnitude is reconstructed.
pub const RECONSTRUCTION: f32 = 0.45;

/// A quantiser step in the form each side computes with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiser {
    /// 1 / step, rounded to f32.
    pub inverse: f32,
    /// The step.
    pub step: f32,
    /// [`RECONSTRUCTION`] times the step, rounded to f32.
    pub offset: f32,
}

impl Quantiser {
    /// The quantiser of a step.
    pub fn new(step: StepIndex) -> Self {
        let step = step.step();
        Self { inverse: 1.0 / step, step, offset: RECONSTRUCTION * step }
    }

    /// `trunc(|coefficient| / step)`, at most [`MAX_MAGNITUDE`], with the coefficient's sign.
    pub fn quantise(self, coefficient: f32) -> i32 {
        let magnitude = (coefficient.abs() * self.inverse).min(MAX_MAGNITUDE) as i32;
        if coefficient < 0.0 { -magnitude } else { magnitude }
    }

    /// The coefficient that a quantised one stands for: 0 for 0, else `|q| step + offset` with the sign.
    pub fn dequantise(self, quantised: i32) -> f32 {
        if quantised == 0 {
            return 0.0;
        }
        let magnitude = (quantised.unsigned_abs() as f32).mul_add(self.step, self.offset);
        if quantised < 0 { -magnitude } else { magnitude }
    }
}
