//! The OpenCL back end.

use common::params::StreamParams;

use crate::{Decoder, DeviceInfo, Encoder, Error, Transform};

/// All OpenCL devices.
pub(crate) fn devices() -> Result<Vec<DeviceInfo>, Error> {
    Err(Error::NoOpenClPlatform)
}

/// Opens an encoder on the device whose name contains `device` (the first one if `None`).
pub(crate) fn open_encoder(_: &StreamParams, _: Option<&str>, _: String) -> Result<Box<dyn Encoder>, Error> {
    Err(Error::NoOpenClPlatform)
}

/// Opens a decoder; `device` as in [`open_encoder`].
pub(crate) fn open_decoder(_: &StreamParams, _: Option<&str>, _: String) -> Result<Box<dyn Decoder>, Error> {
    Err(Error::NoOpenClPlatform)
}

/// Opens the transform; `device` as in [`open_encoder`].
pub(crate) fn open_transform(_: &StreamParams, _: Option<&str>, _: String) -> Result<Box<dyn Transform>, Error> {
    Err(Error::NoOpenClPlatform)
}
