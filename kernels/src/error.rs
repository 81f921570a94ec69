//! The errors of this crate: an enum for each question, a variant for each cause.
//!
//! Opening, encoding, decoding and transforming each have the errors that their caller can meet. What a device does in
//! the middle of any of them is a [`DeviceError`], so no caller takes a bad picture for a broken device or the other
//! way round.

pub use device::{DeviceError, NotFound};
use picture::frame::{BitDepth, Chroma, FrameSize, PixelFormat};
use picture::params::Profile;
use picture::pyramid::TooManyLevels;

use crate::Element;
use crate::apart::Lost;
use crate::backend::Backend;

/// An error of the codec or of the transform.
pub trait CodecError: std::error::Error {
    /// Returns true if the device or the machine is at fault, false if what was asked of it is.
    fn is_of_device(&self) -> bool;
}

/// Errors of opening an encoder, a decoder or a transform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OpenError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A build without the feature `opencl`.
    #[error("this program was built without OpenCL: build it with the feature `opencl`, or use the backend `cpu`")]
    BuiltWithoutOpenCl,
    /// A lossless stream in a build without the feature `lossless`.
    #[error(
        "this program was built without lossless coding: build it with the feature `lossless`, or use the program `wavelet`"
    )]
    BuiltWithoutLossless,
    /// There is no such device.
    #[error(transparent)]
    NotFound(NotFound),
    /// This machine's memory does not hold the planes and squares.
    #[error("a transform of this size needs {needed_bytes} bytes of memory, this machine has {there_bytes} left")]
    OutOfMemory { needed_bytes: u64, there_bytes: u64 },
    /// A device was named for a back end that has none to choose from.
    #[error(
        "the {backend} back end runs on the processor: leave the device `{name}` out or choose the backend `opencl`"
    )]
    DeviceNotApplicable { backend: Backend, name: String },
    /// A stream of another profile than this coder's.
    #[error("this coder is for streams of the profile {wanted}")]
    WrongProfile { wanted: &'static str },
    /// A reference that is older than the states that the stream's decoders keep.
    #[error(
        "a reference {asked} frames back is not possible: this stream keeps {states} states, so ask for 1 to {states}"
    )]
    ReferenceAge { asked: u8, states: u8 },
    /// Samples of more than 8 bits in a stream that quantises.
    #[error("samples of {bits} bits are coded without loss only", bits = depth.bits())]
    DepthNotLossy { depth: BitDepth },
    /// The driver of a device does not answer.
    #[error("the device cannot be opened: {0}")]
    Lost(#[from] Lost),
    /// The first picture, with which an encoder is tried, cannot be coded.
    #[error(transparent)]
    First(#[from] EncodeError),
    /// The first frame, with which a decoder is tried, cannot be decoded.
    #[error(transparent)]
    FirstFrame(#[from] DecodeError),
    /// More levels dropped than every plane of the stream has.
    #[error(transparent)]
    TooManyLevels(#[from] TooManyLevels),
}

/// Errors of a picture that cannot be taken or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PictureError {
    /// The bytes of a picture do not match its format and size.
    #[error("a {format:?} picture of {size} pixels takes {wanted_bytes} bytes, not {given_bytes}")]
    Length { format: PixelFormat, size: FrameSize, wanted_bytes: usize, given_bytes: usize },
    /// A picture of another size than the stream's.
    #[error("the stream has pictures of {wanted} pixels, this one has {given}")]
    Size { wanted: FrameSize, given: FrameSize },
    /// The picture to decode into has another format than the stream.
    #[error("this stream decodes to {wanted:?} pictures, not to {given:?}")]
    Format { wanted: PixelFormat, given: PixelFormat },
    /// A picture of another depth than the stream's, or than the transform's, which is 8 bits.
    #[error("samples of {wanted} bits are wanted here, these have {given}", wanted = wanted.bits(), given = given.bits())]
    Depth { wanted: BitDepth, given: BitDepth },
    /// A sample that its depth does not have.
    #[error("a sample is {found}: with {bits} bits it can be at most {max}", bits = depth.bits(), max = depth.max())]
    SampleTooLarge { found: u16, depth: BitDepth },
    /// A picture of a lossless stream whose samples the stream's chroma sampling does not keep.
    #[error("a {format:?} picture cannot be kept exactly as {chroma:?}")]
    NotExact { format: PixelFormat, chroma: Chroma },
}

/// Errors of planes or squares of values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum ValuesError {
    /// Values of another element than the transform's.
    #[error("this transform takes {wanted} values, not {given}")]
    WrongElement { wanted: Element, given: Element },
    /// Coefficients or planes of another number or size than the stream's.
    #[error("the {what} of channel {channel} must have {wanted} values, not {given}")]
    Count {
        /// `coefficients` or `samples`.
        what: &'static str,
        /// Position of the channel; the number of channels if that is what differs.
        channel: usize,
        /// Values the stream's geometry has.
        wanted: usize,
        /// Values given.
        given: usize,
    },
}

/// Errors of transforming a picture or its coefficients.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TransformError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A picture that does not fit.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Values that do not fit.
    #[error(transparent)]
    Values(#[from] ValuesError),
}

/// Errors of coding a picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EncodeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A picture that does not fit.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Values that do not fit.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// Not even an all-zero frame fits.
    #[error(
        "a budget of {asked_bytes} bytes a frame is too small: the smallest frame of this size takes {smallest_bytes}"
    )]
    BudgetTooSmall { asked_bytes: usize, smallest_bytes: usize },
    /// A size or quality asked of a lossless stream, or the other way round.
    #[error("this stream is {stream}: ask for what such a stream can have")]
    WrongTarget {
        /// `lossless` or `lossy`.
        stream: &'static str,
    },
    /// The state of a frame cannot be computed, from which this one is to be predicted.
    #[error(transparent)]
    State(#[from] DecodeError),
    /// The encoder has broken down.
    #[error("the encoder has broken down: {0}")]
    Lost(Lost),
}

