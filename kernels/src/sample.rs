//! Types of samples and coefficients, and the arithmetic of lifting steps on them.

use std::fmt::Debug;

use picture::pyramid::Pyramid;

use crate::Element;
use crate::ValuesError;
use crate::lifting::Lifting;

/// A number that planes and squares are made of: `f32`, `f64`, `i32`.
pub trait Sample: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Its name.
    const ELEMENT: Element;

    /// The factor of a pair of neighbours in a lifting step.
    type Coefficient: Copy + Debug + PartialEq + Send + Sync;

    /// Returns these lifting steps. Floating-point numbers take those of the reversible wavelet without
    /// rounding; integers have no other wavelet than the reversible one and give it for any.
    fn steps(lifting: &Lifting) -> Steps<Self>;

    /// Returns `self + coefficient (left + right)`: one fused multiply-add of the sum, or in integers `RoundedStep`.
    /// Integers wrap around, so that whatever is lifted can be taken back.
    fn lift(self, coefficient: Self::Coefficient, left: Self, right: Self) -> Self;

    /// Returns `self - coefficient (left + right)`, in the same arithmetic.
    fn unlift(self, coefficient: Self::Coefficient, left: Self, right: Self) -> Self;

    /// Returns `factor self`, rounded once.
    fn scale(self, factor: Self) -> Self;

    /// Returns the sample for the centred value that colour conversion gives: the value itself, or the nearest integer,
    /// halves rounded up.
    fn from_centred(value: f32) -> Self;

    /// Returns the 8-bit sample nearest to a centred value: `clamp(floor(x + 128.5), 0, 255)`.
    fn to_byte(self) -> u8;

    /// Channels of this element as values of any.
    fn wrap(channels: Vec<Vec<Self>>) -> Values;

    /// Returns the channels, if their element is this one.
    fn channels(values: &Values) -> Option<&[Vec<Self>]>;

    /// Returns the same, to be written.
    fn channels_mut(values: &mut Values) -> Option<&mut [Vec<Self>]>;
}

/// Values of all channels, channel by channel: squares of coefficients in Mallat layout, or planes of samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<Vec<f32>>),
    /// Double precision.
    F64(Vec<Vec<f64>>),
    /// Integers.
    I32(Vec<Vec<i32>>),
}

impl Values {
    /// Returns what the values are.
    pub fn element(&self) -> Element {
        match self {
            Self::F32(_) => Element::F32,
            Self::F64(_) => Element::F64,
            Self::I32(_) => Element::I32,
        }
    }

    /// Returns the channels, which must be squares of coefficients for `pyramids`; [`ValuesError::WrongElement`] or
    /// [`ValuesError::Count`] if they are not.
    pub fn squares<T: Sample>(&self, pyramids: &[Pyramid]) -> Result<&[Vec<T>], ValuesError> {
        self.checked("coefficients", pyramids.iter().map(|pyramid| pyramid.side() * pyramid.side()))
    }

    /// Returns the channels, which must be planes of samples for `pyramids`; errors as [`Self::squares`].
    pub fn planes<T: Sample>(&self, pyramids: &[Pyramid]) -> Result<&[Vec<T>], ValuesError> {
        self.checked("samples", pyramids.iter().map(|pyramid| pyramid.plane().pixels()))
    }

    /// Returns [`Self::squares`], to be written.
    pub fn squares_mut<T: Sample>(&mut self, pyramids: &[Pyramid]) -> Result<&mut [Vec<T>], ValuesError> {
        self.squares::<T>(pyramids)?;
        Ok(T::channels_mut(self).unwrap_or_default())
    }

    /// Returns [`Self::planes`], to be written.
    pub(crate) fn planes_mut<T: Sample>(&mut self, pyramids: &[Pyramid]) -> Result<&mut [Vec<T>], ValuesError> {
        self.planes::<T>(pyramids)?;
        Ok(T::channels_mut(self).unwrap_or_default())
    }

    fn checked<T: Sample>(
        &self,
        what: &'static str,
        counts: impl ExactSizeIterator<Item = usize>,
    ) -> Result<&[Vec<T>], ValuesError> {
        let wrong = ValuesError::WrongElement { wanted: T::ELEMENT, given: self.element() };
        let channels = T::channels(self).ok_or(wrong)?;
        if channels.len() != counts.len() {
            let (wanted, given) = (counts.sum(), channels.iter().map(Vec::len).sum());
            return Err(ValuesError::Count { what, channel: channels.len(), wanted, given });
        }
        for (channel, (wanted, values)) in counts.zip(channels).enumerate() {
            if values.len() != wanted {
                return Err(ValuesError::Count { what, channel, wanted, given: values.len() });
            }
        }
        Ok(channels)
    }
}

/// The lifting steps of a wavelet, [`Lifting`], rounded once to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T: Sample> {
    /// Coefficients of each step, predict and update in turn, nearest pair first.
    pub steps: Vec<Vec<T::Coefficient>>,
    /// Factor of the low coefficients in the forward transform, and of the high ones in the inverse.
    pub low_scale: T,
    /// Factor of the high coefficients in the forward transform, and of the low ones in the inverse.
    pub high_scale: T,
}

/// A coefficient of the reversible wavelet: `sign floor((left + right + offset) / 2^shift)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedStep {
    /// True if the step adds the rounded value; it subtracts it otherwise.
    pub adds: bool,
    /// Half of the divisor to round to the nearest, or 0 to round down.
    pub offset: i32,
    /// Logarithm of the divisor.
    pub shift: u32,
}

