//! The first pass of a block, from coefficients.

use super::context::{Above, context, expected};
use super::tables::{CODES, Codes};
use super::write::Streams;

/// Memory that one block after another uses.
#[derive(Default)]
pub(crate) struct QuadScratch {
    streams: Streams,
    above: Above,
}

/// Codes a block of columns of `height` magnitudes, whole quantiser steps with [`super::cleanup::NEGATIVE`], down to the lowest plane.
/// One without anything has no bytes.
pub(crate) fn encode(values: &[u32], height: usize, scratch: &mut QuadScratch) -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt") {
        // SAFETY: this processor has them.
        return unsafe { encode_with_avx2(values, height, scratch) };
    }
    encode_block(values, height, scratch)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode_with_avx2(values: &[u32], height: usize, scratch: &mut QuadScratch) -> Vec<u8> {
    encode_block(values, height, scratch)
}

#[inline(always)]
fn encode_block(values: &[u32], height: usize, QuadScratch { streams, above }: &mut QuadScratch) -> Vec<u8> {
    above.clear(values.len() / height);
    streams.clear();
    let mut block = Block { streams, codes: &CODES[0] };
    for y in (0..height).step_by(2) {
        block.row(above, values, height, y);
        block.codes = &CODES[1];
    }
    streams.join()
}

/// Four coefficients.
#[derive(Clone, Copy, Default)]
struct Quad {
    /// The number that is written of each: twice its magnitude less two, and its sign.
    coded: [u32; 4],
    /// Bits of twice the magnitude less one; 0 of a 0.
    exponents: [u8; 4],
    significant: u8,
}

impl Quad {
    #[inline(always)]
    fn of(values: [u32; 4]) -> Self {
        let mut quad = Self::default();
        for (at, value) in values.into_iter().enumerate() {
            let doubled = value << 1;
            let is_there = u32::from(doubled != 0);
            quad.coded[at] = doubled.wrapping_sub(2) | value >> 31;
            quad.exponents[at] = (u32::BITS - (doubled - is_there).leading_zeros()) as u8;
            quad.significant |= (is_there as u8) << at;
        }
        quad
    }
}

/// Returns the values of the quad at a column and the row `y`; those beyond the block are 0.
#[inline(always)]
fn four(values: &[u32], height: usize, x: usize, y: usize) -> [u32; 4] {
    let start = x * height + y;
    let two = |start: usize| match values.get(start..start + 2) {
        Some(&[one, two]) if y + 1 < height => [one, two],
        _ => [values.get(start).copied().unwrap_or(0), 0],
    };
    let ([a, b], [c, d]) = (two(start), two(start + height));
    [a, b, c, d]
}

struct Block<'a> {
    streams: &'a mut Streams,
    codes: &'a Codes,
}

impl Block<'_> {
    #[inline(always)]
    fn row(&mut self, above: &mut Above, values: &[u32], height: usize, y: usize) {
        let (width, is_first, mut left) = (values.len() / height, y == 0, 0);
        let mut before = above.of(0);
        for x in (0..width).step_by(4) {
            let has_second = x + 2 < width;
            let over = [before, if has_second { above.of(x + 2) } else { [0; 4] }];
            before = if x + 4 < width { above.of(x + 4) } else { [0; 4] };
            let both = [four(values, height, x, y), if has_second { four(values, height, x + 2, y) } else { [0; 4] }];
            // Most pairs of the finest levels have nothing around nor in them.
            if left == 0
                && over == [[0; 4]; 2]
                && both.as_flattened().iter().fold(0, |all, value| all | value << 1) == 0
            {
                self.streams.events.put(false);
                if has_second {
                    self.streams.events.put(false);
                }
                continue;
            }
            let mut offsets = [0; 2];
            for at in 0..1 + usize::from(has_second) {
                let quad = Quad::of(both[at]);
                offsets[at] = self.quad(&quad, is_first, over[at], left);
                left = quad.significant;
                above.set(x + 2 * at, [quad.exponents[1], quad.exponents[3]]);
            }
            self.offsets(is_first, offsets);
        }
    }

    /// Writes a quad but for what its largest exponent is above the expected one, which it returns.
    #[inline(always)]
    fn quad(&mut self, quad: &Quad, is_first: bool, above: [u8; 4], left: u8) -> u32 {
        let context = context(is_first, above, left);
        if context == 0 {
            self.streams.events.put(quad.significant != 0);
        }
        if quad.significant == 0 && context == 0 {
            return 0;
        }
        let [a, b, c, d] = quad.exponents;
        let largest = a.max(b).max(c).max(d);
        let expected = if is_first { 1 } else { expected(above, quad.significant) };
        let most = u32::from(largest).max(expected);
        let offset = most - expected;
        let is = |exponent: u8| usize::from(offset > 0 && exponent == largest);
        let code = self.codes.of(context, quad.significant.into(), is(a) | is(b) << 1 | is(c) << 2 | is(d) << 3);
        self.streams.codewords.put(code.code.into(), code.len.into());
        for at in 0..4 {
            // None of a coefficient that is 0.
            let own = most.wrapping_sub(u32::from(code.told >> at & 1))
                & u32::from(quad.significant >> at & 1).wrapping_neg();
            self.streams.magnitudes.put(quad.coded[at] & 1_u64.wrapping_shl(own).wrapping_sub(1) as u32, own);
        }
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
