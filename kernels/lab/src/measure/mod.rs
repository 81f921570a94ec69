//! The transform with each of its parts timed alone, for benchmarks.
//!
//! The method is that of Eskildsen et al. (2012), section 6.1: pictures alternate, so that nothing left over from the
//! run before is taken for a result; a device's memory is cleared before each run; and every result is summed, so
//! that a run that went wrong is seen.

#[cfg(feature = "opencl")]
mod opencl;
#[cfg(not(feature = "opencl"))]
#[path = "without_opencl.rs"]
mod opencl;
mod processor;

use std::time::Duration;

use kernels::parts::reference::Sample;
use kernels::{BackendInfo, TransformError};
use rayon::prelude::*;

pub use self::processor::open;

/// Number of different pictures.
pub const PICTURES: usize = 4;
/// All pictures are windows of a taller one; each begins this many rows below the one before.
pub(crate) const SHIFT_ROWS: usize = 8;

/// The sample of a channel at a column and row, centred at 0.
pub type Scene = dyn Fn(usize, usize, usize) -> f32 + Sync;

/// A transform of float planes in the host's memory to coefficients in the host's memory and back.
pub trait Measure {
    /// Transforms picture number `picture` modulo [`PICTURES`] forward, and the result back.
    fn round(&mut self, picture: usize) -> Result<Round, TransformError>;

    /// Copies a plane of the first channel within the memory that the transform works in, `runs` times: how many bytes
    /// were read and written each time, and how long each took.
    fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), TransformError>;

    /// Returns the back end and the device that compute.
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
    /// Time from pinned host memory to the device.
    pub upload: Duration,
    /// All levels of all channels, by the device's clock.
    pub transform: Duration,
    /// Time from the device to pinned host memory.
    pub download: Duration,
    /// All of it, by the host's clock.
    pub total: Duration,
    /// [`bit_sum`] of the result.
    pub sum: u64,
}

/// Returns a sum that shows any difference of a single value, whatever the order of summation.
pub fn bit_sum<T: Copy + Into<f64> + Sync>(values: &[T]) -> u64 {
    let of_chunk = |chunk: &[T]| chunk.iter().fold(0_u64, |sum, &value| sum.wrapping_add(value.into().to_bits()));
    values.par_chunks(1 << 16).map(of_chunk).reduce(|| 0, u64::wrapping_add)
}

/// Returns the largest difference between values at the same place.
pub(crate) fn largest_difference<T: Copy + Into<f64> + Sync>(a: &[T], b: &[T]) -> f64 {
    let differences = a.par_iter().zip(b).map(|(&a, &b)| (a.into() - b.into()).abs());
    // NaN is no smaller than anything.
    differences.reduce(|| 0.0, |a, b| if a >= b { a } else { b })
}

/// Writes the scene into rows of `width` samples that are `pitch` apart.
pub(crate) fn fill<T: Sample>(plane: &mut [T], width: usize, pitch: usize, channel: usize, scene: &Scene) {
    plane.par_chunks_mut(pitch).enumerate().for_each(|(y, row)| {
        row.iter_mut().take(width).enumerate().for_each(|(x, value)| *value = T::from_centred(scene(channel, x, y)));
    });
}
