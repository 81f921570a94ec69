//! Memory for whole pictures.

/// Returns so many zeros. Of much memory each page costs a call of the kernel when it is used first, which takes longer than what is
/// done with it: pages of 2 MiB are asked for.
pub(super) fn zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    let values = vec![T::default(); count];
    #[cfg(target_os = "linux")]
    advise(&values);
    values
}

/// Bytes of a large page.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 1 << 21;

#[cfg(target_os = "linux")]
fn advise<T>(values: &[T]) {
    let start = (values.as_ptr() as usize).next_multiple_of(LARGE_PAGE);
    let end = (values.as_ptr() as usize + size_of_val(values)) & !(LARGE_PAGE - 1);
    if start < end {
        // SAFETY: whole pages of memory that is there; the advice changes nothing in them. A kernel that knows none says so.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}
