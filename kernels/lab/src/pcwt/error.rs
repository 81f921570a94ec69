//! The limits of a frame of the profile, and the errors of coding one.

use kernels::{CodecError, DeviceError, PictureError, TransformError, ValuesError};

/// Most bits of a magnitude that the coder takes. Samples of 8 bits give at most 13, those of 10 two more.
pub(crate) const MAX_LENGTH: u8 = 20;
/// Most bit planes that can be left out: what is left still fits an i32 when it is decoded.
pub const QMIN_MAX: u8 = 10;

/// Errors of making or reading a frame of the profile `pcwt`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PcwtError {
    /// Fewer bytes than the head of a frame.
    #[error("the head of a frame of this size takes {needed} bytes, there are {given}")]
    TooShort { needed: usize, given: usize },
    /// More bit planes left out than there can be.
    #[error("Qmin is {found}: it must be 0 to {QMIN_MAX}")]
    Qmin { found: u8 },
    /// Longer magnitudes than the coder takes.
    #[error("coefficients of {found} bits: there must be at most {MAX_LENGTH}")]
    Peak { found: u8 },
    /// Groups that are longer or shorter together than the frame.
    #[error("the groups of the frame take {wanted} bytes together, there are {given}")]
    Length { wanted: usize, given: usize },
    /// Bits that no encoder makes.
    #[error("group {group} of {of} of channel {channel} is damaged")]
    Group { channel: usize, group: usize, of: usize },
}

/// Errors of coding a picture with the profile `pcwt`, or of decoding it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A picture that does not fit.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Values that do not fit.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// A frame that cannot be made or read.
    #[error("pcwt: {0}")]
    Pcwt(#[from] PcwtError),
}

impl From<TransformError> for CodeError {
    fn from(error: TransformError) -> Self {
        match error {
            TransformError::Device(error) => Self::Device(error),
            TransformError::Picture(error) => Self::Picture(error),
            TransformError::Values(error) => Self::Values(error),
        }
    }
}

impl CodecError for CodeError {
    fn is_of_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }
}
