//! The samples of a picture, wherever they are.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use memmap2::Mmap;

/// Samples in memory of this program, or in a driver's that lends it.
#[derive(Debug)]
pub struct Samples(Memory);

#[derive(Debug)]
enum Memory {
    /// To be used again.
    Own(Vec<u8>),
    /// The driver has it back when this is dropped.
    Lent(Lent),
}

impl Samples {
    /// Samples in the memory of a driver.
    pub(super) fn lent(lent: Lent) -> Self {
        Self(Memory::Lent(lent))
    }

    /// Returns true if a driver has the memory back.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.0, Memory::Lent(_))
    }

    /// Returns the memory to use again; none: the driver has it back.
    pub fn into_memory(self) -> Option<Vec<u8>> {
        match self.0 {
            Memory::Own(memory) => Some(memory),
            Memory::Lent(_) => None,
        }
    }

    /// Gives memory of this program to `used`, and that of a driver back to it.
    pub(crate) fn give_back(self, used: &Sender<Vec<u8>>) {
        if let Some(memory) = self.into_memory() {
            // Without a capture thread there is nobody to use it again.
            let _ = used.send(memory);
        }
    }
}

impl std::ops::Deref for Samples {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Own(memory) => memory,
            Memory::Lent(lent) => lent,
        }
    }
}

impl From<Vec<u8>> for Samples {
    fn from(memory: Vec<u8>) -> Self {
        Self(Memory::Own(memory))
    }
}

impl Clone for Samples {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Samples {}

/// A picture in the driver's memory, which the driver has back when this is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    memory: Arc<Mmap>,
    bytes: usize,
    index: usize,
    give_back: Sender<usize>,
}

impl Lent {
    /// The first `bytes` of buffer `index`, which goes to `give_back` at the end.
    pub(super) fn new(memory: Arc<Mmap>, bytes: usize, index: usize, give_back: Sender<usize>) -> Self {
        Self { memory, bytes, index, give_back }
    }
}

impl std::ops::Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.bytes]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Nobody waits for it once the stream has ended.
        let _ = self.give_back.send(self.index);
    }
}
