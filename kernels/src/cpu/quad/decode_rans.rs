//! The rANS decoder of `reference::rans`, arranged for speed: it reads from the end of a block's bytes.

use picture::pyramid::BLOCK_SIDE;
use picture::run::BLOCK_BYTES_MAX;

use crate::reference::rans::STATE_MIN;
use crate::tables::{CONTEXTS, FREQUENCIES, PROBABILITY_BITS, START, SYMBOLS};

/// Most symbols of a block without escapes.
const SYMBOLS_MAX: usize = 1 + BLOCK_SIDE * BLOCK_SIDE / 4 + BLOCK_SIDE * BLOCK_SIDE;
/// Zeros before a block's bytes: as many as can be read beyond their front.
pub(super) const MARGIN: usize = 2 * SYMBOLS_MAX + 6;
/// Room for the bytes of a block and as many as raw bits are read ahead: any 16-bit position has eight bytes.
pub(super) const ROOM: usize = (1 << 16) + 7;
const _: () = assert!(MARGIN + BLOCK_BYTES_MAX + 8 <= ROOM);

/// Returns the eight bytes from `at` on, a position of at most 16 bits, of which more would be cut off.
#[inline(always)]
pub(super) fn eight_at(bytes: &[u8; ROOM], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at % (1 << 16)..][..8]);
    u64::from_le_bytes(eight)
}

/// A context in which symbol 0 is certain: decoding it reads nothing.
pub(super) const CERTAIN: usize = CONTEXTS;

/// A context's part of the decoding tables.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row {
    /// 1 less than the first slot of each symbol; of symbols that cannot occur, beyond the last slot.
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
            rows[context].starts[symbol] = start as i16 - 1;
            rows[context].symbols[symbol + 1] = (start as u32) << 16 | frequency as u32;
        }
        at += 1;
    }
    rows[CERTAIN].starts[0] = -1;
    rows[CERTAIN].symbols[1] = 1 << PROBABILITY_BITS;
    rows
}

/// One block's decoder.
#[derive(Debug)]
pub(super) struct RansReader<'a> {
    /// At least [`STATE_MIN`] and below 2^24.
    state: u32,
    bytes: &'a [u8; ROOM],
    /// End of the bytes not read yet; below [`MARGIN`] once reading has passed the front.
    at: usize,
}

impl<'a> RansReader<'a> {
    /// Creates a decoder of a block's bytes from [`MARGIN`] to `end`.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8; ROOM], end: usize) -> Self {
        let at = end - 3;
        Self { state: eight_at(bytes, at) as u32 & 0xff_ffff, bytes, at }
    }

    /// Returns true if an encoder may end, or start, with the state.
    #[inline(always)]
    pub(super) fn is_sound(&self) -> bool {
        self.state >= STATE_MIN
    }

    /// Returns the next symbol.
    #[inline(always)]
    pub(super) fn get(&mut self, context: usize) -> u8 {
        let row = &ROWS[context];
        let slot = self.state & ((1 << PROBABILITY_BITS) - 1);
        let symbol = symbols_to(&row.starts, slot as i16);
        let (frequency, start) = (row.symbols[symbol] & 0xffff, row.symbols[symbol] >> 16);
        let state = frequency.wrapping_mul(self.state >> PROBABILITY_BITS).wrapping_add(slot).wrapping_sub(start);
        // The state is at least 16: no, one or two bytes come in. Two are read, and those not needed shifted out.
        let surplus = !state.leading_zeros() & 24;
        let before = self.at.wrapping_sub(2);
        let longer = u64::from(state) << 16 | eight_at(self.bytes, before) & 0xffff;
        self.state = longer.wrapping_shr(surplus) as u32;
        self.at = before.wrapping_add((surplus / 8) as usize);
        (symbol as u8).wrapping_sub(1)
    }

    /// Returns the encoder's first state and the end of the raw bytes; `None` if bytes were missing or no encoder
    /// starts with the state left.
    #[inline(always)]
    pub(super) fn finish(self) -> Option<(u32, usize)> {
        (self.is_sound() && self.at >= MARGIN).then_some((self.state, self.at))
    }
}

/// Returns the number of symbols whose first slot is not beyond `slot`, from 1 less than each: 1 to 16, because that of
/// symbol 0 is 0.
#[inline(always)]
fn symbols_to(starts: &[i16; SYMBOLS], slot: i16) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        use std::arch::x86_64::{_mm_cmpgt_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16};
        // SAFETY: SSE2 is part of the target, and the two loads read the 16 values of `starts`.
        let there = unsafe {
            let first = _mm_loadu_si128(starts.as_ptr().cast());
            let second = _mm_loadu_si128(starts.as_ptr().add(8).cast());
            let slot = _mm_set1_epi16(slot);
            _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(slot, first), _mm_cmpgt_epi16(slot, second)))
        };
        there.count_ones() as usize
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        starts.iter().filter(|&&before| slot > before).count()
    }
}
