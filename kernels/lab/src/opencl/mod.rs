//! The part of the OpenCL back end that research and measurements use, on the codec's transform.

mod address;
mod choice;
mod convolution;
#[cfg(test)]
#[cfg(debug_assertions)]
mod device_tests;
mod flow;
mod lane;
mod measure;
mod pcwt;
mod pipeline;
mod planes;
mod quantised;
mod rowcolumn;
mod scheme;
mod transfer;
mod trial;
mod whole;

pub use device::timeline::{DeviceStage, Interval, Timeline};
use kernels::Element;
use kernels::parts::Transform;
use kernels::parts::opencl::open_on;
use picture::params::StreamParams;

pub use self::flow::{Flow, PipelineParams};
use self::measure::OpenClMeasure;
use self::pcwt::decoder::OpenClPcwtDecoder;
use self::pcwt::encoder::OpenClPcwtEncoder;
pub use self::pipeline::{Collected, OpenClPipeline, PipelineError};
use self::planes::OpenClPlanes;
pub use self::transfer::{OpenClTransfer, TransferTimes};
pub use self::trial::PassTimes;
pub(crate) use self::trial::{Trial, TrialDevice};
use self::whole::{OpenClTransform, as_stream};
use crate::OpenError;
use crate::measure::{Measure, Scene};
use crate::pcwt::{Joining, PcwtDecoder, PcwtEncoder};
use crate::transform::TransformParams;

/// Opens the encoder of a stream of the profile `pcwt`; `joining` of a group's elements: `None` for what suits the
/// device.
pub(crate) fn open_pcwt_encoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
    joining: Option<Joining>,
) -> Result<Box<dyn PcwtEncoder>, OpenError> {
    Ok(Box::new(open_on(device, |device| OpenClPcwtEncoder::new(device, params, &reason, joining))?))
}

/// Opens the decoder of a stream of the profile `pcwt`.
pub(crate) fn open_pcwt_decoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn PcwtDecoder>, OpenError> {
    Ok(Box::new(open_on(device, |device| OpenClPcwtDecoder::new(device, params, &reason))?))
}

/// Opens a transform, as the trait object that tools use.
pub(crate) fn open_transform(
    params: &TransformParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Transform>, OpenError> {
    if let Some(stream) = as_stream(params) {
        return Ok(Box::new(open_on(device, |device| OpenClTransform::new(device, &stream, &reason))?));
    }
    Ok(match params.element {
        Element::F32 => Box::new(OpenClPlanes::<f32>::open(params, device, &reason)?),
        Element::F64 => Box::new(OpenClPlanes::<f64>::open(params, device, &reason)?),
        Element::I32 => Box::new(OpenClPlanes::<i32>::open(params, device, &reason)?),
    })
}

/// Opens a measurement of a transform, as the trait object that [`crate::measure`] uses.
pub(crate) fn open_measure(
    params: &TransformParams,
    device: Option<&str>,
    reason: String,
    scene: &Scene,
) -> Result<Box<dyn Measure>, OpenError> {
    Ok(match params.element {
        Element::F32 => Box::new(OpenClMeasure::<f32>::open(params, device, &reason, scene)?),
        Element::F64 => Box::new(OpenClMeasure::<f64>::open(params, device, &reason, scene)?),
        Element::I32 => Box::new(OpenClMeasure::<i32>::open(params, device, &reason, scene)?),
    })
}