impl RoundedStep {
    /// Returns a step's value for a pair, before its sign.
    fn of(self, left: i32, right: i32) -> i32 {
        left.wrapping_add(right).wrapping_add(self.offset) >> self.shift
    }
}

macro_rules! float {
    ($float:ident, $element:ident, $fused:path) => {
        impl Sample for $float {
            const ELEMENT: Element = Element::$element;

            type Coefficient = Self;

            fn steps(lifting: &Lifting) -> Steps<Self> {
                let step = |step: &&[f64]| step.iter().map(|&c| c as Self).collect();
                let (low_scale, high_scale) = (lifting.low_scale as Self, lifting.high_scale as Self);
                Steps { steps: lifting.steps.iter().map(step).collect(), low_scale, high_scale }
            }

            #[inline(always)]
            fn lift(self, coefficient: Self, left: Self, right: Self) -> Self {
                $fused(coefficient, left + right, self)
            }

            #[inline(always)]
            fn unlift(self, coefficient: Self, left: Self, right: Self) -> Self {
                $fused(-coefficient, left + right, self)
            }

            #[inline(always)]
            fn scale(self, factor: Self) -> Self {
                factor * self
            }

            #[inline(always)]
            fn from_centred(value: f32) -> Self {
                value.into()
            }

            #[inline(always)]
            fn to_byte(self) -> u8 {
                (self + 128.5).floor().clamp(0.0, 255.0) as u8
            }

            fn wrap(channels: Vec<Vec<Self>>) -> Values {
                Values::$element(channels)
            }

            fn channels(values: &Values) -> Option<&[Vec<Self>]> {
                match values {
                    Values::$element(channels) => Some(channels),
                    _ => None,
                }
            }

            fn channels_mut(values: &mut Values) -> Option<&mut [Vec<Self>]> {
                match values {
                    Values::$element(channels) => Some(channels),
                    _ => None,
                }
            }
        }
    };
}

float!(f32, F32, crate::fused::fused);
float!(f64, F64, f64::mul_add);

impl Sample for i32 {
    const ELEMENT: Element = Element::I32;

    type Coefficient = RoundedStep;

    // ISO/IEC 15444-1, annex F.3.8.2: -1/2 rounded down, then 1/4 rounded to the nearest.
    fn steps(_: &Lifting) -> Steps<Self> {
        let predict = RoundedStep { adds: false, offset: 0, shift: 1 };
        let update = RoundedStep { adds: true, offset: 2, shift: 2 };
        Steps { steps: vec![vec![predict], vec![update]], low_scale: 1, high_scale: 1 }
    }

    #[inline(always)]
    fn lift(self, coefficient: RoundedStep, left: Self, right: Self) -> Self {
        let rounded = coefficient.of(left, right);
        if coefficient.adds { self.wrapping_add(rounded) } else { self.wrapping_sub(rounded) }
    }

    #[inline(always)]
    fn unlift(self, coefficient: RoundedStep, left: Self, right: Self) -> Self {
        self.lift(RoundedStep { adds: !coefficient.adds, ..coefficient }, left, right)
    }

    #[inline(always)]
    fn scale(self, factor: Self) -> Self {
        factor.wrapping_mul(self)
    }

    #[inline(always)]
    fn from_centred(value: f32) -> Self {
        (value + 0.5).floor() as Self
    }

    #[inline(always)]
    fn to_byte(self) -> u8 {
        self.saturating_add(128).clamp(0, 255) as u8
    }

    fn wrap(channels: Vec<Vec<Self>>) -> Values {
        Values::I32(channels)
    }

    fn channels(values: &Values) -> Option<&[Vec<Self>]> {
        match values {
            Values::I32(channels) => Some(channels),
            _ => None,
        }
    }

    fn channels_mut(values: &mut Values) -> Option<&mut [Vec<Self>]> {
        match values {
            Values::I32(channels) => Some(channels),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifting::CDF53;

    #[test]
    fn integer_steps_are_the_wavelet_s_coefficients() {
        for (rounded, exact) in i32::steps(&CDF53).steps.iter().zip(f64::steps(&CDF53).steps) {
            let sign = if rounded[0].adds { 1.0 } else { -1.0 };
            assert_eq!([sign / f64::from(1 << rounded[0].shift)], exact[..]);
        }
    }

    #[test]
    fn integers_round_as_jpeg_2000_does() {
        let [predict, update] = [0, 1].map(|step| i32::steps(&CDF53).steps[step][0]);
        assert_eq!([(1, 2), (-1, -2), (-1, 0)].map(|(a, b)| 10.lift(predict, a, b)), [9, 12, 11]);
        assert_eq!([(1, 0), (1, 1), (-3, 0), (-1, -2)].map(|(a, b)| 10.lift(update, a, b)), [10, 11, 9, 9]);
        for (value, left, right) in [(i32::MAX, i32::MIN, -1), (i32::MIN, i32::MAX, i32::MAX)] {
            for step in [predict, update] {
                assert_eq!(value.lift(step, left, right).unlift(step, left, right), value);
            }
        }
    }

    #[test]
    fn samples_round_and_saturate() {
        assert_eq!([-200.0, -128.4, 0.49, 0.5, 126.6, 500.0].map(f64::to_byte), [0, 0, 128, 129, 255, 255]);
        assert_eq!([-200.0, -128.4, 0.49, 0.5, 126.6, 500.0].map(f32::to_byte), [0, 0, 128, 129, 255, 255]);
        assert_eq!([i32::MIN, -128, 0, 127, i32::MAX].map(i32::to_byte), [0, 0, 128, 255, 255]);
        assert_eq!([-0.5, 0.25, 0.5, -1.75].map(i32::from_centred), [0, 0, 1, -2]);
    }
}
