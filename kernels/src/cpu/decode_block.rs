//! The decoder of `reference::quad`, arranged for speed: same values, same refusals.

use common::pyramid::BLOCK_SIDE;

use super::simd::multiversion;
use super::tile::{LENGTH_PITCH, Lengths, QUAD_PITCH, TILE};
use crate::reference::quad::{self, Damaged, Shape};
use crate::reference::quantise::Quantiser;
use crate::reference::rans::{PAYLOAD_BITS, STATE_MIN};
use crate::tables::{
    CONTEXTS, ESCAPE_SYMBOL, FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS, coefficient_context, peak_context,
    quad_context,
};

/// Longest block that is decoded here; a longer one is no encoder's.
const BYTES_MAX: usize = common::wire::run::BLOCK_BYTES_MAX;
/// Zeros before the block's bytes, and after them.
const MARGIN: usize = 8;

/// What decoding a block needs; one per thread.
#[derive(Debug)]
pub(super) struct Scratch {
    quantised: [i32; TILE],
    lengths: Lengths,
    bytes: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        let bytes = vec![0; MARGIN + BYTES_MAX + MARGIN];
        Self { quantised: [0; TILE], lengths: Lengths::new(), bytes }
    }
}

/// First slot of each symbol; of symbols that cannot occur, beyond the last slot.
static SLOTS: [[i16; SYMBOLS]; CONTEXTS] = slots();

const fn slots() -> [[i16; SYMBOLS]; CONTEXTS] {
    let mut slots = [[i16::MAX; SYMBOLS]; CONTEXTS];
    let mut at = 0;
    while at < CONTEXTS * SYMBOLS {
        if FREQUENCIES[at / SYMBOLS][at % SYMBOLS] > 0 {
            slots[at / SYMBOLS][at % SYMBOLS] = START[at / SYMBOLS][at % SYMBOLS] as i16;
        }
        at += 1;
    }
    slots
}

multiversion! {
    /// Decodes a block into `tile` as coefficients, rows [`BLOCK_SIDE`] apart; after `Err` they mean nothing.
    pub(super) fn decode(scratch: &mut Scratch, bytes: &[u8], shape: Shape, quantiser: Quantiser,
        tile: &mut [f32]) -> Result<(), Damaged> = decode_body;
}

#[inline(always)]
fn decode_body(
    scratch: &mut Scratch,
    bytes: &[u8],
    shape: Shape,
    quantiser: Quantiser,
    tile: &mut [f32],
) -> Result<(), Damaged> {
    scratch.quantised.fill(0);
    if bytes.len() > BYTES_MAX {
        return Err(Damaged);
    }
    let end = MARGIN + bytes.len();
    scratch.bytes[MARGIN..end].copy_from_slice(bytes);
    let mut rans = Rans::new(&scratch.bytes, end);
    let peak = rans.get(peak_context(shape.class));
    if usize::from(peak) == ESCAPE_SYMBOL {
        // Rare: only with steps far below what a picture is coded with.
        let mut block = vec![0; shape.width * shape.height];
        quad::decode(bytes, shape, &mut block)?;
        for (to, from) in scratch.quantised.chunks_exact_mut(BLOCK_SIDE).zip(block.chunks_exact(shape.width)) {
            to[..shape.width].copy_from_slice(from);
        }
    } else {
        let total = read_lengths(&mut scratch.lengths, &mut rans, shape, peak)?;
        let (payload, raw_end) = rans.finish()?;
        let raw_len = total.saturating_sub(PAYLOAD_BITS as usize).div_ceil(8);
        if raw_end != MARGIN + raw_len {
            return Err(Damaged);
        }
        // The payload is the first raw bits: it goes right before the others.
        scratch.bytes[MARGIN - 2..MARGIN].copy_from_slice(&payload.to_le_bytes());
        let read = read_raw(&scratch.lengths, &scratch.bytes[MARGIN - 2..], shape, &mut scratch.quantised);
        scratch.bytes[MARGIN - 2..MARGIN].fill(0);
        read?;
    }
    for (coefficient, &value) in tile.iter_mut().zip(&scratch.quantised) {
        let magnitude = (value.unsigned_abs() as f32).mul_add(quantiser.step, quantiser.offset);
        *coefficient = match value {
            0 => 0.0,
            _ => f32::from_bits(magnitude.to_bits() | (value as u32 & 0x8000_0000)),
        };
    }
    Ok(())
}

/// The rANS decoder: reads from the end of the block's bytes towards their front.
struct Rans<'a> {
    state: u32,
    bytes: &'a [u8],
    /// Where the bytes not read yet end; below [`MARGIN`] once reading has passed the front.
    at: usize,
}

impl<'a> Rans<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8], end: usize) -> Self {
        let state = u32::from_le_bytes([bytes[end - 3], bytes[end - 2], bytes[end - 1], 0]);
        Self { state, bytes, at: end - 3 }
    }

    #[inline(always)]
    fn get(&mut self, context: usize) -> u8 {
        let slot = self.state & ((1 << PROBABILITY_BITS) - 1);
        let symbol = symbol_at(&SLOTS[context], slot as i16);
        let frequency = u32::from(FREQUENCIES[context][symbol]);
        let start = u32::from(START[context][symbol]);
        let state = frequency.wrapping_mul(self.state >> PROBABILITY_BITS).wrapping_add(slot).wrapping_sub(start);
        // No, one or two bytes come in; two are read, as many as needed are kept.
        let moved = usize::from(state < STATE_MIN) + usize::from(state < STATE_MIN >> 8);
        let pair = &self.bytes[self.at.wrapping_sub(2)..][..2];
        let next = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
        self.state = (state << (8 * moved)) | (next >> (16 - 8 * moved));
        // Never below 2, so that there are two bytes to read.
        self.at = self.at.wrapping_sub(moved).max(2);
        symbol as u8
    }

    /// Payload and end of the raw bytes.
    #[inline(always)]
    fn finish(self) -> Result<(u16, usize), Damaged> {
        if self.state >> PAYLOAD_BITS == 1 && self.at >= MARGIN {
            Ok((self.state as u16, self.at))
        } else {
            Err(Damaged)
        }
    }
}

