//! The OpenCL back end: kernels of `cl/` on the devices of the crate [`device`].
//!
//! Each colour channel has its own in-order command queue, pinned staging memory and device memory. Nothing waits
//! but for final results, so that the transfers of one channel overlap the kernels of another; where channels share
//! an upload (packed pixel formats), an event chains them. The kernels are in `cl/`; they equal the reference to the
//! bit on any device whose `fma` is correctly rounded, which OpenCL demands.

#[cfg(test)]
#[cfg(debug_assertions)]
mod fault_tests;
mod found;
pub(crate) mod lab;
pub(crate) mod lossless;
#[cfg(test)]
#[cfg(debug_assertions)]
mod memory_tests;
pub(crate) mod motion;
pub(crate) mod pcwt;
pub(crate) mod quad;
pub(crate) mod transform;

pub use device::timeline::{DeviceStage, Interval, Timeline};
use picture::params::{StreamParams, Wavelet};
use picture::pyramid::BlockLayout;

pub use self::found::devices;
pub(crate) use self::found::{backend, find, open_on, settings_in_use};
pub use self::lab::flow::{Flow, PipelineParams};
use self::lab::measure::OpenClMeasure;
pub use self::lab::pipeline::{Collected, OpenClPipeline, PipelineError};
pub use self::lab::transfer::{OpenClTransfer, TransferTimes};
pub use self::lab::trial::PassTimes;
pub(crate) use self::lab::trial::{Trial, TrialDevice};
use self::lossless::decoder::OpenClLosslessDecoder;
use self::lossless::encoder::OpenClLosslessEncoder;
use self::motion::decoder::OpenClPredictedDecoder;
use self::motion::encoder::OpenClPredictedEncoder;
use self::pcwt::decoder::OpenClPcwtDecoder;
use self::pcwt::encoder::OpenClPcwtEncoder;
use self::quad::decoder::OpenClDecoder;
pub use self::quad::encoder::OpenClEncoder;
use self::transform::planes::OpenClPlanes;
use self::transform::whole::{OpenClTransform, as_stream};
use crate::measure::{Measure, Scene};
use crate::motion::predictor::{AloneEncoder, DeviceDecoder};
use crate::pcwt::{Joining, PcwtDecoder, PcwtEncoder};
use crate::wavelet::Element;
use crate::{Decoder, Encoder, OpenError, Transform, TransformParams};

/// Opens the encoder of a stream, lossy or lossless.
pub(crate) fn open_encoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Encoder>, OpenError> {
    Ok(match params.codec.wavelet {
        Wavelet::Cdf97 => Box::new(OpenClEncoder::open(params, device, &reason)?),
        Wavelet::Cdf53 => Box::new(open_on(device, |device| OpenClLosslessEncoder::new(device, params, &reason))?),
    })
}

/// Opens the decoder for the blocks of `layout`, the stream's or what is left of it without the finest levels.
pub(crate) fn open_decoder(
    params: &StreamParams,
    layout: BlockLayout,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn Decoder>, OpenError> {
    open_on(device, |device| {
        let layout = layout.clone();
        Ok(match params.codec.wavelet {
            Wavelet::Cdf97 => Box::new(OpenClDecoder::new(device, params, layout, &reason)?) as Box<dyn Decoder>,
            Wavelet::Cdf53 => Box::new(OpenClLosslessDecoder::new(device, params, layout, &reason)?),
        })
    })
}

/// Opens the decoder for the predicted frames of a stream, of which these are the parameters without prediction.
pub(crate) fn open_predicted_decoder(
    params: &StreamParams,
    states: u8,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn DeviceDecoder>, OpenError> {
    Ok(Box::new(open_on(device, |device| OpenClPredictedDecoder::new(device, params, states, &reason))?))
}

/// Opens the same with the encoder of its states.
pub(crate) fn open_predicted_encoder(
    params: &StreamParams,
    states: u8,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn DeviceDecoder>, OpenError> {
    Ok(Box::new(open_on(device, |device| OpenClPredictedEncoder::new(device, params, states, &reason))?))
}

/// Opens the encoder for the other frames of such a stream.
pub(crate) fn open_alone_encoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn AloneEncoder>, OpenError> {
    Ok(Box::new(OpenClEncoder::open(params, device, &reason)?))
}

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
