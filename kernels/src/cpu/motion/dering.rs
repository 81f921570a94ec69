//! The filter in the loop on the processor: rows of squares at once, rows of a square in vectors of bytes.

use picture::frame::{Chroma, FrameSize};
use picture::vectors::{VECTOR_BLOCK, VectorLayout};
use rayon::prelude::*;

use super::planes::Bordered;
use crate::Picture;
use crate::cpu::simd::multiversion;
use crate::motion::dering::{Dering, GAINS_STEP, Gains, REACH, STRENGTHS, SUM_BITS, TAPS};
use crate::motion::field::UNIT;
use crate::motion::predictor::{plane_size, planes};

/// Side of the squares of a plane of half the width and height.
const HALF_BLOCK: usize = VECTOR_BLOCK / 2;
/// Rows that a row is filtered from.
const ROWS: usize = 2 * REACH + 1;
/// Samples of such a row that lie outside of the square.
const SIDES: usize = 2 * REACH;

/// Filters pictures of one stream.
#[derive(Debug)]
pub(crate) struct CpuDering {
    chroma: Chroma,
    layout: VectorLayout,
    planes: Vec<Plane>,
}

/// A plane before it is filtered.
#[derive(Debug)]
struct Plane {
    size: FrameSize,
    /// Side of its squares.
    side: usize,
    samples: Bordered,
}

/// A square of a plane.
#[derive(Clone, Copy)]
struct Square<'a> {
    /// Samples before they are filtered, from the first one on that is read.
    from: &'a [u8],
    pitch: usize,
    /// Columns that lie in the plane.
    columns: usize,
    side: usize,
}

impl CpuDering {
    /// For pictures of a stream.
    pub(crate) fn new(chroma: Chroma, size: FrameSize) -> Self {
        let plane = |channel| {
            let (size, unit) = plane_size(chroma, size, channel);
            Plane { size, side: VECTOR_BLOCK * unit / UNIT, samples: Bordered::new(size) }
        };
        let planes = (0..chroma.channels().len()).map(plane).collect();
        Self { chroma, layout: VectorLayout::new(size), planes }
    }

    /// Takes a picture, planar and of the stream's size, before it is filtered.
    pub(crate) fn take(&mut self, picture: &Picture) {
        for (plane, samples) in self.planes.iter_mut().zip(planes(self.chroma, picture.size(), picture.data())) {
            plane.samples.take(plane.size, samples);
        }
    }

    /// Filters the picture taken last.
    pub(crate) fn filter(&self, dering: &Dering, picture: &mut Picture) {
        let mut rest = picture.data_mut();
        for plane in &self.planes {
            plane.filter(dering, rest.split_off_mut(..plane.size.pixels()).unwrap_or_default());
        }
    }

    /// Filters the picture taken last, and returns the gains of each square, row by row, if its luma should be `source`: rows that
    /// these are of are filtered with all strengths.
    pub(crate) fn filter_and_gain(&self, dering: &Dering, source: &Bordered, picture: &mut Picture) -> Vec<Gains> {
        let mut rest = picture.data_mut();
        let [luma, colours @ ..] = &self.planes[..] else { return Vec::new() };
        let (width, out) = (luma.size.width(), rest.split_off_mut(..luma.size.pixels()).unwrap_or_default());
        let mut gains = self.no_gains();
        let rows = out.par_chunks_mut(width * VECTOR_BLOCK).zip(gains.par_chunks_mut(self.layout.columns()));
        rows.enumerate().for_each(|(row, (out, gains))| {
            for ((column, gains), &strength) in gains.iter_mut().enumerate().zip(dering.row(row)) {
                let out = (&mut out[column * VECTOR_BLOCK..], width);
                *gains = luma.gains([column, row], source, out, strength);
            }
        });
        for plane in colours {
            plane.filter(dering, rest.split_off_mut(..plane.size.pixels()).unwrap_or_default());
        }
        gains
    }

    /// Returns the gains of each square of the picture taken last, row by row, if its luma should be `source`.
    pub(crate) fn gains(&self, source: &Bordered) -> Vec<Gains> {
        let mut gains = self.no_gains();
        gains.par_chunks_mut(self.layout.columns()).enumerate().for_each(|(row, gains)| {
            for (column, gains) in gains.iter_mut().enumerate() {
                *gains = self.planes[0].gains([column, row], source, (&mut [], 0), 0);
            }
        });
        gains
    }

