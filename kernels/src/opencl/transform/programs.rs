//! The programs of streams: their texts, and the headers that they are built with.

use device::header::Header;
use device::kernel::Program;
use device::{Device, Result};
use picture::params::Boundary;

use super::{params, source, tail, tile};

/// Sliding windows.
pub(crate) const STRIP: [&str; 7] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
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
    [&STRIP[..], &tile::FORWARD, &tile::INVERSE, &tail::SOURCES].concat()
}

/// Returns the kernels for blocks, built on first use; an error if the device cannot run them.
pub(crate) fn codec_program(device: &Device, lossless: bool) -> Result<Program> {
    device.build(&block_header(device, lossless), &CODEC)
}

/// Returns the kernel for what becomes of coefficients, likewise.
pub(crate) fn restore_program(device: &Device) -> Result<Program> {
    device.build(&block_header(device, false), &RESTORE)
}

fn block_header(device: &Device, lossless: bool) -> Header {
    // The boundary means nothing to kernels for blocks.
    let header = params::header(&device.tuning, Boundary::Symmetric).and(&params::block_header(&device.tuning));
    header.define("LOSSLESS", u8::from(lossless))
}

/// Returns the kernels for the transform of streams with this boundary, likewise.
pub(crate) fn transform_program(device: &Device, boundary: Boundary) -> Result<Program> {
    fused_program(device, boundary, &source::planes())
}

/// Returns the same for these samples of `cl/shared/source.cl`.
pub(crate) fn fused_program(device: &Device, boundary: Boundary, samples: &Header) -> Result<Program> {
    device.build(&params::header(&device.tuning, boundary).and(samples), &STRIP)
}

/// Returns true once `transform_program` has been built, if nothing else is needed.
pub fn has_transform(device: &Device, boundary: Boundary) -> bool {
    let header = params::header(&device.tuning, boundary).and(&source::planes());
    device.tuning.group_size == 1 && device.is_built(&header, &STRIP)
}
