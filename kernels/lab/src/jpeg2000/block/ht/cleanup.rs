//! The first pass of a block, back to coefficients.

use super::context::{Above, context, expected};
use super::read::{Backward, EventReader, Forward};
use super::tables::{CODES, Quad};

/// A negative coefficient.
pub(super) const NEGATIVE: u32 = 1 << 31;

/// A block is not as an encoder makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jpeg2000) struct BadBlock;

/// The length of the codes and events: its bytes, and most that it can say.
const LENGTH_BYTES: usize = 2;
const CODES_MAX: usize = 4079;
/// Bits of a coefficient and its sign, at most: more would not fit.
const EXPONENT_MAX: u32 = 32;

/// Decodes a block of columns of `height` values down to `plane`; values are magnitudes with half of what is not known, one binary
/// digit below the quantiser's, and [`NEGATIVE`].
pub(super) fn decode(bytes: &[u8], values: &mut [u32], height: usize, plane: u32) -> Result<(), BadBlock> {
    let [.., low, high] = *bytes else { return Err(BadBlock) };
    let length = usize::from(high) << 4 | usize::from(low & 15);
    if !(LENGTH_BYTES..=CODES_MAX.min(bytes.len())).contains(&length) {
        return Err(BadBlock);
    }
    let (magnitudes, rest) = bytes.split_at(bytes.len() - length);
    let mut block = Block {
        magnitudes: Forward::new(magnitudes, 0xff),
        events: EventReader::new(&rest[..length - 1]),
        codes: Backward::of_codes(&rest[..length - 1]),
        plane,
    };
    let width = values.len() / height;
    let mut above = Above::new(width);
    for y in (0..height).step_by(2) {
        block.row(&mut above, values, height, y)?;
    }
    Ok(())
}

struct Block<'a> {
    magnitudes: Forward<'a>,
    events: EventReader<'a>,
    codes: Backward<'a>,
    plane: u32,
}

impl Block<'_> {
    fn row(&mut self, above: &mut Above, values: &mut [u32], height: usize, y: usize) -> Result<(), BadBlock> {
        let (width, is_first, mut left) = (values.len() / height, y == 0, 0);
        let mut before = above.of(0);
        for x in (0..width).step_by(4) {
            let first_above = before;
            let first = self.quad(is_first, first_above, left);
            let second_above = if x + 2 < width { above.of(x + 2) } else { [0; 4] };
            let second = match x + 2 < width {
                true => self.quad(is_first, second_above, first.significant),
                false => Quad::default(),
            };
            left = second.significant;
            // Kept from what this pair writes.
            before = if x + 4 < width { above.of(x + 4) } else { [0; 4] };
            let offsets = self.offsets(is_first, first.has_offset, second.has_offset);
            let both = [(x, first, first_above, offsets[0]), (x + 2, second, second_above, offsets[1])];
            for (x, quad, over, offset) in both {
                if x < width {
                    let most = if is_first { 1 } else { expected(over, quad.significant) } + offset;
                    let exponents = self.coefficients(quad, most, &mut values[x * height + y..], height, y)?;
                    above.set(x, exponents);
                }
            }
        }
        Ok(())
    }

    fn quad(&mut self, is_first: bool, above: [u8; 4], left: u8) -> Quad {
        let context = context(is_first, above, left);
        if context == 0 && !self.events.take() {
            return Quad::default();
        }
        let quad = CODES[usize::from(!is_first)].read(context, self.codes.peek());
        self.codes.skip(quad.len.into());
        quad
    }

    /// Returns what the largest exponents of two quads are above the expected ones.
    fn offsets(&mut self, is_first: bool, first: bool, second: bool) -> [u32; 2] {
        let more = if is_first && first && second { 2 * u32::from(self.events.take()) } else { 0 };
        let one = if first { self.prefix() } else { 0 };
        // Beside a large one of the first row, the other has a bit only.
        let is_short = is_first && first && second && more == 0 && one > 2;
        let two = match (second, is_short) {
            (false, _) => 0,
            (true, true) => 1 + self.codes.take(1),
            (true, false) => self.prefix(),
        };
        let one = self.suffix(one) + more;
        [one, if is_short { two } else { self.suffix(two) + more }]
    }

    fn prefix(&mut self) -> u32 {
        let (len, value) = match self.codes.peek() & 7 {
            1 | 3 | 5 | 7 => (1, 1),
            2 | 6 => (2, 2),
            4 => (3, 3),
            _ => (3, 5),
        };
        self.codes.skip(len);
        value
    }

    fn suffix(&mut self, prefix: u32) -> u32 {
        match prefix {
            3 => 3 + self.codes.take(1),
            5 => match self.codes.take(5) {
                few @ ..28 => 5 + few,
                many => 5 + many + 4 * self.codes.take(4),
            },
            other => other,
        }
    }

    /// Reads the coefficients of a quad whose largest exponent is `most`, returns the exponents of the lower ones.
    fn coefficients(
        &mut self,
        quad: Quad,
        most: u32,
        values: &mut [u32],
        height: usize,
        y: usize,
    ) -> Result<[u8; 2], BadBlock> {
        if quad.significant == 0 {
            return Ok([0; 2]);
        }
        if most > EXPONENT_MAX - self.plane {
            return Err(BadBlock);
        }
        let mut exponents = [0; 2];
        for at in 0..4_usize {
            if quad.significant >> at & 1 == 0 {
                continue;
            }
            let count = most - u32::from(quad.told >> at & 1);
            let bits = u64::from(self.magnitudes.take(count)) | u64::from(quad.largest >> at & 1) << count;
            // Twice the magnitude less one, and the sign below it.
            let magnitude = (bits >> 1) + 1;
            let place = at / 2 * height + at % 2;
            // A lower coefficient of a block of odd height is none.
            if at % 2 == 0 || y + 1 < height {
                let value = (2 * magnitude + 1) << self.plane;
                let Some(to) = values.get_mut(place) else { return Err(BadBlock) };
                *to = u32::try_from(value).ok().filter(|value| value & NEGATIVE == 0).ok_or(BadBlock)?
                    | if bits & 1 != 0 { NEGATIVE } else { 0 };
            }
            if at % 2 == 1 {
                exponents[at / 2] = (u64::BITS - (bits | 1).leading_zeros()) as u8;
            }
        }
        Ok(exponents)
    }
}
