//! `Quantiser::quantise_block` for a tile, straight to bit-lengths and raw bits: same values.
//!
//! Two passes over rows of quads: what each coefficient is cut to an integer decides how active its neighbourhood is,
//! and that decides what it becomes. Coefficients are kept by their position in the quad, (0,0), (0,1), (1,0), (1,1).

use picture::pyramid::BLOCK_SIDE;

use super::tile::{QUADS, TILE};
use crate::cpu::simd::truncated;
use crate::reference::quantise::{
    BESIDE_ONE, BESIDE_TWO, DeadZone, MAX_MAGNITUDE, PARTS, Quantiser, first_threshold, second_threshold,
};

/// The most activity that the first threshold takes.
const MOST_ACTIVE: u8 = 8 + BESIDE_ONE;
/// The lowest threshold there is: what is below becomes 0 wherever it is.
const LEAST: u8 = first_threshold(DeadZone::OF_PICTURES, MOST_ACTIVE);
const _: () = assert!(LEAST <= first_threshold(DeadZone::OF_RESIDUALS, MOST_ACTIVE));

/// A byte for each quad of a row.
pub(super) type QuadRow = [u8; QUADS];
/// A byte for each quad, with a margin of zeros on all sides: quad (y, x) is at `[y + 1][x + 1]`.
pub(super) type Grid = [[u8; QUADS + 2]; QUADS + 2];

/// A quantised block.
#[derive(Debug)]
pub(super) struct Quantised {
    /// Bit-lengths of the coefficients.
    pub(super) lengths: [Grid; 4],
    /// Largest bit-lengths of the quads.
    pub(super) quads: Grid,
    /// Raw bits of each quad, and how many.
    pub(super) bits: [[u64; QUADS]; QUADS],
    pub(super) bit_counts: [QuadRow; QUADS],
    /// Twice the magnitudes in parts of a step, plus 1 if negative.
    scaled: [[[u32; QUADS]; 4]; QUADS],
    /// Magnitudes in parts of a step, at most 255.
    parts: [[QuadRow; 4]; QUADS],
    /// The largest magnitude of each quad, cut to an integer of at most 2.
    whole: Grid,
}

impl Quantised {
    /// All zero.
    pub(super) const ZERO: Self = Self {
        lengths: [[[0; QUADS + 2]; QUADS + 2]; 4],
        quads: [[0; QUADS + 2]; QUADS + 2],
        bits: [[0; QUADS]; QUADS],
        bit_counts: [[0; QUADS]; QUADS],
        scaled: [[[0; QUADS]; 4]; QUADS],
        parts: [[[0; QUADS]; 4]; QUADS],
        whole: [[0; QUADS + 2]; QUADS + 2],
    };

    /// Quantises `rows` rows of quads; returns the largest bit-length.
    #[inline(always)]
    pub(super) fn set(&mut self, tile: &[f32; TILE], rows: usize, quantiser: Quantiser) -> u8 {
        let mut is_quiet = [true; QUADS];
        for (y, pair) in tile.chunks_exact(2 * BLOCK_SIDE).enumerate().take(rows) {
            is_quiet[y] = is_zero(largest(pair), quantiser.inverse);
            if is_quiet[y] {
                self.whole[y + 1] = [0; QUADS + 2];
            } else {
                self.scale(y, pair, quantiser.inverse);
            }
        }
        if is_quiet == [true; QUADS] {
            return 0;
        }
        // The margins below the quads must be zero again.
        self.whole[rows + 1] = [0; QUADS + 2];
        self.quads[rows + 1] = [0; QUADS + 2];
        let mut peaks = [0; QUADS];
        for (y, &is_quiet) in is_quiet.iter().enumerate().take(rows) {
            if is_quiet {
                self.keep(y, [[0; QUADS]; 4], [[0; QUADS]; 4], &mut peaks);
            } else {
                self.decide(y, quantiser, &mut peaks);
            }
        }
        peaks.into_iter().fold(0, u8::max)
    }

    /// Returns the number of raw bits of the first `rows` rows of quads; if all magnitudes are 1, their number.
    #[inline(always)]
    pub(super) fn raw_bits(&self, rows: usize) -> usize {
        self.bit_counts.iter().take(rows).flatten().map(|&count| usize::from(count)).sum()
    }

    /// Scales a row of quads to steps.
    #[inline(always)]
    fn scale(&mut self, y: usize, pair: &[f32], inverse: f32) {
        let (above, below) = pair.split_at(BLOCK_SIDE);
        let (scaled, parts) = (&mut self.scaled[y], &mut self.parts[y]);
        for (row, values) in [above, below].into_iter().enumerate() {
            let mut words = [0_u32; BLOCK_SIDE];
            for (word, value) in words.iter_mut().zip(values) {
                *word = (parts_of(value.abs(), inverse) << 1) | (value.to_bits() >> 31);
            }
            for x in 0..QUADS {
                scaled[2 * row][x] = words[2 * x];
                scaled[2 * row + 1][x] = words[2 * x + 1];
            }
        }
        for (parts, scaled) in parts.iter_mut().zip(&*scaled) {
            for (parts, scaled) in parts.iter_mut().zip(scaled) {
                *parts = (scaled >> 1).min(255) as u8;
            }
        }
        let largest = each(each(parts[0], parts[1], u8::max), each(parts[2], parts[3], u8::max), u8::max);
        self.whole[y + 1][1..=QUADS].copy_from_slice(&largest.map(whole));
    }

