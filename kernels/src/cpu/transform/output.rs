//! Destinations of the rows of samples that an inverse level makes.

use crate::cpu::colour::round_row;
use crate::cpu::vector::VectorSample;

/// The form in which a sample `T` is kept: itself, or the byte of a picture.
pub(in crate::cpu) trait Output<T>: Send + Sized {
    /// Lets `merge` make a row of `columns` samples and keeps what `to` has room for; `row` has room for a row.
    fn keep(to: &mut [Self], columns: usize, row: &mut [T], merge: impl FnOnce(&mut [T]));
}

impl<T: VectorSample> Output<T> for T {
    #[inline(always)]
    fn keep(to: &mut [T], columns: usize, _row: &mut [T], merge: impl FnOnce(&mut [T])) {
        merge(&mut to[..columns]);
    }
}

impl Output<f32> for u8 {
    #[inline(always)]
    fn keep(to: &mut [u8], columns: usize, row: &mut [f32], merge: impl FnOnce(&mut [f32])) {
        merge(&mut row[..columns]);
        round_row(to, &row[..to.len()]);
    }
}
