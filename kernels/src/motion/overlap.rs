//! Overlapping windows of units: weights along an axis.

use picture::pyramid::Rect;

use super::field::{Motion, UNIT, Unit};

/// The weights of the units that meet anywhere along an axis add up to this.
pub(crate) const WEIGHT: u16 = 16;
const _: () = assert!(WEIGHT as u32 * WEIGHT as u32 * u8::MAX as u32 <= u16::MAX as u32, "sums of windows fit 16 bits");

/// Returns the weight of a unit's window at its sample `at`; a unit has `side` samples, 8 or 16, its window twice.
pub(crate) const fn rising(at: usize, side: usize) -> u16 {
    let steps = if side == UNIT {
        // Sixteen steps from 0 to 16 that leave out the middle one.
        if at < UNIT / 2 { at } else { at + 1 }
    } else {
        2 * at + 1
    };
    steps as u16
}

/// Returns the weight of a unit's second half where it meets the first, at sample `at` of `side / 2` about the middle.
pub(crate) const fn rising_cell(at: usize, side: usize) -> u8 {
    let steps = if side == UNIT { if at < UNIT / 4 { at } else { at + 1 } } else { 2 * at + 1 };
    steps as u8
}

/// The mean sample of a rectangle of a plane.
pub(crate) fn mean(plane: &[u8], pitch: usize, rect: Rect) -> u8 {
    let rows = plane[rect.y * pitch..].chunks(pitch).take(rect.height);
    let sum: u64 = rows.map(|row| row[rect.x..rect.x + rect.width].iter().map(|&s| u64::from(s)).sum::<u64>()).sum();
    let count = (rect.width * rect.height).max(1) as u64;
    ((sum + count / 2) / count) as u8
}

/// Returns the motion of the window's samples, if it is one.
pub(crate) fn one(unit: Unit) -> Motion {
    match unit {
        Unit::One(motion) | Unit::Four([motion, ..]) => motion,
    }
}
