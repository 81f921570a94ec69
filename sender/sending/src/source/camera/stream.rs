//! A camera's buffers while it gives pictures.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use memmap2::Mmap;

use super::device::{Device, Filled};
use crate::source::samples::Lent;

/// Buffers to ask for: three pictures may be lent (one waits, one is coded, one comes), and the driver fills others meanwhile.
const BUFFERS: u32 = 6;
/// Buffers that the driver keeps when pictures are lent: it fills one while another is full.
const KEPT: usize = 2;
const _: () = assert!(KEPT < BUFFERS as usize, "some pictures are lent");

/// Pause after a driver has had nothing to give, though it said so.
const NOTHING: Duration = Duration::from_millis(1);

/// Pictures that come into mapped buffers.
#[derive(Debug)]
pub(super) struct Stream {
    device: Arc<Device>,
    buffers: Vec<Buffer>,
    give_back: Sender<usize>,
    given_back: Receiver<usize>,
}

#[derive(Debug)]
struct Buffer {
    memory: Arc<Mmap>,
    holder: Holder,
}

/// Holders of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Driver,
    Stream,
    /// The picture in it is used elsewhere.
    Lent,
}

impl Stream {
    /// Maps buffers of the driver's and lets pictures come.
    pub(super) fn start(device: Arc<Device>) -> io::Result<Self> {
        let (give_back, given_back) = channel();
        let mut this = Self { device, buffers: Vec::new(), give_back, given_back };
        let count = this.device.request_buffers(BUFFERS)?;
        if count == 0 {
            return Err(io::Error::new(ErrorKind::OutOfMemory, "it gives no buffers"));
        }
        for index in 0..count.min(2 * BUFFERS) {
            let memory = Arc::new(this.device.map(index)?);
            this.buffers.push(Buffer { memory, holder: Holder::Stream });
        }
        for index in 0..this.buffers.len() {
            this.queue(index)?;
        }
        this.device.start()?;
        Ok(this)
    }

    fn queue(&mut self, index: usize) -> io::Result<()> {
        self.device.queue(index)?;
        self.buffers[index].holder = Holder::Driver;
        Ok(())
    }

    /// Waits for a picture; none: there is none within `limit`.
    pub(super) fn take(&mut self, limit: Duration) -> io::Result<Option<Filled>> {
        while let Ok(index) = self.given_back.try_recv() {
            self.queue(index)?;
        }
        if !self.device.wait(limit)? {
            return Ok(None);
        }
        let filled = self.dequeue()?;
        if filled.is_none() {
            // A driver that always says that there is something must not take the whole processor.
            std::thread::sleep(NOTHING);
        }
        Ok(filled)
    }

    /// Takes a picture that is there already.
    pub(super) fn dequeue(&mut self) -> io::Result<Option<Filled>> {
        let filled = match self.device.dequeue() {
            Ok(filled) => filled,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let invalid = |text| Err(io::Error::new(ErrorKind::InvalidData, text));
        match self.buffers.get_mut(filled.index) {
            Some(buffer) if buffer.holder == Holder::Driver => buffer.holder = Holder::Stream,
            Some(_) => return invalid(format!("its driver gives buffer {} twice", filled.index)),
            None => return invalid(format!("its driver gives buffer {} of {}", filled.index, self.buffers.len())),
        }
        Ok(Some(filled))
    }

    /// Returns the memory of a picture; an error says what the driver has got wrong.
    pub(super) fn bytes(&self, filled: &Filled) -> Result<&[u8], String> {
        let memory: &[u8] = self.buffers.get(filled.index).map_or(&[], |buffer| &buffer.memory);
        let all = memory.len();
        memory.get(..filled.bytes).ok_or_else(|| format!("it has {} bytes in memory for {all}", filled.bytes))
    }

    /// Gives the memory of a picture back to the driver.
    pub(super) fn put_back(&mut self, filled: &Filled) -> io::Result<()> {
        if self.buffers.get(filled.index).is_some_and(|buffer| buffer.holder == Holder::Stream) {
            self.queue(filled.index)?;
        }
        Ok(())
    }

    /// Lends the first `bytes` of a picture; none: the driver would have too few buffers left.
    pub(super) fn lend(&mut self, filled: &Filled, bytes: usize) -> Option<Lent> {
        let kept = self.buffers.iter().filter(|buffer| buffer.holder == Holder::Driver).count();
        let buffer = self.buffers.get_mut(filled.index).filter(|buffer| buffer.memory.len() >= bytes)?;
        if kept < KEPT || buffer.holder != Holder::Stream {
            return None;
        }
        buffer.holder = Holder::Lent;
        let (memory, give_back) = (Arc::clone(&buffer.memory), self.give_back.clone());
        Some(Lent::new(memory, bytes, filled.index, give_back))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Err(error) = self.device.stop() {
            tracing::debug!("a camera cannot be switched off: {error}");
        }
        self.buffers.clear();
        // What is lent still goes with its last user, and closing the device frees the rest.
        let _ = self.device.request_buffers(0);
    }
}
