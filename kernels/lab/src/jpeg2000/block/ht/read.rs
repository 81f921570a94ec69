//! Readers of the streams of a block. Each goes on for ever: what is beyond its bytes is ones or zeros.

use super::tables::RUN_BITS;

/// Bits from the front, the lowest one first; a byte after one of ones has seven.
pub(super) struct Forward<'a> {
    bytes: std::slice::Iter<'a, u8>,
    beyond: u8,
    held: u64,
    count: u32,
    is_after_ones: bool,
}

impl<'a> Forward<'a> {
    /// Reads `bytes`, and then bytes of `beyond`.
    pub(super) fn new(bytes: &'a [u8], beyond: u8) -> Self {
        Self { bytes: bytes.iter(), beyond, held: 0, count: 0, is_after_ones: false }
    }

    /// Returns the next `count` bits, at most 32.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        while self.count < count {
            let byte = *self.bytes.next().unwrap_or(&self.beyond);
            self.held |= u64::from(byte) << self.count;
            self.count += 8 - u32::from(self.is_after_ones);
            self.is_after_ones = byte == 0xff;
        }
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        bits as u32
    }
}

/// Bits from the back, the lowest one first; of seven ones before a byte above 0x8f, the eighth bit is none.
pub(super) struct Backward<'a> {
    bytes: std::iter::Rev<std::slice::Iter<'a, u8>>,
    held: u64,
    count: u32,
    is_after_large: bool,
}

impl<'a> Backward<'a> {
    /// Reads `bytes`, and then zeros.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter().rev(), held: 0, count: 0, is_after_large: true }
    }

    /// Reads the codes of quads: of the last byte, four bits are of the length.
    pub(super) fn of_codes(bytes: &'a [u8]) -> Self {
        let (last, rest) = bytes.split_last().unwrap_or((&0, &[]));
        let held = u64::from(last >> 4);
        let count = if held & 7 == 7 { 3 } else { 4 };
        Self { bytes: rest.iter().rev(), held, count, is_after_large: last | 0xf > 0x8f }
    }

    /// Returns 32 bits or more, which stay where they are.
    #[inline]
    pub(super) fn peek(&mut self) -> u32 {
        while self.count < 32 {
            let byte = *self.bytes.next().unwrap_or(&0);
            self.held |= u64::from(byte) << self.count;
            self.count += if self.is_after_large && byte & 0x7f == 0x7f { 7 } else { 8 };
            self.is_after_large = byte > 0x8f;
        }
        self.held as u32
    }

    /// Goes on by `count` bits, at most as many as were seen.
    #[inline]
    pub(super) fn skip(&mut self, count: u32) {
        self.held >>= count;
        self.count -= count;
    }

    /// Returns the next `count` bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> u32 {
        let bits = u64::from(self.peek()) & ((1 << count) - 1);
        self.skip(count);
        bits as u32
    }
}

/// Events of quads without neighbours.
pub(super) struct EventReader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    held: u8,
    left: u32,
    state: usize,
    /// Quads without anything that are left of a run, and whether one with something follows.
    run: u32,
    ends: bool,
}

impl<'a> EventReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter(), held: 0, left: 0, state: 0, run: 0, ends: false }
    }

    fn bit(&mut self) -> u32 {
        if self.left == 0 {
            self.left = if self.held == 0xff { 7 } else { 8 };
            self.held = match self.bytes.as_slice() {
                [] => 0xff,
                // Both streams can share this byte.
                [last] => last | 0xf,
                [byte, ..] => *byte,
            };
            self.bytes.next();
        }
        self.left -= 1;
        u32::from(self.held >> self.left & 1)
    }

    pub(super) fn take(&mut self) -> bool {
        if self.run == 0 && !self.ends {
            let bits = RUN_BITS[self.state];
            if self.bit() != 0 {
                self.run = 1 << bits;
                self.state = (self.state + 1).min(RUN_BITS.len() - 1);
            } else {
                self.run = (0..bits).fold(0, |run, _| run << 1 | self.bit());
                self.ends = true;
                self.state = self.state.saturating_sub(1);
            }
        }
        if self.run == 0 {
            self.ends = false;
            return true;
        }
        self.run -= 1;
        false
    }
}
