//! The decoder of `reference::quad`, arranged for speed: same values, same refusals.
//!
//! Only the symbols must be decoded one after the other. Two blocks at a time keep the processor busy meanwhile;
//! raw bits and coefficients then come for whole rows at once.

use std::array::{from_fn, from_mut};

use common::pyramid::BLOCK_SIDE;

use super::decode_rans::{CERTAIN, MARGIN, ROOM, Rans};
use super::simd::multiversion;
use super::tile::QUADS;
use crate::reference::quad::{self, Damaged, Shape};
use crate::reference::quantise::Quantiser;
use crate::reference::rans::PAYLOAD_BITS;
use crate::tables::{ESCAPE_SYMBOL, MAX_LENGTH, coefficient_row, nearness, peak_context, quad_context};

/// Longest block that is decoded here; a longer one is no encoder's.
const BYTES_MAX: usize = common::wire::run::BLOCK_BYTES_MAX;

/// Quads in a row with a margin on both sides.
const PITCH: usize = QUADS + 2;
/// Quads of a tile with a margin on all sides, quad (y, x) at `(y + 1) * PITCH + x + 1`.
const GRID: usize = PITCH * PITCH;

/// What decoding a block needs; one per thread.
#[derive(Debug)]
pub(super) struct Scratch {
    bytes: Box<[u8; ROOM]>,
    lengths: Lengths,
}

/// Bit-lengths of a block; 0 in the margins.
#[derive(Debug)]
struct Lengths {
    quads: [u8; GRID],
    /// Those of the coefficients (0,0), (0,1), (1,0), (1,1) of each quad.
    coefficients: [[u8; 4]; GRID],
    /// Where in the grid the quads are that are not zero, in decoding order.
    coded: [u16; QUADS * QUADS],
}

/// [`nearness`] of a length (second) to a quad's (first).
static NEARNESS: [[u8; LENGTHS]; LENGTHS] = nearnesses();
/// A power of two above [`MAX_LENGTH`].
const LENGTHS: usize = 32;

const fn nearnesses() -> [[u8; LENGTHS]; LENGTHS] {
    let mut table = [[0; LENGTHS]; LENGTHS];
    let mut at = 0;
    while at < LENGTHS * LENGTHS {
        table[at / LENGTHS][at % LENGTHS] = nearness((at % LENGTHS) as u8, (at / LENGTHS) as u8) as u8;
        at += 1;
    }
    table
}

