//! Arithmetic of rows: of a unit out of those of its cells, and of samples out of sums.

use crate::cpu::simd::multiversion;
use crate::motion::field::CELL_WEIGHT;

multiversion! {
    /// A row of a unit out of those of its cells.
    pub(crate) fn blend_row(out: &mut [u8], rows: [&[u8]; 4], second: &[u8], below: u8) = blend_row_body;
}

#[inline(always)]
fn blend_row_body(out: &mut [u8], rows: [&[u8]; 4], second: &[u8], below: u8) {
    match out.len() {
        8 => blend_row_of::<8>(out, rows, second, below),
        16 => blend_row_of::<16>(out, rows, second, below),
        _ => blend_row_of::<32>(out, rows, second, below),
    }
}

#[inline(always)]
fn blend_row_of<const W: usize>(out: &mut [u8], [a, b, c, d]: [&[u8]; 4], second: &[u8], below: u8) {
    let (Some(a), Some(b), Some(c), Some(d)) =
        (a.first_chunk::<W>(), b.first_chunk(), c.first_chunk(), d.first_chunk())
    else {
        return;
    };
    let (c, d): (&[u8; W], &[u8; W]) = (c, d);
    let (Some(out), Some(second)) = (out.first_chunk_mut::<W>(), second.first_chunk::<W>()) else { return };
    let b: &[u8; W] = b;
    let (upper, lower) = (u16::from(CELL_WEIGHT - below), u16::from(below));
    for x in 0..W {
        let (left, right) = (u16::from(CELL_WEIGHT.wrapping_sub(second[x])), u16::from(second[x]));
        let row = |a: u8, b: u8| (left.wrapping_mul(a.into())).wrapping_add(right.wrapping_mul(b.into()));
        let sum = upper.wrapping_mul(row(a[x], b[x])).wrapping_add(lower.wrapping_mul(row(c[x], d[x])));
        out[x] = (sum.wrapping_add(32) >> 6) as u8;
    }
}

multiversion! {
    /// Sums to samples.
    pub(crate) fn round_sums(out: &mut [u8], sums: &[u16]) = round_sums_body;
}

#[inline(always)]
fn round_sums_body(out: &mut [u8], sums: &[u16]) {
    for (to, &sum) in out.iter_mut().zip(sums) {
        *to = (sum.wrapping_add(128) >> 8) as u8;
    }
}
