//! The decoder of `reference::quad`, arranged for speed: same values, same refusals.
//!
//! Only the symbols must be decoded one after the other. Two blocks at a time keep the processor busy meanwhile;
//! raw bits and coefficients then come for whole rows at once.

use std::array::from_mut;

use common::pyramid::BLOCK_SIDE;

use super::decode_lengths::{Lengths, check_lengths, quads_of, read_lengths};
use super::decode_rans::{MARGIN, ROOM, Rans};
use super::simd::multiversion;
use super::tile::QUADS;
use crate::reference::quad::{self, Damaged, Shape};
use crate::reference::quantise::Quantiser;
use crate::reference::rans::{payload_bits, raw_bytes};
use crate::tables::{ESCAPE_SYMBOL, peak_context};

/// Longest block that is decoded here; a longer one is no encoder's.
const BYTES_MAX: usize = common::wire::run::BLOCK_BYTES_MAX;

/// What decoding a block needs; one per thread.
#[derive(Debug)]
pub(super) struct Scratch {
    bytes: Box<[u8; ROOM]>,
    lengths: Lengths,
}

impl Scratch {
    /// For two blocks. Never inlined: tasks that wait for others lie on one another on the stack, which would otherwise
    /// hold all of it once for each.
    #[inline(never)]
    pub(super) fn two() -> Box<[Self; 2]> {
        Box::default()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self { bytes: Box::new([0; ROOM]), lengths: Lengths::new() }
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
    /// Decodes a block into `tile` as coefficients, rows [`BLOCK_SIDE`] apart; `Err` leaves it as it was.
    pub(super) fn decode_one(scratch: &mut Scratch, job: Job<'_>, tile: &mut [f32]) -> Result<(), Damaged> =
        decode_one_body;
}

multiversion! {
    /// Decodes two blocks as [`decode_one`] does.
    pub(super) fn decode_two(scratches: &mut [Scratch; 2], jobs: [Job<'_>; 2],
        tiles: [&mut [f32]; 2]) -> [Result<(), Damaged>; 2] = decode_two_body;
}

#[inline(always)]
fn decode_one_body(scratch: &mut Scratch, job: Job<'_>, tile: &mut [f32]) -> Result<(), Damaged> {
    if job.bytes.len() > BYTES_MAX {
        return Err(Damaged);
    }
    let Some((mut rans, peak)) = start(&mut scratch.bytes, job) else {
        return decode_slowly(job, tile);
    };
    read_lengths([&mut scratch.lengths], from_mut(&mut rans), [job.shape], [peak]);
    let end = rans.finish();
    finish(scratch, job, end, tile)
}

#[inline(always)]
fn decode_two_body(
    [first, second]: &mut [Scratch; 2],
    jobs: [Job<'_>; 2],
    [first_tile, second_tile]: [&mut [f32]; 2],
) -> [Result<(), Damaged>; 2] {
    let shapes = jobs.map(|job| job.shape);
    let alike = quads_of(shapes[0]) == quads_of(shapes[1]) && jobs.iter().all(|job| job.bytes.len() <= BYTES_MAX);
    if alike
        && let (Some((a, a_peak)), Some((b, b_peak))) =
            (start(&mut first.bytes, jobs[0]), start(&mut second.bytes, jobs[1]))
    {
        let mut rans = [a, b];
        read_lengths([&mut first.lengths, &mut second.lengths], &mut rans, shapes, [a_peak, b_peak]);
        let [a, b] = rans.map(Rans::finish);
        return [finish(first, jobs[0], a, first_tile), finish(second, jobs[1], b, second_tile)];
    }
    [decode_one(first, jobs[0], first_tile), decode_one(second, jobs[1], second_tile)]
}

/// Decodes the peak; `None` if what follows is not for the fast decoder.
#[inline(always)]
fn start<'a>(buffer: &'a mut [u8; ROOM], job: Job<'_>) -> Option<(Rans<'a>, u8)> {
    let end = MARGIN + job.bytes.len();
    buffer[MARGIN..end].copy_from_slice(job.bytes);
    let mut rans = Rans::new(buffer, end)?;
    let peak = rans.get(peak_context(job.shape.class));
    (peak > 0 && usize::from(peak) < ESCAPE_SYMBOL).then_some((rans, peak))
}

/// For what no encoder makes, or only with steps far below what a picture is coded with.
#[cold]
fn decode_slowly(job: Job<'_>, tile: &mut [f32]) -> Result<(), Damaged> {
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
fn finish(scratch: &mut Scratch, job: Job<'_>, end: Option<(u32, usize)>, tile: &mut [f32]) -> Result<(), Damaged> {
    let Scratch { bytes, lengths } = scratch;
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
    let mut four = [[0_u8; 4]; QUADS];
    four.copy_from_slice(lengths.row(y));
    let mut counts = [0_u8; QUADS];
    for x in 0..QUADS {
        counts[x] = four[x][0].wrapping_add(four[x][1]).wrapping_add(four[x][2]).wrapping_add(four[x][3]);
    }
    let mut windows = [0; QUADS];
    for (window, &count) in windows.iter_mut().zip(&counts) {
        // Four coefficients have at most 56 bits; from any bit on, 57 can be read at once.
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[next / 8..][..8]);
        *window = u64::from_le_bytes(eight) >> (next % 8);
        next = next.wrapping_add(usize::from(count));
    }
    let mut bits = [[0_u32; BLOCK_SIDE]; 2];
    let mut leading = [[0_u32; BLOCK_SIDE]; 2];
    #[allow(clippy::needless_range_loop, reason = "each iteration takes a column of `four`")]
    for position in 0..4 {
        let (row, column) = (position / 2, position % 2);
        for x in 0..QUADS {
            let length = u32::from(four[x][position]);
            let one = 1_u32.wrapping_shl(length);
            bits[row][2 * x + column] = windows[x] as u32 & one.wrapping_sub(1);
            leading[row][2 * x + column] = one;
            windows[x] = windows[x].wrapping_shr(length);
        }
    }
    for (row, to) in to.chunks_exact_mut(BLOCK_SIDE).enumerate() {
        for x in 0..BLOCK_SIDE {
            // Below the leading one: the low bits, then the sign. Without a leading one the magnitude is 0.
            let magnitude = (leading[row][x] | bits[row][x]) >> 1;
            let offset = if magnitude == 1 { quantiser.offset_of_one } else { quantiser.offset };
            let value = (magnitude as i32 as f32).mul_add(quantiser.step, offset);
            let signed = f32::from_bits(value.to_bits() | bits[row][x] << 31);
            to[x] = if magnitude == 0 { 0.0 } else { signed };
        }
    }
    next
}
