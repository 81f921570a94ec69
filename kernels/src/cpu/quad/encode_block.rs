//! The encoder of `reference::quad`, arranged for speed: same bytes.
//!
//! Values that do not depend on the symbol before are computed for all quads of a row at once: bit-lengths, raw bits,
//! contexts. Only its raw bits and its symbols are then appended quad by quad.

use picture::pyramid::BLOCK_SIDE;

use super::encode_quantise::{Quantised, each, row};
use super::encode_rans::{Rans, code_one, code_two};
use super::tile::{QUADS, TILE};
use crate::cpu::simd::multiversion;
use crate::reference::quad::{self, Shape};
use crate::reference::quantise::Quantiser;
use crate::reference::rans;
use crate::tables::{
    COEFFICIENT, COEFFICIENT_PEAKS, COEFFICIENT_STATES, COEFFICIENT_SUMS, ESCAPE_SYMBOL, QUAD_SUMS, SYMBOLS,
    peak_context, quad_context,
};

/// Most symbols of a block without escapes, and a margin that is written ahead.
const SYMBOLS_ROOM: usize = 1 + QUADS * QUADS + TILE + QUADS;
/// Most bytes of raw bits of a block without escapes, and a margin that is written ahead.
const RAW_ROOM: usize = TILE * ESCAPE_SYMBOL / 8 + 16;

/// Memory for coding a block, besides its coefficients.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The block's coefficients.
    pub(super) tile: [f32; TILE],
    quantised: Quantised,
    symbols: [u16; SYMBOLS_ROOM],
    symbol_count: usize,
    raw: [u8; RAW_ROOM],
    /// Number of raw bits.
    raw_bits: usize,
    /// rANS bytes: at most 12 bits a symbol.
    rans: [u8; 2 * SYMBOLS_ROOM + 8],
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            tile: [0.0; TILE],
            quantised: Quantised::ZERO,
            symbols: [0; SYMBOLS_ROOM],
            symbol_count: 0,
            raw: [0; RAW_ROOM],
            raw_bits: 0,
            rans: [0; 2 * SYMBOLS_ROOM + 8],
        }
    }
}

multiversion! {
    /// Lists the symbols and raw bits of the block in `scratch.tile`. False if there is no more to do: it is all
    /// zero and has no bytes, or, with huge values, was coded at once and appended to `out`.
    pub(super) fn prepare(scratch: &mut Scratch, shape: Shape, quantiser: Quantiser,
        out: &mut Vec<u8>) -> bool = prepare_body;
}

multiversion! {
    /// Appends the code of a prepared block to `out`.
    pub(super) fn finish_one(scratch: &mut Scratch, out: &mut Vec<u8>) = finish_one_body;
}

multiversion! {
    /// Appends the code of two prepared blocks to an output each.
    pub(super) fn finish_two(first: &mut Scratch, out: &mut Vec<u8>, second: &mut Scratch,
        second_out: &mut Vec<u8>) = finish_two_body;
}

#[inline(always)]
fn prepare_body(scratch: &mut Scratch, shape: Shape, quantiser: Quantiser, out: &mut Vec<u8>) -> bool {
    let rows = shape.height.div_ceil(2);
    let peak = scratch.quantised.set(&scratch.tile, rows, quantiser);
    if peak == 0 || (peak == 1 && quantiser.is_sparse(shape.class, scratch.quantised.raw_bits(rows))) {
        return false;
    }
    if usize::from(peak) >= ESCAPE_SYMBOL {
        // Rare: only with steps far below what a picture is coded with.
        let rows = scratch.tile.chunks_exact(BLOCK_SIDE).take(shape.height);
        let block: Vec<f32> = rows.flat_map(|row| &row[..shape.width]).copied().collect();
        quad::encode(&quantiser.quantise_block(&block, shape), shape, out);
        return false;
    }
    pack_raw(scratch, rows);
    list_quads(scratch, shape, peak);
    list_coefficients(scratch, rows);
    true
}

#[inline(always)]
fn finish_one_body(scratch: &mut Scratch, out: &mut Vec<u8>) {
    let (rans, symbols, raw) = scratch.coder();
    let len = code_one(rans, symbols);
    out.extend_from_slice(raw);
    out.extend_from_slice(&scratch.rans[..len]);
}

#[inline(always)]
fn finish_two_body(first: &mut Scratch, out: &mut Vec<u8>, second: &mut Scratch, second_out: &mut Vec<u8>) {
    let ((a, a_symbols, a_raw), (b, b_symbols, b_raw)) = (first.coder(), second.coder());
    let [a_len, b_len] = code_two([a, b], [a_symbols, b_symbols]);
    out.extend_from_slice(a_raw);
    out.extend_from_slice(&first.rans[..a_len]);
    second_out.extend_from_slice(b_raw);
    second_out.extend_from_slice(&second.rans[..b_len]);
}

impl Scratch {
    /// Creates memory for two blocks. Never inlined: tasks that wait for others lie on one another on the stack, which
    /// would otherwise hold all of it once for each.
    #[inline(never)]
    pub(super) fn two() -> Box<[Self; 2]> {
        Box::default()
    }

    /// Returns the encoder of a prepared block, its symbols, and its raw bytes without those that the encoder carries.
    #[inline(always)]
    fn coder(&mut self) -> (Rans<'_>, &[u16], &[u8]) {
        let (raw, last) = self.raw.split_at(rans::raw_bytes(self.raw_bits));
        let rans = Rans::new(u32::from_le_bytes([last[0], last[1], last[2], 0]), self.raw_bits, &mut self.rans);
        (rans, &self.symbols[..self.symbol_count], raw)
    }
}

