//! Everything Duet does per pixel or per coefficient: colour, padding, wavelet transform, quantiser, block coder.
//!
//! Three back ends compute the same to the bit: [`mod@reference`] is plain Rust and the specification, `cpu` is
//! vectorised and multi-threaded, `opencl` runs the kernels of `cl/`. The mathematics is in `kernels/README.md`.
//! This crate knows no packet and no network time.
//!
//! `opencl` is a cargo feature, on by default. Without it nothing is linked to an OpenCL loader.

#![cfg_attr(not(feature = "opencl"), allow(dead_code, reason = "some of it serves the OpenCL back end alone"))]

pub mod address;
pub mod bank;
pub mod codec;
mod cpu;
mod error;
mod fallback;
pub mod lifting;
mod lossless;
pub mod measure;
mod memory;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(not(feature = "opencl"))]
#[path = "without_opencl.rs"]
mod opencl;
pub mod pcwt;
mod picture;
pub mod quality;
pub mod rate;
pub mod reference;
pub mod tables;
pub mod transform;
pub mod tune;
pub mod wavelet;

pub use codec::{
    BackendChoice, BackendInfo, DecodeTimes, Decoder, DeviceInfo, DeviceKind, EncodeTimes, Encoder, Target,
    UnknownBackend, devices, open_decoder, open_encoder, open_smaller_decoder, open_transform, settings_of,
};
pub use error::Error;
pub use picture::{Picture, PictureRef};
pub use transform::{Transform, TransformParams, Values};
