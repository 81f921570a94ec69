//! Arithmetic of windows, row by row: their cells, their weighted sums, and how far a source is from them.

use super::simd::multiversion;
use crate::motion::field::{CELL_WEIGHT, WINDOW};
use crate::motion::predictor::Rect;

multiversion! {
    /// A row of a unit out of those of its cells.
    pub(crate) fn blend_row(out: &mut [u8], rows: [&[u8]; 4], second: &[u8; WINDOW], below: u8) = blend_row_body;
}

#[inline(always)]
fn blend_row_body(out: &mut [u8], rows: [&[u8]; 4], second: &[u8; WINDOW], below: u8) {
    let rows = rows.map(|row| &row[..WINDOW]);
    let (upper, lower) = (u16::from(CELL_WEIGHT - below), u16::from(below));
    for (x, to) in out[..WINDOW].iter_mut().enumerate() {
        let (left, right) = (u16::from(CELL_WEIGHT - second[x]), u16::from(second[x]));
        let row = |a: u8, b: u8| (left.wrapping_mul(a.into())).wrapping_add(right.wrapping_mul(b.into()));
        let sum = upper
            .wrapping_mul(row(rows[0][x], rows[1][x]))
            .wrapping_add(lower.wrapping_mul(row(rows[2][x], rows[3][x])));
        *to = (sum.wrapping_add(32) >> 6) as u8;
    }
}

multiversion! {
    /// Adds a window to sums, rows `pitch` apart, with weights across and down.
    pub(crate) fn add_window(sums: &mut [u16], pitch: usize, weights: [&[u16]; 2], samples: &[u8; WINDOW * WINDOW]) = add_window_body;
}

#[inline(always)]
fn add_window_body(sums: &mut [u16], pitch: usize, weights: [&[u16]; 2], samples: &[u8; WINDOW * WINDOW]) {
    window_rows(sums, pitch, weights, samples, |sum, weighted| *sum = sum.wrapping_add(weighted));
}

multiversion! {
    /// Takes such a window away from sums.
    pub(crate) fn subtract_window(sums: &mut [u16], pitch: usize, weights: [&[u16]; 2], samples: &[u8; WINDOW * WINDOW]) = subtract_window_body;
}

#[inline(always)]
fn subtract_window_body(sums: &mut [u16], pitch: usize, weights: [&[u16]; 2], samples: &[u8; WINDOW * WINDOW]) {
    window_rows(sums, pitch, weights, samples, |sum, weighted| *sum = sum.wrapping_sub(weighted));
}

#[inline(always)]
fn window_rows(
    sums: &mut [u16],
    pitch: usize,
    [across, down]: [&[u16]; 2],
    samples: &[u8; WINDOW * WINDOW],
    change: impl Fn(&mut u16, u16),
) {
    for ((row, samples), &weight) in sums.chunks_mut(pitch).zip(samples.chunks_exact(WINDOW)).zip(down) {
        if let (Some(row), Some(across)) = (row.first_chunk_mut::<WINDOW>(), across.first_chunk::<WINDOW>()) {
            for ((sum, &sample), &across) in row.iter_mut().zip(samples).zip(across) {
                change(sum, across.wrapping_mul(weight).wrapping_mul(sample.into()));
            }
        } else {
            for ((sum, &sample), &across) in row.iter_mut().zip(samples).zip(across) {
                change(sum, across.wrapping_mul(weight).wrapping_mul(sample.into()));
            }
        }
    }
}

multiversion! {
    /// Sums to samples.
    pub(crate) fn round_sums(out: &mut [u8], sums: &[u16]) = round_sums_body;
}

#[inline(always)]
fn round_sums_body(out: &mut [u8], sums: &[u16]) {
    for (to, &sum) in out.iter_mut().zip(sums) {
        *to = rounded(sum);
    }
}

#[inline(always)]
fn rounded(sum: u16) -> u8 {
    (sum.wrapping_add(128) >> 8) as u8
}

multiversion! {
    /// Sum of absolute differences of a source from what sums, rows `pitch` apart, and one more window predict; weights across
    /// and down.
    pub(crate) fn overlapped_difference(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize, weights: [&[u16]; 2], samples: &[u8; WINDOW * WINDOW]) -> u32 = overlapped_difference_body;
}

#[inline(always)]
fn overlapped_difference_body(
    source: &[u8],
    source_pitch: usize,
    sums: &[u16],
    pitch: usize,
    [across, down]: [&[u16]; 2],
    samples: &[u8; WINDOW * WINDOW],
) -> u32 {
    let mut total = 0;
    let rows = source.chunks(source_pitch).zip(sums.chunks(pitch)).zip(samples.chunks_exact(WINDOW));
    for (((source, sums), samples), &weight) in rows.zip(down) {
        let one = |source: u8, sum: u16, sample: u8, across: u16| {
            let sum = sum.wrapping_add(across.wrapping_mul(weight).wrapping_mul(sample.into()));
            u16::from(source.abs_diff(rounded(sum)))
        };
        // A row has at most 32 differences of 255.
        let mut row: u16 = 0;
        if let (Some(source), Some(sums), Some(across)) =
            (source.first_chunk::<WINDOW>(), sums.first_chunk::<WINDOW>(), across.first_chunk::<WINDOW>())
        {
            for x in 0..WINDOW {
                row = row.wrapping_add(one(source[x], sums[x], samples[x], across[x]));
            }
        } else {
            for x in 0..across.len() {
                row = row.wrapping_add(one(source[x], sums[x], samples[x], across[x]));
            }
        }
        total += u32::from(row);
    }
    total
}

multiversion! {
    /// Sum of absolute differences of a source from sums, rows `pitch` apart, over a rectangle.
    pub(crate) fn difference_from_sums(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize, rect: Rect) -> u32 = difference_from_sums_body;
}

#[inline(always)]
fn difference_from_sums_body(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize, rect: Rect) -> u32 {
    let rows = source.chunks(source_pitch).zip(sums.chunks(pitch)).take(rect.height);
    rows.map(|(source, sums)| {
        let both = source[..rect.width].iter().zip(&sums[..rect.width]);
        both.map(|(&source, &sum)| u32::from(source.abs_diff(rounded(sum)))).sum::<u32>()
    })
    .sum()
}

multiversion! {
    /// Returns the sum of absolute differences of a source from a window, over a rectangle of its size.
    pub(crate) fn difference(source: &[u8], source_pitch: usize, samples: &[u8], pitch: usize, rect: Rect) -> u32 = difference_body;
}

#[inline(always)]
fn difference_body(source: &[u8], source_pitch: usize, samples: &[u8], pitch: usize, rect: Rect) -> u32 {
    let mut total = 0;
    for (source, samples) in source.chunks(source_pitch).zip(samples.chunks(pitch)).take(rect.height) {
        let (source, samples) = (source[..rect.width].as_chunks::<8>(), samples[..rect.width].as_chunks::<8>());
        for (source, samples) in source.0.iter().zip(samples.0) {
            let each = source.iter().zip(samples).map(|(&a, &b)| u32::from(a.abs_diff(b)));
            total += each.sum::<u32>();
        }
        total += source.1.iter().zip(samples.1).map(|(&a, &b)| u32::from(a.abs_diff(b))).sum::<u32>();
    }
    total
}
