//! Writers of the three streams of a cleanup pass.

use super::tables::RUN_BITS;

/// Magnitudes and signs, from the front: after a byte of ones comes one of seven bits.
#[derive(Default)]
pub(super) struct Magnitudes {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
    is_after_ones: bool,
}

/// Bits that are held until there are as many.
const HELD: u32 = 32;

impl Magnitudes {
    fn clear(&mut self) {
        self.bytes.clear();
        (self.held, self.count, self.is_after_ones) = (0, 0, false);
    }

    /// Writes the lowest `count` bits, at most 32, the lowest one first; the others must be 0.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits).wrapping_shl(self.count);
        self.count = self.count.wrapping_add(count);
        if self.count >= HELD {
            self.word();
        }
    }

    /// Writes four numbers of so many bits as [`Self::put`] does.
    #[inline(always)]
    pub(super) fn put_four(&mut self, [a, b, c, d]: [u32; 4], [of_a, of_b, of_c, of_d]: [u32; 4]) {
        let (first, last) = (of_a.wrapping_add(of_b), of_c.wrapping_add(of_d));
        if first.wrapping_add(last) > u32::BITS {
            self.put(a, of_a);
            self.put(b, of_b);
            self.put(c, of_c);
            self.put(d, of_d);
            return;
        }
        // Beside each other in a register, so that one does not wait for the other.
        let ab = u64::from(a) | u64::from(b).wrapping_shl(of_a);
        let cd = u64::from(c) | u64::from(d).wrapping_shl(of_c);
        self.put((ab | cd.wrapping_shl(first)) as u32, first.wrapping_add(last));
    }

    #[inline(always)]
    fn word(&mut self) {
        let word = self.held as u32;
        // No byte of it is all ones: none of the opposite is 0.
        let has_ones = (!word).wrapping_sub(0x0101_0101) & word & 0x8080_8080 != 0;
        if has_ones || self.is_after_ones {
            while self.count >= HELD {
                self.byte();
            }
        } else {
            self.bytes.extend_from_slice(&word.to_le_bytes());
            self.held >>= HELD;
            self.count = self.count.wrapping_sub(HELD);
        }
    }

    fn byte(&mut self) {
        let room = 8 - u32::from(self.is_after_ones);
        let byte = (self.held & ((1 << room) - 1)) as u8;
        self.is_after_ones = byte == 0xff;
        self.bytes.push(byte);
        self.held >>= room;
        self.count -= room;
    }

    /// Ends the stream: a reader adds ones after its last byte.
    pub(super) fn finish(&mut self) {
        while self.count >= 8 - u32::from(self.is_after_ones) {
            self.byte();
        }
        let room = 8 - u32::from(self.is_after_ones);
        if self.count > 0 {
            let byte = (self.held | u64::MAX << self.count) as u32 & ((1 << room) - 1);
            if byte != 0xff {
                self.bytes.push(byte as u8);
            }
        } else if self.is_after_ones {
            self.bytes.pop();
        }
    }
}

/// Events of quads without neighbours, in runs: from the front, the highest bit first.
#[derive(Default)]
pub(super) struct EventWriter {
    bytes: Vec<u8>,
    held: u8,
    room: u32,
    run: u32,
    state: usize,
}

impl EventWriter {
    fn clear(&mut self) {
        self.bytes.clear();
        (self.held, self.room, self.run, self.state) = (0, 8, 0, 0);
    }

    #[inline]
    pub(super) fn put(&mut self, event: bool) {
        let bits = RUN_BITS[self.state];
        if event {
            self.bit(0);
            (0..bits).rev().for_each(|at| self.bit((self.run >> at & 1) as u8));
            self.state = self.state.saturating_sub(1);
        } else {
            self.run += 1;
            if self.run < 1 << bits {
                return;
            }
            self.bit(1);
            self.state = (self.state + 1).min(RUN_BITS.len() - 1);
        }
        self.run = 0;
    }

