//! JPEG 2000, Part 1 (ISO/IEC 15444-1): still pictures that other programs read, on our transform.
//!
//! The transform is that of [`crate::open_transform`], on any back end; the code of its blocks is written from the standard's
//! text. Neither Rust's libraries nor Debian's give theirs coefficients of somebody else: `openjp2` and `hayro-jpeg2000` keep
//! their block coders to themselves, and OpenJPEG's and OpenJPH's libraries take pictures only.

mod bands;
mod bits;
mod boxes;
mod decode;
mod encode;
mod error;
mod geometry;
mod header;
mod image;
mod mq;
mod packet;
mod planes;
mod progression;
mod quality;
mod quantise;
mod rate;
mod tagtree;
mod tier1;
mod tile;

pub use self::bands::Choice;
pub use self::decode::{Decoded, SAMPLES_MAX, decode};
pub use self::encode::{CodedBlocks, Encoder};
pub use self::error::Jpeg2000Error;
pub use self::image::{Colour, Component, Image};
pub use self::quality::psnr;

/// What a code-stream is to reach.
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

/// What comes first in a code-stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progression {
    /// Small pictures before larger ones.
    Resolution,
    /// Coarse pictures before finer ones.
    Quality,
}

/// How to code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What to reach.
    pub target: Target,
    /// Levels of the transform, at most 32.
    pub levels: u8,
    /// Exponent of a code-block's side: 5 or 6.
    pub block_exponent: u8,
    /// What comes first.
    pub progression: Progression,
    /// Layers, at least one; each has about half the bytes of the one after it.
    pub layers: u16,
    /// The kind of the file of boxes around the code-stream, and its colours; `None` for the code-stream alone.
    pub wrapping: Option<([u8; 4], Colour)>,
}

impl Options {
    /// Returns what encoders usually do: five levels, code-blocks of 64 x 64, one layer.
    pub fn new(target: Target) -> Self {
        let progression = Progression::Resolution;
        Self { target, levels: 5, block_exponent: 6, progression, layers: 1, wrapping: None }
    }
}

/// Codes a picture.
pub fn encode(image: &Image, options: &Options, choice: Choice<'_>) -> Result<Vec<u8>, Jpeg2000Error> {
    let mut encoder = Encoder::open(image, options, choice)?;
    let planes = encoder.planes(image);
    let squares = encoder.transform(planes)?;
    let blocks = encoder.blocks(&squares);
    match options.target {
        Target::Quality(decibels) => quality::reach(&mut encoder, &blocks, image, decibels, choice),
        _ => encoder.finish(&blocks),
    }
}
