//! Decodes the bit-lengths of one or more blocks at the same time.

use std::array::from_mut;

use super::decode_rans::{CERTAIN, Rans};
use super::tile::QUADS;
use crate::reference::quad::{Damaged, Shape};
use crate::tables::{MAX_LENGTH, coefficient_row, nearness, quad_context};

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
    /// Where in the grid the quads are that are not zero, in decoding order.
    coded: [u16; QUADS * QUADS],
}

impl Lengths {
    /// All zero.
    pub(super) fn new() -> Self {
        Self { quads: [0; GRID], coefficients: [[0; 4]; GRID], coded: [0; QUADS * QUADS] }
    }

    /// Those of the coefficients of row `y` of quads.
    #[inline(always)]
    pub(super) fn row(&self, y: usize) -> &[[u8; 4]] {
        &self.coefficients[(y + 1) * PITCH + 1..][..QUADS]
    }
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

/// Columns and rows of quads.
#[inline(always)]
pub(super) fn quads_of(shape: Shape) -> (usize, usize) {
    (shape.width.div_ceil(2), shape.height.div_ceil(2))
}

/// Reads all bit-lengths of blocks with equally many quads. A drop below zero wraps to more than [`MAX_LENGTH`].
#[inline(always)]
pub(super) fn read_lengths<const N: usize>(
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
        let mut left = [0; N];
        for lane in 0..N {
            left[lane] = above[lane][0];
        }
        #[allow(clippy::needless_range_loop, reason = "each iteration takes a column of `above`")]
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
        let mut at = [0; N];
        for lane in 0..N {
            at[lane] = usize::from(lengths[lane].coded[index]);
        }
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
    let mut quad = [0; N];
    // What each position's neighbours outside the quad make of its context.
    let mut sums = [[0; 4]; N];
    for lane in 0..N {
        let (Lengths { quads, coefficients, .. }, at) = (&*lengths[lane], at[lane]);
        quad[lane] = quads[at];
        let nearness = &NEARNESS[usize::from(quad[lane]) % LENGTHS];
        let near = |length: u8| usize::from(nearness[usize::from(length) % LENGTHS]);
        let (right, below) = (near(quads[at + 1]), near(quads[at + PITCH]));
        let (left, above) = (coefficients[at - 1], coefficients[at - PITCH]);
        sums[lane] = [near(left[1]) + near(above[2]), right + near(above[3]), near(left[3]) + below, right + below];
    }
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

/// The number of raw bits, unless there are lengths that no encoder has.
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
