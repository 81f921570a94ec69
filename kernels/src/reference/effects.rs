//! Effects: noise averaged where the picture stands still, and gains and thresholds of subbands.
//!
//! After Wong, Leung, Heng and Wang (2007), section VII: subbands of the picture's own transform are scaled or thinned
//! out, and the illumination is what the coarsest bands hold.

use picture::effects::{Effect, Effects};
use picture::frame::{Channel, Chroma, FrameSize};
use picture::params::{Boundary, CodecParams};
use picture::pyramid::{Orientation, Pyramid};

use super::{check_picture, colour, dwt};
use crate::lifting::CDF97;
use crate::sample::Sample;
use crate::{Picture, PictureError, PictureRef};

/// Finest levels, of which noise is taken and detail is changed.
const FINE_LEVELS: usize = 3;
/// Coarsest levels, which hold the light: structures larger than about a fifth of the longer side.
const COARSE_LEVELS: usize = 3;
/// Fraction bits of a sample of the filtered picture that is kept.
pub(crate) const FRACTION_BITS: u32 = 6;
/// Samples on each side of a sample that say with it whether it stands still.
pub(crate) const REACH: usize = 2;
/// A difference counts at most this much for its neighbours: [`WINDOW`] of them fit 16 bits.
pub(crate) const DIFFERENCE_MOST: u16 = u16::MAX / WINDOW;
/// Samples that say whether one stands still.
const WINDOW: u16 = 25;
const _: () = assert!(WINDOW as usize == (2 * REACH + 1) * (2 * REACH + 1));
/// A sample's own difference counts for so many samples, where that is more than what all of them have.
pub(crate) const OWN: u16 = 8;
const _: () = assert!(DIFFERENCE_MOST as u32 * WINDOW as u32 <= u16::MAX as u32);
/// Share of a difference, of 256, that is taken over where the picture stands still.
pub(crate) const SHARE_LEAST: u32 = 32;

/// Treatment of the detail of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Treatment {
    /// Magnitude that every coefficient loses.
    pub(crate) threshold: f32,
    /// Factor of what is left.
    pub(crate) gain: f32,
}

impl Treatment {
    /// Returns the treatment of level `level` of `levels`, 1 the finest.
    pub(crate) fn of(effects: &Effects, channel: Channel, level: usize, levels: usize) -> Self {
        let is_fine = level <= FINE_LEVELS;
        let mut gain = 1.0;
        if channel == Channel::Y && is_fine {
            // Half as much from level to level.
            gain += (effects.get(Effect::Detail) - 1.0) / (1 << (level - 1)) as f32;
        }
        if channel == Channel::Y && level + COARSE_LEVELS > levels {
            gain *= 1.0 - effects.get(Effect::EvenLight);
        }
        Self { threshold: if is_fine { effects.get(Effect::Noise) } else { 0.0 }, gain }
    }

    /// Returns true if it changes nothing.
    pub(crate) fn is_none(self) -> bool {
        self == Self { threshold: 0.0, gain: 1.0 }
    }

    /// Returns what becomes of a coefficient.
    #[inline(always)]
    pub(crate) fn apply(self, coefficient: f32) -> f32 {
        (coefficient - coefficient.max(-self.threshold).min(self.threshold)) * self.gain
    }
}

/// Returns true if the subbands of a channel are treated.
pub(crate) fn treats(effects: &Effects, channel: Channel) -> bool {
    let is_lit = effects.get(Effect::Detail) != Effect::Detail.neutral() || effects.get(Effect::EvenLight) > 0.0;
    effects.get(Effect::Noise) > 0.0 || (channel == Channel::Y && is_lit)
}

/// Returns the geometry of a plane's transform: CDF 9/7, all levels, symmetric and smooth, whatever the stream has.
pub(crate) fn pyramid(plane: FrameSize) -> Pyramid {
    Pyramid::new(plane, &CodecParams::default())
}

/// Returns the sampling of what comes out of a stream of `chroma`: planes.
pub(crate) const fn planar(chroma: Chroma) -> Chroma {
    match chroma {
        Chroma::Rgb => Chroma::C444,
        _ => chroma,
    }
}

/// The rule by which a difference to the filtered picture before is taken over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StillRule {
    /// Activity up to which the picture stands still; from twice as much on it moves.
    rest: u16,
    /// Rise of the share from one to the other, of 2^16.
    rise: u32,
}

impl StillRule {
    /// Returns the rule for a threshold in grey levels, 0 to 20.
    pub(crate) fn new(still_noise: f32) -> Self {
        let threshold = (still_noise * (1 << FRACTION_BITS) as f32).round().max(1.0) as u16;
        let rest = WINDOW * threshold;
        Self { rest, rise: ((256 - SHARE_LEAST) << 16).div_ceil(u32::from(rest)) }
    }

