//! Range variant of asymmetric numeral systems (Duda, 2013) with byte renormalisation.
//!
//! The state lies in [2^16, 2^24). Encoding a symbol of frequency f (of 2^12) and start c turns the state x, after
//! it was brought below f 2^12 by moving its low bytes out, into `(x / f) 2^12 + x mod f + c`. The decoder does
//! the inverse from the last byte to the first, so the encoder takes the symbols in reverse.

use crate::tables::{FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS};

/// Lower end of the state's interval.
pub(crate) const STATE_MIN: u32 = 1 << 16;
const _: () = assert!(STATE_MIN >= 1 << PROBABILITY_BITS, "each symbol fits the interval");
/// Returns the bits that the encoder's first state carries below its leading one: the last of `raw` raw bits. 16 to 23,
/// so that whole bytes are left; fewer raw bits are filled up with zeros.
pub(crate) const fn payload_bits(raw: usize) -> u32 {
    if raw < 16 { 16 } else { 16 + raw as u32 % 8 }
}

/// Returns the bytes of those of `raw` raw bits that are not in the first state.
pub(crate) const fn raw_bytes(raw: usize) -> usize {
    (raw / 8).saturating_sub(2)
}

/// Writes symbols, last one first.
#[derive(Debug)]
pub(crate) struct RansEncoder<'a> {
    state: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> RansEncoder<'a> {
    /// Appends to `out`; the decoder will find `payload`, of `bits` bits, when it has read every symbol.
    pub(crate) fn new(payload: u32, bits: u32, out: &'a mut Vec<u8>) -> Self {
        Self { state: (1 << bits) | payload, out }
    }

    /// Writes a symbol that can occur in `context`.
    pub(crate) fn put(&mut self, context: usize, symbol: usize) {
        self.put_range(START[context][symbol].into(), FREQUENCIES[context][symbol].into());
    }

    /// Writes the symbol that has `frequency` of 2^12 from `start` on.
    pub(crate) fn put_range(&mut self, start: u32, frequency: u32) {
        while self.state >= frequency << PROBABILITY_BITS {
            self.out.push(self.state as u8);
            self.state >>= 8;
        }
        self.state = ((self.state / frequency) << PROBABILITY_BITS) + self.state % frequency + start;
    }

    /// Writes the final state, 3 bytes, low byte first.
    pub(crate) fn finish(self) {
        self.out.extend_from_slice(&self.state.to_le_bytes()[..3]);
    }
}

/// Reads symbols from the end of `bytes` towards its front; zeros beyond the front.
#[derive(Debug)]
pub(crate) struct RansDecoder<'a> {
    state: u32,
    bytes: &'a [u8],
    /// Bytes not read yet, negative once reading has passed the front.
    left: isize,
}

impl<'a> RansDecoder<'a> {
    /// Reads the final state from the last 3 bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { state: 0, bytes, left: bytes.len() as isize };
        for _ in 0..3 {
            decoder.shift_in();
        }
        decoder
    }

    /// Returns the next symbol, in `context`; one of those that can occur in it.
    pub(crate) fn get(&mut self, context: usize) -> usize {
        let slot = self.slot();
        let symbol = (1..SYMBOLS).rev().find(|&s| FREQUENCIES[context][s] > 0 && u32::from(START[context][s]) <= slot);
        let symbol = symbol.unwrap_or(0);
        self.take(START[context][symbol].into(), FREQUENCIES[context][symbol].into());
        symbol
    }

    /// Returns the slot of the next symbol, of 2^12.
    pub(crate) fn slot(&self) -> u32 {
        self.state & ((1 << PROBABILITY_BITS) - 1)
    }

    /// Goes on behind the symbol that has `frequency` of 2^12 from `start` on, in which [`Self::slot`] must lie.
    pub(crate) fn take(&mut self, start: u32, frequency: u32) {
        self.state = frequency * (self.state >> PROBABILITY_BITS) + self.slot() - start;
        // An encoder's state is back in its interval after at most two bytes.
        for _ in 0..2 {
            if self.state < STATE_MIN {
                self.shift_in();
            }
        }
    }

    /// Returns, after the last symbol, the encoder's first state, its payload below a leading one, and how many bytes
    /// at the front were not read; `None` if the state is below all that an encoder starts with or bytes were missing.
    pub(crate) fn finish(&self) -> Option<(u32, usize)> {
        let left = usize::try_from(self.left).ok()?;
        (self.state >= STATE_MIN).then_some((self.state, left))
    }

    fn shift_in(&mut self) {
        self.left -= 1;
        let byte = usize::try_from(self.left).map_or(0, |at| self.bytes[at]);
        self.state = (self.state << 8) | u32::from(byte);
    }
}
