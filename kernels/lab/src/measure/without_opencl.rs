//! The doors of the OpenCL back end in a build without the feature `opencl`: behind each is the same error.

use super::{Measure, Scene};
use crate::OpenError;
use crate::transform::TransformParams;

pub(super) fn open_measure(
    _: &TransformParams,
    _: Option<&str>,
    _: String,
    _: &Scene,
) -> Result<Box<dyn Measure>, OpenError> {
    Err(kernels::OpenError::BuiltWithoutOpenCl.into())
}
