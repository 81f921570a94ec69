//! The first pass of a block, from coefficients.

use super::context::{Above, context, expected};
use super::tables::{CODES, Codes};
use super::write::Streams;
use kernels::parts::cpu::fast;

/// Memory that one block after another uses.
#[derive(Default)]
pub(crate) struct QuadScratch {
    streams: Streams,
    above: Above,
    pairs: Vec<[u32; 8]>,
}

/// Codes a block of columns of `height` magnitudes, whole quantiser steps with [`super::cleanup::NEGATIVE`], down to the lowest plane.
/// One without anything has no bytes.
pub(crate) fn encode(values: &[u32], height: usize, scratch: &mut QuadScratch) -> Vec<u8> {
    fast(
        #[inline(always)]
        || encode_block(values, height, scratch),
    )
}

#[inline(always)]
fn encode_block(values: &[u32], height: usize, scratch: &mut QuadScratch) -> Vec<u8> {
    let QuadScratch { streams, above, pairs } = scratch;
    let width = values.len() / height;
    above.clear(width);
    streams.clear();
    arrange(values, height, pairs);
    let mut block = Block { streams, codes: &CODES[0] };
    for (y, pairs) in pairs.chunks_exact(width.div_ceil(4)).enumerate() {
        block.row(above, pairs, width, y == 0);
        block.codes = &CODES[1];
    }
    streams.join()
}

/// Puts columns into pairs of quads, row by row; beyond the block there are zeros.
#[inline(always)]
fn arrange(values: &[u32], height: usize, pairs: &mut Vec<[u32; 8]>) {
    let in_row = (values.len() / height).div_ceil(4);
    pairs.clear();
    pairs.resize(in_row * height.div_ceil(2), [0; 8]);
    for (x, column) in values.chunks_exact(height).enumerate() {
        let at = 2 * (x % 4);
        let (twos, last) = column.as_chunks::<2>();
        let mut rows = pairs[x / 4..].iter_mut().step_by(in_row);
        for (two, pair) in twos.iter().zip(rows.by_ref()) {
            pair[at..at + 2].copy_from_slice(two);
        }
        if let (Some(pair), Some(&one)) = (rows.next(), last.first()) {
            pair[at] = one;
        }
    }
}

/// Two quads.
struct Pair {
    /// The number that is written of each coefficient: twice its magnitude less two, and its sign.
    coded: [u32; 8],
    /// Bits of twice the magnitude less one; 0 of a 0.
    exponents: [u8; 8],
    /// Those that are not 0, bit by bit.
    significant: u8,
}

impl Pair {
    #[inline(always)]
    fn of(values: &[u32; 8]) -> Self {
        let doubled = values.map(|value| value << 1);
        let coded = values.map(|value| (value << 1).wrapping_sub(2) | value >> 31);
        let bits = |doubled: u32| u32::BITS.wrapping_sub(doubled.saturating_sub(1).leading_zeros()) as u8;
        let is_there = doubled.iter().enumerate().map(|(at, &doubled)| u8::from(doubled != 0) << at);
        Self { coded, exponents: doubled.map(bits), significant: is_there.fold(0, |all, bit| all | bit) }
    }
}

struct Block<'a> {
    streams: &'a mut Streams,
    codes: &'a Codes,
}

