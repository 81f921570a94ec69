//! JPEG 2000, Parts 1 and 15 (ISO/IEC 15444): still pictures that other programs read, on our transform.
//!
//! The transform is that of [`crate::open_transform`], on any back end; the code of its blocks is written from the standard's
//! text. Neither Rust's libraries nor Debian's give theirs coefficients of somebody else: `openjp2` and `hayro-jpeg2000` keep
//! their block coders to themselves, and OpenJPEG's and OpenJPH's libraries take pictures only.

mod bands;
mod block;
mod check;
mod decode;
mod encode;
mod error;
mod front;
mod geometry;
mod image;
mod job;
mod memory;
mod options;
mod plan;
mod planes;
mod quality;
mod rate;
mod stream;
mod tile;
mod transforms;

pub use self::decode::{Decoded, SAMPLES_MAX, decode};
pub use self::encode::{CodedBlocks, Encoder};
pub use self::error::Jpeg2000Error;
pub use self::image::{Colour, Image, ImageComponent, Source};
pub use self::memory::Pages;
pub use self::options::{Options, Progression, Target};
pub use self::quality::{encode, psnr};
pub use self::transforms::Choice;
