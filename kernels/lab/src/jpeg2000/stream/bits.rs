//! Bits of packet headers: after a byte of ones comes a zero, so that no marker comes out.

/// Writes bits.
#[derive(Default)]
pub(crate) struct StuffedWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are not written.
    left: u32,
}

impl StuffedWriter {
    pub(crate) fn bit(&mut self, bit: bool) {
        if self.left == 0 {
            self.left = if self.bytes.last() == Some(&0xff) { 7 } else { 8 };
            self.bytes.push(0);
        }
        self.left -= 1;
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << self.left;
        }
    }

    /// Writes the lowest `count` bits, the highest one first.
    pub(crate) fn bits(&mut self, value: usize, count: u32) {
        (0..count).rev().for_each(|at| self.bit(value >> at & 1 != 0));
    }

    /// Returns the bytes; the last one is not all ones.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.bytes.last() == Some(&0xff) {
            self.bytes.push(0);
        }
        self.bytes
    }
}

/// Reads bits.
pub(crate) struct StuffedReader<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
    last: u8,
}

/// The bytes are at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended;

impl<'a> StuffedReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, left: 0, last: 0 }
    }

    pub(crate) fn bit(&mut self) -> Result<bool, Ended> {
        if self.left == 0 {
            self.left = if self.last == 0xff { 7 } else { 8 };
            self.last = *self.bytes.get(self.at).ok_or(Ended)?;
            self.at += 1;
        }
        self.left -= 1;
        Ok(self.last >> self.left & 1 != 0)
    }

    pub(crate) fn bits(&mut self, count: u32) -> Result<usize, Ended> {
        (0..count).try_fold(0, |value, _| Ok(value << 1 | usize::from(self.bit()?)))
    }

    /// Returns the bytes that have been read, with the one that follows a last byte of ones.
    pub(crate) fn finish(self) -> Result<usize, Ended> {
        match self.last {
            0xff if self.at >= self.bytes.len() => Err(Ended),
            0xff => Ok(self.at + 1),
            _ => Ok(self.at),
        }
    }
}