    /// Returns what becomes of a sample kept as `before`, of which `sample` has come; `around`: sum of the differences
    /// in its window, each [`DIFFERENCE_MOST`] at most.
    #[inline(always)]
    pub(crate) fn apply(self, before: i16, sample: u8, around: u16) -> i16 {
        // Nothing here leaves 26 bits; checks for that would keep it from being done on many samples at once.
        let (times, plus) = (u32::wrapping_mul, i32::wrapping_add);
        let difference = (i32::from(sample) << FRACTION_BITS).wrapping_sub(before.into());
        let own = (difference.unsigned_abs() as u16).min(u16::MAX / OWN).wrapping_mul(OWN);
        let over = around.max(own).saturating_sub(self.rest).min(self.rest);
        let share = SHARE_LEAST.wrapping_add(times(over.into(), self.rise) >> 16);
        plus(before.into(), plus(difference.wrapping_mul(share as i32), 128) >> 8) as i16
    }
}

/// Returns the nearest byte of a kept sample.
#[inline(always)]
pub(crate) fn byte(kept: i16) -> u8 {
    (kept.wrapping_add(1 << (FRACTION_BITS - 1)) >> FRACTION_BITS) as u8
}

/// The effects of one stream of pictures.
#[derive(Clone, Debug)]
pub struct ReferenceEffects {
    size: FrameSize,
    chroma: Chroma,
    /// The filtered picture before, plane by plane; empty if there is none.
    before: Vec<Vec<i16>>,
}

impl ReferenceEffects {
    /// For pictures of `size` in a stream of `chroma`.
    pub fn new(size: FrameSize, chroma: Chroma) -> Self {
        Self { size, chroma: planar(chroma), before: Vec::new() }
    }

    /// Returns `picture` with `effects`, in planes; [`PictureError`] if it has another size or more than 8 bits a sample.
    pub fn apply(&mut self, effects: &Effects, picture: PictureRef<'_>) -> Result<Picture, PictureError> {
        check_picture(picture, self.size)?;
        let mut planes: Vec<Vec<u8>> = colour::planes(picture, self.chroma)
            .into_iter()
            .map(|plane| plane.into_iter().map(Sample::to_byte).collect())
            .collect();
        let still_noise = effects.get(Effect::StillNoise);
        if still_noise == 0.0 {
            self.before.clear();
        } else if self.before.is_empty() {
            let keep = |plane: &Vec<u8>| plane.iter().map(|&sample| i16::from(sample) << FRACTION_BITS).collect();
            self.before = planes.iter().map(keep).collect();
        } else {
            for ((&channel, plane), before) in self.chroma.channels().iter().zip(&mut planes).zip(&mut self.before) {
                let size = self.chroma.plane_size(self.size, channel);
                *before = still(StillRule::new(still_noise), size, plane, before);
                *plane = before.iter().map(|&kept| byte(kept)).collect();
            }
        }
        for (&channel, plane) in self.chroma.channels().iter().zip(&mut planes) {
            if treats(effects, channel) {
                let pyramid = pyramid(self.chroma.plane_size(self.size, channel));
                *plane = treat(effects, channel, &pyramid, plane);
            }
        }
        Picture::from_data(self.chroma.picture_format(), self.size, planes.concat())
    }
}

/// Returns a plane of the filtered picture after `before`.
fn still(rule: StillRule, size: FrameSize, samples: &[u8], before: &[i16]) -> Vec<i16> {
    let (width, height) = (size.width(), size.height());
    let difference = |x: usize, y: usize| {
        let at = y * width + x;
        ((i32::from(samples[at]) << FRACTION_BITS) - i32::from(before[at])).unsigned_abs().min(DIFFERENCE_MOST.into())
    };
    let near = |at: usize, end: usize| (0..=2 * REACH).map(move |k| (at + k).saturating_sub(REACH).min(end - 1));
    let mut after = Vec::with_capacity(before.len());
    for y in 0..height {
        for x in 0..width {
            let sum: u32 =
                near(y, height).flat_map(|y| near(x, width).map(move |x| (x, y))).map(|(x, y)| difference(x, y)).sum();
            let at = y * width + x;
            after.push(rule.apply(before[at], samples[at], sum as u16));
        }
    }
    after
}

/// Returns a plane with its subbands treated.
fn treat(effects: &Effects, channel: Channel, pyramid: &Pyramid, samples: &[u8]) -> Vec<u8> {
    let steps = f32::steps(&CDF97);
    let plane: Vec<f32> = samples.iter().map(|&sample| f32::from(sample) - 128.0).collect();
    let mut square = dwt::forward(&plane, pyramid, &steps, Boundary::Symmetric);
    for level in 1..=pyramid.levels() {
        let treatment = Treatment::of(effects, channel, level, pyramid.levels());
        for orientation in [Orientation::HL, Orientation::LH, Orientation::HH] {
            let band = pyramid.band(level, orientation);
            for y in band.y..band.y + band.height {
                for coefficient in &mut square[y * pyramid.side() + band.x..][..band.width] {
                    *coefficient = treatment.apply(*coefficient);
                }
            }
        }
    }
    dwt::inverse(&square, pyramid, &steps, Boundary::Symmetric).into_iter().map(Sample::to_byte).collect()
}
