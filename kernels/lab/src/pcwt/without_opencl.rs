//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use picture::params::StreamParams;

use super::{Joining, PcwtDecoder, PcwtEncoder};
use crate::OpenError;

pub(super) fn open_pcwt_encoder(
    _: &StreamParams,
    _: Option<&str>,
    _: String,
    _: Option<Joining>,
) -> Result<Box<dyn PcwtEncoder>, OpenError> {
    Err(kernels::OpenError::BuiltWithoutOpenCl.into())
}

pub(super) fn open_pcwt_decoder(
    _: &StreamParams,
    _: Option<&str>,
    _: String,
) -> Result<Box<dyn PcwtDecoder>, OpenError> {
    Err(kernels::OpenError::BuiltWithoutOpenCl.into())
}
