//! The programs of streams: their texts, and the headers that they are built with.

use picture::params::Boundary;

use super::{params, source, tail, tile};
use crate::opencl::device::header::Header;
use crate::opencl::device::kernel::Program;
use crate::opencl::device::{Device, Result};
use crate::wavelet::Scheme;

/// Sliding windows for groups of many work-items.
pub(crate) const SLAB: [&str; 7] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lifting.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/dwt.cl"),
    include_str!("../../../cl/transform/idwt.cl"),
];
/// Sliding windows for single work-items.
pub(crate) const STRIP: [&str; 8] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lifting.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/strip.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/dwt_strip.cl"),
    include_str!("../../../cl/transform/idwt_strip.cl"),
];
/// The kernels for blocks.
const CODEC: [&str; 5] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/quad/quad.cl"),
    include_str!("../../../cl/quad/quad_quantise.cl"),
    include_str!("../../../cl/quad/quad_encode.cl"),
    include_str!("../../../cl/quad/quad_decode.cl"),
];

/// The kernel that makes of coefficients what a decoder makes of their code.
const RESTORE: [&str; 4] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/quad/quad.cl"),
    include_str!("../../../cl/quad/quad_quantise.cl"),
    include_str!("../../../cl/quad/quad_restore.cl"),
];

/// Returns the texts of all kernels that settings for the streams' transform are measured with.
pub(crate) fn transform_texts() -> Vec<&'static str> {
    [&SLAB[..], &STRIP, &tile::FORWARD, &tile::INVERSE, &tail::SOURCES].concat()
}

impl Device {
    /// Returns the kernels for blocks, built on first use; an error if the device cannot run them.
    pub(crate) fn codec_program(&self, lossless: bool) -> Result<Program> {
        self.build(&self.block_header(lossless), &CODEC)
    }

    /// Returns the kernel for what becomes of coefficients, likewise.
    pub(crate) fn restore_program(&self) -> Result<Program> {
        self.build(&self.block_header(false), &RESTORE)
    }

    fn block_header(&self, lossless: bool) -> Header {
        // The boundary means nothing to kernels for blocks.
        let header = params::header(&self.tuning, Boundary::Symmetric).and(&params::block_header(&self.tuning));
        header.define("LOSSLESS", u8::from(lossless))
    }

    /// Returns the kernels for the transform of streams with this boundary, likewise.
    pub(crate) fn transform_program(&self, boundary: Boundary) -> Result<Program> {
        self.fused_program(boundary, &source::planes())
    }

    /// Returns the same for these samples of `cl/shared/source.cl`.
    pub(crate) fn fused_program(&self, boundary: Boundary, samples: &Header) -> Result<Program> {
        self.build(&params::header(&self.tuning, boundary).and(samples), self.windows())
    }

    fn windows(&self) -> &'static [&'static str] {
        if self.tuning.group_size == 1 { &STRIP } else { &SLAB }
    }

    /// Returns true once [`Self::transform_program`] has been built, if nothing else is needed.
    pub(crate) fn has_transform(&self, boundary: Boundary) -> bool {
        let header = params::header(&self.tuning, boundary).and(&source::planes());
        self.tuning.scheme == Scheme::Slab && self.is_built(&header, self.windows())
    }
}
