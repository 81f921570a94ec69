//! The decoder of `reference::quad`, arranged for speed: same values, same refusals.
//!
//! Only the symbols must be decoded one after the other. Several blocks at a time keep the processor busy meanwhile;
//! raw bits and coefficients then come for whole rows at once.

use picture::pyramid::BLOCK_SIDE;

use super::decode_lengths::{Lengths, check_lengths, quads_of, read_lengths};
use super::decode_rans::{MARGIN, ROOM, RansReader, eight_at};
use super::tile::{QUADS, TILE};
use crate::cpu::simd::multiversion;
use crate::fused::fused_short;
use crate::reference::quad::{self, Damaged, Shape};
use crate::reference::quantise::Quantiser;
use crate::reference::rans::{payload_bits, raw_bytes};
use crate::tables::{ESCAPE_SYMBOL, peak_context};

/// Longest block that is decoded here; a longer one is no encoder's.
const BYTES_MAX: usize = picture::run::BLOCK_BYTES_MAX;

/// Blocks that are decoded side by side.
pub(super) const LANES: usize = 2;

/// Memory for decoding blocks; one per thread.
#[derive(Debug)]
pub(super) struct DecodeScratch {
    bytes: [[u8; ROOM]; LANES],
    lengths: [Lengths; LANES],
    /// Coefficients, rows [`BLOCK_SIDE`] apart, zero beyond a block's width and height.
    pub(super) tiles: [[f32; TILE]; LANES],
}

impl DecodeScratch {
    /// Creates it on the heap. Never inlined: tasks that wait for others lie on one another on the stack, which would
    /// otherwise hold all of it once for each.
    #[inline(never)]
    pub(super) fn boxed() -> Box<Self> {
        Box::new(Self {
            bytes: [[0; ROOM]; LANES],
            lengths: std::array::from_fn(|_| Lengths::new()),
            tiles: [[0.0; TILE]; LANES],
        })
    }
}

/// A block to decode.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) shape: Shape,
    pub(super) quantiser: Quantiser,
}

