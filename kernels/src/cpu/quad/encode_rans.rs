//! The rANS encoder of `reference::rans` for several blocks at once: same bytes for each.
//!
//! Each symbol waits for the state that the one before left, so one block leaves most of the processor idle. The
//! states of two blocks have nothing to do with each other.

use crate::reference::rans::payload_bits;
use crate::tables::{CONTEXTS, FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS};

/// A symbol in its context, prepared for the encoder.
#[derive(Clone, Copy)]
struct Entry {
    /// ceil(2^36 / frequency): `(x * reciprocal) >> 36` is `x / frequency` for x < 2^24.
    reciprocal: u64,
    frequency: u16,
    /// 2^12 - frequency: `(x / f) 2^12 + x mod f` is `x + (x / f) (2^12 - f)`.
    complement: u16,
    start: u32,
}

static ENTRIES: [Entry; CONTEXTS * SYMBOLS] = entries();

const fn entries() -> [Entry; CONTEXTS * SYMBOLS] {
    let mut entries = [Entry { reciprocal: 0, frequency: 0, complement: 0, start: 0 }; CONTEXTS * SYMBOLS];
    let mut at = 0;
    while at < entries.len() {
        let frequency = FREQUENCIES[at / SYMBOLS][at % SYMBOLS];
        if frequency > 0 {
            let reciprocal = (1_u64 << 36).div_ceil(frequency as u64);
            let complement = (1 << PROBABILITY_BITS) - frequency;
            let start = START[at / SYMBOLS][at % SYMBOLS] as u32;
            entries[at] = Entry { reciprocal, frequency, complement, start };
        }
        at += 1;
    }
    entries
}

/// One block's encoder.
#[derive(Debug)]
pub(super) struct Rans<'a> {
    state: u32,
    /// Bytes written to `out`.
    at: usize,
    out: &'a mut [u8],
}

impl<'a> Rans<'a> {
    /// Starts with the last of `raw_bits` raw bits, the lowest in `last`, whose other bits do not matter. Writes to
    /// `out`, which has room for two bytes a symbol and three more.
    #[inline(always)]
    pub(super) fn new(last: u32, raw_bits: usize, out: &'a mut [u8]) -> Self {
        let leading = 1 << payload_bits(raw_bits);
        Self { state: leading | (last & (leading - 1)), at: 0, out }
    }

    /// Codes one symbol, `context * SYMBOLS + symbol`.
    #[inline(always)]
    fn put(&mut self, symbol: u16) {
        let entry = ENTRIES[usize::from(symbol)];
        let limit = u32::from(entry.frequency) << PROBABILITY_BITS;
        // Up to two low bytes leave; both are written, and kept or overwritten.
        let moved = u32::from(self.state >= limit).wrapping_add(u32::from(self.state >> 8 >= limit));
        self.out[self.at..][..2].copy_from_slice(&(self.state as u16).to_le_bytes());
        self.at = self.at.wrapping_add(moved as usize);
        let state = self.state.wrapping_shr(moved.wrapping_mul(8));
        // A state stays below 2^24 and a reciprocal at most 2^36: nothing wraps.
        let quotient = (u64::from(state).wrapping_mul(entry.reciprocal) >> 36) as u32;
        let grown = quotient.wrapping_mul(u32::from(entry.complement));
        self.state = state.wrapping_add(entry.start).wrapping_add(grown);
    }

    /// Writes the final state; returns the number of bytes.
    #[inline(always)]
    fn finish(self) -> usize {
        self.out[self.at..][..3].copy_from_slice(&self.state.to_le_bytes()[..3]);
        self.at + 3
    }
}

/// Codes two lists of symbols, last one first; returns the number of bytes of each.
#[inline(always)]
pub(super) fn code_two([mut a, mut b]: [Rans<'_>; 2], [first, second]: [&[u16]; 2]) -> [usize; 2] {
    let both = first.len().min(second.len());
    let (first, first_end) = first.split_at(first.len() - both);
    let (second, second_end) = second.split_at(second.len() - both);
    for (&x, &y) in first_end.iter().zip(second_end).rev() {
        a.put(x);
        b.put(y);
    }
    [code_one(a, first), code_one(b, second)]
}

/// Codes a list of symbols, last one first; returns the number of bytes.
#[inline(always)]
pub(super) fn code_one(mut rans: Rans<'_>, symbols: &[u16]) -> usize {
    for &symbol in symbols.iter().rev() {
        rans.put(symbol);
    }
    rans.finish()
}
