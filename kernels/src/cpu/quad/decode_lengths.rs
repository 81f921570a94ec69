//! Decodes the bit-lengths of one or more blocks at the same time.

use std::array::from_mut;

use super::decode_rans::{CERTAIN, RansReader};
use super::tile::QUADS;
use crate::reference::quad::{Damaged, Shape};
use crate::tables::{COEFFICIENT_SUMS, MAX_LENGTH, QUAD_SUMS, coefficient_row, nearness, quad_context};

/// Quads in a row with a margin on both sides.
const PITCH: usize = QUADS + 2;
/// Quads of a tile with a margin on all sides, quad (y, x) at `(y + 1) * PITCH + x + 1`.
const GRID: usize = PITCH * PITCH;

/// Bit-lengths of a block; 0 in the margins.
#[derive(Debug)]
pub(super) struct Lengths {
    quads: [u8; GRID],
    /// Those of the coefficients (0,0), (0,1), (1,0), (1,1) of each quad.
    coefficients: [[u8; 4]; GRID],
    /// Places in the grid of the quads that are not zero, in decoding order.
    coded: [u16; QUADS * QUADS],
}

impl Lengths {
    /// Creates lengths that are all zero.
    pub(super) fn new() -> Self {
        Self { quads: [0; GRID], coefficients: [[0; 4]; GRID], coded: [0; QUADS * QUADS] }
    }

    /// Returns those of the coefficients of row `y` of quads.
    #[inline(always)]
    pub(super) fn row(&self, y: usize) -> &[[u8; 4]] {
        &self.coefficients[(y + 1) * PITCH + 1..][..QUADS]
    }
}

/// [`nearness`] of any length (second) to a quad's (first).
static NEARNESS: [[u8; 256]; LENGTHS] = nearnesses();
/// A power of two above [`MAX_LENGTH`].
const LENGTHS: usize = 32;

const fn nearnesses() -> [[u8; 256]; LENGTHS] {
    let mut table = [[0; 256]; LENGTHS];
    let mut at = 0;
    while at < LENGTHS * 256 {
        table[at / 256][at % 256] = nearness((at % 256) as u8, (at / 256) as u8) as u8;
        at += 1;
    }
    table
}

/// Columns and rows of quads.
#[inline(always)]
pub(super) fn quads_of(shape: Shape) -> (usize, usize) {
    (shape.width.div_ceil(2), shape.height.div_ceil(2))
}

