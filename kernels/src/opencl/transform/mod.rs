//! The wavelet transform of one channel: its planes and bands on the device, and the launches of each level.

pub(crate) mod channel;
pub(crate) mod choice;
pub(crate) mod download;
pub(crate) mod ends;
#[cfg(test)]
mod ends_tests;
pub(crate) mod level;
pub(crate) mod line;
pub(crate) mod params;
pub(crate) mod programs;
pub(crate) mod slab;
pub(crate) mod small;
pub(crate) mod source;
pub(crate) mod tail;
pub(crate) mod tile;
pub(crate) mod upload;

use device::OclPrm;
use device::Result;
use device::queue::{Buffer, Event, Queue};
use picture::pyramid::Pyramid;

use self::choice::Schemes;
use self::level::{Launch, Level, LevelSize, Pitched};

/// Device memory and launches of one channel's transform.
pub struct ChannelTransform<T> {
    plane: Buffer<T>,
    plane_pitch: usize,
    /// Coefficients in Mallat layout, [`Self::band_pitch`] apart from row to row; zero where no coefficient is.
    pub bands: Buffer<T>,
    /// Values from row to row of [`Self::bands`].
    pub band_pitch: usize,
    forward: Vec<Launch>,
    inverse: Vec<Launch>,
    /// Size of the finest level, if the first of `forward` and the last of `inverse` compute it and nothing else.
    finest: Option<LevelSize>,
    levels: usize,
    /// Memory between launches.
    lows: [Buffer<T>; 2],
    scratch: Buffer<T>,
}

/// Elements from row to row for rows of `width`: whole cache lines, and no power of two, whose rows would share
/// few cache sets.
fn pitch(width: usize) -> usize {
    let lines = width.next_multiple_of(16);
    if lines >= 256 && lines.is_multiple_of(256) { lines + 16 } else { lines }
}

impl<T: OclPrm> ChannelTransform<T> {
    /// Returns the values of host memory that hold the square or the plane with the pitch that they have on the device.
    pub fn staging_len(&self) -> usize {
        self.samples().0.len().max(self.bands.len())
    }

    /// Returns the values of a plane that goes on for `rows` more rows.
    pub fn taller_len(pyramid: &Pyramid, rows: usize) -> usize {
        pitch(pyramid.plane().width()) * (pyramid.plane().height() + rows)
    }

    /// Allocates for planes of `pyramid` and prepares all launches of `queue`'s device.
    pub fn new(queue: &Queue, pyramid: &Pyramid, schemes: &Schemes<T>) -> Result<Self> {
        let sizes = LevelSize::all(pyramid);
        let (plane_pitch, band_pitch) = (pitch(pyramid.plane().width()), pitch(pyramid.side()));
        let plane = queue.buffer(plane_pitch * pyramid.plane().height())?;
        let bands = queue.buffer(band_pitch * pyramid.side())?;
        queue.clear(&bands)?;
        // The low bands between levels take turns in two buffers.
        let low = |index: usize| match sizes.get(index) {
            Some(size) if index + 1 < sizes.len() => queue.buffer(pitch(size.low_w) * size.low_h),
            _ => queue.buffer(0),
        };
        let lows: [Buffer<T>; 2] = [low(0)?, low(1)?];
        let scratch = queue.buffer(sizes.iter().map(|size| schemes.of(size).scratch(size)).max().unwrap_or(0))?;

        let all_bands = Pitched { buffer: &bands, pitch: band_pitch };
        let mut fine = Pitched { buffer: &plane, pitch: plane_pitch };
        let (mut forward, mut inverse) = (Vec::new(), Vec::new());
        let mut finest = None;
        for (index, &size) in sizes.iter().enumerate() {
            let last = index + 1 == sizes.len();
            let coarse = if last { all_bands } else { Pitched { buffer: &lows[index % 2], pitch: pitch(size.low_w) } };
            let level = Level { size, fine, coarse, bands: all_bands, scratch: &scratch };
            let rest = &sizes[index..];
            if let Some(tail) = schemes.tail(rest) {
                forward.push(tail.forward(&level, rest.len())?);
                inverse.push(vec![tail.inverse(&level, rest.len())?]);
                break;
            }
            forward.extend(schemes.of(&size).forward(&level)?);
            inverse.push(schemes.of(&size).inverse(&level)?);
            if index == 0 && forward.len() == 1 && inverse[0].len() == 1 {
                finest = Some(size);
            }
            fine = coarse;
        }
        let inverse = inverse.into_iter().rev().flatten().collect();
        let levels = sizes.len();
        Ok(Self { plane, plane_pitch, bands, band_pitch, forward, inverse, finest, levels, lows, scratch })
    }

    /// Returns the plane of samples centred on zero, and its pitch. Without any level it is the low band.
    pub fn samples(&self) -> (&Buffer<T>, usize) {
        if self.forward.is_empty() { (&self.bands, self.band_pitch) } else { (&self.plane, self.plane_pitch) }
    }

    /// Returns the finest level, if a launch each way computes it and nothing else: what may be replaced by one with
    /// samples that are elsewhere.
    pub fn finest(&self) -> Option<Level<'_, T>> {
        let (size, bands) = (self.finest?, Pitched { buffer: &self.bands, pitch: self.band_pitch });
        let low = Pitched { buffer: &self.lows[0], pitch: pitch(size.low_w) };
        let coarse = if self.levels == 1 { bands } else { low };
        let fine = Pitched { buffer: &self.plane, pitch: self.plane_pitch };
        Some(Level { size, fine, coarse, bands, scratch: &self.scratch })
    }

    /// Runs as [`Self::run_forward`] does, after the finest level.
    pub(crate) fn run_forward_below(&self, queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
        run(queue, self.forward.get(1..).unwrap_or_default(), events)
    }

    /// Runs as [`Self::run_inverse`] does, up to the finest level.
    pub(crate) fn run_inverse_below(&self, queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
        run(queue, self.inverse.split_last().map_or(&[], |(_, below)| below), events)
    }

    /// Transforms a plane to bands; appends the commands' events, if the queue is timed.
    pub fn run_forward(&self, queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
        run(queue, &self.forward, events)
    }

    /// Bands to plane; appends the commands' events, if the queue is timed.
    pub fn run_inverse(&self, queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
        run(queue, &self.inverse, events)
    }
}

fn run(queue: &Queue, launches: &[Launch], events: &mut Vec<Event>) -> Result<()> {
    for launch in launches {
        events.extend(queue.launch(&launch.kernel, launch.groups, launch.group_size)?);
    }
    Ok(())
}
