//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use kernels::parts::Transform;
use picture::params::StreamParams;

use crate::OpenError;
use crate::measure::{Measure, Scene};
use crate::pcwt::{Joining, PcwtDecoder, PcwtEncoder};
use crate::transform::TransformParams;

/// Defines functions of these arguments that return [`kernels::OpenError::BuiltWithoutOpenCl`].
macro_rules! absent {
    ($($name:ident($($argument:ty),*) -> $result:ty;)+) => {
        $(pub(crate) fn $name($(_: $argument),*) -> Result<$result, OpenError> {
            Err(kernels::OpenError::BuiltWithoutOpenCl.into())
        })+
    };
}

absent! {
    open_transform(&TransformParams, Option<&str>, String) -> Box<dyn Transform>;
    open_measure(&TransformParams, Option<&str>, String, &Scene) -> Box<dyn Measure>;
    open_pcwt_encoder(&StreamParams, Option<&str>, String, Option<Joining>) -> Box<dyn PcwtEncoder>;
    open_pcwt_decoder(&StreamParams, Option<&str>, String) -> Box<dyn PcwtDecoder>;
}