/// Errors of decoding a frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum DecodeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A picture that does not fit.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// Values that do not fit.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// A frame without a state, of a stream whose frames have none.
    #[error("frames of the profile {profile:?} have no states")]
    NoStates { profile: Profile },
    /// The decoder has broken down.
    #[error("the decoder has broken down: {0}")]
    Lost(Lost),
    /// A received frame that was cut into another number of blocks.
    #[error("a frame of this stream has {wanted} blocks, not {given}")]
    BlockCount { wanted: usize, given: usize },
}

/// An error that contains all of a transform's.
macro_rules! contains_transform_error {
    ($($error:ty),*) => {$(
        impl From<TransformError> for $error {
            fn from(error: TransformError) -> Self {
                match error {
                    TransformError::Device(error) => Self::Device(error),
                    TransformError::Picture(error) => Self::Picture(error),
                    TransformError::Values(error) => Self::Values(error),
                }
            }
        }
    )*};
}

contains_transform_error!(EncodeError, DecodeError);

/// An error of which only one variant is the device's.
macro_rules! device_has_own_variant {
    ($($error:ty),*) => {$(
        impl CodecError for $error {
            fn is_of_device(&self) -> bool {
                matches!(self, Self::Device(_))
            }
        }
    )*};
}

device_has_own_variant!(TransformError, DecodeError);

impl CodecError for EncodeError {
    fn is_of_device(&self) -> bool {
        match self {
            Self::Device(_) => true,
            Self::State(error) => error.is_of_device(),
            _ => false,
        }
    }
}

impl CodecError for DeviceError {
    fn is_of_device(&self) -> bool {
        true
    }
}

impl From<NotFound> for OpenError {
    fn from(error: NotFound) -> Self {
        match error {
            NotFound::Device(error) => Self::Device(error),
            other => Self::NotFound(other),
        }
    }
}

impl CodecError for OpenError {
    fn is_of_device(&self) -> bool {
        match self {
            Self::Device(_)
            | Self::BuiltWithoutOpenCl
            | Self::NotFound(_)
            | Self::Lost(_)
            | Self::OutOfMemory { .. } => true,
            Self::First(error) => error.is_of_device(),
            Self::FirstFrame(error) => error.is_of_device(),
            Self::DeviceNotApplicable { .. }
            | Self::BuiltWithoutLossless
            | Self::WrongProfile { .. }
            | Self::ReferenceAge { .. }
            | Self::DepthNotLossy { .. }
            | Self::TooManyLevels(_) => false,
        }
    }
}
