//! The transform with each of its parts timed alone, for benchmarks.
//!
//! The method is that of Eskildsen et al. (2012), section 6.1: pictures alternate, so that nothing left over from the
//! run before is taken for a result; a device's memory is cleared before each run; and every result is summed, so
//! that a run that went wrong is seen.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::codec::{Resolved, resolve};
use crate::reference::sample::Sample;
use crate::transform::{TransformParams, Values};
use crate::wavelet::Element;
use crate::{BackendChoice, BackendInfo, Error, Transform, codec, opencl};

/// Number of different pictures.
pub const PICTURES: usize = 4;
/// All pictures are windows of a taller one; each begins this many rows below the one before.
pub(crate) const SHIFT_ROWS: usize = 8;

/// The sample of a channel at a column and row, centred at 0.
pub type Scene = dyn Fn(usize, usize, usize) -> f32 + Sync;

/// A transform of float planes in the host's memory to coefficients in the host's memory and back.
pub trait Measure {
    /// Transforms picture number `picture` modulo [`PICTURES`] forward, and the result back.
    fn round(&mut self, picture: usize) -> Result<Round, Error>;

    /// Copies a plane of the first channel within the memory that the transform works in, `runs` times: how many bytes
    /// were read and written each time, and how long each took.
    fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), Error>;

    /// What computes.
    fn backend(&self) -> &BackendInfo;
}

/// A forward transform, and the inverse of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Planes to coefficients.
    pub forward: Run,
    /// Coefficients to planes.
    pub inverse: Run,
    /// Largest difference between the planes before and after.
    pub error: f64,
}

/// The parts of one transform, one after another. The processor has its data where it computes: there, the copies
/// take no time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// From pinned host memory to the device.
    pub upload: Duration,
    /// All levels of all channels, by the device's clock.
    pub transform: Duration,
    /// From the device to pinned host memory.
    pub download: Duration,
    /// All of it, by the host's clock.
    pub total: Duration,
    /// [`bit_sum`] of the result.
    pub sum: u64,
}

/// A sum that shows any difference of a single value, whatever the order of summation.
pub fn bit_sum<T: Copy + Into<f64> + Sync>(values: &[T]) -> u64 {
    let of_chunk = |chunk: &[T]| chunk.iter().fold(0_u64, |sum, &value| sum.wrapping_add(value.into().to_bits()));
    values.par_chunks(1 << 16).map(of_chunk).reduce(|| 0, u64::wrapping_add)
}

/// Largest difference between values at the same place.
pub(crate) fn largest_difference<T: Copy + Into<f64> + Sync>(a: &[T], b: &[T]) -> f64 {
    let differences = a.par_iter().zip(b).map(|(&a, &b)| (a.into() - b.into()).abs());
    // NaN is no smaller than anything.
    differences.reduce(|| 0.0, |a, b| if a >= b { a } else { b })
}

/// Opens a measurement; its pictures show `scene`. `device` as in [`crate::open_encoder`].
pub fn open(
    params: &TransformParams,
    choice: BackendChoice,
    device: Option<&str>,
    scene: &Scene,
) -> Result<Box<dyn Measure>, Error> {
    params.check()?;
    if let (Resolved::Opencl(device), reason) = resolve(choice, device)? {
        return opencl::open_measure(params, device.as_deref(), reason, scene);
    }
    let transform = codec::open_transform(params, choice, device)?;
    Ok(match params.element {
        Element::F32 => Box::new(OnProcessor::<f32>::new(transform, params, scene)),
        Element::F64 => Box::new(OnProcessor::<f64>::new(transform, params, scene)),
        Element::I32 => Box::new(OnProcessor::<i32>::new(transform, params, scene)),
    })
}

/// A back end that computes in the host's memory.
struct OnProcessor<T> {
    transform: Box<dyn Transform>,
    /// The taller planes.
    scene: Vec<Vec<T>>,
    /// Values of a row of each.
    widths: Vec<usize>,
    /// Coefficients, and the planes that came back.
    squares: Values,
    back: Values,
}

impl<T: Sample + Into<f64>> OnProcessor<T> {
    fn new(transform: Box<dyn Transform>, params: &TransformParams, scene: &Scene) -> Self {
        let sizes = params.chroma.channels().iter().map(|&channel| params.chroma.plane_size(params.size, channel));
        let (mut planes, mut widths) = (Vec::new(), Vec::new());
        for (channel, size) in sizes.enumerate() {
            let mut plane = vec![T::default(); size.width() * (size.height() + (PICTURES - 1) * SHIFT_ROWS)];
            fill(&mut plane, size.width(), size.width(), channel, scene);
            planes.push(plane);
            widths.push(size.width());
        }
        let squares = params.pyramids().iter().map(|pyramid| vec![T::default(); pyramid.side().pow(2)]).collect();
        let back = params.pyramids().iter().map(|pyramid| vec![T::default(); pyramid.plane().pixels()]).collect();
        Self { transform, scene: planes, widths, squares: T::wrap(squares), back: T::wrap(back) }
    }

    fn picture(&self, number: usize) -> Vec<Vec<T>> {
        let window = |(plane, width): (&Vec<T>, &usize)| {
            let start = number % PICTURES * SHIFT_ROWS * width;
            let len = plane.len() - (PICTURES - 1) * SHIFT_ROWS * width;
            plane[start..start + len].to_vec()
        };
        self.scene.iter().zip(&self.widths).map(window).collect()
    }
}

impl<T: Sample + Into<f64>> Measure for OnProcessor<T> {
    fn round(&mut self, picture: usize) -> Result<Round, Error> {
        let planes = T::wrap(self.picture(picture));
        let Self { transform, squares, back, .. } = self;
        let forward = timed::<T>(squares, |squares| transform.forward_planes_into(&planes, squares))?;
        let inverse = timed::<T>(back, |back| transform.inverse_into(squares, back))?;
        let pairs = T::channels(&planes).into_iter().flatten().zip(T::channels(back).into_iter().flatten());
        let error = pairs.map(|(before, after)| largest_difference(before, after)).fold(0.0, f64::max);
        Ok(Round { forward, inverse, error })
    }

    fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), Error> {
        let from = &self.scene[0];
        let mut to = vec![T::default(); from.len()];
        let mut copy = || {
            let start = Instant::now();
            to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16)).for_each(|(to, from)| to.copy_from_slice(from));
            start.elapsed()
        };
        Ok((2 * size_of_val(&from[..]), (0..runs).map(|_| copy()).collect()))
    }

    fn backend(&self) -> &BackendInfo {
        self.transform.backend()
    }
}

/// How long `run` took, and the sum of the result.
fn timed<T: Sample + Into<f64>>(
    result: &mut Values,
    run: impl FnOnce(&mut Values) -> Result<(), Error>,
) -> Result<Run, Error> {
    let start = Instant::now();
    run(result)?;
    let total = start.elapsed();
    let sums = T::channels(result).into_iter().flatten().map(|channel| bit_sum(channel));
    Ok(Run { transform: total, total, sum: sums.fold(0, u64::wrapping_add), ..Run::default() })
}

/// Writes the scene into rows of `width` samples that are `pitch` apart.
pub(crate) fn fill<T: Sample>(plane: &mut [T], width: usize, pitch: usize, channel: usize, scene: &Scene) {
    plane.par_chunks_mut(pitch).enumerate().for_each(|(y, row)| {
        row.iter_mut().take(width).enumerate().for_each(|(x, value)| *value = T::from_centred(scene(channel, x, y)));
    });
}
