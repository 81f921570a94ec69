//! The doors of the profile's OpenCL coders.

use kernels::parts::opencl::open_on;
use picture::params::StreamParams;

use super::decoder::OpenClPcwtDecoder;
use super::encoder::OpenClPcwtEncoder;
use crate::OpenError;
use crate::pcwt::{Joining, PcwtDecoder, PcwtEncoder};

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
