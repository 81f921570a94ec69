//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use crate::measure::{Measure, Scene};
use crate::motion::predictor::{AloneEncoder, DeviceDecoder};
use crate::pcwt::{Joining, PcwtDecoder, PcwtEncoder};
use crate::tune::SettingsInUse;
use crate::{Decoder, DeviceInfo, Encoder, OpenError, Transform, TransformParams};

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
    open_encoder(&StreamParams, Option<&str>, String) -> Box<dyn Encoder>;
    open_decoder(&StreamParams, BlockLayout, Option<&str>, String) -> Box<dyn Decoder>;
    open_predicted_decoder(&StreamParams, u8, Option<&str>, String) -> Box<dyn DeviceDecoder>;
    open_predicted_encoder(&StreamParams, u8, Option<&str>, String) -> Box<dyn DeviceDecoder>;
    open_alone_encoder(&StreamParams, Option<&str>, String) -> Box<dyn AloneEncoder>;
    open_transform(&TransformParams, Option<&str>, String) -> Box<dyn Transform>;
    open_measure(&TransformParams, Option<&str>, String, &Scene) -> Box<dyn Measure>;
    open_pcwt_encoder(&StreamParams, Option<&str>, String, Option<Joining>) -> Box<dyn PcwtEncoder>;
    open_pcwt_decoder(&StreamParams, Option<&str>, String) -> Box<dyn PcwtDecoder>;
}
