//! The OpenCL back end: the only module that names the `ocl` crate.
//!
//! Each colour channel has its own in-order command queue, pinned staging memory and device memory. Nothing waits
//! but for final results, so that the transfers of one channel overlap the kernels of another; where channels share
//! an upload (packed pixel formats), an event chains them. The kernels are in `cl/`; they equal the reference to the
//! bit on any device whose `fma` is correctly rounded, which OpenCL demands.

#[cfg_attr(not(test), allow(dead_code, reason = "OpenClTransform has no schemes yet"))]
mod address;
mod channel;
#[cfg_attr(not(test), allow(dead_code, reason = "OpenClTransform has no schemes yet"))]
mod convolution;
mod choice;
mod decoder;
mod device;
mod encoder;
mod first_run;
mod level;
mod line;
mod measure;
mod memory;
mod params;
mod queue;
#[cfg_attr(not(test), allow(dead_code, reason = "OpenClTransform has no schemes yet"))]
mod rowcolumn;
#[cfg_attr(not(test), allow(dead_code, reason = "OpenClTransform has no schemes yet"))]
mod scheme;
mod slab;
mod source;
#[cfg(test)]
mod table_tests;
mod timeline;
mod transfer;
mod transform;
mod transform_only;
mod tuning;

use common::params::StreamParams;
use common::pyramid::Pyramid;

pub use self::decoder::OpenClDecoder;
pub use self::device::devices;
pub use self::encoder::OpenClEncoder;
use self::measure::OpenClMeasure;
pub use self::timeline::{Interval, Stage, Timeline};
pub use self::transfer::{OpenClTransfer, TransferTimes};
use self::transform::ChannelTransform;
pub use self::transform_only::OpenClTransform;
use crate::measure::{Measure, Scene};
use crate::{BackendInfo, Decoder, Encoder, Error, Transform, TransformParams};

/// [`OpenClEncoder::open`] as the trait object that daemons use.
pub(crate) fn open_encoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Encoder>, Error> {
    Ok(Box::new(OpenClEncoder::open(params, device, reason)?))
}

/// [`OpenClDecoder::open`] as the trait object that daemons use.
pub(crate) fn open_decoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Decoder>, Error> {
    Ok(Box::new(OpenClDecoder::open(params, device, reason)?))
}

/// [`OpenClTransform::open`] as the trait object that tools use.
pub(crate) fn open_transform(
    params: &TransformParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Transform>, Error> {
    Ok(Box::new(OpenClTransform::open(params, device, reason)?))
}

/// A measurement of a transform, as the trait object that [`crate::measure`] uses.
pub(crate) fn open_measure(
    params: &TransformParams,
    device: Option<&str>,
    reason: String,
    scene: &Scene,
) -> Result<Box<dyn Measure>, Error> {
    let boundary = transform_only::as_stream(params)?.codec.boundary;
    let slab = |queue: &queue::Queue, pyramid: &Pyramid| ChannelTransform::slab(queue, boundary, pyramid);
    Ok(Box::new(OpenClMeasure::<f32>::open(params, device, reason, scene, slab)?))
}

fn backend(device: &device::Device, reason: String) -> BackendInfo {
    BackendInfo { name: "opencl", device: device.info.name.clone(), reason }
}
