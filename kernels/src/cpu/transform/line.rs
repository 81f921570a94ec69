//! Rows while they are lifted, each as its low and its high half.

use crate::cpu::vector::VectorSample;

/// Columns before those of a half: the longest vector.
pub(super) const HALO: usize = 16;
/// Halves start on cache lines.
const ALIGN_BYTES: usize = 64;

/// A few rows, both halves of each one behind the other. Column c is at `HALO + c` of its half.
#[derive(Debug)]
pub(super) struct LineBuffer<T> {
    data: Vec<T>,
    start: usize,
    half: usize,
}

impl<T: VectorSample> LineBuffer<T> {
    /// Creates `count` rows of up to `columns` columns in a half, with room behind them for whole vectors of all parts.
    pub(super) fn new(count: usize, columns: usize) -> Self {
        let per_line = ALIGN_BYTES / size_of::<T>();
        // An odd number of cache lines, so that rows do not push each other out of a cache.
        let half = per_line * ((columns + 4 * HALO).div_ceil(per_line) | 1);
        let data = vec![T::default(); 2 * half * count + per_line];
        let start = data.as_ptr().align_offset(ALIGN_BYTES).min(per_line);
        Self { data, start, half }
    }

    /// Returns the distance from one row to the next.
    #[inline(always)]
    pub(super) fn pitch(&self) -> usize {
        2 * self.half
    }

    /// Returns the low and the high half of a row.
    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> [&[T]; 2] {
        self.data[self.start + index * self.pitch()..][..2 * self.half].split_at(self.half).into()
    }

    /// Returns the low and the high half of a row.
    #[inline(always)]
    pub(super) fn line_mut(&mut self, index: usize) -> [&mut [T]; 2] {
        let at = self.start + index * self.pitch();
        self.data[at..][..2 * self.half].split_at_mut(self.half).into()
    }

    /// Returns half `half` of the first row and of all that follow, [`Self::pitch`] apart.
    #[inline(always)]
    pub(super) fn half(&self, half: usize) -> &[T] {
        &self.data[self.start + half * self.half..]
    }

    /// Returns half `half` of the first row and of all that follow, [`Self::pitch`] apart.
    #[inline(always)]
    pub(super) fn half_mut(&mut self, half: usize) -> &mut [T] {
        &mut self.data[self.start + half * self.half..]
    }
}
