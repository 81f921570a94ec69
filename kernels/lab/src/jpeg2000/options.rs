//! Options of the coding.

use super::image::Colour;

/// Aim of a code-stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Every sample as it is: the 5/3.
    Lossless,
    /// At most so many bytes.
    Bytes(usize),
    /// PSNR of all samples, decibels.
    Quality(f64),
    /// Quantiser step in units of an 8-bit sample.
    Step(f64),
}

/// Order of a code-stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progression {
    /// Small pictures before larger ones.
    Resolution,
    /// Coarse pictures before finer ones.
    Quality,
}

/// Options of the coding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The aim.
    pub target: Target,
    /// Levels of the transform, at most 32.
    pub levels: u8,
    /// Exponent of a code-block's side: 5 or 6.
    pub block_exponent: u8,
    /// The order.
    pub progression: Progression,
    /// Layers, at least one; each has about half the bytes of the one after it.
    pub layers: u16,
    /// Blocks are coded as Part 15 says (HTJ2K): faster, in one layer, a few bytes more.
    pub is_high_throughput: bool,
    /// The colours that the boxes around the code-stream name; `None` for the code-stream alone.
    pub wrapping: Option<Colour>,
    /// Pixels to a metre, along rows and columns, that the boxes say; of a picture that says nothing, 72 to an inch.
    pub resolution: [u32; 2],
}

/// 72 pixels to an inch, in a metre.
const USUAL_RESOLUTION: u32 = 2835;

impl Options {
    /// Returns what encoders usually do: five levels, code-blocks of 64 x 64, one layer.
    pub fn new(target: Target) -> Self {
        let progression = Progression::Resolution;
        let (levels, block_exponent, layers) = (5, 6, 1);
        Self {
            target,
            levels,
            block_exponent,
            progression,
            layers,
            is_high_throughput: false,
            wrapping: None,
            resolution: [USUAL_RESOLUTION; 2],
        }
    }
}
