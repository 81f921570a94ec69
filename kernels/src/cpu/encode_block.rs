//! The encoder of `reference::quad`, arranged for speed: same bytes.

use common::pyramid::BLOCK_SIDE;

use super::simd::multiversion;
use super::tile::{LENGTH_PITCH, Lengths, QUAD_PITCH, TILE};
use crate::reference::quad::{self, Shape};
use crate::reference::quantise::{MAX_MAGNITUDE, Quantiser};
use crate::reference::rans::STATE_MIN;
use crate::tables::{
    CONTEXTS, ESCAPE_SYMBOL, FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS, coefficient_context, peak_context,
    quad_context,
};

/// Most symbols of a block without escapes.
const SYMBOLS_MAX: usize = 1 + TILE / 4 + TILE;

/// What coding a block needs besides its coefficients; one per thread.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The block's coefficients.
    pub(super) tile: [f32; TILE],
    /// Twice the magnitude, plus 1 if negative.
    words: [u32; TILE],
    lengths: Lengths,
    symbols: [u16; SYMBOLS_MAX],
    /// Raw bits, then a margin that is written ahead.
    raw: [u8; TILE * 3 + 16],
    /// rANS bytes: at most 12 bits a symbol, and a margin that is written ahead.
    rans: [u8; 2 * SYMBOLS_MAX + 8],
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            tile: [0.0; TILE],
            words: [0; TILE],
            lengths: Lengths::new(),
            symbols: [0; SYMBOLS_MAX],
            raw: [0; TILE * 3 + 16],
            rans: [0; 2 * SYMBOLS_MAX + 8],
        }
    }
}

/// A symbol in its context, prepared for the encoder.
#[derive(Clone, Copy)]
struct Entry {
    /// ceil(2^36 / frequency): `(x * reciprocal) >> 36` is `x / frequency` for x < 2^24.
    reciprocal: u64,
    frequency: u16,
    /// 2^12 - frequency: `(x / f) 2^12 + x mod f` is `x + (x / f) (2^12 - f)`.
    complement: u16,
    start: u32,
}

static ENTRIES: [Entry; CONTEXTS * SYMBOLS] = entries();

const fn entries() -> [Entry; CONTEXTS * SYMBOLS] {
    let mut entries = [Entry { reciprocal: 0, frequency: 0, complement: 0, start: 0 }; CONTEXTS * SYMBOLS];
    let mut at = 0;
    while at < entries.len() {
        let frequency = FREQUENCIES[at / SYMBOLS][at % SYMBOLS];
        if frequency > 0 {
            let reciprocal = (1_u64 << 36).div_ceil(frequency as u64);
            let complement = (1 << PROBABILITY_BITS) - frequency;
            let start = START[at / SYMBOLS][at % SYMBOLS] as u32;
            entries[at] = Entry { reciprocal, frequency, complement, start };
        }
        at += 1;
    }
    entries
}

multiversion! {
    /// Appends the code of the block in `scratch.tile` to `out`; nothing if it is all zero.
    pub(super) fn encode(scratch: &mut Scratch, shape: Shape, quantiser: Quantiser, out: &mut Vec<u8>) = encode_body;
}

#[inline(always)]
fn encode_body(scratch: &mut Scratch, shape: Shape, quantiser: Quantiser, out: &mut Vec<u8>) {
    let peak = quantise(scratch, shape, quantiser);
    if peak == 0 {
        return;
    }
    if usize::from(peak) >= ESCAPE_SYMBOL {
        // Rare: only with steps far below what a picture is coded with.
        let rows = scratch.tile.chunks_exact(BLOCK_SIDE).take(shape.height);
        let block: Vec<i32> = rows.flat_map(|row| &row[..shape.width]).map(|&c| quantiser.quantise(c)).collect();
        quad::encode(&block, shape, out);
        return;
    }
    let symbols = list_symbols(scratch, shape, peak);
    let bits = pack_raw(scratch, shape);
    let payload = u16::from_le_bytes([scratch.raw[0], scratch.raw[1]]);
    let raw_end = bits.div_ceil(8).max(2);
    let rans_len = rans(&scratch.symbols[..symbols], payload, &mut scratch.rans);
    out.extend_from_slice(&scratch.raw[2..raw_end]);
    out.extend_from_slice(&scratch.rans[..rans_len]);
}

/// Quantises the tile to words and bit-lengths; returns the largest bit-length.
#[inline(always)]
fn quantise(scratch: &mut Scratch, shape: Shape, quantiser: Quantiser) -> u8 {
    let rows = shape.height.next_multiple_of(2);
    let lengths = &mut scratch.lengths;
    for y in 0..rows {
        let tile = &scratch.tile[y * BLOCK_SIDE..][..BLOCK_SIDE];
        let words = &mut scratch.words[y * BLOCK_SIDE..][..BLOCK_SIDE];
        let row = &mut lengths.coefficients[(y + 1) * LENGTH_PITCH + 1..][..BLOCK_SIDE];
        for ((&coefficient, word), length) in tile.iter().zip(words).zip(row) {
            let magnitude = (coefficient.abs() * quantiser.inverse).min(MAX_MAGNITUDE);
            // The exponent of a number of at least 1 is its bit-length less one; of 0 it is far below.
            *length = (magnitude.to_bits() >> 23).saturating_sub(126) as u8;
            *word = ((magnitude as i32 as u32) << 1) | (coefficient.to_bits() >> 31);
        }
    }
    // The margin below and to the right of the quads must be zero again.
    lengths.quads.fill(0);
    let mut peak = 0;
    for y in 0..rows / 2 {
        let (above, below) = lengths.coefficients[(2 * y + 1) * LENGTH_PITCH..].split_at(LENGTH_PITCH);
        let pairs = above[1..].chunks_exact(2).zip(below[1..LENGTH_PITCH].chunks_exact(2));
        for (quad, (a, b)) in lengths.quads[y * QUAD_PITCH..][..BLOCK_SIDE / 2].iter_mut().zip(pairs) {
            *quad = a[0].max(a[1]).max(b[0].max(b[1]));
            peak = peak.max(*quad);
        }
    }
    peak
}

