//! Errors of coding and reading.

use kernels::{CodecError, TransformError};
use picture::frame::InvalidSize;

use crate::OpenError;

/// Errors of making or reading a code-stream of JPEG 2000.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Jpeg2000Error {
    /// Something else, or nothing at all.
    #[error("this is no JPEG 2000: it begins neither as a code-stream (.j2k) nor as a file of boxes (.jp2)")]
    Other,
    /// Bytes that no encoder makes.
    #[error("damaged: {0}")]
    Damaged(String),
    /// A part of the standard that is not read here.
    #[error("{0}, which is not read here")]
    NotRead(String),
    /// A picture that is not coded here.
    #[error("{0}")]
    NotCoded(String),
    /// A size that is not possible.
    #[error(transparent)]
    Size(#[from] InvalidSize),
    /// A transform that cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A transform that failed.
    #[error(transparent)]
    Transform(#[from] TransformError),
}

impl CodecError for Jpeg2000Error {
    fn is_of_device(&self) -> bool {
        match self {
            Self::Open(error) => error.is_of_device(),
            Self::Transform(error) => error.is_of_device(),
            _ => false,
        }
    }
}

/// Returns the error of bytes that no encoder makes.
pub(super) fn damaged(what: impl Into<String>) -> Jpeg2000Error {
    Jpeg2000Error::Damaged(what.into())
}

/// Returns the error of what is not read here.
pub(super) fn not_read(what: impl Into<String>) -> Jpeg2000Error {
    Jpeg2000Error::NotRead(what.into())
}
