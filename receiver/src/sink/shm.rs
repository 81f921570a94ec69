//! Memory that another process shares.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};

/// Pixels in a shared file, mapped until this value goes.
pub(super) struct Memory {
    start: NonNull<u32>,
    pixels: usize,
}

impl Memory {
    /// Maps the first `pixels` pixels, at least one, of the file `fd`.
    pub(super) fn map(fd: &OwnedFd, pixels: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the system chooses touches no memory of this program.
        let start = unsafe { libc::mmap(null_mut(), 4 * pixels, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        match NonNull::new(start.cast::<u32>()) {
            Some(place) if start != libc::MAP_FAILED => Ok(Self { start: place, pixels }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The pixels.
    pub(super) fn pixels(&mut self) -> &mut [u32] {
        // SAFETY: the mapping has so many, begins at a page, and lives as long as `self`; the other side only reads it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.pixels) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), 4 * self.pixels) };
    }
}
