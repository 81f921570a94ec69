//! The wavelet transform of one plane, level by level.

use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::filter::LiftingFilter;
use super::level::{DetailPlace, LevelGeometry, PlaneRows};
use super::merge_level::{Bands, merge_level};
use super::output::Output;
use super::row_source::RowSource;
use super::split_level::split_level;
use super::window::WindowScratch;
use crate::cpu::vector::VectorSample;
use crate::lifting::Lifting;

/// Order of the coefficients in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) enum Order {
    /// At each level the high half follows the low half without a gap, rows this far apart: only what can be non-zero
    /// takes memory, and rows are not a power of two apart.
    Compact(usize),
    /// The square in Mallat layout.
    Square,
}

impl Order {
    /// Returns the place of a level's detail.
    pub(in crate::cpu) fn place(self, pyramid: &Pyramid, level: usize) -> DetailPlace {
        match self {
            Self::Compact(pitch) => {
                let (columns, rows) = pyramid.transform_extent(level);
                DetailPlace { pitch, right: columns.div_ceil(2), below: rows.div_ceil(2) * pitch }
            }
            Self::Square => {
                let (pitch, half) = (pyramid.side(), pyramid.side() >> level);
                DetailPlace { pitch, right: half, below: half * pitch }
            }
        }
    }

    fn pitch(self, pyramid: &Pyramid) -> usize {
        match self {
            Self::Compact(pitch) => pitch,
            Self::Square => pyramid.side(),
        }
    }
}

/// Returns the pitch of rows, values, so that they start on cache lines and are not a power of two apart.
pub(in crate::cpu) fn padded_pitch(columns: usize) -> usize {
    columns.next_multiple_of(16) + 16
}

/// Columns and rows that the transform of a plane reads and writes: the plane's, or with zero padding the square's.
pub(in crate::cpu) fn extent(pyramid: &Pyramid) -> (usize, usize) {
    if pyramid.levels() == 0 {
        (pyramid.plane().width(), pyramid.plane().height())
    } else {
        pyramid.transform_extent(1)
    }
}

/// The transform of planes of one size, with all the memory that it needs between samples and coefficients.
#[derive(Debug)]
pub(in crate::cpu) struct PlaneTransform<T: VectorSample> {
    pyramid: Pyramid,
    boundary: Boundary,
    forward: LiftingFilter<T>,
    inverse: LiftingFilter<T>,
    /// Low bands after odd and after even levels.
    low: [Vec<T>; 2],
    low_pitches: [usize; 2],
    scratch: WindowScratch<T>,
}

impl<T: VectorSample> PlaneTransform<T> {
    /// Returns the transform of planes of the pyramid's size.
    pub(in crate::cpu) fn new(pyramid: &Pyramid, lifting: &Lifting, boundary: Boundary) -> Self {
        let forward = LiftingFilter::forward(lifting);
        let low_extents = [1, 2].map(|level| match pyramid.levels() {
            levels if level <= levels => {
                let (columns, rows) = pyramid.transform_extent(level);
                (columns.div_ceil(2), rows.div_ceil(2))
            }
            _ => (0, 0),
        });
        let low_pitches = low_extents.map(|(columns, _)| padded_pitch(columns));
        let low = [0, 1].map(|n| vec![T::default(); low_extents[n].1 * low_pitches[n]]);
        let scratch = WindowScratch::new(extent(pyramid).0, boundary);
        Self {
            pyramid: pyramid.clone(),
            boundary,
            forward,
            inverse: LiftingFilter::inverse(lifting),
            low,
            low_pitches,
            scratch,
        }
    }

    fn level(&self, level: usize) -> LevelGeometry {
        let (columns, rows) = self.pyramid.transform_extent(level);
        LevelGeometry { columns, rows, boundary: self.boundary }
    }

    /// Returns the size of the last low band.
    fn low_extent(&self) -> (usize, usize) {
        if self.pyramid.levels() == 0 {
            return extent(&self.pyramid);
        }
        let (columns, rows) = self.pyramid.transform_extent(self.pyramid.levels());
        (columns.div_ceil(2), rows.div_ceil(2))
    }

