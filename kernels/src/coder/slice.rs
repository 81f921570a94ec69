//! Slices as bytes: the vectors of their blocks, and which squares are filtered, as bits in contexts that learn within the
//! slice, by rANS.
//!
//! One walk over the parts of a slice serves the encoder, which hands every decision in, and the decoder, which gets
//! it. What is filtered comes last, and only if anything is: without it the decoder is then at the end.

use std::ops::Range;

use crate::motion::contexts::{
    DIGIT, EXPONENT, EXPONENTS, FILTERED, Learnt, QUARTER, SIGN, SPLIT, ZERO, filtered_near, of_part, quartered_near,
    split_near,
};
use crate::motion::dering::{Dering, STRENGTH_BITS, STRENGTHS};
use crate::motion::field::{BLOCK_CELLS, Field, Motion, UNIT_CELLS, VECTOR_MAX};
use crate::reference::quad::Damaged;
use crate::reference::rans;
use crate::tables::PROBABILITY_BITS;

/// The coder or the decoder of a slice's decisions.
trait Bits {
    /// Codes a bit in a context: `bit` for an encoder, what was coded for a decoder.
    fn bit(&mut self, context: usize, bit: bool) -> bool;

    /// Codes `count` bits, at most 12, that have no context, likewise.
    fn plain(&mut self, count: u32, value: u32) -> u32;
}

/// Returns start and frequency, of 2^12, of a bit.
fn range(of_one: u32, bit: bool) -> (u32, u32) {
    if bit { (0, of_one) } else { (of_one, (1 << PROBABILITY_BITS) - of_one) }
}

/// Keeps what is coded, to be written last one first.
struct Writer {
    learnt: Learnt,
    ranges: Vec<(u32, u32)>,
}

impl Bits for Writer {
    fn bit(&mut self, context: usize, bit: bool) -> bool {
        self.ranges.push(range(self.learnt.of_one(context), bit));
        self.learnt.learn(context, bit);
        bit
    }

    fn plain(&mut self, count: u32, value: u32) -> u32 {
        let frequency = 1 << (PROBABILITY_BITS - count);
        self.ranges.push((value * frequency, frequency));
        value
    }
}

struct Reader<'a> {
    learnt: Learnt,
    rans: rans::RansDecoder<'a>,
}

impl Bits for Reader<'_> {
    fn bit(&mut self, context: usize, _bit: bool) -> bool {
        let of_one = self.learnt.of_one(context);
        let bit = self.rans.slot() < of_one;
        let (start, frequency) = range(of_one, bit);
        self.rans.take(start, frequency);
        self.learnt.learn(context, bit);
        bit
    }

    fn plain(&mut self, count: u32, _value: u32) -> u32 {
        let frequency = 1 << (PROBABILITY_BITS - count);
        let value = self.rans.slot() / frequency;
        self.rans.take(value * frequency, frequency);
        value
    }
}

/// Returns the bytes of a slice of `field`, none if nothing in it moves, is split or filtered, and what its bits taught.
pub(crate) fn encode(field: &Field, dering: &Dering, slice: usize, channels: usize) -> (Vec<u8>, Option<Learnt>) {
    let rows = field.layout().rows_of(slice);
    let cells = BLOCK_CELLS * rows.start..BLOCK_CELLS * rows.end;
    let mut blocks = rows.clone().flat_map(|y| (0..field.layout().columns()).map(move |x| (x, y)));
    let rests = |y| (0..field.cell_columns()).all(|x| field.cell(x, y) == Motion::ZERO);
    let strength = rows.clone().flat_map(|y| dering.row(y)).copied().find(|&strength| strength > 0);
    if blocks.all(|(x, y)| field.is_whole(x, y)) && cells.clone().all(rests) && strength.is_none() {
        return (Vec::new(), None);
    }
    let mut writer = Writer { learnt: Learnt::new(), ranges: Vec::new() };
    // The walk writes back what it is told, so that it can read it again as a decoder does.
    let mut copy = field.clone();
    let whole = walk(&mut writer, &mut copy, rows.clone(), channels);
    debug_assert!(whole.is_ok() && copy == *field);
    if let Some(strength) = strength {
        let mut copy = dering.clone();
        squares(&mut writer, &mut copy, rows, strength);
        debug_assert!(copy == *dering, "a slice has one strength");
    }
    let mut bytes = Vec::new();
    let mut rans = rans::RansEncoder::new(0, rans::payload_bits(0), &mut bytes);
    for &(start, frequency) in writer.ranges.iter().rev() {
        rans.put_range(start, frequency);
    }
    rans.finish();
    (bytes, Some(writer.learnt))
}

