//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use crate::motion::predictor::{AloneEncoder, DeviceDecoder};
use crate::tune::SettingsInUse;
use crate::{DeviceInfo, FrameDecoder, FrameEncoder, OpenError};

/// Defines functions of these arguments that return [`OpenError::BuiltWithoutOpenCl`].
macro_rules! absent {
    ($($name:ident($($argument:ty),*) -> $result:ty;)+) => {
        $(pub(crate) fn $name($(_: $argument),*) -> Result<$result, OpenError> {
            Err(OpenError::BuiltWithoutOpenCl)
        })+
    };
}

absent! {
    devices() -> Vec<DeviceInfo>;
    settings_in_use(Option<&str>) -> SettingsInUse;
    open_encoder(&StreamParams, Option<&str>, String) -> Box<dyn FrameEncoder>;
    open_decoder(&StreamParams, BlockLayout, Option<&str>, String) -> Box<dyn FrameDecoder>;
    open_predicted_decoder(&StreamParams, u8, Option<&str>, String) -> Box<dyn DeviceDecoder>;
    open_predicted_encoder(&StreamParams, u8, Option<&str>, String) -> Box<dyn DeviceDecoder>;
    open_alone_encoder(&StreamParams, Option<&str>, String) -> Box<dyn AloneEncoder>;
}
