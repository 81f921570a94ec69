//! The processor back end: vectorised, several threads. Everything it computes equals the reference to the bit.

pub(crate) mod colour;
mod decode_block;
mod decode_lengths;
mod decode_rans;
mod decoder;
mod display;
mod encode_block;
mod encode_quantise;
mod encode_rans;
mod encoder;
mod filter;
mod input;
mod integers;
mod level;
mod lift;
mod line;
mod merge_level;
pub(crate) mod motion;
mod output;
pub(crate) mod overlap;
pub(crate) mod pcwt_decode;
pub(crate) mod pcwt_encode;
mod plane;
pub(crate) mod planes;
mod pyramid;
mod row;
mod scale;
mod short;
mod simd;
mod split_level;
pub(crate) mod square;
mod tile;
mod transform;
mod vector;
mod window;

use picture::params::StreamParams;
use picture::pyramid::{Block, BlockLayout};

use crate::{Backend, BackendInfo, DeviceInfo, DeviceKind};
use plane::Plane;
use simd::Simd;
use tile::TilePlace;

pub(crate) use decoder::CpuDecoder;
pub use display::{Coefficients, Converter};
pub(crate) use encoder::CpuEncoder;
pub(crate) use integers::IntegerCoder;
pub use scale::Scaler;
pub(crate) use transform::{integer_transform, open_transform};

/// Returns the processor as a device.
pub(crate) fn device() -> DeviceInfo {
    DeviceInfo {
        backend: Backend::Cpu,
        name: name(),
        platform: String::new(),
        driver: String::new(),
        kind: DeviceKind::Cpu,
        memory_bytes: 0,
        compute_units: rayon::current_num_threads() as u32,
    }
}

fn name() -> String {
    format!("processor, {} threads, {}", rayon::current_num_threads(), Simd::detect().name())
}

fn backend(reason: String) -> BackendInfo {
    BackendInfo { kind: Backend::Cpu, device: name(), reason }
}

/// Returns the planes of a stream and where its blocks lie in them.
fn open_planes(layout: &BlockLayout, params: &StreamParams) -> (Vec<Plane>, Vec<TilePlace>) {
    let planes: Vec<Plane> =
        layout.pyramids().iter().map(|pyramid| Plane::new(pyramid, params.codec.boundary)).collect();
    let place = |block: &Block| TilePlace::new(block, |x, y| planes[block.channel.index()].compact(x, y));
    let places = layout.blocks().iter().map(place).collect();
    (planes, places)
}
