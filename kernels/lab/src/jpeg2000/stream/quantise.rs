//! Steps of the quantiser, as the header writes them (ISO/IEC 15444-1, annex E).

use crate::jpeg2000::geometry::Subband;

/// Step of one band: `2^(bits - exponent) (1 + mantissa / 2048)`, where `bits` are those of a sample and of the band's gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BandStep {
    pub(crate) exponent: u8,
    pub(crate) mantissa: u16,
}

/// Largest exponent that the header can write.
const EXPONENT_MAX: i32 = 31;
const MANTISSAS: u16 = 1 << 11;

impl BandStep {
    /// Returns the step nearest to `step`, of a band whose samples have `bits`.
    pub(crate) fn nearest(step: f64, bits: u8) -> Self {
        let mut power = step.log2().floor() as i32;
        let mut mantissa = ((step / 2_f64.powi(power) - 1.0) * f64::from(MANTISSAS)).round() as u16;
        if mantissa >= MANTISSAS {
            (power, mantissa) = (power + 1, 0);
        }
        let exponent = i32::from(bits) - power;
        match exponent {
            0..=EXPONENT_MAX => Self { exponent: exponent as u8, mantissa },
            ..0 => Self { exponent: 0, mantissa: MANTISSAS - 1 },
            _ => Self { exponent: EXPONENT_MAX as u8, mantissa: 0 },
        }
    }

    /// Returns the step of a band whose samples have `bits`.
    pub(crate) fn size(self, bits: u8) -> f64 {
        let power = i32::from(bits) - i32::from(self.exponent);
        2_f64.powi(power) * (1.0 + f64::from(self.mantissa) / f64::from(MANTISSAS))
    }
}

/// Steps of all bands of a component, and the bits that coefficients have beyond the nominal ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantiser {
    pub(crate) guard_bits: u8,
    /// By the number of the band; of one alone, the others follow: a level less is half the step.
    pub(crate) steps: Vec<BandStep>,
    pub(crate) is_derived: bool,
}

impl Quantiser {
    /// Returns the step of a band, `None` if the header lacks it.
    pub(crate) fn step(&self, index: usize, band: Subband, level: u8, levels: u8) -> Option<BandStep> {
        if !self.is_derived {
            return self.steps.get(index).copied();
        }
        let BandStep { exponent, mantissa } = *self.steps.first()?;
        let above = if band == Subband::Low { 0 } else { levels - level };
        Some(BandStep { exponent: exponent.checked_sub(above)?, mantissa })
    }

    /// Returns the bit planes of a band with such a step.
    pub(crate) fn planes(&self, step: BandStep) -> u8 {
        (self.guard_bits + step.exponent).saturating_sub(1)
    }
}
