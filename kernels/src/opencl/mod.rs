//! The OpenCL back end: kernels of `cl/` on the devices of the crate [`device`].
//!
//! Each colour channel has its own in-order command queue, pinned staging memory and device memory. Nothing waits
//! but for final results, so that the transfers of one channel overlap the kernels of another; where channels share
//! an upload (packed pixel formats), an event chains them. The kernels are in `cl/`; they equal the reference to the
//! bit on any device whose `fma` is correctly rounded, which OpenCL demands.

pub mod cache;
#[cfg(test)]
#[cfg(debug_assertions)]
#[cfg(feature = "lossless")]
mod fault_tests;
mod found;
#[cfg(feature = "lossless")]
pub(crate) mod lossless;
#[cfg(test)]
#[cfg(debug_assertions)]
#[cfg(feature = "lossless")]
mod memory_tests;
pub(crate) mod motion;
pub(crate) mod quad;
pub(crate) mod transform;

use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

pub(crate) use self::found::settings_in_use;
pub use self::found::{backend, devices, find, open_on};
#[cfg(feature = "lossless")]
use self::lossless::decoder::OpenClLosslessDecoder;
#[cfg(feature = "lossless")]
use self::lossless::encoder::OpenClLosslessEncoder;
use self::motion::decoder::OpenClPredictedDecoder;
use self::motion::encoder::OpenClPredictedEncoder;
use self::quad::decoder::OpenClDecoder;
pub use self::quad::encoder::OpenClEncoder;
use crate::motion::predictor::{AloneEncoder, DeviceDecoder};
use crate::{FrameDecoder, FrameEncoder, OpenError};

/// Opens the encoder of a stream, lossy or lossless.
pub(crate) fn open_encoder(
    params: &StreamParams,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn FrameEncoder>, OpenError> {
    #[cfg(feature = "lossless")]
    if params.codec.is_lossless() {
        return Ok(Box::new(open_on(device, |device| OpenClLosslessEncoder::new(device, params, &reason))?));
    }
    Ok(Box::new(OpenClEncoder::open(params, device, &reason)?))
}

/// Opens the decoder for the blocks of `layout`, the stream's or what is left of it without the finest levels.
pub(crate) fn open_decoder(
    params: &StreamParams,
    layout: BlockLayout,
    device: Option<&str>,
    reason: String,
) -> Result<Box<dyn FrameDecoder>, OpenError> {
    open_on(device, |device| {
        let layout = layout.clone();
        #[cfg(feature = "lossless")]
        if params.codec.is_lossless() {
            return Ok(Box::new(OpenClLosslessDecoder::new(device, params, layout, &reason)?) as Box<dyn FrameDecoder>);
        }
        Ok(Box::new(OpenClDecoder::new(device, params, layout, &reason)?) as Box<dyn FrameDecoder>)
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
