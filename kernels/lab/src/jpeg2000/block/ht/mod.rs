//! The block coder of high throughput (ISO/IEC 15444-15, HTJ2K): quads of 2 x 2 coefficients in one pass, and at most two that
//! refine them. Blocks lie on their side, as squares do: a column of the picture after the other.

mod cleanup;
mod context;
mod encode;
mod read;
mod refine;
mod tables;
mod write;

use self::cleanup::{BadBlock, NEGATIVE};
pub(crate) use self::encode::{QuadScratch, encode};
use super::tier1::Segment;

/// Decodes a block into signed coefficients in half quantiser steps, column by column: what is not known of a magnitude is taken as
/// half of it. `planes` are those down to the one of the first pass, at most 30.
pub(crate) fn decode(
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
