//! Whose fault an error is.

use std::fmt;

use kernels::{CodecError, DecodeError, DeviceError, EncodeError, OpenError, TransformError};
use lab::quality::QualityError;

/// Returns true if the device or the machine is at fault.
pub(crate) fn is_of_device(error: &anyhow::Error) -> bool {
    let kinds: &[fn(&anyhow::Error) -> bool] = &[
        says_so::<OpenError>,
        says_so::<EncodeError>,
        says_so::<DecodeError>,
        says_so::<TransformError>,
        says_so::<DeviceError>,
        says_so::<lab::OpenError>,
        says_so::<lab::pcwt::CodeError>,
        says_so::<lab::jpeg2000::Jpeg2000Error>,
        says_so::<QualityError>,
        #[cfg(feature = "opencl")]
        says_so::<lab::opencl::PipelineError>,
    ];
    kinds.iter().any(|says_so| says_so(error))
}

fn says_so<E: CodecError + Send + Sync + 'static>(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(E::is_of_device)
}

/// A file of which not everything could be decoded.
#[derive(Debug)]
pub(crate) struct Damaged(String);

impl Damaged {
    /// Creates the error that says so.
    pub(crate) fn new(what: String) -> Self {
        Self(what)
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}
