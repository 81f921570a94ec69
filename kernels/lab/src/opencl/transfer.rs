//! Copies between host and device through pinned memory: how long they take, for measurements.

use std::time::{Duration, Instant};

use device::Result;
use device::queue::{Buffer, Pinned, Queue, wait};
use kernels::OpenError;
use kernels::parts::opencl::find;

/// A queue with pinned host memory and device memory of one size.
pub struct OpenClTransfer {
    queue: Queue,
    host: Pinned<u8>,
    memory: Buffer<u8>,
    bytes: usize,
}

/// Durations on the host's clock, from the call to the end of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTimes {
    /// Host to device.
    pub upload: Duration,
    /// Device to host.
    pub download: Duration,
}

impl OpenClTransfer {
    /// Allocates memory for copies of `bytes` on the device whose name contains `device`, or on the best one.
    pub fn open(device: Option<&str>, bytes: usize) -> Result<Self, OpenError> {
        let queue = Queue::new(&find(device)?)?;
        let (host, memory) = (queue.pinned(bytes)?, queue.buffer(bytes)?);
        Ok(Self { queue, host, memory, bytes })
    }

    /// Returns the device's name.
    pub fn device(&self) -> &str {
        &self.queue.device().info.name
    }

    /// Copies once there and once back.
    pub fn run(&mut self) -> Result<TransferTimes> {
        let start = Instant::now();
        let event = self.queue.upload(&self.host, &self.memory, self.bytes)?;
        self.queue.flush()?;
        wait(&[event])?;
        let upload = start.elapsed();
        let event = self.queue.download(&self.memory, &mut self.host, self.bytes)?;
        self.queue.flush()?;
        wait(&[event])?;
        Ok(TransferTimes { upload, download: start.elapsed() - upload })
    }
}
