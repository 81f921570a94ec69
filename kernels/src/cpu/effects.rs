//! Effects of a picture before it is coded: the reference's rules, row by row and on all threads.

use picture::effects::{Effect, Effects};
use picture::frame::{Channel, Chroma, FrameSize, PixelFormat};
use picture::params::Boundary;
use picture::pyramid::{Orientation, Pyramid};
use rayon::prelude::*;

use super::colour;
use super::simd::multiversion;
use super::transform::pyramid::{Order, PlaneTransform, extent, padded_pitch};
use super::transform::row_source::PictureRows;
use crate::lifting::CDF97;
use crate::reference::check_picture;
use crate::reference::effects::{
    DIFFERENCE_MOST, FRACTION_BITS, REACH, StillRule, Treatment, byte, planar, pyramid, treats,
};
use crate::{Picture, PictureError, PictureRef};

/// Least rows for a thread.
const ROWS_MIN: usize = 64;

/// The effects of one stream of pictures, with all the memory that they need. Equal to
/// [`crate::reference::effects::ReferenceEffects`] to the bit.
#[derive(Debug)]
pub struct EffectsFilter {
    size: FrameSize,
    chroma: Chroma,
    planes: Vec<FilteredPlane>,
    /// The picture in planes.
    samples: Picture,
}

impl EffectsFilter {
    /// For pictures of `size` in a stream of `chroma`.
    pub fn new(size: FrameSize, chroma: Chroma) -> Self {
        let chroma = planar(chroma);
        let plane = |&channel: &Channel| FilteredPlane::new(channel, chroma.plane_size(size, channel));
        Self {
            size,
            chroma,
            planes: chroma.channels().iter().map(plane).collect(),
            samples: Picture::for_stream(chroma, size),
        }
    }

    /// Returns a picture for what comes out, every sample 0: of planes, with the stream's sampling.
    pub fn room(&self) -> Picture {
        Picture::for_stream(self.chroma, self.size)
    }

    /// Returns the format of [`Self::room`].
    pub fn room_format(&self) -> PixelFormat {
        self.chroma.picture_format()
    }

    /// Forgets the pictures before: the next one is filtered as if it were the first.
    pub fn forget(&mut self) {
        self.planes.iter_mut().for_each(|plane| plane.still.is_known = false);
    }

    /// Writes `picture` with `effects` to `out`, which is as [`Self::room`] makes it; [`PictureError`] if either has another
    /// size, format or depth. Noise of what stands still is averaged over the calls that have [`Effect::StillNoise`].
    pub fn apply(&mut self, effects: &Effects, picture: PictureRef<'_>, out: &mut Picture) -> Result<(), PictureError> {
        check_picture(picture, self.size)?;
        check_picture(out.as_ref(), self.size)?;
        let wanted = self.room_format();
        if out.format() != wanted {
            return Err(PictureError::Format { wanted, given: out.format() });
        }
        // On a thread of the pool: each of the steps would else wake the pool and be woken by it.
        rayon::scope(|_| {
            let still_noise = effects.get(Effect::StillNoise);
            if still_noise == 0.0 {
                colour::bytes_into(picture, self.chroma, out.data_mut());
                self.forget();
            } else {
                colour::bytes_into(picture, self.chroma, self.samples.data_mut());
            }
            let (mut samples, mut to) = (self.samples.data(), out.data_mut());
            let mut jobs = Vec::with_capacity(self.planes.len());
            for plane in &mut self.planes {
                let pixels = plane.pyramid.plane().pixels();
                let (Some(samples), Some(to)) = (samples.split_off(..pixels), to.split_off_mut(..pixels)) else {
                    break;
                };
                jobs.push((plane, samples, to));
            }
            jobs.into_par_iter().try_for_each(|(plane, samples, to)| {
                if still_noise > 0.0 {
                    plane.still.apply(StillRule::new(still_noise), samples, to);
                }
                plane.treat(effects, to)
            })
        })
    }
}

