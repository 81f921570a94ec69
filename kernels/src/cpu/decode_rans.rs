//! The rANS decoder of `reference::rans`, arranged for speed: it reads from the end of a block's bytes.

use common::pyramid::BLOCK_SIDE;
use common::wire::run::BLOCK_BYTES_MAX;

use crate::reference::rans::STATE_MIN;
use crate::tables::{CONTEXTS, FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS};

/// Most symbols of a block without escapes.
const SYMBOLS_MAX: usize = 1 + BLOCK_SIDE * BLOCK_SIDE / 4 + BLOCK_SIDE * BLOCK_SIDE;
/// Zeros before a block's bytes: as many as can be read beyond their front.
pub(super) const MARGIN: usize = 2 * SYMBOLS_MAX + 6;
/// Room for the bytes of a block and as many as raw bits are read ahead.
pub(super) const ROOM: usize = MARGIN + BLOCK_BYTES_MAX + 8;

/// A context in which symbol 0 is certain: decoding it reads nothing.
pub(super) const CERTAIN: usize = CONTEXTS;

/// What decoding needs of a context.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row {
    /// First slot of each symbol; of symbols that cannot occur, beyond the last slot.
    starts: [i16; SYMBOLS],
    /// At 1 more than each symbol: its frequency, and above 16 bits its first slot.
    symbols: [u32; SYMBOLS + 1],
}

static ROWS: [Row; CONTEXTS + 1] = rows();

const fn rows() -> [Row; CONTEXTS + 1] {
    let mut rows = [Row { starts: [i16::MAX; SYMBOLS], symbols: [0; SYMBOLS + 1] }; CONTEXTS + 1];
    let mut at = 0;
    while at < CONTEXTS * SYMBOLS {
        let (context, symbol) = (at / SYMBOLS, at % SYMBOLS);
        let (frequency, start) = (FREQUENCIES[context][symbol], START[context][symbol]);
        if frequency > 0 {
            rows[context].starts[symbol] = start as i16;
            rows[context].symbols[symbol + 1] = (start as u32) << 16 | frequency as u32;
        }
        at += 1;
    }
    rows[CERTAIN].starts[0] = 0;
    rows[CERTAIN].symbols[1] = 1 << PROBABILITY_BITS;
    rows
}

/// One block's decoder.
#[derive(Debug)]
pub(super) struct Rans<'a> {
    /// At least [`STATE_MIN`] and below 2^24.
    state: u32,
    bytes: &'a [u8; ROOM],
    /// Where the bytes not read yet end; below [`MARGIN`] once reading has passed the front.
    at: usize,
}

impl<'a> Rans<'a> {
    /// For a block's bytes from [`MARGIN`] to `end`; `None` if they end with a state that no encoder ends with.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8; ROOM], end: usize) -> Option<Self> {
        let at = end - 3;
        let last = &bytes[at..][..3];
        let state = u32::from_le_bytes([last[0], last[1], last[2], 0]);
        (state >= STATE_MIN).then_some(Self { state, bytes, at })
    }

    /// The next symbol.
    #[inline(always)]
    pub(super) fn get(&mut self, context: usize) -> u8 {
        let row = &ROWS[context];
        let slot = self.state & ((1 << PROBABILITY_BITS) - 1);
        let symbol = symbols_to(&row.starts, slot as i16);
        let (frequency, start) = (row.symbols[symbol] & 0xffff, row.symbols[symbol] >> 16);
        let state = frequency.wrapping_mul(self.state >> PROBABILITY_BITS).wrapping_add(slot).wrapping_sub(start);
        // The state is at least 16: no, one or two bytes come in. Two are read, and those not needed shifted out.
        let surplus = !state.leading_zeros() & 24;
        let pair = &self.bytes[self.at.wrapping_sub(2)..][..2];
        let longer = u64::from(state) << 16 | u64::from(u16::from_le_bytes([pair[0], pair[1]]));
        self.state = longer.wrapping_shr(surplus) as u32;
        self.at = self.at.wrapping_sub(2).wrapping_add((surplus / 8) as usize);
        (symbol as u8).wrapping_sub(1)
    }

    /// The encoder's first state and the end of the raw bytes; `None` if bytes were missing or no encoder starts with
    /// the state left.
    #[inline(always)]
    pub(super) fn finish(self) -> Option<(u32, usize)> {
        (self.state >= STATE_MIN && self.at >= MARGIN).then_some((self.state, self.at))
    }
}

/// How many symbols have a first slot that is not beyond `slot`: 1 to 16, because that of symbol 0 is 0.
#[inline(always)]
fn symbols_to(starts: &[i16; SYMBOLS], slot: i16) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        use std::arch::x86_64::{_mm_cmpgt_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16};
        // SAFETY: SSE2 is part of the target, and the two loads read the 16 values of `starts`.
        let beyond = unsafe {
            let first = _mm_loadu_si128(starts.as_ptr().cast());
            let second = _mm_loadu_si128(starts.as_ptr().add(8).cast());
            let slot = _mm_set1_epi16(slot);
            _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(first, slot), _mm_cmpgt_epi16(second, slot)))
        };
        (beyond as u32 | 1 << SYMBOLS).trailing_zeros() as usize
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        1 + starts[1..].iter().filter(|&&first| first <= slot).count()
    }
}
