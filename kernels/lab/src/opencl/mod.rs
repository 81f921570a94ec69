//! The part of the OpenCL back end that research and measurements use, on the codec's transform.

pub(crate) mod address;
pub(crate) mod choice;
mod convolution;
#[cfg(test)]
#[cfg(debug_assertions)]
mod device_tests;
mod flow;
pub(crate) mod front;
mod lane;
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

pub use self::flow::{Flow, PipelineParams};
pub use self::pipeline::{Collected, OpenClPipeline, PipelineError};
use self::planes::OpenClPlanes;
pub use self::transfer::{OpenClTransfer, TransferTimes};
pub use self::trial::PassTimes;
pub(crate) use self::trial::{Trial, TrialDevice};
use self::whole::{OpenClTransform, as_stream};
use crate::OpenError;
use crate::transform::TransformParams;

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
