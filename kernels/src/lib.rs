//! Duet's codec: pictures to bytes and back, on the processor or an OpenCL device, with the same bytes on both.
//!
//! A picture becomes a file and the file a picture with [`to_bytes`] and [`from_bytes`]. A stream of pictures has an
//! encoder and a decoder, [`Encoder`] and [`Decoder`]; a frame is coded alone or from a state that the decoder has.
//!
//! A frame is coded to a budget, and what arrives of it is decoded; a block that does not arrive is zeros:
//!
//! ```
//! use kernels::picture::coded::ReceivedFrame;
//! use kernels::picture::frame::{Chroma, FrameSize, PixelFormat};
//! use kernels::picture::params::StreamParams;
//! use kernels::{BackendChoice, Decoder, Encoder, Picture, Target};
//!
//! let size = FrameSize::new(320, 180)?;
//! let stream = StreamParams::new(size, Chroma::Grey);
//! let samples: Vec<u8> = (0..320 * 180).map(|at| (at % 320 / 2 + at / 320) as u8).collect();
//! let picture = Picture::from_data(PixelFormat::Grey8, size, samples)?;
//! let frame = Encoder::open(&stream, BackendChoice::Auto)?.encode(picture.as_ref(), Target::Bytes(1000), None)?;
//!
//! let mut received = ReceivedFrame::empty(frame.header, frame.block_count());
//! for index in (0..frame.block_count()).filter(|index| index % 3 != 2) {
//!     received.insert(index, frame.block(index));
//! }
//! let mut out = Picture::decoded_from(&stream);
//! Decoder::open(&stream, BackendChoice::Auto)?.decode(&received, None, &mut out)?;
//! assert!(frame.data.len() <= 1000 && received.missing() > 0 && out.data() != [128; 320 * 180]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three back ends compute the same to the bit: `reference` is plain Rust and the specification, `cpu` is
//! vectorised and multi-threaded, `opencl` runs the kernels of `cl/`. The mathematics is in `kernels/MATHEMATICS.md`.
//! This crate knows no packet and no network time. What a coded picture is, is in the package [`mod@picture`].
//!
//! `opencl` is a cargo feature, on by default. Without it nothing is linked to an OpenCL loader. So is `lossless`: without
//! it a stream that brings every sample back is refused with a sentence.

#![cfg_attr(
    not(all(feature = "opencl", feature = "lossless")),
    allow(dead_code, reason = "some of it serves the OpenCL back end or lossless coding alone")
)]

pub mod apart;
mod backend;
mod bytes;
mod clip;
mod codec;
pub(crate) mod coder;
mod cpu;
mod decoder;
mod element;
mod encoder;
mod error;
mod fallback;
mod fused;
mod lifting;
#[cfg(feature = "lossless")]
mod lossless;
mod memory;
mod motion;
mod open;
#[cfg(feature = "opencl")]
mod opencl;
#[cfg(not(feature = "opencl"))]
#[path = "without_opencl.rs"]
mod opencl;
mod options;
#[doc(hidden)]
pub mod parts;
mod pixels;
mod rate;
mod reference;
mod sample;
mod tables;
mod threads;
mod transform;
pub mod tune;

pub use ::picture;
pub use backend::{BACK_ENDS, BUILD_MAX, Backend, BackendChoice, BackendInfo, DeviceInfo, DeviceKind, WITHOUT_OPENCL};
pub use bytes::{BytesError, from_bytes, to_bytes};
pub use clip::{ClipDecoder, ClipEncoder};
pub use codec::{DecodeTimes, EncodeTimes, Target};
pub(crate) use codec::{FrameDecoder, FrameEncoder};
pub use coder::{Effort, Groups, State};
pub use cpu::{Coefficients, Converter, EffectsFilter, Original, Scaler, Shrinker};
pub use decoder::{Decoded, Decoder};
pub use device::on_hang;
pub use element::Element;
pub use encoder::Encoder;
pub use error::{
    CodecError, DecodeError, DeviceError, EncodeError, NotFound, OpenError, PictureError, TransformError, ValuesError,
};
pub use open::{devices, probe, settings_of};
pub use options::Options;
pub use pixels::{Picture, PictureRef};
pub(crate) use transform::{Transform, Values};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
