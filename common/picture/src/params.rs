//! Parameters of a video stream: chosen at the sender, carried to the receiver in the welcome.

mod bytes;

pub use bytes::{PARAMS_BYTES, ParamsError, RASTER_BYTES};

use crate::frame::{BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, Raster};
pub use crate::weights::Weights;

/// Everything a decoder must know before the first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamParams {
    /// Size of the picture.
    pub size: FrameSize,
    /// Nominal frame rate; frames may be missing, never extra.
    pub frame_rate: FrameRate,
    /// Chroma sampling.
    pub chroma: Chroma,
    /// Meaning of the samples.
    pub colour: ColourSpace,
    /// Places of the samples.
    pub raster: Raster,
    /// Transform and coefficient code.
    pub codec: CodecParams,
}

impl StreamParams {
    /// Returns the parameters of a stream of [`FrameRate::USUAL`] and BT.709, coded with the defaults.
    pub fn new(size: FrameSize, chroma: Chroma) -> Self {
        let (frame_rate, colour) = (FrameRate::USUAL, ColourSpace::BT709_LIMITED);
        let (raster, codec) = (Raster::default(), CodecParams::default());
        Self { size, frame_rate, chroma, colour, raster, codec }
    }
}

/// Parameters by which planes become coefficients and coefficients become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecParams {
    /// Coefficient code.
    pub profile: Profile,
    /// Filter bank.
    pub wavelet: Wavelet,
    /// Bits of a sample; ten with the CDF 5/3 only.
    pub depth: BitDepth,
    /// Depth of the decomposition.
    pub levels: Levels,
    /// Extension at the ends of each row and column.
    pub boundary: Boundary,
    /// Continuation of the plane in its square.
    pub padding: Padding,
    /// Quantisation of the bands.
    pub weights: Weights,
}

impl CodecParams {
    /// Returns true if nothing is quantised, and every sample comes back as it was.
    pub const fn is_lossless(&self) -> bool {
        matches!(self.wavelet, Wavelet::Cdf53)
    }
}

impl Default for CodecParams {
    fn default() -> Self {
        Self {
            profile: Profile::Quad,
            wavelet: Wavelet::Cdf97,
            depth: BitDepth::Eight,
            levels: Levels::Full,
            boundary: Boundary::Symmetric,
            padding: Padding::Smooth,
            weights: Weights::Psnr,
        }
    }
}

/// Coefficient code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Bit-lengths per 2x2 quad and coefficient, entropy coded in block-local contexts.
    Quad,
    /// Maximum lengths of coefficient trees and raw bits in groups, of whole pictures with the CDF 5/3: for files, not
    /// for live streams.
    Pcwt,
    /// [`Self::Quad`], and frames may be predicted from one of the last so many before them, 1 to [`STATES_MAX`].
    Predicted(u8),
}

impl Profile {
    /// States that a decoder keeps: a frame may refer to one so many frames before it. 0 without prediction.
    pub const fn states(self) -> u8 {
        match self {
            Self::Predicted(states) => states,
            Self::Quad | Self::Pcwt => 0,
        }
    }
}

/// Most frames that a decoder of [`Profile::Predicted`] keeps: half a second at 60 frames a second.
pub const STATES_MAX: u8 = 32;

/// Filter bank of the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wavelet {
    /// Cohen-Daubechies-Feauveau 9/7.
    Cdf97,
    /// Cohen-Daubechies-Feauveau 5/3 in integers: nothing is quantised, and every sample comes back as it was.
    Cdf53,
}

/// Depth of the decomposition of a square of side 2^L.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// L levels: the low band is one coefficient.
    Full,
    /// At most this many levels.
    AtMost(u8),
}

/// Extension of a row or column beyond its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// Whole-sample mirror, as in JPEG 2000.
    Symmetric,
    /// The other end follows.
    Periodic,
    /// Zero in every lifting step.
    Zero,
}

/// Continuation of a plane to the right of and below itself in its square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Padding {
    /// Zeros (mid grey): the plane is an object in the corner of the square.
    Zero,
    /// At each level the plane's own end is the boundary, so that every coefficient beyond it is zero.
    Smooth,
}
