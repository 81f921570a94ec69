//! The MQ coder: adaptive binary arithmetic coding (ISO/IEC 15444-1, annex C).

/// Estimates of the rarer symbol's probability, in the order of the standard's table C.2: `(Qe, next after the likelier
/// symbol, next after the rarer one, whether that exchanges them)`.
const STATES: [(u16, u8, u8, bool); 47] = [
    (0x5601, 1, 1, true),
    (0x3401, 2, 6, false),
    (0x1801, 3, 9, false),
    (0x0ac1, 4, 12, false),
    (0x0521, 5, 29, false),
    (0x0221, 38, 33, false),
    (0x5601, 7, 6, true),
    (0x5401, 8, 14, false),
    (0x4801, 9, 14, false),
    (0x3801, 10, 14, false),
    (0x3001, 11, 17, false),
    (0x2401, 12, 18, false),
    (0x1c01, 13, 20, false),
    (0x1601, 29, 21, false),
    (0x5601, 15, 14, true),
    (0x5401, 16, 14, false),
    (0x5101, 17, 15, false),
    (0x4801, 18, 16, false),
    (0x3801, 19, 17, false),
    (0x3401, 20, 18, false),
    (0x3001, 21, 19, false),
    (0x2801, 22, 19, false),
    (0x2401, 23, 20, false),
    (0x2201, 24, 21, false),
    (0x1c01, 25, 22, false),
    (0x1801, 26, 23, false),
    (0x1601, 27, 24, false),
    (0x1401, 28, 25, false),
    (0x1201, 29, 26, false),
    (0x1101, 30, 27, false),
    (0x0ac1, 31, 28, false),
    (0x09c1, 32, 29, false),
    (0x08a1, 33, 30, false),
    (0x0521, 34, 31, false),
    (0x0441, 35, 32, false),
    (0x02a1, 36, 33, false),
    (0x0221, 37, 34, false),
    (0x0141, 38, 35, false),
    (0x0111, 39, 36, false),
    (0x0085, 40, 37, false),
    (0x0049, 41, 38, false),
    (0x0025, 42, 39, false),
    (0x0015, 43, 40, false),
    (0x0009, 44, 41, false),
    (0x0005, 45, 42, false),
    (0x0001, 45, 43, false),
    (0x5601, 46, 46, false),
];

/// A state with the likelier symbol: everything that a decision needs in one place.
#[derive(Clone, Copy)]
struct Estimate {
    qe: u32,
    likely: u8,
    after_likely: u8,
    after_rare: u8,
}

/// Index `2 state + likelier symbol`.
static ESTIMATES: [Estimate; 2 * STATES.len()] = estimates();

const fn estimates() -> [Estimate; 2 * STATES.len()] {
    let mut all = [Estimate { qe: 0, likely: 0, after_likely: 0, after_rare: 0 }; 2 * STATES.len()];
    let mut at = 0;
    while at < all.len() {
        let (qe, likely, rare, exchanges) = STATES[at / 2];
        let symbol = (at % 2) as u8;
        all[at] = Estimate {
            qe: qe as u32,
            likely: symbol,
            after_likely: 2 * likely + symbol,
            after_rare: 2 * rare + (symbol ^ exchanges as u8),
        };
        at += 1;
    }
    all
}

/// Contexts of a block: 9 of significance, 5 of signs, 3 of refinement, the run and the uniform one.
pub(crate) const CONTEXTS: usize = 19;
/// The context of four insignificant coefficients.
pub(crate) const RUN: u8 = 17;
/// The context without adaptation.
pub(crate) const UNIFORM: u8 = 18;

/// The beginning of every context (table D.7).
const INITIAL: [u8; CONTEXTS] = {
    let mut initial = [0; CONTEXTS];
    initial[0] = 2 * 4;
    initial[RUN as usize] = 2 * 3;
    initial[UNIFORM as usize] = 2 * 46;
    initial
};

/// The encoder of one segment.
pub(crate) struct MqEncoder {
    contexts: [u8; CONTEXTS],
    a: u32,
    c: u32,
    count: u32,
    /// The first byte is none of the segment's: a carry may not go beyond it, and never does.
    bytes: Vec<u8>,
}

/// End of a segment if it ends here: so many of the bytes so far, and then these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) kept: usize,
    pub(crate) tail: [u8; 3],
    pub(crate) tail_len: usize,
}

/// The least interval that is wide enough.
const WIDE: u32 = 0x8000;

impl MqEncoder {
    pub(crate) fn new() -> Self {
        Self { contexts: INITIAL, a: WIDE, c: 0, count: 12, bytes: vec![0] }
    }

    /// Codes a decision.
    #[inline]
    pub(crate) fn code(&mut self, context: u8, symbol: bool) {
        let context = &mut self.contexts[usize::from(context)];
        let estimate = ESTIMATES[usize::from(*context)];
        self.a = self.a.wrapping_sub(estimate.qe);
        let is_likely = symbol as u8 == estimate.likely;
        if is_likely && self.a >= WIDE {
            self.c = self.c.wrapping_add(estimate.qe);
            return;
        }
        if (self.a < estimate.qe) == is_likely {
            self.a = estimate.qe
        } else {
            self.c = self.c.wrapping_add(estimate.qe)
        }
        *context = if is_likely { estimate.after_likely } else { estimate.after_rare };
        self.renormalise();
    }

