//! The contexts of the decisions in a slice, and their probabilities, which learn within it.

use super::dering::Dering;
use super::field::{BLOCK_CELLS, Field};
use crate::tables::PROBABILITY_BITS;

/// Bits of a component's difference beyond which no encoder goes.
pub(crate) const EXPONENTS: usize = 12;
/// First context of "the block is split", by how many of the blocks beside and above are.
pub(crate) const SPLIT: usize = 0;
/// First context of "the unit is quartered", by how many of the units beside and above are.
pub(crate) const QUARTER: usize = SPLIT + 3;
/// First context of "the part is flat", by how many of the parts beside and above are.
pub(crate) const FLAT: usize = QUARTER + 3;
/// First context of "the vector is the expected one", by size of the part, how much the neighbours differ and whether zero
/// is expected.
pub(crate) const SAME: usize = FLAT + 3;
/// First context of "a component of the difference is 0", by axis; after a first one of 0 the second is not asked about.
pub(crate) const ZERO: usize = SAME + 3 * 3 * 2;
/// First context of "the magnitude has another binary digit", by axis and digits so far.
pub(crate) const EXPONENT: usize = ZERO + 2;
/// First context of the digit behind the first one, by axis and number of digits.
pub(crate) const DIGIT: usize = EXPONENT + 2 * EXPONENTS;
/// The sign of a component, by axis.
pub(crate) const SIGN: usize = DIGIT + 2 * EXPONENTS;
/// First context of "the square is filtered", by how many of the squares beside and above are.
pub(crate) const FILTERED: usize = SIGN + 2;
pub(crate) const CONTEXTS: usize = FILTERED + 3;

/// Parts of a probability while it is learnt.
const ONE: u32 = 1 << 16;
/// The least probability of a bit, of 2^12.
const LEAST: u32 = 16;
/// Adaptation of a probability to the bit seen: 1/2^4 at first, 1/2^5 later.
const QUICK: u32 = 4;
const QUICK_BITS: u8 = 12;
const SLOW: u32 = 5;
const _: () = assert!(QUICK < SLOW, "a probability moves less the longer it is learnt");

/// First probability of a 1, of 256.
const START: [u8; CONTEXTS] = start();

const fn start() -> [u8; CONTEXTS] {
    let mut start = [128; CONTEXTS];
    let mut at = 0;
    while at < 3 {
        start[SPLIT + at] = [80, 140, 190][at];
        start[QUARTER + at] = [30, 60, 100][at];
        start[FLAT + at] = [6, 40, 110][at];
        start[FILTERED + at] = [100, 128, 160][at];
        at += 1;
    }
    at = 0;
    while at < 18 {
        start[SAME + at] = [200, 220, 120, 150, 70, 80][at % 6];
        at += 1;
    }
    start[ZERO] = 70;
    start[ZERO + 1] = 80;
    at = 0;
    while at < EXPONENTS {
        start[EXPONENT + at] = [150, 130, 120, 110, 100, 90, 80, 70, 60, 60, 60, 60][at];
        start[EXPONENT + EXPONENTS + at] = [140, 120, 110, 100, 90, 80, 70, 60, 60, 60, 60, 60][at];
        at += 1;
    }
    start
}

/// Probabilities of a 1 in every context, as a slice leaves them.
#[derive(Clone, Debug)]
pub(crate) struct Learnt {
    ones: [u32; CONTEXTS],
    seen: [u8; CONTEXTS],
}

impl Learnt {
    /// Returns the state at the start of a slice.
    pub(crate) fn new() -> Self {
        Self { ones: START.map(|start| u32::from(start) << 8), seen: [0; CONTEXTS] }
    }

    /// Returns the probability of a 1, of 2^12.
    pub(crate) fn of_one(&self, context: usize) -> u32 {
        (self.ones[context] >> 4).clamp(LEAST, (1 << PROBABILITY_BITS) - LEAST)
    }

    /// Goes towards the bit seen.
    pub(crate) fn learn(&mut self, context: usize, bit: bool) {
        let (ones, seen) = (&mut self.ones[context], &mut self.seen[context]);
        let rate = if *seen < QUICK_BITS { QUICK } else { SLOW };
        *seen = seen.saturating_add(1);
        if bit {
            *ones += (ONE - *ones) >> rate;
        } else {
            *ones -= *ones >> rate;
        }
    }
}

/// Returns the number of blocks beside and above block (x, y) that are split; its slice begins with row `first`.
pub(crate) fn split_near(field: &Field, x: usize, y: usize, first: usize) -> usize {
    let left = x > 0 && !field.is_whole(x - 1, y);
    usize::from(left) + usize::from(y > first && !field.is_whole(x, y - 1))
}

/// Returns the number of quartered units beside and above unit (x, y), likewise.
pub(crate) fn quartered_near(field: &Field, x: usize, y: usize, first: usize) -> usize {
    let left = x > 0 && field.is_quartered(x - 1, y);
    usize::from(left) + usize::from(y > first && field.is_quartered(x, y - 1))
}

/// Returns the number of squares beside and above square (x, y) that are filtered, likewise.
pub(crate) fn filtered_near(dering: &Dering, x: usize, y: usize, first: usize) -> usize {
    let left = x > 0 && dering.at(x - 1, y) > 0;
    usize::from(left) + usize::from(y > first && dering.at(x, y - 1) > 0)
}

/// Returns the contexts of [`FLAT`] and [`SAME`] of a part, and the vector expected.
pub(crate) fn of_part(field: &Field, x: usize, y: usize, side: usize) -> (usize, usize, [i32; 2]) {
    let first = BLOCK_CELLS * field.layout().rows_of(field.layout().slice_of(y / BLOCK_CELLS)).start;
    let left = x > 0 && field.cell(x - 1, y).is_flat();
    let flat = usize::from(left) + usize::from(y > first && field.cell(x, y - 1).is_flat());
    let (expected, differ) = field.expected(x, y, side);
    (FLAT + flat, same_context(side, differ, expected), expected)
}

/// The context of [`SAME`] of a part of `side` cells whose neighbours differ so much.
pub(crate) fn same_context(side: usize, differ: usize, expected: [i32; 2]) -> usize {
    let size = side.ilog2() as usize;
    SAME + 6 * size + 2 * differ + usize::from(expected == [0, 0])
}