    fn no_gains(&self) -> Vec<Gains> {
        vec![Gains::default(); self.layout.columns() * self.layout.rows()]
    }
}

impl Plane {
    /// Writes the squares that are filtered.
    fn filter(&self, dering: &Dering, out: &mut [u8]) {
        let width = self.size.width();
        out.par_chunks_mut(width * self.side).enumerate().for_each(|(row, out)| {
            for (column, &strength) in dering.row(row).iter().enumerate().filter(|&(_, &strength)| strength > 0) {
                filter_square(self.square(column, row), &mut out[column * self.side..], width, strength);
            }
        });
    }

    /// Returns the gains of a square of luma, and filters it unless the strength is 0: `out` has its rows, a pitch apart.
    fn gains(&self, [column, row]: [usize; 2], source: &Bordered, out: (&mut [u8], usize), strength: u8) -> Gains {
        let [x, y] = [column, row].map(|at| at * VECTOR_BLOCK);
        let rows = VECTOR_BLOCK.min(self.size.height() - y);
        let source = (source.from(x as i32, y as i32), source.pitch);
        gain_square(self.square(column, row), rows, source, out, strength)
    }

    fn square(&self, column: usize, row: usize) -> Square<'_> {
        let [x, y] = [column, row].map(|at| (at * self.side) as i32 - REACH as i32);
        let columns = self.side.min(self.size.width() - column * self.side);
        Square { from: self.samples.from(x, y), pitch: self.samples.pitch, columns, side: self.side }
    }
}

