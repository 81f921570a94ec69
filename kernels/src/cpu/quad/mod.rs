//! The block coder: encoder and decoder of streams.

mod decode_block;
mod decode_lengths;
mod decode_rans;
pub(crate) mod decoder;
mod encode_block;
mod encode_blocks;
mod encode_quantise;
mod encode_rans;
pub(crate) mod encoder;
pub(crate) mod integers;
pub(crate) mod per_thread;
mod plane;
mod tile;

use picture::params::StreamParams;
use picture::pyramid::{Block, BlockLayout};

use plane::Plane;
use tile::TilePlace;

/// Returns the planes of a stream and where its blocks lie in them.
fn open_planes(layout: &BlockLayout, params: &StreamParams) -> (Vec<Plane>, Vec<TilePlace>) {
    let planes: Vec<Plane> =
        layout.pyramids().iter().map(|pyramid| Plane::new(pyramid, params.codec.boundary)).collect();
    let place = |block: &Block| TilePlace::new(block, |x, y| planes[block.channel.index()].compact(x, y));
    let places = layout.blocks().iter().map(place).collect();
    (planes, places)
}
