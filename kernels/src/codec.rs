//! The seam between back ends and the encoder and decoder of a stream.

use std::time::Duration;

use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};

use crate::backend::BackendInfo;
use crate::{DecodeError, EncodeError, Picture, PictureRef};

/// Turns pictures into frames that are coded alone.
pub(crate) trait FrameEncoder: Send {
    /// Codes one picture of the stream's size, in any pixel format.
    ///
    /// The same pictures in the same order give the same bytes on every back end.
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError>;

    /// Returns the durations of the last frame's stages.
    fn times(&self) -> EncodeTimes;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;
}

/// Turns received frames that were coded alone into pictures.
pub(crate) trait FrameDecoder: Send {
    /// Decodes into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]).
    ///
    /// A missing or damaged coarse block (one of the first [`picture::pyramid::BlockLayout::coarse_blocks`])
    /// keeps the coefficients of the frame before; any other is zero.
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError>;

    /// Returns the durations of the last frame's stages.
    fn times(&self) -> DecodeTimes;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;

    /// Returns the number of blocks, since the decoder was opened, that had bytes that no encoder makes.
    fn damaged_blocks(&self) -> u64;
}

/// Limit of a frame's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// [`picture::run::coded_size`] is at most this, and as near to it as the picture's detail allows.
    Bytes(usize),
    /// All blocks at this quantiser step, however many bytes that takes.
    Step(StepIndex),
    /// Every sample as it is: of a stream coded with the CDF 5/3, and of no other.
    Lossless,
}

/// Duration of the stages of an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeTimes {
    /// Picture to the device.
    pub upload: Duration,
    /// Search for vectors, and their code; zero for a frame that is coded alone, as is the next one.
    pub motion: Duration,
    /// Prediction with these vectors, and the picture that the frame decodes to.
    pub compensate: Duration,
    /// Colour conversion and wavelet transform.
    pub transform: Duration,
    /// Quantiser, block coder and rate control.
    pub code: Duration,
    /// Time in which a device besides the processor computed, transfers apart, for the frame last measured; zero
    /// without one.
    pub device: Duration,
}

/// Duration of the stages of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeTimes {
    /// Block decoder and dequantiser; of a predicted frame its vectors, too.
    pub decode: Duration,
    /// Prediction from the frame that it refers to; zero without one.
    pub compensate: Duration,
    /// Inverse transform and rounding to samples.
    pub inverse: Duration,
    /// As [`EncodeTimes::device`].
    pub device: Duration,
}
