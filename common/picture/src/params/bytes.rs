//! Stream parameters as bytes: little-endian, fixed length.
//!
//! ```text
//!  0 u32 width      8 u32 frame rate numerator    16 u8 chroma   19 u8 profile  22 u8 boundary
//!  4 u32 height    12 u32 frame rate denominator  17 u8 matrix   20 u8 wavelet  23 u8 padding
//!                                                 18 u8 range    21 u8 levels   24 u8 weights
//! ```
//!
//! The small ones are 0, 1, .. in the order of their enums' variants, and wavelet 2 is the CDF 5/3 of samples of 10
//! bits instead of 8; profile 128 + n is the one with prediction from the last n frames; `levels` is 255 for full, else
//! the limit.
//!
//! Where the samples lie ([`Raster`]) follows apart: `u8 siting, u32 pixel width, u32 pixel height`, the two in proportion.

use super::{Boundary, CodecParams, Levels, Padding, Profile, STATES_MAX, StreamParams, Wavelet, Weights};
use crate::frame::{
    BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, InvalidSize, Matrix, PixelAspect, Range, Raster, Siting,
};

/// Reasons for which bytes are no stream parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ParamsError {
    #[error("stream parameters are not {PARAMS_BYTES} bytes long")]
    Length,
    #[error("the frame rate is not above 0 and at most 1000 a second")]
    FrameRate,
    #[error("unknown chroma sampling: known are 0 grey, 1 4:2:0, 2 4:4:4, 3 RGB")]
    Chroma,
    #[error("RGB is coded with the CDF 5/3 only")]
    RgbWavelet,
    #[error("unknown colour matrix: known are 0 BT.601, 1 BT.709")]
    Matrix,
    #[error("unknown sample range: known are 0 limited, 1 full")]
    Range,
    #[error("unknown coefficient code: known are 0 quad, 1 pcwt, 129 to {} quad with prediction", PREDICTED + STATES_MAX)]
    Profile,
    #[error("the profile pcwt is coded with the CDF 5/3 only")]
    PcwtWavelet,
    #[error("a profile with prediction is coded with the CDF 9/7 only")]
    PredictedWavelet,
    #[error("unknown wavelet: known are 0 CDF 9/7, 1 CDF 5/3, 2 CDF 5/3 of samples of 10 bits")]
    Wavelet,
    #[error("unknown boundary: known are 0 symmetric, 1 periodic, 2 zero")]
    Boundary,
    #[error("unknown padding: known are 0 zero, 1 smooth")]
    Padding,
    #[error("unknown weights: known are 0 psnr, 1 visual")]
    Weights,
    #[error("unknown siting: known are 0 centre, 1 left, 2 lines")]
    Siting,
    #[error("a pixel has a width or a height of 0, but not both")]
    Aspect,
    #[error(transparent)]
    Size(#[from] InvalidSize),
}

/// Length of [`StreamParams::to_bytes`].
pub const PARAMS_BYTES: usize = 25;

/// Length of [`Raster::to_bytes`].
pub const RASTER_BYTES: usize = 9;

const LEVELS_FULL: u8 = 255;
/// Added to the number of states of a profile with prediction.
const PREDICTED: u8 = 128;
const _: () = assert!(STATES_MAX < u8::MAX - PREDICTED, "a profile and its states are one byte");

