//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use kernels::parts::Transform;

use crate::OpenError;
use crate::transform::TransformParams;

pub(crate) fn open_transform(_: &TransformParams, _: Option<&str>, _: String) -> Result<Box<dyn Transform>, OpenError> {
    Err(kernels::OpenError::BuiltWithoutOpenCl.into())
}
