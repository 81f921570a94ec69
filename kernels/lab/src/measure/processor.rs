//! A measurement of a back end that computes in the host's memory, and which back end is measured.

use std::time::{Duration, Instant};

use kernels::Element;
use kernels::parts::Transform;
use kernels::parts::Values;
use kernels::parts::reference::Sample;
use kernels::parts::{Resolved, resolve};
use kernels::{BackendChoice, BackendInfo, TransformError};
use rayon::prelude::*;

use super::{Measure, PICTURES, Round, Run, SHIFT_ROWS, Scene, bit_sum, fill, largest_difference, opencl};
use crate::OpenError;
use crate::open::open_transform;
use crate::transform::TransformParams;

/// Opens a measurement; its pictures show `scene`. `device` as in [`kernels::Encoder::open`].
pub fn open(
    params: &TransformParams,
    choice: BackendChoice,
    device: Option<&str>,
    scene: &Scene,
) -> Result<Box<dyn Measure>, OpenError> {
    params.check()?;
    if let (Resolved::Opencl(device), reason) = resolve(choice, device)? {
        return opencl::open_measure(params, device.as_deref(), reason, scene);
    }
    let transform = open_transform(params, choice, device)?;
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
    fn round(&mut self, picture: usize) -> Result<Round, TransformError> {
        let planes = T::wrap(self.picture(picture));
        let Self { transform, squares, back, .. } = self;
        let forward = timed::<T>(squares, |squares| transform.forward_planes_into(&planes, squares))?;
        let inverse = timed::<T>(back, |back| transform.inverse_into(squares, back))?;
        let pairs = T::channels(&planes).into_iter().flatten().zip(T::channels(back).into_iter().flatten());
        let error = pairs.map(|(before, after)| largest_difference(before, after)).fold(0.0, f64::max);
        Ok(Round { forward, inverse, error })
    }

    fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), TransformError> {
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

/// Returns the duration of `run`, and the sum of the result.
fn timed<T: Sample + Into<f64>>(
    result: &mut Values,
    run: impl FnOnce(&mut Values) -> Result<(), TransformError>,
) -> Result<Run, TransformError> {
    let start = Instant::now();
    run(result)?;
    let total = start.elapsed();
    let sums = T::channels(result).into_iter().flatten().map(|channel| bit_sum(channel));
    Ok(Run { transform: total, total, sum: sums.fold(0, u64::wrapping_add), ..Run::default() })
}