    /// Doubles the interval until it is wide enough, all at once but for the bytes that are full on the way.
    #[inline]
    fn renormalise(&mut self) {
        let mut shift = self.a.leading_zeros().wrapping_sub(WIDE.leading_zeros());
        self.a = self.a.wrapping_shl(shift);
        while shift >= self.count {
            self.c = self.c.wrapping_shl(self.count);
            shift = shift.wrapping_sub(self.count);
            self.put();
        }
        self.c = self.c.wrapping_shl(shift);
        self.count = self.count.wrapping_sub(shift);
    }

    fn put(&mut self) {
        let last = self.bytes.len() - 1;
        if self.bytes[last] != 0xff && self.c & 0x800_0000 != 0 {
            self.bytes[last] += 1;
            self.c &= 0x7ff_ffff;
        }
        // After 0xff a bit is left free, so that no marker comes out.
        let shift = if self.bytes[last] == 0xff { 20 } else { 19 };
        self.bytes.push((self.c >> shift) as u8);
        self.c &= (1 << shift) - 1;
        self.count = 27 - shift;
    }

    /// Returns the bytes of which any continuation makes the decoder decide as was decided so far.
    pub(crate) fn safe_len(&self) -> usize {
        // The 27 bits in `c` take four bytes.
        self.bytes.len() - 1 + 4
    }

    /// Returns the shortest ending here, and goes on as if nothing had been.
    pub(crate) fn ending(&mut self) -> Ending {
        let (c, count, len) = (self.c, self.count, self.bytes.len());
        let last = self.bytes[len - 1];
        let end = self.c + self.a;
        self.c |= 0xffff;
        if self.c >= end {
            self.c -= 0x8000;
        }
        for _ in 0..2 {
            self.c <<= self.count;
            self.put();
        }
        let mut ending = Ending { kept: (len - 1).saturating_sub(1), ..Ending::default() };
        // The first byte of all is none of the segment's.
        for &byte in &self.bytes[(len - 1).max(1)..] {
            ending.tail[ending.tail_len] = byte;
            ending.tail_len += 1;
        }
        // The decoder reads ones beyond the end.
        while ending.tail_len > 0 && ending.tail[ending.tail_len - 1] == 0xff {
            ending.tail_len -= 1;
        }
        self.bytes.truncate(len);
        self.bytes[len - 1] = last;
        (self.c, self.count) = (c, count);
        ending
    }

    /// Returns the bytes so far.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.remove(0);
        self.bytes
    }
}

/// The decoder of one segment.
pub(crate) struct MqDecoder<'a> {
    contexts: [u8; CONTEXTS],
    a: u32,
    c: u32,
    count: u32,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> MqDecoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { contexts: INITIAL, a: 0x8000, c: 0, count: 0, bytes, at: 0 };
        decoder.c = decoder.byte(0) << 16;
        decoder.take();
        decoder.c <<= 7;
        decoder.count -= 7;
        decoder
    }

    /// Goes on in another segment, with the contexts as they are.
    pub(crate) fn restart(&mut self, bytes: &'a [u8]) {
        *self = Self { contexts: self.contexts, ..Self::new(bytes) };
    }

    /// Sets the contexts to their beginning.
    pub(crate) fn reset(&mut self) {
        self.contexts = INITIAL;
    }

    fn byte(&self, at: usize) -> u32 {
        self.bytes.get(at).map_or(0xff, |&byte| u32::from(byte))
    }

    fn take(&mut self) {
        let next = self.byte(self.at + 1);
        if self.byte(self.at) != 0xff {
            self.at += 1;
            self.c += next << 8;
            self.count = 8;
        } else if next > 0x8f {
            // A marker, or the end.
            self.c += 0xff00;
            self.count = 8;
        } else {
            self.at += 1;
            self.c += next << 9;
            self.count = 7;
        }
    }

    /// Returns the next decision.
    #[inline]
    pub(crate) fn decide(&mut self, context: u8) -> bool {
        let context = &mut self.contexts[usize::from(context)];
        let estimate = ESTIMATES[usize::from(*context)];
        self.a -= estimate.qe;
        let is_likely = if self.c >> 16 < estimate.qe {
            let is_likely = self.a < estimate.qe;
            self.a = estimate.qe;
            is_likely
        } else {
            self.c -= estimate.qe << 16;
            if self.a & 0x8000 != 0 {
                return estimate.likely != 0;
            }
            self.a >= estimate.qe
        };
        *context = if is_likely { estimate.after_likely } else { estimate.after_rare };
        while self.a & 0x8000 == 0 {
            if self.count == 0 {
                self.take();
            }
            self.a <<= 1;
            self.c <<= 1;
            self.count -= 1;
        }
        (estimate.likely != 0) == is_likely
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_come_back_from_every_ending() {
        let mut state = 1_u32;
        let decisions: Vec<(u8, bool)> = (0..3000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let context = (state >> 9) % CONTEXTS as u32;
                (context as u8, (state >> 20).is_multiple_of(context + 2))
            })
            .collect();
        let mut encoder = MqEncoder::new();
        let mut endings = Vec::new();
        for &(context, symbol) in &decisions {
            encoder.code(context, symbol);
            endings.push((encoder.ending(), encoder.safe_len()));
        }
        let last = *endings.last().unwrap();
        let bytes = encoder.into_bytes();
        let ended = |ending: &Ending| [&bytes[..ending.kept], &ending.tail[..ending.tail_len]].concat();
        let whole = ended(&last.0);
        for (at, (ending, safe)) in endings.iter().enumerate() {
            for bytes in [&ended(ending)[..], &whole[..whole.len().min(*safe)]] {
                let mut decoder = MqDecoder::new(bytes);
                for &(context, symbol) in &decisions[..=at] {
                    assert_eq!(decoder.decide(context), symbol, "{at}");
                }
            }
        }
    }
}
