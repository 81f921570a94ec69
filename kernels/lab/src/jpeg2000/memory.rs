//! Memory for whole pictures.

use std::ops::{Deref, DerefMut};

/// Bytes of a large page.
const LARGE_PAGE: usize = 1 << 21;

/// Values, zeros at first, in large pages if there are many. Of much memory each page costs a call of the kernel when it is used
/// first, which takes longer than what is done with it.
#[derive(Clone, Debug, Default)]
pub struct Pages<T> {
    values: Vec<T>,
    /// Those before the first large page, which nobody uses.
    start: usize,
    count: usize,
}

impl<T: Copy + Default> Pages<T> {
    /// Returns so many zeros.
    pub fn zeros(count: usize) -> Self {
        let bytes = count * size_of::<T>();
        if bytes < LARGE_PAGE || !cfg!(target_os = "linux") {
            return Self { values: vec![T::default(); count], start: 0, count };
        }
        let pages = bytes.div_ceil(LARGE_PAGE);
        // Zeros that nobody uses take no memory.
        let values = vec![T::default(); (pages + 1) * LARGE_PAGE / size_of::<T>()];
        let start = values.as_ptr().align_offset(LARGE_PAGE).min(values.len() - count);
        #[cfg(target_os = "linux")]
        advise(&values[start..], pages);
        Self { values, start, count }
    }
}

impl<T> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.start..][..self.count]
    }
}

impl<T> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..][..self.count]
    }
}

impl<T> AsRef<[T]> for Pages<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// Asks for large pages, as many of those that begin `values` as lie in them.
#[cfg(target_os = "linux")]
fn advise<T>(values: &[T], pages: usize) {
    let bytes = (size_of_val(values) / LARGE_PAGE).min(pages) * LARGE_PAGE;
    if (values.as_ptr() as usize).is_multiple_of(LARGE_PAGE) {
        // SAFETY: whole pages of memory that is there; the advice changes nothing in them. A kernel that knows none says so.
        unsafe { libc::madvise(values.as_ptr().cast_mut().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}
