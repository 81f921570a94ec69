//! Research on the codec, under the `wavelet` command: what no call needs.
//!
//! A transform here takes any wavelet in lifting steps and any filter bank, in single and double precision, in the order
//! of computation of any published scheme ([`transform`]); [`pcwt`] is a profile for files; [`jpeg2000`] writes and reads
//! what other programs do; [`subbands`] changes pictures by their coefficients; [`quality`] codes to a
//! quality; [`measure`] and [`tune`] time what the codec does. It stands on the codec's own parts and on the crate
//! [`device`]; the codec knows nothing of it. The mathematics is in `kernels/MATHEMATICS.md`.

#![cfg_attr(not(feature = "opencl"), allow(dead_code, reason = "some of it serves the OpenCL back end alone"))]

mod address;
pub mod bank;
mod error;
mod filter;
pub mod jpeg2000;
pub mod measure;
mod open;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(not(feature = "opencl"))]
#[path = "without_opencl.rs"]
mod opencl;
pub mod pcwt;
pub mod quality;
mod reference;
mod scheme;
pub mod subbands;
pub mod transform;
#[cfg(feature = "opencl")]
pub mod tune;

pub use kernels::parts::{CDF53, CDF97, DD137, Lifting, Transform, Values};

pub use error::OpenError;
pub use filter::{Filter, WAVELETS};
pub use open::open_transform;
pub use scheme::{Scheme, UnknownScheme};
pub use transform::TransformParams;