/// Decodes a slice into `field`, where its blocks are whole and at rest, and `dering`, where nothing of it is filtered. Whatever
/// the bytes are, this ends and stays in bounds; after `Err` the slice's blocks and squares mean nothing.
pub(crate) fn decode(
    bytes: &[u8],
    field: &mut Field,
    dering: &mut Dering,
    slice: usize,
    channels: usize,
) -> Result<(), Damaged> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut reader = Reader { learnt: Learnt::new(), rans: rans::RansDecoder::new(bytes) };
    let rows = field.layout().rows_of(slice);
    walk(&mut reader, field, rows.clone(), channels)?;
    let is_at_end = |reader: &Reader<'_>| reader.rans.finish() == Some((rans::STATE_MIN, 0));
    if !is_at_end(&reader) {
        squares(&mut reader, dering, rows, 0);
    }
    if is_at_end(&reader) { Ok(()) } else { Err(Damaged) }
}

/// Makes the blocks of a slice whole, lets them rest and filters nothing: what a slice that is missing or damaged means.
pub(crate) fn clear(field: &mut Field, dering: &mut Dering, slice: usize) {
    for y in field.layout().rows_of(slice) {
        for x in 0..field.layout().columns() {
            field.set_whole(x, y, true);
            dering.set(x, y, 0);
            field.fill(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, Motion::ZERO);
            for (unit_x, unit_y) in units(x, y) {
                field.set_quartered(unit_x, unit_y, false);
            }
        }
    }
}

/// Returns the units of block (x, y).
pub(crate) fn units(x: usize, y: usize) -> [(usize, usize); 4] {
    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| (2 * x + dx, 2 * y + dy))
}

fn walk(bits: &mut impl Bits, field: &mut Field, rows: Range<usize>, channels: usize) -> Result<(), Damaged> {
    for y in rows.clone() {
        for x in 0..field.layout().columns() {
            let split = bits.bit(SPLIT + split_near(field, x, y, rows.start), !field.is_whole(x, y));
            field.set_whole(x, y, !split);
            if !split {
                part(bits, field, BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, channels)?;
                continue;
            }
            for (unit_x, unit_y) in units(x, y) {
                if !field.has_unit(unit_x, unit_y) {
                    continue;
                }
                let near = quartered_near(field, unit_x, unit_y, 2 * rows.start);
                let quartered = bits.bit(QUARTER + near, field.is_quartered(unit_x, unit_y));
                field.set_quartered(unit_x, unit_y, quartered);
                let (cell_x, cell_y) = (UNIT_CELLS * unit_x, UNIT_CELLS * unit_y);
                if !quartered {
                    part(bits, field, cell_x, cell_y, UNIT_CELLS, channels)?;
                    continue;
                }
                for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    part(bits, field, cell_x + dx, cell_y + dy, 1, channels)?;
                }
            }
        }
    }
    Ok(())
}

/// Codes which squares are filtered, with the strength of index `strength` for an encoder.
fn squares(bits: &mut impl Bits, dering: &mut Dering, rows: Range<usize>, strength: u8) {
    let index = STRENGTHS.iter().position(|&of_index| of_index == strength).unwrap_or(0) as u32;
    let strength = STRENGTHS[bits.plain(STRENGTH_BITS, index) as usize];
    for y in rows.clone() {
        for x in 0..dering.row(y).len() {
            let near = filtered_near(dering, x, y, rows.start);
            let is_filtered = bits.bit(FILTERED + near, dering.at(x, y) > 0);
            dering.set(x, y, if is_filtered { strength } else { 0 });
        }
    }
}

fn part(
    bits: &mut impl Bits,
    field: &mut Field,
    x: usize,
    y: usize,
    side: usize,
    channels: usize,
) -> Result<(), Damaged> {
    let motion = field.cell(x, y);
    let (flat_context, same_context, expected) = of_part(field, x, y, side);
    let motion = if bits.bit(flat_context, motion.is_flat()) {
        let samples = if let Motion::Flat(samples) = motion { samples } else { [128; 3] };
        Motion::flat([0, 1, 2].map(|channel| {
            let coarse = if channel == 0 { 2 } else { 3 };
            if channel >= channels {
                return 128;
            }
            (bits.plain(8 - coarse, u32::from(samples[channel]) >> coarse) << coarse) as u8
        }))
    } else {
        let vector = motion.components();
        let mut difference = [vector[0] - expected[0], vector[1] - expected[1]];
        if bits.bit(same_context, difference == [0, 0]) {
            difference = [0, 0];
        } else {
            difference[0] = component(bits, 0, difference[0], true)?;
            difference[1] = component(bits, 1, difference[1], difference[0] != 0)?;
        }
        let vector = [expected[0] + difference[0], expected[1] + difference[1]];
        if vector.iter().any(|value| value.unsigned_abs() > u32::from(VECTOR_MAX.unsigned_abs())) {
            return Err(Damaged);
        }
        Motion::vector(vector[0], vector[1])
    };
    field.fill(x, y, side, motion);
    Ok(())
}