impl Default for Scratch {
    fn default() -> Self {
        let lengths = Lengths { quads: [0; GRID], coefficients: [[0; 4]; GRID], coded: [0; QUADS * QUADS] };
        Self { bytes: Box::new([0; ROOM]), lengths }
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

/// Columns and rows of quads.
#[inline(always)]
fn quads_of(shape: Shape) -> (usize, usize) {
    (shape.width.div_ceil(2), shape.height.div_ceil(2))
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

/// Reads all bit-lengths of blocks with equally many quads. A drop below zero wraps to more than [`MAX_LENGTH`].
#[inline(always)]
fn read_lengths<const N: usize>(
    mut lengths: [&mut Lengths; N],
    rans: &mut [Rans<'_>; N],
    shapes: [Shape; N],
    peaks: [u8; N],
) {
    let (columns, rows) = quads_of(shapes[0]);
    let mut counts = [0; N];
    for lengths in &mut lengths {
        lengths.quads.fill(0);
        lengths.coefficients.fill([0; 4]);
    }
    let mut above = [[0; QUADS]; N];
    for y in 0..rows.min(QUADS) {
        let mut left: [u8; N] = from_fn(|lane| above[lane][0]);
        for x in 0..columns.min(QUADS) {
            let at = (y + 1) * PITCH + x + 1;
            for lane in 0..N {
                let up = if y > 0 { above[lane][x] } else { left[lane] };
                let drop = rans[lane].get(quad_context(peaks[lane], left[lane], up, shapes[lane].diagonal));
                let quad = peaks[lane].wrapping_sub(drop);
                lengths[lane].quads[at] = quad;
                lengths[lane].coded[counts[lane]] = at as u16;
                counts[lane] += usize::from(quad > 0);
                (left[lane], above[lane][x]) = (drop, drop);
            }
        }
    }
    let all = counts.iter().fold(usize::MAX, |all, &count| all.min(count));
    for index in 0..all {
        let at = from_fn(|lane| usize::from(lengths[lane].coded[index]));
        read_quad(&mut lengths, rans, at);
    }
    for lane in 0..N {
        for index in all..counts[lane] {
            let at = usize::from(lengths[lane].coded[index]);
            read_quad(from_mut(&mut lengths[lane]), from_mut(&mut rans[lane]), [at]);
        }
    }
}

/// Reads the bit-lengths of one quad's coefficients in each block.
#[inline(always)]
fn read_quad<const N: usize>(lengths: &mut [&mut Lengths; N], rans: &mut [Rans<'_>; N], at: [usize; N]) {
    let quad: [u8; N] = from_fn(|lane| lengths[lane].quads[at[lane]]);
    let left: [[u8; 4]; N] = from_fn(|lane| lengths[lane].coefficients[at[lane] - 1]);
    let above: [[u8; 4]; N] = from_fn(|lane| lengths[lane].coefficients[at[lane] - PITCH]);
    // What each position's neighbours outside the quad make of its context.
    let sums: [[usize; 4]; N] = from_fn(|lane| {
        let near = |length: u8| usize::from(NEARNESS[usize::from(quad[lane]) % LENGTHS][usize::from(length) % LENGTHS]);
        let right = near(lengths[lane].quads[at[lane] + 1]);
        let below = near(lengths[lane].quads[at[lane] + PITCH]);
        let (left, above) = (left[lane], above[lane]);
        [near(left[1]) + near(above[2]), right + near(above[3]), near(left[3]) + below, right + below]
    });
    let mut found = [[0; 4]; N];
    let mut reached = [false; N];
    for position in 0..4 {
        for lane in 0..N {
            let context = match (position, reached[lane]) {
                // The last one has the quad's length if no other has.
                (3, false) => CERTAIN,
                (_, reached) => coefficient_row(quad[lane], position, reached) + sums[lane][position],
            };
            let drop = rans[lane].get(context);
            found[lane][position] = quad[lane].wrapping_sub(drop);
            reached[lane] |= drop == 0;
        }
    }
    for lane in 0..N {
        lengths[lane].coefficients[at[lane]] = found[lane];
    }
}

/// Reads the raw bits and writes the coefficients; `end` is the payload and where the raw bytes end.
#[inline(always)]
fn finish(scratch: &mut Scratch, job: Job<'_>, end: Option<(u16, usize)>, tile: &mut [f32]) -> Result<(), Damaged> {
    let Scratch { bytes, lengths } = scratch;
    let (payload, raw_end) = end.ok_or(Damaged)?;
    let total = check_lengths(lengths, job.shape)?;
    if raw_end != MARGIN + total.saturating_sub(PAYLOAD_BITS as usize).div_ceil(8) {
        return Err(Damaged);
    }
    // The payload is the first raw bits: it goes right before the others.
    bytes[MARGIN - 2..MARGIN].copy_from_slice(&payload.to_le_bytes());
    let mut next = 8 * (MARGIN - 2);
    let rows = job.shape.height.div_ceil(2);
    for (y, to) in tile.chunks_exact_mut(2 * BLOCK_SIDE).enumerate() {
        if y < rows {
            next = read_row(lengths, y, bytes, next, job.quantiser, to);
        } else {
            to.fill(0.0);
        }
    }
    bytes[MARGIN - 2..MARGIN].fill(0);
    Ok(())
}

/// The number of raw bits, unless there are lengths that no encoder has.
#[inline(always)]
fn check_lengths(lengths: &Lengths, shape: Shape) -> Result<usize, Damaged> {
    let wrong = lengths.quads.iter().fold(0, |most, &quad| most.max(quad)) > MAX_LENGTH;
    let most = lengths.coefficients.as_flattened().iter().fold(0, |most, &length| most.max(length));
    if wrong || most > MAX_LENGTH {
        return Err(Damaged);
    }
    let sum: u32 = lengths.coefficients.as_flattened().iter().fold(0, |sum, &a| sum.wrapping_add(a.into()));
    // What an odd width or height cuts off is zero.
    let (columns, rows) = quads_of(shape);
    let outside = |y: usize, x: usize, position: usize| lengths.coefficients[(y + 1) * PITCH + x + 1][position] > 0;
    let beyond = (shape.width % 2 == 1 && (0..rows).any(|y| outside(y, columns - 1, 1) || outside(y, columns - 1, 3)))
        || (shape.height % 2 == 1 && (0..columns).any(|x| outside(rows - 1, x, 2) || outside(rows - 1, x, 3)));
    if beyond { Err(Damaged) } else { Ok(sum as usize) }
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
    four.copy_from_slice(&lengths.coefficients[(y + 1) * PITCH + 1..][..QUADS]);
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
            let value = (magnitude as i32 as f32).mul_add(quantiser.step, quantiser.offset);
            let signed = f32::from_bits(value.to_bits() | bits[row][x] << 31);
            to[x] = if magnitude == 0 { 0.0 } else { signed };
        }
    }
    next
}
