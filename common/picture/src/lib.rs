//! The coded picture: its size and colours, the pyramid of its coefficients and their blocks, the bytes of a frame
//! and of the stream's parameters, and the files that hold them.
//!
//! Everything here is bytes and integers: no clock, socket, thread or device, and no coefficient is computed. The codec
//! (`kernels`) and what both ends of a call share (`common`) are built on it.

#![forbid(unsafe_code)]

pub mod backend;
pub mod coded;
pub mod container;
pub mod effects;
pub mod frame;
pub mod gaps;
pub mod params;
pub mod psnr;
pub mod pyramid;
pub mod replay;
pub mod run;
pub mod vectors;
pub mod weights;
pub mod y4m;