multiversion! {
    /// Filters a square; `out` has the rows that lie in the plane.
    fn filter_square(square: Square<'_>, out: &mut [u8], out_pitch: usize, strength: u8) = filter_square_body;
}

#[inline(always)]
fn filter_square_body(square: Square<'_>, out: &mut [u8], out_pitch: usize, strength: u8) {
    if square.side == VECTOR_BLOCK {
        filter_rows::<VECTOR_BLOCK, { VECTOR_BLOCK + SIDES }>(square, out, out_pitch, strength);
    } else {
        filter_rows::<HALF_BLOCK, { HALF_BLOCK + SIDES }>(square, out, out_pitch, strength);
    }
}

#[inline(always)]
fn filter_rows<const W: usize, const READ: usize>(square: Square<'_>, out: &mut [u8], out_pitch: usize, strength: u8) {
    for (y, out) in out.chunks_mut(out_pitch).enumerate() {
        let Some(rows) = rows_at::<READ>(square, y) else { return };
        let filtered = filter_row::<W, READ>(rows, strength);
        write_row(square, &filtered, out);
    }
}

/// Writes a row of a square.
#[inline(always)]
fn write_row<const W: usize>(square: Square<'_>, filtered: &[u8; W], out: &mut [u8]) {
    match out.first_chunk_mut() {
        Some(out) if square.columns == W => *out = *filtered,
        _ => out[..square.columns].copy_from_slice(&filtered[..square.columns]),
    }
}

multiversion! {
    /// Returns the gains of a square of luma with so many rows, which should be `source`, and filters it unless the strength is 0.
    fn gain_square(square: Square<'_>, rows: usize, source: (&[u8], usize), out: (&mut [u8], usize), strength: u8) -> Gains = gain_body;
}

#[inline(always)]
fn gain_body(
    square: Square<'_>,
    rows: usize,
    (source, source_pitch): (&[u8], usize),
    (out, out_pitch): (&mut [u8], usize),
    strength: u8,
) -> Gains {
    const READ: usize = VECTOR_BLOCK + SIDES;
    let mut gains = Gains::default();
    let in_use = STRENGTHS.iter().position(|&of_index| of_index == strength);
    for y in (0..rows).step_by(GAINS_STEP) {
        let wanted = source.get(y.wrapping_mul(source_pitch)..).and_then(|row| row.first_chunk());
        let (Some(read), Some(wanted)) = (rows_at::<READ>(square, y), wanted) else { return gains };
        let own = neighbours(read, [0, 0]);
        let mut filtered = filter_row_with_each::<VECTOR_BLOCK, READ>(read);
        for (gain, filtered) in gains.iter_mut().zip(&mut filtered) {
            if square.columns < VECTOR_BLOCK {
                filtered[square.columns..].copy_from_slice(&own[square.columns..]);
            }
            *gain = gain.wrapping_add(gain_of_row(wanted, own, filtered));
        }
        let Some(in_use) = in_use.and_then(|index| filtered.get(index)) else { continue };
        write_row(square, in_use, &mut out[y * out_pitch..]);
        for y in y + 1..rows.min(y + GAINS_STEP) {
            let Some(read) = rows_at::<READ>(square, y) else { return gains };
            let filtered = filter_row::<VECTOR_BLOCK, READ>(read, strength);
            write_row(square, &filtered, &mut out[y * out_pitch..]);
        }
    }
    gains
}

/// Returns the squared error of a row that is filtered less that of the row itself.
#[inline(always)]
fn gain_of_row<const W: usize>(wanted: &[u8; W], own: &[u8; W], filtered: &[u8; W]) -> i32 {
    let mut sum = 0_i32;
    for x in 0..W {
        // (f - w)^2 - (o - w)^2 = (f - o) (f + o - 2 w)
        let [filtered, own, wanted] = [filtered[x], own[x], wanted[x]].map(i16::from);
        let errors = filtered.wrapping_add(own).wrapping_sub(wanted.wrapping_add(wanted));
        sum = sum.wrapping_add(i32::from(filtered.wrapping_sub(own)).wrapping_mul(errors.into()));
    }
    sum
}

/// Returns the rows that row `y` of a square is filtered from.
#[inline(always)]
fn rows_at<const READ: usize>(square: Square<'_>, y: usize) -> Option<[&[u8; READ]; ROWS]> {
    let mut rows = [&[0; READ]; ROWS];
    for (at, row) in rows.iter_mut().enumerate() {
        *row = square.from.get((y + at) * square.pitch..)?.first_chunk()?;
    }
    Some(rows)
}

/// Sums above the samples of a row and below them: of all neighbours counted once, and of those near by counted twice.
type Sums<const W: usize> = [[[u8; W]; 2]; 2];

// Each for itself, so that places and weights are constants.
macro_rules! for_each_tap {
    ($add:ident($sums:expr, $own:expr, $rows:expr, $strength:expr)) => {
        for_each_tap!(@ $add, $sums, $own, $rows, $strength, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
        const { assert!(TAPS.len() == 20) };
    };
    (@ $add:ident, $sums:expr, $own:expr, $rows:expr, $strength:expr, $($at:literal)*) => {
        $($add($sums, $own, $rows, TAPS[$at], $strength);)*
    };
}

/// Returns a row filtered.
#[inline(always)]
fn filter_row<const W: usize, const READ: usize>(rows: [&[u8; READ]; ROWS], strength: u8) -> [u8; W] {
    let own = neighbours(rows, [0, 0]);
    let mut sums = [[[0; W]; 2]; 2];
    for_each_tap!(add_tap(&mut sums, own, rows, strength));
    moved(own, &sums)
}

/// Returns a row filtered with each of [`STRENGTHS`].
#[inline(always)]
fn filter_row_with_each<const W: usize, const READ: usize>(rows: [&[u8; READ]; ROWS]) -> [[u8; W]; STRENGTHS.len()] {
    let own = neighbours(rows, [0, 0]);
    let mut sums = [[[[0; W]; 2]; 2]; STRENGTHS.len()];
    for_each_tap!(add_tap_to_each(&mut sums, own, rows, STRENGTHS));
    let mut out = [[0; W]; STRENGTHS.len()];
    for (out, sums) in out.iter_mut().zip(&sums) {
        *out = moved(own, sums);
    }
    out
}

/// Returns samples moved by what their sums say.
#[inline(always)]
fn moved<const W: usize>(own: &[u8; W], [of_all, of_near]: &Sums<W>) -> [u8; W] {
    let mut out = [0; W];
    for x in 0..W {
        let all = i16::from(of_all[0][x]).wrapping_sub(of_all[1][x].into());
        let near = i16::from(of_near[0][x]).wrapping_sub(of_near[1][x].into());
        let sum = all.wrapping_add(near).wrapping_add(near);
        let half = (1 << (SUM_BITS - 1)) - i16::from(sum < 0);
        out[x] = i16::from(own[x]).wrapping_add(sum.wrapping_add(half) >> SUM_BITS) as u8;
    }
    out
}

// Sums are bytes: the largest of one sign is this many times the largest difference.
const _: () = {
    let (mut odd, mut pairs, mut at) = (0, 0, 0);
    while at < TAPS.len() {
        assert!(TAPS[at].1 <= 3, "one of each at most");
        (odd, pairs) = (odd + TAPS[at].1 as u32 % 2, pairs + TAPS[at].1 as u32 / 2);
        at += 1;
    }
    let most = 2 * STRENGTHS[STRENGTHS.len() - 1] as u32 / 3;
    assert!(odd * most < 256 && pairs * most < 256);
};

/// Returns the samples so far to the right of those of a row, and below.
#[inline(always)]
fn neighbours<const W: usize, const READ: usize>(rows: [&[u8; READ]; ROWS], [right, below]: [i32; 2]) -> &[u8; W] {
    let row = &rows[(REACH as i32 + below) as usize][(REACH as i32 + right) as usize..];
    row.first_chunk().unwrap_or(&[0; W])
}

/// Adds what a neighbour is above the samples and what below, twice, or what is left of the strength.
#[inline(always)]
fn add_tap<const W: usize, const READ: usize>(
    [of_all, of_near]: &mut Sums<W>,
    own: &[u8; W],
    rows: [&[u8; READ]; ROWS],
    (place, weight): ([i32; 2], u8),
    strength: u8,
) {
    let other = neighbours::<W, READ>(rows, place);
    for x in 0..W {
        let differences = [other[x].saturating_sub(own[x]), own[x].saturating_sub(other[x])];
        let [above, below] = differences.map(|d| d.saturating_add(d).min(strength.saturating_sub(d)));
        if weight % 2 == 1 {
            of_all[0][x] = of_all[0][x].wrapping_add(above);
            of_all[1][x] = of_all[1][x].wrapping_add(below);
        }
        if weight > 1 {
            of_near[0][x] = of_near[0][x].wrapping_add(above);
            of_near[1][x] = of_near[1][x].wrapping_add(below);
        }
    }
}

/// Does so for several strengths. Of one it takes three times as long as [`add_tap`].
#[inline(always)]
fn add_tap_to_each<const W: usize, const N: usize, const READ: usize>(
    sums: &mut [Sums<W>; N],
    own: &[u8; W],
    rows: [&[u8; READ]; ROWS],
    (place, weight): ([i32; 2], u8),
    strengths: [u8; N],
) {
    let other = neighbours::<W, READ>(rows, place);
    let mut differences = [[0; W]; 2];
    for x in 0..W {
        differences[0][x] = other[x].saturating_sub(own[x]);
        differences[1][x] = own[x].saturating_sub(other[x]);
    }
    for ([of_all, of_near], strength) in sums.iter_mut().zip(strengths) {
        for ((of_all, of_near), differences) in of_all.iter_mut().zip(of_near).zip(&differences) {
            for x in 0..W {
                let d = differences[x];
                let counted = d.saturating_add(d).min(strength.saturating_sub(d));
                if weight % 2 == 1 {
                    of_all[x] = of_all[x].wrapping_add(counted);
                }
                if weight > 1 {
                    of_near[x] = of_near[x].wrapping_add(counted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::tests::quiet_picture;
    use crate::cpu::simd::Simd;
    use crate::motion::dering::tests::any_dering;

    #[test]
    fn every_instruction_set_filters_alike() {
        // On one thread: others run with the best set.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for (width, height, chroma) in [(1, 1, Chroma::C444), (17, 31, Chroma::C420), (130, 97, Chroma::C420)] {
            let size = FrameSize::new(width, height).unwrap();
            let (unfiltered, mut source) = (quiet_picture(chroma, size), quiet_picture(chroma, size));
            source
                .data_mut()
                .iter_mut()
                .enumerate()
                .for_each(|(at, sample)| *sample = sample.saturating_add(at as u8 % 5));
            let run = || {
                let (mut filter, mut filtered) = (CpuDering::new(chroma, size), unfiltered.clone());
                filter.take(&unfiltered);
                let (dering, mut luma) = (any_dering(size, 1), Bordered::new(size));
                luma.take(size, planes(chroma, size, source.data())[0]);
                let gains = filter.filter_and_gain(&dering, &luma, &mut filtered);
                let mut alone = unfiltered.clone();
                filter.filter(&dering, &mut alone);
                assert!(alone == filtered, "{size}: with and without gains");
                assert_eq!(gains, filter.gains(&luma), "{size}: whatever is filtered");
                (filtered, gains)
            };
            let plain = pool.install(|| Simd::Baseline.force(run));
            assert!(pool.install(run) == plain, "{size}");
        }
    }
}
