//! The limits of a device, checked before the buffers of an encoder, decoder or transform are allocated.

use std::sync::atomic::{AtomicU64, Ordering};

use ocl::core::MemFlags;

use crate::{DeviceError, Result};

/// Bytes of buffers to come.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    device_bytes: AtomicU64,
    /// Of host memory that the device reaches.
    pinned_bytes: AtomicU64,
}

impl Memory {
    /// Adds a buffer with these flags; an error if a device of `there_bytes` cannot hold it besides those before. Host memory
    /// counts where it is the device's own.
    pub(crate) fn add(&self, bytes: u64, flags: MemFlags, (there_bytes, is_host): (u64, bool)) -> Result<()> {
        let is_pinned = flags.contains(MemFlags::ALLOC_HOST_PTR);
        let sum = if is_pinned { &self.pinned_bytes } else { &self.device_bytes };
        sum.fetch_add(bytes, Ordering::Relaxed);
        let [device_bytes, pinned_bytes] =
            [&self.device_bytes, &self.pinned_bytes].map(|sum| sum.load(Ordering::Relaxed));
        let pinned_bytes = if is_host { pinned_bytes } else { 0 };
        fits("altogether", device_bytes.saturating_add(pinned_bytes), there_bytes)
    }
}

pub(crate) fn fits(extent: &'static str, needed_bytes: u64, there_bytes: u64) -> Result<()> {
    if needed_bytes <= there_bytes {
        return Ok(());
    }
    Err(DeviceError::OutOfMemory { extent, needed_bytes, there_bytes })
}

/// Sums of what a thread counts and of what it allocates: builds for tests compare the two.
#[cfg(debug_assertions)]
pub mod noted {
    use std::cell::Cell;

    use super::{Memory, Ordering};

    thread_local! {
        static COUNTED_BYTES: Cell<u64> = const { Cell::new(0) };
        static ALLOCATED_BYTES: Cell<u64> = const { Cell::new(0) };
    }

    /// Notes what this thread has counted.
    pub(crate) fn count(memory: &Memory) {
        COUNTED_BYTES.set(memory.device_bytes.load(Ordering::Relaxed) + memory.pinned_bytes.load(Ordering::Relaxed));
    }

    /// Notes what this thread allocates.
    pub(crate) fn allocation(bytes: u64) {
        ALLOCATED_BYTES.set(ALLOCATED_BYTES.get() + bytes);
    }

    /// Returns the bytes that this thread has counted since the last call.
    pub fn take_counted() -> u64 {
        COUNTED_BYTES.replace(0)
    }

    /// Returns the bytes that this thread has allocated since the last call.
    pub fn take_allocated() -> u64 {
        ALLOCATED_BYTES.replace(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;

    #[test]
    fn both_limits_are_checked_with_numbers() {
        let (memory, device) = (Memory::default(), named(None).unwrap().built_in());
        [(400, MemFlags::READ_WRITE), (200, MemFlags::READ_WRITE), (1000, MemFlags::ALLOC_HOST_PTR)]
            .into_iter()
            .for_each(|(bytes, flags)| {
                memory.add(bytes, flags, (device.info.memory_bytes, device.shares_host_memory)).unwrap()
            });
        assert_eq!((memory.device_bytes.into_inner(), memory.pinned_bytes.into_inner()), (600, 1000));
        fits("altogether", 1600, 1600).unwrap();
        let text = fits("altogether", 1601, 1600).unwrap_err().to_string();
        assert!(text.contains("1601") && text.contains("1600") && text.contains("altogether"), "{text}");
    }
}