impl StreamParams {
    /// Encodes the parameters as they travel and lie in `.duet` files, but for the raster.
    ///
    /// A limit of 255 levels is written as 254, which is the same thing: no square has more than 14.
    pub fn to_bytes(&self) -> [u8; PARAMS_BYTES] {
        let mut bytes = [0; PARAMS_BYTES];
        bytes[0..4].copy_from_slice(&(self.size.width() as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.size.height() as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.frame_rate.numerator().to_le_bytes());
        bytes[12..16].copy_from_slice(&self.frame_rate.denominator().to_le_bytes());
        bytes[16] = code(&CHROMAS, self.chroma);
        bytes[17] = code(&MATRICES, self.colour.matrix);
        bytes[18] = code(&RANGES, self.colour.range);
        bytes[19] = match self.codec.profile {
            Profile::Quad => 0,
            Profile::Pcwt => 1,
            Profile::Predicted(states) => PREDICTED + states.clamp(1, STATES_MAX),
        };
        bytes[20] = code(&WAVELETS, (self.codec.wavelet, self.codec.depth));
        bytes[21] = match self.codec.levels {
            Levels::Full => LEVELS_FULL,
            Levels::AtMost(levels) => levels.min(LEVELS_FULL - 1),
        };
        bytes[22] = code(&BOUNDARIES, self.codec.boundary);
        bytes[23] = code(&PADDINGS, self.codec.padding);
        bytes[24] = code(&WEIGHTS, self.codec.weights);
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; exactly [`PARAMS_BYTES`] long. The raster is the usual one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ParamsError> {
        let bytes: &[u8; PARAMS_BYTES] = bytes.try_into().map_err(|_| ParamsError::Length)?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (wavelet, depth) = meaning(&WAVELETS, bytes[20], ParamsError::Wavelet)?;
        Ok(Self {
            size: FrameSize::new(u32_at(0), u32_at(4))?,
            frame_rate: FrameRate::new(u32_at(8), u32_at(12)).ok_or(ParamsError::FrameRate)?,
            chroma: match meaning(&CHROMAS, bytes[16], ParamsError::Chroma)? {
                Chroma::Rgb if wavelet == Wavelet::Cdf97 => return Err(ParamsError::RgbWavelet),
                chroma => chroma,
            },
            colour: ColourSpace {
                matrix: meaning(&MATRICES, bytes[17], ParamsError::Matrix)?,
                range: meaning(&RANGES, bytes[18], ParamsError::Range)?,
            },
            raster: Raster::default(),
            codec: CodecParams {
                profile: profile(bytes[19], wavelet)?,
                wavelet,
                depth,
                levels: match bytes[21] {
                    LEVELS_FULL => Levels::Full,
                    levels => Levels::AtMost(levels),
                },
                boundary: meaning(&BOUNDARIES, bytes[22], ParamsError::Boundary)?,
                padding: meaning(&PADDINGS, bytes[23], ParamsError::Padding)?,
                weights: meaning(&WEIGHTS, bytes[24], ParamsError::Weights)?,
            },
        })
    }
}

// What the small numbers mean, from 0 on.
const CHROMAS: [Chroma; 4] = [Chroma::Grey, Chroma::C420, Chroma::C444, Chroma::Rgb];
const MATRICES: [Matrix; 2] = [Matrix::Bt601, Matrix::Bt709];
const RANGES: [Range; 2] = [Range::Limited, Range::Full];
const WAVELETS: [(Wavelet, BitDepth); 3] =
    [(Wavelet::Cdf97, BitDepth::Eight), (Wavelet::Cdf53, BitDepth::Eight), (Wavelet::Cdf53, BitDepth::Ten)];
const BOUNDARIES: [Boundary; 3] = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];
const PADDINGS: [Padding; 2] = [Padding::Zero, Padding::Smooth];
const WEIGHTS: [Weights; 2] = [Weights::Psnr, Weights::Visual];

/// Returns the number of a meaning; 0 of the 9/7 of 10 bits, which there is not.
fn code<T: PartialEq>(meanings: &[T], meaning: T) -> u8 {
    meanings.iter().position(|it| *it == meaning).unwrap_or_default() as u8
}

fn meaning<T: Copy>(meanings: &[T], code: u8, unknown: ParamsError) -> Result<T, ParamsError> {
    meanings.get(usize::from(code)).copied().ok_or(unknown)
}

fn profile(code: u8, wavelet: Wavelet) -> Result<Profile, ParamsError> {
    match code {
        0 => Ok(Profile::Quad),
        1 if wavelet == Wavelet::Cdf97 => Err(ParamsError::PcwtWavelet),
        1 => Ok(Profile::Pcwt),
        129.. if wavelet != Wavelet::Cdf97 => Err(ParamsError::PredictedWavelet),
        129.. if code - PREDICTED <= STATES_MAX => Ok(Profile::Predicted(code - PREDICTED)),
        _ => Err(ParamsError::Profile),
    }
}

impl Raster {
    /// Encodes where samples lie.
    pub fn to_bytes(&self) -> [u8; RASTER_BYTES] {
        let mut bytes = [0; RASTER_BYTES];
        bytes[0] = self.siting.index();
        bytes[1..5].copy_from_slice(&self.aspect.width().to_le_bytes());
        bytes[5..9].copy_from_slice(&self.aspect.height().to_le_bytes());
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; RASTER_BYTES]) -> Result<Self, ParamsError> {
        let [siting, a, b, c, d, e, f, g, h] = *bytes;
        let aspect = PixelAspect::new(u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Ok(Self {
            siting: Siting::from_index(siting).ok_or(ParamsError::Siting)?,
            aspect: aspect.ok_or(ParamsError::Aspect)?,
        })
    }
}