/// One plane of the pictures.
#[derive(Debug)]
struct FilteredPlane {
    channel: Channel,
    pyramid: Pyramid,
    pitch: usize,
    transform: PlaneTransform<f32>,
    bands: Vec<f32>,
    still: Still,
}

impl FilteredPlane {
    fn new(channel: Channel, size: FrameSize) -> Self {
        let pyramid = pyramid(size);
        let (columns, rows) = extent(&pyramid);
        let pitch = padded_pitch(columns);
        Self {
            channel,
            pitch,
            transform: PlaneTransform::new(&pyramid, &CDF97, Boundary::Symmetric),
            bands: vec![0.0; rows * pitch],
            still: Still::new(size),
            pyramid,
        }
    }

    /// Treats the subbands of the plane's samples.
    fn treat(&mut self, effects: &Effects, samples: &mut [u8]) -> Result<(), PictureError> {
        if !treats(effects, self.channel) {
            return Ok(());
        }
        let (size, layout) = (self.pyramid.plane(), Order::Compact(self.pitch));
        let plane = PictureRef::new(PixelFormat::Grey8, size, samples)?;
        self.transform.forward(PictureRows::new(plane, Chroma::Grey, Channel::Y), &mut self.bands, layout);
        for level in 1..=self.pyramid.levels() {
            let treatment = Treatment::of(effects, self.channel, level, self.pyramid.levels());
            if treatment.is_none() {
                continue;
            }
            let place = layout.place(&self.pyramid, level);
            for (orientation, start) in [
                (Orientation::HL, place.right),
                (Orientation::LH, place.below),
                (Orientation::HH, place.below + place.right),
            ] {
                let band = self.pyramid.band(level, orientation);
                if band.width * band.height > 0 {
                    let rows = self.bands[start..].par_chunks_mut(self.pitch).take(band.height);
                    rows.with_min_len(ROWS_MIN).for_each(|row| treat_row(&mut row[..band.width], treatment));
                }
            }
        }
        self.transform.inverse(&self.bands, layout, samples, size.width());
        Ok(())
    }
}

multiversion! {
    /// Treats coefficients of one level.
    fn treat_row(row: &mut [f32], treatment: Treatment) = treat_row_body;
}

#[inline(always)]
fn treat_row_body(row: &mut [f32], treatment: Treatment) {
    for coefficient in row {
        *coefficient = treatment.apply(*coefficient);
    }
}

/// The filtered plane before, and the one that is being made of it.
#[derive(Debug)]
struct Still {
    width: usize,
    height: usize,
    /// False if there is none before.
    is_known: bool,
    before: Vec<i16>,
    after: Vec<i16>,
    /// Sums of the differences in a column of the window, of each stripe's row, with room beyond the ends.
    columns: Vec<Vec<u16>>,
}

impl Still {
    fn new(size: FrameSize) -> Self {
        let (width, height) = (size.width(), size.height());
        let stripes = height.div_ceil(ROWS_MIN).min(rayon::current_num_threads()).max(1);
        Self {
            width,
            height,
            is_known: false,
            before: vec![0; size.pixels()],
            after: vec![0; size.pixels()],
            columns: vec![vec![0; width + 2 * REACH]; stripes],
        }
    }