/// Codes a component of a difference; `may_be_zero` unless the other one was 0.
fn component(bits: &mut impl Bits, axis: usize, value: i32, may_be_zero: bool) -> Result<i32, Damaged> {
    if may_be_zero && bits.bit(ZERO + axis, value == 0) {
        return Ok(0);
    }
    let magnitude = value.unsigned_abs().max(1);
    let own = magnitude.ilog2() as usize;
    let mut digits = 0;
    while bits.bit(EXPONENT + EXPONENTS * axis + digits, digits < own) {
        digits += 1;
        if digits == EXPONENTS {
            return Err(Damaged);
        }
    }
    let mut read = 1;
    for digit in (0..digits).rev() {
        let bit = magnitude >> digit & 1;
        read = read << 1
            | if digit + 1 == digits {
                u32::from(bits.bit(DIGIT + EXPONENTS * axis + digits, bit == 1))
            } else {
                bits.plain(1, bit)
            };
    }
    let negative = bits.bit(SIGN + axis, value < 0);
    Ok(if negative { -(read as i32) } else { read as i32 })
}

#[cfg(test)]
pub(crate) mod tests {
    use picture::frame::FrameSize;
    use proptest::prelude::*;

    use super::*;
    use crate::motion::dering::tests::any_dering;

    /// Returns a field of any shape, and vectors that are like their neighbours or not.
    pub(crate) fn fields() -> impl Strategy<Value = (Field, Dering, usize)> {
        let size = prop_oneof![Just((1, 1)), Just((47, 33)), Just((200, 120)), Just((33, 1)), Just((2000, 70))];
        (size, 0..4_u32, any::<u64>(), prop_oneof![Just(1), Just(3)]).prop_map(
            |((width, height), wild, seed, channels)| {
                let size = FrameSize::new(width, height).unwrap();
                (any_field(size, wild, seed, channels), any_dering(size, seed >> 32), channels)
            },
        )
    }

    pub(crate) fn any_field(size: FrameSize, wild: u32, mut seed: u64, channels: usize) -> Field {
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % below
        };
        let mut motion = move || match random(4 + 2 * wild) {
            0..3 => Motion::ZERO,
            3 | 4 => Motion::vector(random(9) as i32 - 4, random(9) as i32 - 4),
            5 => Motion::flat([0, 1, 2].map(|channel| if channel < channels { random(256) as u8 } else { 128 })),
            _ => Motion::vector(random(4095) as i32 - 2047, random(4095) as i32 - 2047),
        };
        let mut field = Field::new(size);
        let (columns, rows) = (field.layout().columns(), field.layout().rows());
        for (x, y) in (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))) {
            let split = motion() != Motion::ZERO;
            field.set_whole(x, y, !split);
            field.fill(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, if split { Motion::ZERO } else { motion() });
            for (unit_x, unit_y) in units(x, y) {
                if split && field.has_unit(unit_x, unit_y) {
                    let quartered = motion() != Motion::ZERO;
                    field.set_quartered(unit_x, unit_y, quartered);
                    let (x, y) = (UNIT_CELLS * unit_x, UNIT_CELLS * unit_y);
                    field.fill(x, y, UNIT_CELLS, motion());
                    for (dx, dy) in [(1, 0), (0, 1), (1, 1)] {
                        if quartered {
                            field.fill(x + dx, y + dy, 1, motion());
                        }
                    }
                }
            }
        }
        field
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_field_comes_back_from_its_slices_in_any_order((field, dering, channels) in fields()) {
            let (mut decoded, mut squares) = (field.clone(), dering.clone());
            (0..field.layout().slices()).for_each(|slice| clear(&mut decoded, &mut squares, slice));
            prop_assert!(squares.is_none());
            for slice in (0..field.layout().slices()).rev() {
                let (bytes, _) = encode(&field, &dering, slice, channels);
                decode(&bytes, &mut decoded, &mut squares, slice, channels).unwrap();
            }
            prop_assert_eq!(decoded, field);
            prop_assert_eq!(squares, dering);
        }

        #[test]
        fn any_bytes_are_vectors_or_refused(
            (field, mut dering, channels) in fields(), bytes in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut decoded = field.clone();
            for slice in 0..field.layout().slices() {
                let whole = decode(&bytes, &mut decoded, &mut dering, slice, channels).is_ok();
                if !whole {
                    clear(&mut decoded, &mut dering, slice);
                }
            }
        }

        #[test]
        fn a_slice_with_a_wrong_byte_is_vectors_or_refused(
            (field, mut dering, channels) in fields(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<bool>(),
        ) {
            let (mut bytes, _) = encode(&field, &dering, 0, channels);
            prop_assume!(!bytes.is_empty());
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if cut {
                bytes.truncate(at);
            }
            let mut decoded = field.clone();
            clear(&mut decoded, &mut dering, 0);
            let _ = decode(&bytes, &mut decoded, &mut dering, 0, channels);
        }
    }

    #[test]
    fn what_rests_takes_no_bytes() {
        let size = FrameSize::new(640, 480).unwrap();
        let (field, nothing) = (Field::new(size), Dering::none(size));
        assert!((0..field.layout().slices()).all(|slice| encode(&field, &nothing, slice, 3).0.is_empty()));
    }
}
