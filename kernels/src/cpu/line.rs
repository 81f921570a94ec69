//! A row while its columns are lifted: the low and the high half.

use super::filter::Element;

/// Columns before and after those of a half: the longest vector.
pub(super) const HALO: usize = 16;
/// Lines start on cache lines.
const ALIGN_BYTES: usize = 64;

/// Both halves of a row, one behind the other. Column c is at `HALO + c` of its half.
#[derive(Debug, Default)]
pub(super) struct Line<T> {
    data: Vec<T>,
    start: usize,
    half: usize,
}

impl<T: Element> Line<T> {
    /// For rows of up to `columns` columns in a half.
    pub(super) fn new(columns: usize) -> Self {
        let per_line = ALIGN_BYTES / size_of::<T>();
        let half = (columns + 2 * HALO).next_multiple_of(per_line);
        let data = vec![T::default(); 2 * half + per_line];
        let start = data.as_ptr().align_offset(ALIGN_BYTES).min(per_line);
        Self { data, start, half }
    }

    /// The low and the high half.
    #[inline(always)]
    pub(super) fn halves(&self) -> (&[T], &[T]) {
        self.data[self.start..self.start + 2 * self.half].split_at(self.half)
    }

    /// The low and the high half.
    #[inline(always)]
    pub(super) fn halves_mut(&mut self) -> (&mut [T], &mut [T]) {
        self.data[self.start..self.start + 2 * self.half].split_at_mut(self.half)
    }

    /// The low and the high half.
    #[inline(always)]
    pub(super) fn both(&self) -> [&[T]; 2] {
        self.halves().into()
    }

    /// The low and the high half.
    #[inline(always)]
    pub(super) fn both_mut(&mut self) -> [&mut [T]; 2] {
        self.halves_mut().into()
    }

    /// Zeros.
    pub(super) fn clear(&mut self) {
        self.data.fill(T::default());
    }
}