    /// Quantises a row of quads.
    #[inline(always)]
    fn decide(&mut self, y: usize, quantiser: Quantiser, peaks: &mut QuadRow) {
        let beside = each(row(&self.whole[y + 1], 0), row(&self.whole[y + 1], 2), u8::wrapping_add);
        let across = each(row(&self.whole[y], 1), row(&self.whole[y + 2], 1), u8::wrapping_add);
        let activity = each(beside, across, u8::wrapping_add);
        let parts = &self.parts[y];
        let pairs = [each(parts[0], parts[1], u8::max), each(parts[2], parts[3], u8::max)];
        let mut lengths = [[0_u8; QUADS]; 4];
        let mut words = [[0_u32; QUADS]; 4];
        for position in 0..4 {
            let others = each(parts[position ^ 1], pairs[1 - position / 2], u8::max);
            let mut small = [0_u8; QUADS];
            for x in 0..QUADS {
                let beside_one = if others[x] >= PARTS { BESIDE_ONE } else { 0 };
                let first = first_threshold(quantiser.dead_zone, activity[x].wrapping_add(beside_one));
                let beside_two = if others[x] >= 2 * PARTS { BESIDE_TWO } else { 0 };
                let second = second_threshold(activity[x].wrapping_add(beside_two));
                let here = parts[position][x];
                let one_or_two = u8::from(here >= first).wrapping_add(u8::from(here >= second));
                small[x] = if here >= quantiser.plain { u8::MAX } else { one_or_two };
            }
            for x in 0..QUADS {
                let scaled = self.scaled[y][position][x];
                let plain = scaled >> (1 + PARTS.trailing_zeros());
                let magnitude = if small[x] == u8::MAX { plain } else { u32::from(small[x]) };
                // The exponent of a number of at least 1 is its bit-length less one; of 0 it is far below.
                let length = ((magnitude as i32 as f32).to_bits() >> 23).saturating_sub(126);
                let word = (magnitude << 1) | (scaled & 1);
                lengths[position][x] = length as u8;
                // The word has length + 1 bits; the leading one is left out.
                words[position][x] = word & 1_u32.wrapping_shl(length).wrapping_sub(1);
            }
        }
        self.keep(y, lengths, words, peaks);
    }

    /// Notes bit-lengths and raw bits of a row of quads.
    #[inline(always)]
    fn keep(&mut self, y: usize, lengths: [QuadRow; 4], words: [[u32; QUADS]; 4], peaks: &mut QuadRow) {
        for (grid, lengths) in self.lengths.iter_mut().zip(&lengths) {
            grid[y + 1][1..=QUADS].copy_from_slice(lengths);
        }
        let [a, b, c, d] = lengths;
        let quads = each(each(a, b, u8::max), each(c, d, u8::max), u8::max);
        self.quads[y + 1][1..=QUADS].copy_from_slice(&quads);
        *peaks = each(*peaks, quads, u8::max);
        let behind = each(a, b, u8::wrapping_add);
        self.bit_counts[y] = each(behind, each(c, d, u8::wrapping_add), u8::wrapping_add);
        for x in 0..QUADS {
            // Each pair takes less than 32 bits below an escape.
            let first = u64::from(words[0][x]) | u64::from(words[1][x]).wrapping_shl(a[x].into());
            let second = u64::from(words[2][x]) | u64::from(words[3][x]).wrapping_shl(c[x].into());
            self.bits[y][x] = first | second.wrapping_shl(behind[x].into());
        }
    }
}

/// Returns a magnitude in parts of a step.
#[inline(always)]
fn parts_of(magnitude: f32, inverse: f32) -> u32 {
    // Multiplying by a power of two is exact, and the product stays below 2^30.
    truncated::<0, { 1 << 30 }>((magnitude * inverse).min(MAX_MAGNITUDE) * f32::from(PARTS)) as u32
}

/// Returns the largest magnitude.
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    // Magnitudes have the order of their bits.
    f32::from_bits(values.iter().fold(0, |largest, value| u32::max(largest, value.abs().to_bits())))
}

/// Returns true if a magnitude, and all that are less, are below the lowest threshold, and become 0.
#[inline(always)]
fn is_zero(magnitude: f32, inverse: f32) -> bool {
    parts_of(magnitude, inverse) < u32::from(LEAST)
}

/// Returns true if a block of no larger magnitude becomes all zero: without a step anywhere nothing is active.
pub(super) fn is_zero_block(largest: f32, inverse: f32) -> bool {
    const { assert!(first_threshold(DeadZone::OF_PICTURES, 0) >= PARTS) };
    const { assert!(first_threshold(DeadZone::OF_RESIDUALS, 0) >= PARTS) };
    parts_of(largest, inverse) < u32::from(PARTS)
}

/// Parts of a step cut to steps, at most 2.
#[inline(always)]
fn whole(parts: u8) -> u8 {
    (parts / PARTS).min(2)
}

/// Returns `f` of each quad's bytes in `a` and `b`.
#[inline(always)]
pub(super) fn each(a: QuadRow, b: QuadRow, f: impl Fn(u8, u8) -> u8) -> QuadRow {
    let mut out = [0; QUADS];
    for x in 0..QUADS {
        out[x] = f(a[x], b[x]);
    }
    out
}

/// Returns sixteen bytes of a row of a grid from `x` on.
#[inline(always)]
pub(super) fn row(grid: &[u8; QUADS + 2], x: usize) -> QuadRow {
    let mut out = [0; QUADS];
    out.copy_from_slice(&grid[x..][..QUADS]);
    out
}