/// Reads all bit-lengths of blocks with equally many quads. A drop below zero wraps to more than [`MAX_LENGTH`].
#[inline(always)]
pub(super) fn read_lengths<const N: usize>(
    lengths: &mut [Lengths; N],
    rans: &mut [RansReader<'_>; N],
    shapes: [Shape; N],
    peaks: [u8; N],
) {
    let (columns, rows) = quads_of(shapes[0]);
    let mut counts = [0_usize; N];
    let mut firsts = [0; N];
    for lane in 0..N {
        lengths[lane].quads.fill(0);
        lengths[lane].coefficients.fill([0; 4]);
        firsts[lane] = quad_context(peaks[lane], 0, 0, shapes[lane].diagonal);
    }
    // In the first row the quad before stands for the one above: its drop is written twice.
    let mut above = [[0_u8; QUADS + 1]; N];
    for y in 0..rows.min(QUADS) {
        let mut left = above.map(|drops| drops[0]);
        let twice = usize::from(y == 0);
        for x in 0..columns.min(QUADS) {
            let at = (y + 1) * PITCH + x + 1;
            for lane in 0..N {
                let sum = usize::from(left[lane]) + usize::from(above[lane][x]);
                let drop = rans[lane].get(firsts[lane] + sum.min(QUAD_SUMS - 1));
                let quad = peaks[lane].wrapping_sub(drop);
                let lengths = &mut lengths[lane];
                lengths.quads[at] = quad;
                lengths.coded[counts[lane] % (QUADS * QUADS)] = at as u16;
                counts[lane] += usize::from(quad > 0);
                above[lane][x + twice] = drop;
                above[lane][x] = drop;
                left[lane] = drop;
            }
        }
    }
    let all = counts.iter().fold(usize::MAX, |all, &count| all.min(count));
    for index in 0..all {
        let mut at = [0; N];
        for lane in 0..N {
            at[lane] = usize::from(lengths[lane].coded[index % (QUADS * QUADS)]);
        }
        read_quad(lengths, rans, at);
    }
    for lane in 0..N {
        for index in all..counts[lane] {
            let at = usize::from(lengths[lane].coded[index % (QUADS * QUADS)]);
            read_quad(from_mut(&mut lengths[lane]), from_mut(&mut rans[lane]), [at]);
        }
    }
}

/// Reads the bit-lengths of one quad's coefficients in each block.
#[inline(always)]
fn read_quad<const N: usize>(lengths: &mut [Lengths; N], rans: &mut [RansReader<'_>; N], at: [usize; N]) {
    let mut quad = [0; N];
    // The contexts that the quad and what lies around it make for each position if none before has the quad's length.
    let mut contexts = [[0; 4]; N];
    for lane in 0..N {
        let quads = &lengths[lane].quads[at[lane]..][..PITCH + 1];
        let coefficients = &lengths[lane].coefficients[at[lane] - PITCH..][..PITCH];
        quad[lane] = quads[0];
        let nearness = &NEARNESS[usize::from(quad[lane]) % LENGTHS];
        let near = [
            quads[1],
            quads[PITCH],
            coefficients[PITCH - 1][1],
            coefficients[PITCH - 1][3],
            coefficients[0][2],
            coefficients[0][3],
        ];
        let [right, below, left_up, left_low, above, above_right] =
            near.map(|length| usize::from(nearness[usize::from(length)]));
        let sums = [left_up + above, right + above_right, left_low + below, right + below];
        let first = coefficient_row(quad[lane].max(1), 0, false);
        for position in 0..4 {
            contexts[lane][position] = first + sums[position] + STATES[position] * COEFFICIENT_SUMS;
        }
    }
    let mut found = [[0; 4]; N];
    let mut reached = [0; N];
    for lane in 0..N {
        read_one(&mut rans[lane], contexts[lane][0], quad[lane], &mut found[lane][0], &mut reached[lane]);
    }
    for lane in 0..N {
        let context = contexts[lane][1] + reached[lane] * COEFFICIENT_SUMS;
        read_one(&mut rans[lane], context, quad[lane], &mut found[lane][1], &mut reached[lane]);
    }
    for lane in 0..N {
        let context = contexts[lane][2] + reached[lane] * COEFFICIENT_SUMS;
        read_one(&mut rans[lane], context, quad[lane], &mut found[lane][2], &mut reached[lane]);
    }
    for lane in 0..N {
        // The last one has the quad's length if no other has. Without a branch, which would often be predicted wrongly.
        let context = CERTAIN ^ (contexts[lane][3] ^ CERTAIN) & reached[lane].wrapping_neg();
        read_one(&mut rans[lane], context, quad[lane], &mut found[lane][3], &mut reached[lane]);
    }
    for lane in 0..N {
        lengths[lane].coefficients[at[lane]] = found[lane];
    }
}

/// States of the positions in a quad of which none before has the quad's length; of the last one, of which one has.
const STATES: [usize; 4] = [0, 1, 3, 5];

/// Reads one bit-length, and whether it or one before is the quad's.
#[inline(always)]
fn read_one(rans: &mut RansReader<'_>, context: usize, quad: u8, found: &mut u8, reached: &mut usize) {
    let drop = rans.get(context);
    *found = quad.wrapping_sub(drop);
    *reached |= usize::from(drop == 0);
}

/// Returns the number of raw bits, unless there are lengths that no encoder has.
#[inline(always)]
pub(super) fn check_lengths(lengths: &Lengths, shape: Shape) -> Result<usize, Damaged> {
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
