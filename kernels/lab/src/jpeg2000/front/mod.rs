//! The way of a picture's samples to the quantised coefficients of its blocks, on any back end.

#![cfg_attr(not(feature = "opencl"), allow(unused_variables, reason = "blocks are told to a device alone"))]

#[cfg(feature = "opencl")]
mod device;
mod host;
mod params;
mod rows;
mod squares;
mod turned;

use kernels::BackendInfo;
use kernels::parts::{Resolved, cpu, reference, resolve};

#[cfg(feature = "opencl")]
use self::device::{Coded, DeviceFront};
use self::host::HostFront;
pub(super) use self::params::FrontParams;
use super::bands::{Bands, Layout};
use super::error::Jpeg2000Error;
use super::image::Source;
use super::job::Job;
use super::transforms::{Choice, parts};
use crate::OpenError;

/// A back end, and the sentence that says why it was chosen.
pub(super) struct Chosen(Resolved, String);

/// Returns the back end for a choice.
pub(super) fn backend((choice, device): Choice<'_>) -> Result<Chosen, Jpeg2000Error> {
    let (backend, reason) = resolve(choice, device).map_err(OpenError::from)?;
    Ok(Chosen(backend, reason))
}

/// Transforms and quantises.
pub(super) enum Front {
    /// By a transform whose bands are in this machine's memory.
    Host(HostFront),
    /// Without a step between samples and coefficients on the host.
    #[cfg(feature = "opencl")]
    Device(DeviceFront),
}

impl Front {
    /// Returns the bands of such components on a back end.
    pub(super) fn bands(params: &FrontParams, backend: &Chosen) -> Result<Bands, Jpeg2000Error> {
        let FrontParams { extents, levels, is_reversible, .. } = params;
        let layout = if matches!(backend.0, Resolved::Opencl(_)) { Layout::Square } else { Layout::Compact };
        Ok(Bands::new(&parts(extents, *levels, *is_reversible)?, *is_reversible, layout))
    }

    /// Opens the way to these blocks.
    pub(super) fn open(
        params: &FrontParams,
        jobs: &[Job],
        Chosen(backend, reason): Chosen,
    ) -> Result<Self, Jpeg2000Error> {
        Ok(match backend {
            #[cfg(feature = "opencl")]
            Resolved::Opencl(device) => Self::Device(DeviceFront::open(params, jobs, device.as_deref(), &reason)?),
            #[cfg(not(feature = "opencl"))]
            Resolved::Opencl(_) => return Err(OpenError::from(kernels::OpenError::BuiltWithoutOpenCl).into()),
            Resolved::Cpu => Self::Host(HostFront::open(params, cpu::backend(reason))?),
            Resolved::Reference => Self::Host(HostFront::open(params, reference::backend(reason))?),
        })
    }

    /// Transforms a picture.
    pub(super) fn transform(&mut self, source: &Source<'_>) -> Result<(), Jpeg2000Error> {
        match self {
            Self::Host(front) => front.transform(source),
            #[cfg(feature = "opencl")]
            Self::Device(front) => front.transform(source),
        }
    }

    /// Quantises what was transformed by the steps of `jobs`.
    pub(super) fn quantise(&mut self, jobs: &[Job]) -> Result<(), Jpeg2000Error> {
        match self {
            Self::Host(_) => Ok(()),
            #[cfg(feature = "opencl")]
            Self::Device(front) => front.quantise(jobs),
        }
    }

    /// Returns what was quantised.
    pub(super) fn coefficients(&self) -> Coefficients<'_> {
        match self {
            Self::Host(front) => Coefficients::Bands(front.bands()),
            #[cfg(feature = "opencl")]
            Self::Device(front) => Coefficients::Coded(front.coded()),
        }
    }

    /// Returns the back end.
    pub(super) fn backend(&self) -> &BackendInfo {
        match self {
            Self::Host(front) => front.backend(),
            #[cfg(feature = "opencl")]
            Self::Device(front) => front.backend(),
        }
    }
}

/// Coefficients that threads read.
pub(super) enum Coefficients<'a> {
    Bands(host::HostBands<'a>),
    #[cfg(feature = "opencl")]
    Coded(Coded<'a>),
}

impl Coefficients<'_> {
    /// Puts those of a block, the `at`-th, into `values`, column by column: magnitudes with the binary digits asked for, and
    /// [`params::NEGATIVE`].
    pub(super) fn block(&self, at: usize, job: &Job, values: &mut Vec<u32>) {
        values.clear();
        match self {
            Self::Bands(bands) => bands.block(job, values),
            #[cfg(feature = "opencl")]
            Self::Coded(coded) => coded.block(at, values),
        }
    }
}