    fn bit(&mut self, bit: u8) {
        self.held = self.held << 1 | bit;
        self.room -= 1;
        if self.room == 0 {
            self.bytes.push(self.held);
            self.room = if self.held == 0xff { 7 } else { 8 };
            self.held = 0;
        }
    }
}

/// Codes of quads, from the back: before a byte above 0x8f, one of seven ones has no eighth bit.
#[derive(Default)]
pub(super) struct Codewords {
    /// The last byte first.
    bytes: Vec<u8>,
    held: u64,
    count: u32,
    is_after_large: bool,
}

impl Codewords {
    fn clear(&mut self) {
        // Of the last twelve bits eight are a byte here; they become the length of both streams.
        self.bytes.clear();
        self.bytes.push(0xff);
        (self.held, self.count, self.is_after_large) = (0xf, 4, true);
    }

    /// Writes the lowest `count` bits, the lowest one first; the others must be 0. At most 32 between two calls of
    /// [`Self::flush`].
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits).wrapping_shl(self.count);
        self.count = self.count.wrapping_add(count);
    }

    /// Makes bytes of what has been written if it is much.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if self.count >= HELD {
            self.word();
        }
    }

    #[inline(always)]
    fn word(&mut self) {
        let word = self.held as u32;
        // None of its bytes has seven ones below: of none of the opposites are seven bits 0.
        let ones = !word & 0x7f7f_7f7f;
        if ones.wrapping_sub(0x0101_0101) & !ones & 0x8080_8080 != 0 {
            while self.count >= HELD {
                self.byte();
            }
        } else {
            self.bytes.extend_from_slice(&word.to_le_bytes());
            self.is_after_large = word >> 24 > 0x8f;
            self.held >>= HELD;
            self.count = self.count.wrapping_sub(HELD);
        }
    }

    fn byte(&mut self) {
        let room = if self.is_after_large && self.held & 0x7f == 0x7f { 7 } else { 8 };
        let byte = (self.held & ((1 << room) - 1)) as u8;
        self.is_after_large = byte > 0x8f;
        self.bytes.push(byte);
        self.held >>= room;
        self.count -= room;
    }

    /// Makes bytes of all that can be one.
    fn finish(&mut self) {
        while self.count >= 8 {
            self.byte();
        }
        if self.is_after_large && self.count >= 7 && self.held & 0x7f == 0x7f {
            self.byte();
        }
    }
}

/// The three streams of a cleanup pass; memory that one block after another uses.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) magnitudes: Magnitudes,
    pub(super) events: EventWriter,
    pub(super) codewords: Codewords,
}

impl Streams {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.magnitudes.clear();
        self.events.clear();
        self.codewords.clear();
    }

    /// Returns the bytes of the pass.
    pub(super) fn join(&mut self) -> Vec<u8> {
        let Self { magnitudes, events, codewords } = self;
        magnitudes.finish();
        codewords.finish();
        if events.run > 0 {
            events.bit(1);
        }
        let (of_events, of_codewords) = ((0xff_u32 << events.room) as u8, ((1_u32 << codewords.count) - 1) as u8);
        let (event, codeword) = ((u32::from(events.held) << events.room) as u8, codewords.held as u8);
        if of_events | of_codewords != 0 {
            // Both may share a byte if each reads its own bits there.
            let both = event | codeword;
            let is_both = (both ^ event) & of_events == 0 && (both ^ codeword) & of_codewords == 0;
            if is_both && both != 0xff && codewords.bytes.len() > 1 {
                events.bytes.push(both);
            } else {
                events.bytes.push(event);
                codewords.bytes.push(codeword);
            }
        }
        let length = events.bytes.len() + codewords.bytes.len();
        let mut bytes = Vec::with_capacity(magnitudes.bytes.len() + length);
        bytes.extend(&magnitudes.bytes);
        bytes.extend(&events.bytes);
        bytes.extend(codewords.bytes.iter().rev());
        if let [.., low, high] = &mut bytes[..] {
            (*low, *high) = (*low & 0xf0 | (length & 15) as u8, (length >> 4) as u8);
        }
        bytes
    }
}