impl Block<'_> {
    #[inline(always)]
    fn row(&mut self, above: &mut Above, pairs: &[[u32; 8]], width: usize, is_first: bool) {
        let mut left = 0;
        let mut before = above.of(0);
        for (values, x) in pairs.iter().zip((0..).step_by(4)) {
            let has_second = x + 2 < width;
            let over = [before, if has_second { above.of(x + 2) } else { [0; 4] }];
            before = if x + 4 < width { above.of(x + 4) } else { [0; 4] };
            // Most pairs of the finest levels have nothing around nor in them.
            if left == 0 && over == [[0; 4]; 2] && values.iter().fold(0, |all, value| all | value << 1) == 0 {
                self.streams.events.put(false);
                if has_second {
                    self.streams.events.put(false);
                }
                continue;
            }
            let Pair { coded, exponents, significant } = Pair::of(values);
            let [first, second] = [significant & 15, significant >> 4];
            let ([coded, coded_second], [of_first, of_second]) = (halves(coded), halves(exponents));
            let mut offsets = [self.quad((coded, of_first, first), is_first, over[0], left), 0];
            above.set(x, [of_first[1], of_first[3]]);
            left = first;
            if has_second {
                offsets[1] = self.quad((coded_second, of_second, second), is_first, over[1], first);
                above.set(x + 2, [of_second[1], of_second[3]]);
                left = second;
            }
            self.offsets(is_first, offsets);
            self.streams.codewords.flush();
        }
    }

    /// Writes a quad but for what its largest exponent is above the expected one, which it returns.
    #[inline(always)]
    fn quad(
        &mut self,
        (coded, exponents, significant): ([u32; 4], [u8; 4], u8),
        is_first: bool,
        above: [u8; 4],
        left: u8,
    ) -> u32 {
        let context = context(is_first, above, left);
        if context == 0 {
            self.streams.events.put(significant != 0);
            if significant == 0 {
                return 0;
            }
        }
        let [a, b, c, d] = exponents;
        let largest = a.max(b).max(c).max(d);
        let expected = if is_first { 1 } else { expected(above, significant) };
        let most = u32::from(largest).max(expected);
        let offset = most - expected;
        let is = |exponent: u8| usize::from(offset > 0 && exponent == largest);
        let code = self.codes.of(context, significant.into(), is(a) | is(b) << 1 | is(c) << 2 | is(d) << 3);
        self.streams.codewords.put(code.code.into(), code.len.into());
        // None of a coefficient that is 0.
        let lengths: [u32; 4] = std::array::from_fn(|at| {
            most.wrapping_sub(u32::from(code.told >> at & 1)) & u32::from(significant >> at & 1).wrapping_neg()
        });
        let bits: [u32; 4] =
            std::array::from_fn(|at| coded[at] & 1_u64.wrapping_shl(lengths[at]).wrapping_sub(1) as u32);
        self.streams.magnitudes.put_four(bits, lengths);
        offset
    }

    #[inline(always)]
    fn offsets(&mut self, is_first: bool, offsets: [u32; 2]) {
        let [one, two] = offsets;
        if one | two == 0 {
            return;
        }
        let mut less = 0;
        if is_first && one > 0 && two > 0 {
            let are_large = one.min(two) > 2;
            self.streams.events.put(are_large);
            less = if are_large { 2 } else { 0 };
            // Beside a large one the other has a bit only.
            if !are_large && one > 2 {
                self.prefix(one);
                self.streams.codewords.put(two - 1, 1);
                self.suffix(one);
                return;
            }
        }
        self.prefix(one - less.min(one));
        self.prefix(two - less.min(two));
        self.suffix(one - less.min(one));
        self.suffix(two - less.min(two));
    }

    #[inline(always)]
    fn prefix(&mut self, offset: u32) {
        let (bits, count) = match offset {
            0 => (0, 0),
            1 => (1, 1),
            2 => (2, 2),
            3 | 4 => (4, 3),
            _ => (0, 3),
        };
        self.streams.codewords.put(bits, count);
    }

    #[inline(always)]
    fn suffix(&mut self, offset: u32) {
        match offset {
            0..=2 => {}
            3 | 4 => self.streams.codewords.put(offset - 3, 1),
            _ => self.streams.codewords.put(offset - 5, 5),
        }
    }
}

/// Returns the first and the last four.
#[inline(always)]
fn halves<T: Copy + Default>(all: [T; 8]) -> [[T; 4]; 2] {
    let mut halves = [[T::default(); 4]; 2];
    halves.as_flattened_mut().copy_from_slice(&all);
    halves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jpeg2000::block::ht::cleanup::NEGATIVE;
    use crate::jpeg2000::block::ht::decode;
    use crate::jpeg2000::block::tier1::Segment;

    #[test]
    fn blocks_come_back() {
        for (width, height) in [(1, 1), (2, 3), (5, 4), (7, 9), (32, 32), (64, 64), (1024, 4), (3, 1024)] {
            for bits in [0, 1, 2, 6, 14, 28] {
                let mut state = 7_u64;
                let mut value = |at: usize| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at as u64);
                    let noise = (state >> 32) as u32;
                    // Sparse in some places, dense in others.
                    let size = (noise % (bits + 1)).min((noise >> 8) & (at as u32 / 16));
                    (noise >> 3 & ((1 << size) - 1)) | if noise & 2 != 0 { NEGATIVE } else { 0 }
                };
                let values: Vec<u32> = (0..width * height).map(&mut value).collect();
                let segment = Segment { passes: 1, bytes: encode(&values, height, &mut QuadScratch::default()) };
                assert!(segment.bytes.windows(2).all(|pair| pair[0] != 0xff || pair[1] <= 0x8f), "no marker");
                let decoded = decode(&[segment], 1, (width, height), false).unwrap();
                for (value, found) in values.iter().zip(decoded) {
                    let magnitude = (value & !NEGATIVE) as i32;
                    assert_eq!(found.abs() >> 1, magnitude, "{width} x {height}, {bits} bits");
                    assert!(magnitude == 0 || (found < 0) == (value & NEGATIVE != 0));
                }
            }
        }
    }
}