/// Packs signs and low bits into `scratch.raw`, lowest bit first.
#[inline(always)]
fn pack_raw(scratch: &mut Scratch, rows: usize) {
    let Scratch { quantised: Quantised { bits, bit_counts, .. }, raw, .. } = scratch;
    let (mut window, mut filled, mut at) = (0_u64, 0_u32, 0_usize);
    for (bits, counts) in bits.iter().zip(bit_counts.iter()).take(rows) {
        if *counts == [0; QUADS] {
            continue;
        }
        for (&bits, &count) in bits.iter().zip(counts) {
            // Fewer than 8 bits remain from before and at most 56 come.
            window |= bits.wrapping_shl(filled);
            filled = filled.wrapping_add(u32::from(count));
            raw[at..][..8].copy_from_slice(&window.to_le_bytes());
            at = at.wrapping_add((filled / 8) as usize);
            window = window.wrapping_shr(filled & !7);
            filled %= 8;
        }
    }
    // Zeros behind the last bit fill up what the first state carries.
    raw[at..][..8].copy_from_slice(&window.to_le_bytes());
    scratch.raw_bits = 8 * at + filled as usize;
}

/// Lists the symbols of the peak and the quads, each `context * SYMBOLS + symbol`.
#[inline(always)]
fn list_quads(scratch: &mut Scratch, shape: Shape, peak: u8) {
    let Scratch { quantised: Quantised { quads, .. }, symbols, symbol_count, .. } = scratch;
    let (columns, rows) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    symbols[0] = (peak_context(shape.class) * SYMBOLS) as u16 + u16::from(peak);
    let first = quad_context(peak, 0, 0, shape.diagonal) as u16;
    let mut up = [0; QUADS];
    for y in 0..rows {
        let mut drops = [0; QUADS + 1];
        for (drop, &quad) in drops[1..].iter_mut().zip(&quads[y + 1][1..]) {
            *drop = peak.wrapping_sub(quad);
        }
        // A missing neighbour is replaced by the other one.
        drops[0] = up[0];
        if y == 0 {
            up.copy_from_slice(&drops[..QUADS]);
        }
        let row = &mut symbols[1 + y * columns..][..QUADS];
        for x in 0..QUADS {
            let sum = drops[x].saturating_add(up[x]).min(QUAD_SUMS as u8 - 1);
            let context = first.wrapping_add(sum.into());
            row[x] = context.wrapping_mul(SYMBOLS as u16).wrapping_add(drops[x + 1].into());
        }
        up.copy_from_slice(&drops[1..]);
    }
    *symbol_count = 1 + rows * columns;
}

/// Lists the symbols of the coefficients behind those of the quads.
#[inline(always)]
fn list_coefficients(scratch: &mut Scratch, rows: usize) {
    let Scratch { quantised, symbols, symbol_count, .. } = scratch;
    let Quantised { lengths: [l00, l01, l10, l11], quads, .. } = quantised;
    let mut count = *symbol_count;
    for y in 1..=rows {
        let quad = row(&quads[y], 1);
        if quad.into_iter().fold(0, u8::max) == 0 {
            continue;
        }
        // `tables::coefficient_context` in narrow integers, one row of quads at a time.
        let near = |lengths| each(lengths, quad, |length, quad| length.wrapping_add(3).saturating_sub(quad).min(4));
        let sum = |a, b| each(a, b, u8::wrapping_add);
        let (right, below) = (near(row(&quads[y], 2)), near(row(&quads[y + 1], 1)));
        let sums = [
            sum(near(row(&l01[y], 0)), near(row(&l10[y - 1], 1))),
            sum(right, near(row(&l11[y - 1], 1))),
            sum(near(row(&l11[y], 0)), below),
            sum(right, below),
        ];
        let drops = [&l00[y], &l01[y], &l10[y], &l11[y]].map(|lengths| each(quad, row(lengths, 1), u8::wrapping_sub));
        // 0 where a coefficient up to this one has the quad's length.
        let reached_second = each(drops[0], drops[1], u8::min);
        let reached_third = each(reached_second, drops[2], u8::min);
        let states = [
            [0; QUADS],
            each(drops[0], quad, |reached, _| if reached == 0 { 2 } else { 1 }),
            each(reached_second, quad, |reached, _| if reached == 0 { 4 } else { 3 }),
            [5; QUADS],
        ];
        let mut four = [0_u64; QUADS];
        for position in 0..4 {
            for x in 0..QUADS {
                let peak = u16::from(quad[x].min(COEFFICIENT_PEAKS as u8).saturating_sub(1));
                let state = peak.wrapping_mul(COEFFICIENT_STATES as u16).wrapping_add(states[position][x].into());
                let sum = state.wrapping_mul(COEFFICIENT_SUMS as u16).wrapping_add(sums[position][x].into());
                let context = sum.wrapping_add(COEFFICIENT as u16);
                let symbol = context.wrapping_mul(SYMBOLS as u16).wrapping_add(drops[position][x].into());
                four[x] |= u64::from(symbol) << (16 * position);
            }
        }
        // All four are written; none counts in a quad of zeros, the last one only if it is not certain.
        let advance = each(reached_third, quad, |reached, quad| match (quad, reached) {
            (0, _) => 0,
            (_, 0) => 4,
            _ => 3,
        });
        for (four, &advance) in four.iter().zip(&advance) {
            let to = &mut symbols[count..][..4];
            for (position, to) in to.iter_mut().enumerate() {
                *to = (four >> (16 * position)) as u16;
            }
            count = count.wrapping_add(usize::from(advance));
        }
    }
    *symbol_count = count;
}
