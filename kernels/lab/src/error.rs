//! Errors of opening something that only research asks for.

use kernels::{Backend, CodecError, DeviceError, Element};

use crate::bank::BankError;
use crate::scheme::Scheme;

/// Errors of opening a transform, a measurement or a coder of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OpenError {
    /// An error that the codec has, too.
    #[error(transparent)]
    Codec(#[from] kernels::OpenError),
    /// A back end that does not compute what was asked for.
    #[error("the {backend} back end does not compute {what}: use the backend `{instead}`")]
    NotOnThisBackend { backend: Backend, what: String, instead: Backend },
    /// A filter bank that cannot be used.
    #[error("filter bank: {0}")]
    FilterBank(#[from] BankError),
    /// Arithmetic that a filter does not have.
    #[error(
        "{filter} cannot be computed in {element}: cdf53 is reversible and needs i32, all other filters need f32 or f64"
    )]
    WrongElement {
        /// The wavelet, or `a filter bank`.
        filter: String,
        /// The arithmetic asked for.
        element: Element,
    },
    /// A scheme that does not compute this filter.
    #[error("scheme {scheme} does not compute {filter} in {element}: use scheme {instead}")]
    SchemeNotFor {
        /// The scheme asked for.
        scheme: Scheme,
        /// The wavelet, or `a filter bank`.
        filter: String,
        /// The arithmetic.
        element: Element,
        /// A scheme that does.
        instead: Scheme,
    },
}

impl From<DeviceError> for OpenError {
    fn from(error: DeviceError) -> Self {
        Self::Codec(error.into())
    }
}

impl CodecError for OpenError {
    fn is_of_device(&self) -> bool {
        matches!(self, Self::Codec(error) if error.is_of_device())
    }
}
