//! The inside of the codec, for the laboratory and for tests: no program of a call names any of it.

pub use crate::lifting::{CDF53, CDF97, DD137, Lifting};
pub use crate::memory::check as check_memory;
pub use crate::open::{Resolved, resolve};
pub use crate::rate::{BlockCoder, RateControl};
pub use crate::transform::{PlaneParams, Transform, Values, host_bytes};

/// The processor back end.
pub mod cpu {
    pub use crate::cpu::{backend, open_transform};
}

/// The specification.
pub mod reference {
    pub use crate::reference::sample::Sample;
    pub use crate::reference::transform::{Engine, ReferenceTransform, open_transform};
    pub use crate::reference::{
        backend, check_picture, check_size, check_target, colour, dwt, effects, quad, quantise, rct,
    };
}

/// Probabilities of symbols.
pub mod tables {
    pub use crate::tables::*;
}

/// The OpenCL back end.
#[cfg(feature = "opencl")]
pub mod opencl {
    pub use crate::opencl::lossless::channel::{IntegerChannel, LSIZE};
    pub use crate::opencl::lossless::ends::{PictureReader, PictureWriter};
    pub use crate::opencl::transform::ChannelTransform;
    pub use crate::opencl::transform::channel::ChannelPipeline;
    pub use crate::opencl::transform::choice::Schemes;
    pub use crate::opencl::transform::level::{Launch, Level, LevelKernels, LevelSize, Pitched, RowsLaunch, Samples};
    pub use crate::opencl::transform::line::Lines;
    pub use crate::opencl::transform::params::{block_header, header, literal, wavelet_header};
    pub use crate::opencl::transform::programs::has_transform;
    pub use crate::opencl::transform::source::planes;
    pub use crate::opencl::transform::upload::{PicturePlace, Uploads};
    pub use crate::opencl::{OpenClEncoder, backend, devices, find, open_on};
}
