//! The way of a picture's samples to the quantised coefficients of its blocks, on any back end.

#![cfg_attr(not(feature = "opencl"), allow(unused_variables, reason = "blocks are told to a device alone"))]

#[cfg(feature = "opencl")]
mod device;
mod host;
mod params;

use kernels::BackendInfo;
use kernels::parts::{Resolved, resolve};

#[cfg(feature = "opencl")]
use self::device::{Coded, DeviceFront};
use self::host::{HostFront, Squares};
pub(super) use self::params::FrontParams;
use super::bands::Bands;
use super::error::Jpeg2000Error;
use super::image::ImageComponent;
use super::job::Job;
use super::transforms::{Choice, parts};
use crate::OpenError;

/// Transforms and quantises.
pub(super) enum Front {
    /// By a transform whose squares are in this machine's memory.
    Host(HostFront),
    /// Without a step between samples and coefficients on the host.
    #[cfg(feature = "opencl")]
    Device(DeviceFront),
}

impl Front {
    /// Returns the bands of such components.
    pub(super) fn bands(params: &FrontParams) -> Result<Bands, Jpeg2000Error> {
        let FrontParams { extents, levels, is_reversible, .. } = params;
        Ok(Bands::new(&parts(extents, *levels, *is_reversible)?, *is_reversible))
    }

    /// Opens the way to these blocks.
    pub(super) fn open(params: &FrontParams, jobs: &[Job], choice: Choice<'_>) -> Result<Self, Jpeg2000Error> {
        match resolve(choice.0, choice.1).map_err(OpenError::from)? {
            #[cfg(feature = "opencl")]
            (Resolved::Opencl(device), reason) => {
                Ok(Self::Device(DeviceFront::open(params, jobs, device.as_deref(), &reason)?))
            }
            #[cfg(not(feature = "opencl"))]
            (Resolved::Opencl(_), _) => Err(OpenError::from(kernels::OpenError::BuiltWithoutOpenCl).into()),
            (Resolved::Cpu | Resolved::Reference, _) => Ok(Self::Host(HostFront::open(params, choice)?)),
        }
    }

    /// Transforms a picture.
    pub(super) fn transform(&mut self, components: &[ImageComponent]) -> Result<(), Jpeg2000Error> {
        match self {
            Self::Host(front) => front.transform(components),
            #[cfg(feature = "opencl")]
            Self::Device(front) => front.transform(components),
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
            Self::Host(front) => Coefficients::Squares(front.squares()),
            #[cfg(feature = "opencl")]
            Self::Device(front) => Coefficients::Coded(front.coded()),
        }
    }

    /// Returns the back end.
    pub(super) fn backend(&self) -> Option<&BackendInfo> {
        match self {
            Self::Host(front) => front.backend(),
            #[cfg(feature = "opencl")]
            Self::Device(front) => Some(front.backend()),
        }
    }
}

/// Coefficients that threads read.
pub(super) enum Coefficients<'a> {
    Squares(Squares<'a>),
    #[cfg(feature = "opencl")]
    Coded(Coded<'a>),
}

impl Coefficients<'_> {
    /// Puts those of a block, the `at`-th, into `values`, column by column: magnitudes with the binary digits asked for, and
    /// [`params::NEGATIVE`].
    pub(super) fn block(&self, at: usize, job: &Job, values: &mut Vec<u32>) {
        values.clear();
        match self {
            Self::Squares(squares) => squares.block(job, values),
            #[cfg(feature = "opencl")]
            Self::Coded(coded) => coded.block(at, values),
        }
    }
}