    /// Samples, of [`extent`], to coefficients. What the layout leaves between bands is not written.
    pub(in crate::cpu) fn forward(&mut self, samples: impl RowSource<T>, bands: &mut [T], layout: Order) {
        let levels = self.pyramid.levels();
        for number in 1..=levels {
            let (level, place) = (self.level(number), layout.place(&self.pyramid, number));
            let [odd, even] = &mut self.low;
            let [odd_pitch, even_pitch] = self.low_pitches;
            let (from, to) = if number % 2 == 1 {
                (PlaneRows { data: even, pitch: even_pitch }, (odd.as_mut_slice(), odd_pitch))
            } else {
                (PlaneRows { data: odd, pitch: odd_pitch }, (even.as_mut_slice(), even_pitch))
            };
            if number == 1 {
                split_level(&level, &self.forward, samples, to, bands, place, &mut self.scratch);
            } else {
                split_level(&level, &self.forward, from, to, bands, place, &mut self.scratch);
            }
        }
        let (columns, rows) = self.low_extent();
        for (y, to) in bands.chunks_mut(layout.pitch(&self.pyramid)).enumerate().take(rows) {
            let low = match levels {
                0 => samples.row(y, columns, &mut self.scratch.windows[0].row),
                _ => &self.low_rows(levels).row(y)[..columns],
            };
            to[..columns].copy_from_slice(low);
        }
    }

    /// Coefficients to samples, of [`extent`], or to what is kept of them: rows `pitch` apart.
    pub(in crate::cpu) fn inverse<O: Output<T>>(
        &mut self,
        bands: &[T],
        layout: Order,
        samples: &mut [O],
        pitch: usize,
    ) {
        let levels = self.pyramid.levels();
        let band_rows = PlaneRows { data: bands, pitch: layout.pitch(&self.pyramid) };
        if levels == 0 {
            let (columns, rows) = self.low_extent();
            for (y, to) in samples.chunks_mut(pitch).enumerate().take(rows) {
                let keep = |row: &mut [T]| row.copy_from_slice(&band_rows.row(y)[..columns]);
                O::keep(to, columns, &mut self.scratch.windows[0].row, keep);
            }
        }
        for number in (1..=levels).rev() {
            let (level, place) = (self.level(number), layout.place(&self.pyramid, number));
            let [odd, even] = &mut self.low;
            let [odd_pitch, even_pitch] = self.low_pitches;
            let (low, to) = if number % 2 == 1 {
                (PlaneRows { data: odd, pitch: odd_pitch }, (even.as_mut_slice(), even_pitch))
            } else {
                (PlaneRows { data: even, pitch: even_pitch }, (odd.as_mut_slice(), odd_pitch))
            };
            let low = if number == levels { band_rows } else { low };
            let bands = Bands { low, detail: bands, place };
            if number == 1 {
                merge_level(&level, &self.inverse, bands, (&mut *samples, pitch), &mut self.scratch);
            } else {
                merge_level(&level, &self.inverse, bands, to, &mut self.scratch);
            }
        }
    }

    /// Returns the low band after `levels` levels, at least one.
    fn low_rows(&self, levels: usize) -> PlaneRows<'_, T> {
        let index = 1 - levels % 2;
        PlaneRows { data: &self.low[index], pitch: self.low_pitches[index] }
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;
    use picture::params::{CodecParams, Padding};

    use super::*;
    use crate::cpu::simd::Simd;
    use crate::lifting::{CDF53, CDF97, DD137};

    /// Coefficients of a plane of noise, and the plane again, on this thread alone.
    fn both_ways<T: VectorSample>(simd: Simd, lifting: &Lifting, size: (u32, u32), boundary: Boundary) -> [Vec<T>; 2] {
        let codec = CodecParams { boundary, padding: Padding::Smooth, ..CodecParams::default() };
        let pyramid = Pyramid::new(FrameSize::new(size.0, size.1).unwrap(), &codec);
        let (columns, rows) = extent(&pyramid);
        let noise = (0..columns * rows).map(|n| (n as u32).wrapping_mul(2_654_435_761) >> 16);
        let samples: Vec<T> = noise.map(|value| T::from_centred(value as f32 / 256.0 - 128.0)).collect();
        let mut transform = PlaneTransform::<T>::new(&pyramid, lifting, boundary);
        let (mut bands, mut back) = (vec![T::default(); pyramid.side() * pyramid.side()], samples.clone());
        simd.force(|| {
            transform.forward(PlaneRows { data: &samples, pitch: columns }, &mut bands, Order::Square);
            transform.inverse(&bands, Order::Square, &mut back, columns);
        });
        [bands, back]
    }

    fn check<T: VectorSample>(lifting: &Lifting) {
        // One thread, which works here.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for size in [(17, 31), (34, 33), (67, 45), (130, 67), (257, 40)] {
            for boundary in [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero] {
                let [fast, plain] = [Simd::detect(), Simd::Baseline]
                    .map(|simd| pool.install(|| both_ways::<T>(simd, lifting, size, boundary)));
                assert!(fast == plain, "{lifting} {size:?} {boundary:?}");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        check::<f32>(&CDF97);
        check::<f64>(&CDF97);
        check::<f32>(&DD137);
        check::<f64>(&DD137);
        check::<i32>(&CDF53);
    }
}
