//! The inside of the codec, for the laboratory and for tests: no program of a call names any of it.

pub use crate::lifting::{CDF53, CDF97, DD137, Lifting};
pub use crate::memory::check as check_memory;
pub use crate::open::{Resolved, resolve};
pub use crate::rate::{BlockCoder, RateControl};
pub use crate::transform::{PlaneParams, Transform, Values, host_bytes};

/// The processor back end.
pub mod cpu {
    pub use crate::cpu::{CompactSample, CompactTransform, MakeRow, backend, compact_pitch, fast, open_transform};
}

/// The specification.
pub mod reference {
    pub use crate::reference::effects::ReferenceEffects;
    pub use crate::reference::quantise::Quantiser;
    pub use crate::reference::transform::{Engine, ReferenceTransform, open_transform};
    pub use crate::reference::{backend, check_picture, check_size, check_target};
    pub use crate::sample::Sample;

    /// Colours.
    pub mod colour {
        pub use crate::reference::colour::planes;
    }

    /// The wavelet transform of a plane.
    pub mod dwt {
        pub use crate::reference::dwt::{forward, forward_by, inverse, inverse_by, split};
    }

    /// The code of a block.
    pub mod quad {
        pub use crate::reference::quad::{Shape, decode, for_each_symbol};
    }

    /// The reversible colour transform.
    #[cfg(feature = "lossless")]
    pub mod rct {
        pub use crate::reference::rct::{check_exact, finish, planes};
    }
}

/// Frequencies of symbols.
pub mod tables {
    pub use crate::tables::{CONTEXTS, ESCAPE, FREQUENCIES, PROBABILITY_BITS, SYMBOLS, symbols_of};

    /// Those of a predicted frame's groups.
    pub mod residual {
        pub use crate::tables::residual::{FREQUENCIES, ROWS, can_occur};
    }
}

/// The OpenCL back end.
#[cfg(feature = "opencl")]
pub mod opencl {
    #[cfg(feature = "lossless")]
    pub use crate::opencl::lossless::channel::{IntegerChannel, LSIZE};
    #[cfg(feature = "lossless")]
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