/// Lists the block's symbols, each `context * SYMBOLS + symbol`, in decoding order; returns how many.
#[inline(always)]
fn list_symbols(scratch: &mut Scratch, shape: Shape, peak: u8) -> usize {
    let Scratch { lengths, symbols, .. } = scratch;
    let (columns, rows) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    let mut count = 0;
    let mut put = |context: usize, symbol: u8| {
        symbols[count] = (context * SYMBOLS + usize::from(symbol)) as u16;
        count += 1;
    };
    put(peak_context(shape.class), peak);
    for y in 0..rows {
        let quads = &lengths.quads[y * QUAD_PITCH..][..columns];
        let mut left = if y > 0 { peak - lengths.quads[(y - 1) * QUAD_PITCH] } else { 0 };
        for (x, &quad) in quads.iter().enumerate() {
            let up = if y > 0 { peak - lengths.quads[(y - 1) * QUAD_PITCH + x] } else { left };
            let drop = peak - quad;
            put(quad_context(peak, left, up, shape.diagonal), drop);
            left = drop;
        }
    }
    for y in 0..rows {
        for x in 0..columns {
            let quad = lengths.quads[y * QUAD_PITCH + x];
            if quad == 0 {
                continue;
            }
            let at = 2 * y * LENGTH_PITCH + 2 * x;
            let [above, first, second] = [0, 1, 2].map(|row| &lengths.coefficients[at + row * LENGTH_PITCH..][..3]);
            let right = lengths.quads[y * QUAD_PITCH + x + 1];
            let below = lengths.quads[(y + 1) * QUAD_PITCH + x];
            let drops = [quad - first[1], quad - first[2], quad - second[1], quad - second[2]];
            put(coefficient_context(quad, 0, false, first[0], above[1]), drops[0]);
            let reached = drops[0] == 0;
            put(coefficient_context(quad, 1, reached, right, above[2]), drops[1]);
            let reached = reached | (drops[1] == 0);
            put(coefficient_context(quad, 2, reached, second[0], below), drops[2]);
            if reached | (drops[2] == 0) {
                put(coefficient_context(quad, 3, true, right, below), drops[3]);
            }
        }
    }
    count
}

/// Packs signs and low bits into `scratch.raw`, lowest bit first; returns how many bits.
#[inline(always)]
fn pack_raw(scratch: &mut Scratch, shape: Shape) -> usize {
    let Scratch { lengths, words, raw, .. } = scratch;
    let (columns, rows) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    let (mut window, mut filled, mut at) = (0_u64, 0_u32, 0_usize);
    for y in 0..rows {
        for x in 0..columns {
            if lengths.quads[y * QUAD_PITCH + x] == 0 {
                continue;
            }
            for (row, column) in [(2 * y, 2 * x), (2 * y, 2 * x + 1), (2 * y + 1, 2 * x), (2 * y + 1, 2 * x + 1)] {
                let length = u32::from(lengths.coefficients[(row + 1) * LENGTH_PITCH + column + 1]);
                // The word has length + 1 bits; the leading one is left out.
                let bits = words[row * BLOCK_SIDE + column] & ((1 << length) - 1);
                window |= u64::from(bits) << filled;
                filled += length;
            }
            // Four lengths are below 60 bits, fewer than 8 remain from before: the window holds them when below 57.
            raw[at..at + 8].copy_from_slice(&window.to_le_bytes());
            let whole = filled / 8;
            at += whole as usize;
            window = if whole == 8 { 0 } else { window >> (8 * whole) };
            filled -= 8 * whole;
        }
    }
    raw[at..at + 8].copy_from_slice(&window.to_le_bytes());
    8 * at + filled as usize
}

/// Codes `symbols`, last one first, into `out`; returns the number of bytes.
#[inline(always)]
fn rans(symbols: &[u16], payload: u16, out: &mut [u8]) -> usize {
    let mut state = STATE_MIN + u32::from(payload);
    let mut at = 0;
    for &symbol in symbols.iter().rev() {
        let entry = ENTRIES[usize::from(symbol)];
        let limit = u32::from(entry.frequency) << PROBABILITY_BITS;
        // Up to two low bytes leave; both are written, and kept or overwritten.
        let moved = usize::from(state >= limit) + usize::from(state >> 8 >= limit);
        out[at..at + 2].copy_from_slice(&(state as u16).to_le_bytes());
        at = at.wrapping_add(moved);
        state >>= 8 * moved;
        // A state stays below 2^24 and a reciprocal at most 2^36: nothing wraps.
        let quotient = (u64::from(state).wrapping_mul(entry.reciprocal) >> 36) as u32;
        let grown = quotient.wrapping_mul(u32::from(entry.complement));
        state = state.wrapping_add(entry.start).wrapping_add(grown);
    }
    out[at..at + 3].copy_from_slice(&state.to_le_bytes()[..3]);
    at + 3
}
