//! Blocks of integer coefficients, not quantised, through the same block coder: f32 holds them exactly.

use picture::pyramid::BLOCK_SIDE;

use super::decode_block::{self, Job};
use super::encode_block;
use crate::reference::quad::{Damaged, Shape};
use crate::reference::quantise::Quantiser;

/// Codes one block after another; same bytes as `reference::quad`.
pub(crate) struct IntegerCoder {
    encode: Box<encode_block::Scratch>,
    decode: Box<decode_block::DecodeScratch>,
}

impl IntegerCoder {
    /// Creates a coder with its memory.
    pub(crate) fn new() -> Self {
        Self { encode: Box::default(), decode: decode_block::DecodeScratch::boxed() }
    }

    /// Encodes as [`crate::reference::quad::encode`] does.
    pub(crate) fn encode(&mut self, values: &[i32], shape: Shape, out: &mut Vec<u8>) {
        self.encode.tile.fill(0.0);
        let rows = self.encode.tile.chunks_exact_mut(BLOCK_SIDE);
        for (to, from) in rows.zip(values.chunks_exact(shape.width)) {
            to.iter_mut().zip(from).for_each(|(to, &value)| *to = value as f32);
        }
        if encode_block::prepare(&mut self.encode, shape, Quantiser::EXACT, out) {
            encode_block::finish_one(&mut self.encode, out);
        }
    }

    /// Decodes as [`crate::reference::quad::decode`] does, a block that has bytes.
    pub(crate) fn decode(&mut self, bytes: &[u8], shape: Shape, values: &mut [i32]) -> Result<(), Damaged> {
        let job = Job { bytes, shape, quantiser: Quantiser::EXACT };
        decode_block::decode_one(&mut self.decode, job)?;
        for (to, from) in values.chunks_exact_mut(shape.width).zip(self.decode.tiles[0].chunks_exact(BLOCK_SIDE)) {
            to.iter_mut().zip(from).for_each(|(to, &value)| *to = value as i32);
        }
        Ok(())
    }
}
