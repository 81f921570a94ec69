//! Places and units of the bands of each component, which lie on their side.

use kernels::parts::cpu::compact_pitch;
use kernels::parts::{CDF53, CDF97};
use picture::pyramid::Pyramid;
use picture::weights::Orientation;

use super::geometry::Subband;
use crate::bank::FilterBank;
use crate::transform::TransformParams;

/// Layout of a component's bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In a square whose side is a power of two.
    Square,
    /// Without gaps between them.
    Compact,
}

/// The bands of all components.
pub(super) struct Bands {
    pub(super) is_reversible: bool,
    layout: Layout,
    pyramids: Vec<Pyramid>,
}

impl Bands {
    /// Returns the bands of these transforms, each of so many components.
    pub(super) fn new(parts: &[(usize, TransformParams)], is_reversible: bool, layout: Layout) -> Self {
        Self { is_reversible, layout, pyramids: parts.iter().flat_map(|(_, params)| params.pyramids()).collect() }
    }

    /// Returns where a band lies among its component's, column and row; `None` for one beyond the last level, which has no
    /// coefficient or is the whole low band.
    pub(super) fn corner(&self, component: usize, band: Subband, level: u8) -> Option<(usize, usize)> {
        let pyramid = &self.pyramids[component];
        let level = usize::from(level);
        if level > pyramid.levels() {
            return (band == Subband::Low).then_some((0, 0));
        }
        let orientation = match band {
            Subband::Low => return Some((0, 0)),
            Subband::Horizontal => Orientation::LH,
            Subband::Vertical => Orientation::HL,
            Subband::Diagonal => Orientation::HH,
        };
        let place = pyramid.band(level, orientation);
        let low = pyramid.band(level, Orientation::LL);
        Some(match self.layout {
            Layout::Square => (place.x, place.y),
            Layout::Compact => (place.x.min(low.width), place.y.min(low.height)),
        })
    }

    /// Returns how far apart the rows of a component's bands are.
    pub(super) fn pitch(&self, component: usize) -> usize {
        match self.layout {
            Layout::Square => self.pyramids[component].side(),
            Layout::Compact => compact_pitch(&self.pyramids[component]),
        }
    }

    /// Returns our coefficient over the standard's. Ours doubles the low band's range with each level, and the standard keeps it;
    /// a row of one sample passes unchanged in both.
    pub(super) fn ratio(&self, component: usize, band: Subband, level: u8) -> f64 {
        if self.is_reversible {
            return 1.0;
        }
        let pyramid = &self.pyramids[component];
        let split = |at: usize| {
            let (height, width) = pyramid.transform_extent(at);
            (i32::from(width > 1), i32::from(height > 1))
        };
        let (high_x, high_y) = band.is_high();
        let last = usize::from(level).min(pyramid.levels());
        let power = (1..=last).fold(0, |power, at| {
            let (x, y) = split(at);
            let sign = |is_high: bool| if is_high && at == usize::from(level) { -1 } else { 1 };
            power + x * sign(high_x) + y * sign(high_y)
        });
        2_f64.powf(f64::from(power) / 2.0)
    }
}

/// Lengths of what one coefficient becomes in the picture: by them an error in it counts.
pub(super) struct Norms {
    /// Along a row, of level l at place l: a low coefficient's and a high one's.
    levels: Vec<(f64, f64)>,
}

/// Levels after which the lengths go on as they were.
const NORM_LEVELS: usize = 7;

impl Norms {
    pub(super) fn new(is_reversible: bool) -> Self {
        let bank = FilterBank::of(if is_reversible { &CDF53 } else { &CDF97 });
        let (low, high) = (&bank.synthesis().low.taps, &bank.synthesis().high.taps);
        let length = |taps: &[f64]| taps.iter().map(|tap| tap * tap).sum::<f64>().sqrt();
        // What one coefficient of a level becomes one level up, and so on: the filters of the levels between follow it.
        let further = |taps: &[f64]| -> Vec<f64> {
            let mut out = vec![0.0; 2 * taps.len() + low.len()];
            for (at, tap) in taps.iter().enumerate() {
                low.iter().enumerate().for_each(|(k, weight)| out[2 * at + k] += tap * weight);
            }
            out
        };
        let (mut of_low, mut of_high) = (low.clone(), high.clone());
        let mut levels = vec![(1.0, 1.0)];
        for _ in 0..NORM_LEVELS {
            levels.push((length(&of_low), length(&of_high)));
            (of_low, of_high) = (further(&of_low), further(&of_high));
        }
        Self { levels }
    }

    /// Returns the length of one of our coefficients of a band.
    pub(super) fn of(&self, band: Subband, level: u8, is_reversible: bool) -> f64 {
        let at = usize::from(level).min(NORM_LEVELS);
        // The 5/3 keeps its low band's range, so a coefficient of each further level becomes twice as large.
        let beyond = if is_reversible { 2_f64.powi(i32::from(level) - at as i32) } else { 1.0 };
        let (x, y) = band.is_high();
        let (low, high) = self.levels[at];
        let side = |is_high: bool| if is_high { high } else { low };
        side(x) * side(y) * beyond
    }
}
