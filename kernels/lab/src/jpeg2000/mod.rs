//! JPEG 2000, Parts 1 and 15 (ISO/IEC 15444): still pictures that other programs read, on our transform.
//!
//! The transform is that of [`crate::open_transform`], on any back end; the code of its blocks is written from the standard's
//! text. Neither Rust's libraries nor Debian's give theirs coefficients of somebody else: `openjp2` and `hayro-jpeg2000` keep
//! their block coders to themselves, and OpenJPEG's and OpenJPH's libraries take pictures only.

mod bands;
mod bits;
mod boxes;
mod check;
mod decode;
mod encode;
mod error;
mod geometry;
mod header;
mod ht;
mod image;
mod job;
mod mq;
mod options;
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
pub use self::image::{Colour, Image, ImageComponent};
pub use self::options::{Options, Progression, Target};
pub use self::quality::{encode, psnr};
