//! The block coder of high throughput (ISO/IEC 15444-15, HTJ2K): quads of 2 x 2 coefficients in one pass, and at most two that
//! refine them. Blocks lie on their side, as squares do: a column of the picture after the other.

mod cleanup;
mod encode;
mod read;
mod refine;
mod tables;
mod write;

pub(super) use self::encode::encode;
use super::tier1::Segment;

/// A negative coefficient.
const NEGATIVE: u32 = 1 << 31;
/// Bits of a run of quads without anything, by the state of the coder.
const RUN_BITS: [u32; 13] = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5];

/// A block is not as an encoder makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadBlock;

/// Exponents of a row of quads' lower coefficients, one column before the first and two after the last; 0 for a coefficient 0.
struct Above(Vec<u8>);

impl Above {
    fn new(width: usize) -> Self {
        Self(vec![0; width.next_multiple_of(2) + 3])
    }

    /// Returns the exponents of the four coefficients above a quad, from the one left of it.
    fn of(&self, column: usize) -> [u8; 4] {
        let at = &self.0[column..column + 4];
        [at[0], at[1], at[2], at[3]]
    }

    fn set(&mut self, column: usize, exponents: [u8; 2]) {
        self.0[column + 1..column + 3].copy_from_slice(&exponents);
    }
}

/// Returns the context of a quad; `left` are the significant coefficients of the one to its left.
#[inline]
fn context(is_first: bool, above: [u8; 4], left: u8) -> usize {
    let context = if is_first {
        // Both of its left column, then each of the right one.
        (left & 1 | left >> 1 & 1) | left >> 1 & 0b110
    } else {
        let bit = |is_there: bool, at: u8| u8::from(is_there) << at;
        bit(above[0] | above[1] != 0, 0) | bit(left & 0b1100 != 0, 1) | bit(above[2] | above[3] != 0, 2)
    };
    context.into()
}

/// Returns the largest exponent that is expected of a quad.
#[inline]
fn expected(above: [u8; 4], significant: u8) -> u32 {
    // One coefficient alone says nothing of its neighbours.
    if significant.count_ones() < 2 {
        return 1;
    }
    above.into_iter().max().unwrap_or(0).saturating_sub(1).max(1).into()
}

/// Decodes a block into signed coefficients in half quantiser steps, column by column: what is not known of a magnitude is taken as
/// half of it. `planes` are those down to the one of the first pass, at most 30.
pub(super) fn decode(
    segments: &[Segment],
    planes: u8,
    (width, height): (usize, usize),
    is_causal: bool,
) -> Result<Vec<i32>, BadBlock> {
    let mut values = vec![0_u32; width * height];
    if let (Some(first), Some(plane)) = (segments.first(), planes.checked_sub(1)) {
        cleanup::decode(&first.bytes, &mut values, height, plane.into())?;
        // The lowest plane has none below it.
        if let (Some(more), Some(plane)) = (segments.get(1), plane.checked_sub(1)) {
            refine::refine(more, &mut values, height, plane.into(), is_causal);
        }
    }
    let signed = |value: u32| {
        let magnitude = (value & !NEGATIVE) as i32;
        if value & NEGATIVE != 0 { -magnitude } else { magnitude }
    };
    Ok(values.into_iter().map(signed).collect())
}
