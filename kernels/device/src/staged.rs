//! Device memory with pinned host memory of the same size.

use ocl::core::OclPrm;

use crate::Result;
use crate::queue::{Buffer, Event, Pinned, Queue};

/// Device memory, and pinned host memory of the same size from and to which it is copied.
pub struct Staged<T: OclPrm> {
    /// Memory of the device.
    pub device: Buffer<T>,
    /// Memory of the host.
    pub host: Pinned<T>,
}

impl<T: OclPrm> Staged<T> {
    /// Allocates both for `len` values.
    pub fn new(queue: &Queue, len: usize) -> Result<Self> {
        Ok(Self { device: queue.buffer(len)?, host: queue.pinned(len)? })
    }

    /// Makes room for `len` values; whether that took other memory, in which nothing is yet. Bytes lie in whole words.
    pub fn grow(&mut self, queue: &Queue, len: usize) -> Result<bool> {
        let is_short = len > self.device.len();
        if is_short {
            *self = Self::new(queue, (len + len / 4).next_multiple_of(4))?;
        }
        Ok(is_short)
    }

    /// Starts copying `values`, at least one and no more than there is room for, to the device.
    pub fn upload(&mut self, queue: &Queue, values: &[T]) -> Result<Event> {
        self.host.values_mut()[..values.len()].copy_from_slice(values);
        queue.upload(&self.host, &self.device, values.len())
    }

    /// Starts copying the first `len` values to the host.
    pub fn download(&mut self, queue: &Queue, len: usize) -> Result<Event> {
        queue.download(&self.device, &mut self.host, len)
    }
}