/// The last symbol whose first slot is not beyond `slot`.
#[inline(always)]
fn symbol_at(slots: &[i16; SYMBOLS], slot: i16) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        use std::arch::x86_64::{_mm_cmpgt_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16};
        // SAFETY: SSE2 is part of the target, and the two loads read the 16 values of `slots`.
        let beyond = unsafe {
            let first = _mm_loadu_si128(slots.as_ptr().cast());
            let second = _mm_loadu_si128(slots.as_ptr().add(8).cast());
            let slot = _mm_set1_epi16(slot);
            _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(first, slot), _mm_cmpgt_epi16(second, slot)))
        };
        // The first slot of symbol 0 is 0, so that at least one is not beyond.
        (beyond as u32 | 1 << SYMBOLS).trailing_zeros() as usize - 1
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        slots[1..].iter().filter(|&&first| first <= slot).count()
    }
}

/// Reads all bit-lengths; returns their sum.
#[inline(always)]
fn read_lengths(lengths: &mut Lengths, rans: &mut Rans<'_>, shape: Shape, peak: u8) -> Result<usize, Damaged> {
    let (columns, rows) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    if peak == 0 {
        return Err(Damaged);
    }
    lengths.quads.fill(0);
    let mut damaged = false;
    for y in 0..rows {
        let mut left = if y > 0 { peak - lengths.quads[(y - 1) * QUAD_PITCH] } else { 0 };
        for x in 0..columns {
            let up = if y > 0 { peak - lengths.quads[(y - 1) * QUAD_PITCH + x] } else { left };
            let drop = rans.get(quad_context(peak, left, up, shape.diagonal));
            damaged |= drop > peak;
            left = drop.min(peak);
            lengths.quads[y * QUAD_PITCH + x] = peak - left;
        }
    }
    let mut total = 0;
    for y in 0..rows {
        for x in 0..columns {
            let quad = lengths.quads[y * QUAD_PITCH + x];
            let at = (2 * y + 1) * LENGTH_PITCH + 2 * x + 1;
            let mut found = [0; 4];
            if quad > 0 {
                let right = lengths.quads[y * QUAD_PITCH + x + 1];
                let below = lengths.quads[(y + 1) * QUAD_PITCH + x];
                let (left, left_below) = (lengths.coefficients[at - 1], lengths.coefficients[at + LENGTH_PITCH - 1]);
                let above = at - LENGTH_PITCH;
                let (up, up_right) = (lengths.coefficients[above], lengths.coefficients[above + 1]);
                let mut drops = [0; 4];
                drops[0] = rans.get(coefficient_context(quad, 0, false, left, up));
                let reached = drops[0] == 0;
                drops[1] = rans.get(coefficient_context(quad, 1, reached, right, up_right));
                let reached = reached | (drops[1] == 0);
                drops[2] = rans.get(coefficient_context(quad, 2, reached, left_below, below));
                if reached | (drops[2] == 0) {
                    drops[3] = rans.get(coefficient_context(quad, 3, true, right, below));
                }
                for (length, drop) in found.iter_mut().zip(drops) {
                    damaged |= drop > quad;
                    *length = quad.saturating_sub(drop);
                    total += usize::from(*length);
                }
            }
            lengths.coefficients[at..at + 2].copy_from_slice(&found[..2]);
            lengths.coefficients[at + LENGTH_PITCH..at + LENGTH_PITCH + 2].copy_from_slice(&found[2..]);
        }
    }
    if damaged { Err(Damaged) } else { Ok(total) }
}

/// Reads signs and low bits of the coefficients; `raw` holds all of them and a margin.
#[inline(always)]
fn read_raw(lengths: &Lengths, raw: &[u8], shape: Shape, quantised: &mut [i32; TILE]) -> Result<(), Damaged> {
    let (columns, rows) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    let mut at = 0;
    for y in 0..rows {
        for x in 0..columns {
            if lengths.quads[y * QUAD_PITCH + x] == 0 {
                continue;
            }
            // Four coefficients have at most 56 bits; from any bit on, 57 can be read at once.
            let mut window = [0; 8];
            window.copy_from_slice(&raw[at / 8..][..8]);
            let mut window = u64::from_le_bytes(window) >> (at % 8);
            for (row, column) in [(2 * y, 2 * x), (2 * y, 2 * x + 1), (2 * y + 1, 2 * x), (2 * y + 1, 2 * x + 1)] {
                let length = u32::from(lengths.coefficients[(row + 1) * LENGTH_PITCH + column + 1]);
                let bits = window as u32 & ((1 << length) - 1);
                window >>= length;
                at += length as usize;
                let magnitude = (((1 << length) | bits) >> 1) as i32;
                quantised[row * BLOCK_SIDE + column] = if bits & 1 == 1 { -magnitude } else { magnitude };
            }
        }
    }
    let outside = |row: usize, column: usize| lengths.coefficients[(row + 1) * LENGTH_PITCH + column + 1] > 0;
    // What an odd width or height cuts off is zero; no encoder says otherwise.
    let (width, height) = (shape.width, shape.height);
    let beyond = (width % 2 == 1 && (0..2 * rows).any(|row| outside(row, width)))
        || (height % 2 == 1 && (0..2 * columns).any(|column| outside(height, column)));
    if beyond { Err(Damaged) } else { Ok(()) }
}