    /// Writes the filtered samples to `to`, and keeps them.
    fn apply(&mut self, rule: StillRule, samples: &[u8], to: &mut [u8]) {
        if !self.is_known {
            to.copy_from_slice(samples);
            self.before.iter_mut().zip(samples).for_each(|(kept, &sample)| *kept = i16::from(sample) << FRACTION_BITS);
            self.is_known = true;
            return;
        }
        let rows = self.height.div_ceil(self.columns.len());
        let (width, height, before) = (self.width, self.height, &self.before);
        let stripes = self.after.par_chunks_mut(rows * width).zip(to.par_chunks_mut(rows * width));
        stripes.zip(&mut self.columns).enumerate().for_each(|(stripe, ((after, to), columns))| {
            let (first, sums) = (stripe * rows, REACH..REACH + width);
            // Row y + offset - REACH, or the first or last one.
            let row = |y: usize, offset: usize| {
                let at = (y + offset).saturating_sub(REACH).min(height - 1) * width;
                (&samples[at..at + width], &before[at..at + width])
            };
            columns.fill(0);
            for offset in 0..=2 * REACH {
                let (samples, before) = row(first, offset);
                add_differences(&mut columns[sums.clone()], samples, before);
            }
            for (y, (after, to)) in (first..).zip(after.chunks_exact_mut(width).zip(to.chunks_exact_mut(width))) {
                if y > first {
                    let ((samples, before), (gone, gone_before)) = (row(y, 2 * REACH), row(y - 1, 0));
                    move_differences(&mut columns[sums.clone()], samples, before, gone, gone_before);
                }
                let (left, right) = (columns[REACH], columns[REACH + width - 1]);
                columns[..REACH].fill(left);
                columns[REACH + width..].fill(right);
                let (samples, before) = row(y, REACH);
                still_row(rule, columns, samples, before, after, to);
            }
        });
        std::mem::swap(&mut self.before, &mut self.after);
    }
}

#[inline(always)]
fn difference(sample: u8, before: i16) -> u16 {
    // Both are 0 to 255 << 6.
    (i16::from(sample) << FRACTION_BITS).wrapping_sub(before).unsigned_abs().min(DIFFERENCE_MOST)
}

multiversion! {
    /// Adds the differences of a row to the sums of the columns.
    fn add_differences(columns: &mut [u16], samples: &[u8], before: &[i16]) = add_differences_body;
}

#[inline(always)]
fn add_differences_body(columns: &mut [u16], samples: &[u8], before: &[i16]) {
    for ((sum, &sample), &before) in columns.iter_mut().zip(samples).zip(before) {
        *sum = sum.wrapping_add(difference(sample, before));
    }
}

multiversion! {
    /// Adds the differences of a row to the sums of the columns and takes those of another away.
    fn move_differences(
        columns: &mut [u16],
        samples: &[u8],
        before: &[i16],
        gone: &[u8],
        gone_before: &[i16],
    ) = move_differences_body;
}

#[inline(always)]
fn move_differences_body(columns: &mut [u16], samples: &[u8], before: &[i16], gone: &[u8], gone_before: &[i16]) {
    let rows = columns.iter_mut().zip(samples).zip(before).zip(gone).zip(gone_before);
    for ((((sum, &sample), &before), &gone), &gone_before) in rows {
        *sum = sum.wrapping_add(difference(sample, before)).wrapping_sub(difference(gone, gone_before));
    }
}

multiversion! {
    /// Filters a row: `columns` has the sums of the columns from [`REACH`] before its first sample on.
    fn still_row(
        rule: StillRule,
        columns: &[u16],
        samples: &[u8],
        before: &[i16],
        after: &mut [i16],
        to: &mut [u8],
    ) = still_row_body;
}

#[inline(always)]
fn still_row_body(rule: StillRule, columns: &[u16], samples: &[u8], before: &[i16], after: &mut [i16], to: &mut [u8]) {
    let count = samples.len();
    let (before, after, to) = (&before[..count], &mut after[..count], &mut to[..count]);
    let (a, b, c) = (&columns[..count], &columns[1..][..count], &columns[2..][..count]);
    let (d, e) = (&columns[3..][..count], &columns[4..][..count]);
    for at in 0..count {
        let around = a[at].wrapping_add(b[at]).wrapping_add(c[at]).wrapping_add(d[at]).wrapping_add(e[at]);
        let kept = rule.apply(before[at], samples[at], around);
        after[at] = kept;
        to[at] = byte(kept);
    }
}