multiversion! {
    /// Decodes a block into the scratch memory's first tile.
    pub(super) fn decode_one(scratch: &mut DecodeScratch, job: Job<'_>) -> Result<(), Damaged> = decode_one_body;
}

multiversion! {
    /// Decodes a block into each of the scratch memory's tiles.
    pub(super) fn decode_lanes(scratch: &mut DecodeScratch, jobs: [Job<'_>; LANES]) -> [Result<(), Damaged>; LANES] =
        decode_lanes_body;
}

#[inline(always)]
fn decode_one_body(scratch: &mut DecodeScratch, job: Job<'_>) -> Result<(), Damaged> {
    let [result] = try_decode(scratch, [job]).unwrap_or_else(|| [decode_slowly(job, &mut scratch.tiles[0])]);
    result
}

#[inline(always)]
fn decode_lanes_body(scratch: &mut DecodeScratch, jobs: [Job<'_>; LANES]) -> [Result<(), Damaged>; LANES] {
    if let Some(results) = try_decode(scratch, jobs) {
        return results;
    }
    let mut results = [Ok(()); LANES];
    // The last one first: each is decoded in the first lane.
    for lane in (0..LANES).rev() {
        results[lane] = decode_one(scratch, jobs[lane]);
        let [first, others @ ..] = &mut scratch.tiles;
        if let Some(tile) = lane.checked_sub(1).and_then(|at| others.get_mut(at)) {
            tile.copy_from_slice(first);
        }
    }
    results
}

/// Decodes blocks side by side; `None` if they do not have equally many quads, or one is no usual block.
#[inline(always)]
fn try_decode<const N: usize>(scratch: &mut DecodeScratch, jobs: [Job<'_>; N]) -> Option<[Result<(), Damaged>; N]> {
    let DecodeScratch { bytes, lengths, tiles } = scratch;
    let lengths = lengths.first_chunk_mut::<N>()?;
    let shapes = jobs.map(|job| job.shape);
    if shapes.iter().any(|&shape| quads_of(shape) != quads_of(shapes[0])) {
        return None;
    }
    for (buffer, job) in bytes.iter_mut().zip(&jobs) {
        if job.bytes.len() > BYTES_MAX {
            return None;
        }
        buffer[MARGIN..][..job.bytes.len()].copy_from_slice(job.bytes);
    }
    let mut rans: [_; N] = std::array::from_fn(|lane| RansReader::new(&bytes[lane], MARGIN + jobs[lane].bytes.len()));
    let mut peaks = [0; N];
    for lane in 0..N {
        let is_sound = rans[lane].is_sound();
        peaks[lane] = rans[lane].get(peak_context(shapes[lane].class));
        if !is_sound || peaks[lane] == 0 || usize::from(peaks[lane]) >= ESCAPE_SYMBOL {
            return None;
        }
    }
    read_lengths(lengths, &mut rans, shapes, peaks);
    let (ends, mut results) = (rans.map(RansReader::finish), [Ok(()); N]);
    // No closure, which would be compiled without this function's instruction set.
    for lane in 0..N {
        results[lane] = finish(&mut bytes[lane], &lengths[lane], jobs[lane], ends[lane], &mut tiles[lane]);
    }
    Some(results)
}

/// Decodes blocks that no encoder makes, or only with steps far below what a picture is coded with.
#[cold]
fn decode_slowly(job: Job<'_>, tile: &mut [f32; TILE]) -> Result<(), Damaged> {
    if job.bytes.len() > BYTES_MAX {
        return Err(Damaged);
    }
    let mut block = vec![0; job.shape.width * job.shape.height];
    quad::decode(job.bytes, job.shape, &mut block)?;
    tile.fill(0.0);
    for (to, from) in tile.chunks_exact_mut(BLOCK_SIDE).zip(block.chunks_exact(job.shape.width)) {
        to.iter_mut().zip(from).for_each(|(to, &value)| *to = job.quantiser.dequantise(value));
    }
    Ok(())
}

/// Reads the raw bits and writes the coefficients; `end` is the encoder's first state and where the raw bytes end.
#[inline(always)]
fn finish(
    bytes: &mut [u8; ROOM],
    lengths: &Lengths,
    job: Job<'_>,
    end: Option<(u32, usize)>,
    tile: &mut [f32; TILE],
) -> Result<(), Damaged> {
    let (state, raw_end) = end.ok_or(Damaged)?;
    let total = check_lengths(lengths, job.shape)?;
    if raw_end != MARGIN + raw_bytes(total) || state.ilog2() != payload_bits(total) {
        return Err(Damaged);
    }
    // The state's payload is the last raw bits: it goes right behind the others.
    bytes[raw_end..][..3].copy_from_slice(&state.to_le_bytes()[..3]);
    let mut next = 8 * MARGIN;
    let rows = job.shape.height.div_ceil(2);
    for (y, to) in tile.chunks_exact_mut(2 * BLOCK_SIDE).enumerate() {
        if y < rows && *lengths.row(y) != [[0; 4]; QUADS] {
            next = read_row(lengths, y, bytes, next, job.quantiser, to);
        } else {
            to.fill(0.0);
        }
    }
    Ok(())
}

/// Reads signs and low bits of a row of quads from bit `next` on and writes two rows of coefficients; returns the
/// bit after them.
#[inline(always)]
fn read_row(
    lengths: &Lengths,
    y: usize,
    bytes: &[u8; ROOM],
    mut next: usize,
    quantiser: Quantiser,
    to: &mut [f32],
) -> usize {
    let mut four = [0_u32; QUADS];
    for (four, &lengths) in four.iter_mut().zip(lengths.row(y)) {
        *four = u32::from_le_bytes(lengths);
    }
    // Two coefficients have at most 28 bits, so that the bits of two fit a word.
    let mut windows = [[0_u32; QUADS]; 2];
    for x in 0..QUADS {
        // The sums of the first two lengths and of all.
        let two = four[x].wrapping_add(four[x] >> 8);
        let all = two.wrapping_add(two >> 16);
        // From any bit on, 57 bits can be read at once.
        let window = eight_at(bytes, next / 8) >> (next % 8);
        windows[0][x] = window as u32;
        windows[1][x] = window.wrapping_shr(two & 255) as u32;
        next = next.wrapping_add((all & 255) as usize);
    }
    for (row, to) in to.chunks_exact_mut(BLOCK_SIDE).enumerate().take(2) {
        let shift = 16 * row as u32;
        for x in 0..QUADS {
            let (first, second) = (four[x].wrapping_shr(shift) & 255, four[x].wrapping_shr(shift + 8) & 255);
            to[2 * x] = dequantised(windows[row][x], first, quantiser);
            to[2 * x + 1] = dequantised(windows[row][x].wrapping_shr(first), second, quantiser);
        }
    }
    next
}

/// Returns the coefficient with this bit-length of which the low bits and the sign come first in `bits`.
#[inline(always)]
fn dequantised(bits: u32, length: u32, quantiser: Quantiser) -> f32 {
    let leading = 1_u32.wrapping_shl(length);
    let bits = bits & leading.wrapping_sub(1);
    // Below the leading one: the low bits, then the sign. Without a leading one the magnitude is 0.
    let magnitude = (leading | bits) >> 1;
    let offset = if magnitude == 1 { quantiser.offset_of_one } else { quantiser.offset };
    let value = fused_short(magnitude as i32 as f32, quantiser.step, offset);
    if magnitude == 0 { 0.0 } else { f32::from_bits(value.to_bits() | bits << 31) }
}
