//! How the windows of units overlap: weights along an axis, and sums of weighted windows.

use super::field::{CELL_WEIGHT, Motion, UNIT, Unit, WINDOW};
use super::predictor::{Predictor, Rect};
use crate::cpu::overlap::{add_window, blend_row, subtract_window};

/// The samples of a window, rows [`WINDOW`] apart.
pub(crate) type Window = [u8; WINDOW * WINDOW];

/// The weights of the units that meet anywhere along an axis add up to this.
pub const WEIGHT: u16 = 16;

/// Returns the weight of a unit's window at its sample `at`; a unit has `side` samples, 8 or 16, its window twice.
pub const fn rising(at: usize, side: usize) -> u16 {
    let steps = if side == UNIT {
        // Sixteen steps from 0 to 16 that leave out the middle one.
        if at < UNIT / 2 { at } else { at + 1 }
    } else {
        2 * at + 1
    };
    steps as u16
}

/// Returns the weight of a unit's second half where it meets the first, at sample `at` of `side / 2` about the middle.
pub const fn rising_cell(at: usize, side: usize) -> u8 {
    let steps = if side == UNIT { if at < UNIT / 4 { at } else { at + 1 } } else { 2 * at + 1 };
    steps as u8
}

/// Where the window of a unit lies along an axis, and its weights.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// First sample.
    pub(crate) start: usize,
    /// Samples.
    pub(crate) len: usize,
    /// Weight of each sample.
    pub(crate) weights: [u16; WINDOW],
    /// Weight of the second half of the unit's cells in each sample.
    pub(crate) second: [u8; WINDOW],
}

impl Span {
    /// Returns the weights of its samples.
    pub(crate) fn weights(&self) -> &[u16] {
        &self.weights[..self.len]
    }
}

/// The windows of `units` units of `side` samples along an axis of `size` samples.
pub(crate) fn spans(units: usize, side: usize, size: usize) -> Vec<Span> {
    let span = |unit: usize| {
        let before = if unit == 0 { side / 2 } else { 0 };
        let first = unit * side + before;
        let start = first - side / 2;
        let end = size.min(unit * side + side + side / 2);
        let (mut weights, mut second) = ([0; WINDOW], [0; WINDOW]);
        for (at, (weight, second)) in weights.iter_mut().zip(&mut second).enumerate().take(end - start) {
            let at = at + before;
            *weight = if at < side {
                if unit == 0 { WEIGHT } else { rising(at, side) }
            } else if unit + 1 == units {
                WEIGHT
            } else {
                WEIGHT - rising(at - side, side)
            };
            // The middle of the unit is sample `side` of its window.
            *second = match at.checked_sub(side - side / 4) {
                None => 0,
                Some(at) if at >= side / 2 => CELL_WEIGHT,
                Some(at) => rising_cell(at, side),
            };
        }
        Span { start, len: end - start, weights, second }
    };
    (0..units).map(span).collect()
}

/// The window where two spans cross.
pub(crate) fn rect(across: &Span, down: &Span) -> Rect {
    Rect { x: across.start, y: down.start, width: across.len, height: down.len }
}

/// Returns the prediction of a unit in its window.
pub(crate) fn samples(
    predictor: &dyn Predictor,
    channel: usize,
    unit: Unit,
    across: &Span,
    down: &Span,
    out: &mut Window,
) {
    let rect = rect(across, down);
    let cells = match unit {
        Unit::One(motion) => return predictor.block(channel, rect, motion, out),
        Unit::Four(cells) => cells,
    };
    let mut parts = [[0; WINDOW * WINDOW]; 4];
    for ((index, &motion), part) in cells.iter().enumerate().zip(&mut parts) {
        // Only where the cell has weight.
        let needed = |span: &Span, second: bool| {
            let has_weight = |&weight: &u8| if second { weight > 0 } else { weight < CELL_WEIGHT };
            let weights = &span.second[..span.len];
            let first = weights.iter().position(has_weight).unwrap_or(0);
            first..weights.iter().rposition(has_weight).map_or(first, |last| last + 1)
        };
        let (columns, rows) = (needed(across, index % 2 == 1), needed(down, index / 2 == 1));
        let rect = Rect { x: rect.x + columns.start, y: rect.y + rows.start, width: columns.len(), height: rows.len() };
        predictor.block(channel, rect, motion, &mut part[rows.start * WINDOW + columns.start..]);
    }
    for y in 0..down.len {
        let rows = parts.each_ref().map(|part| &part[y * WINDOW..][..WINDOW]);
        blend_row(&mut out[y * WINDOW..][..WINDOW], rows, &across.second, down.second[y]);
    }
}

/// Sums of weighted windows; [`WEIGHT`] squared times a sample where all are there.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    /// Row after row of the plane.
    pub(crate) sums: &'a mut [u16],
    /// Samples in a row.
    pub(crate) pitch: usize,
    /// The plane's row that is the first one here.
    pub(crate) first_row: usize,
}

impl Sums<'_> {
    /// Returns the sums of a window, rows [`Self::pitch`] apart.
    pub(crate) fn at(&mut self, across: &Span, down: &Span) -> &mut [u16] {
        &mut self.sums[(down.start - self.first_row) * self.pitch + across.start..]
    }

    /// Adds a window.
    pub(crate) fn add(&mut self, across: &Span, down: &Span, samples: &Window) {
        let pitch = self.pitch;
        add_window(self.at(across, down), pitch, [across.weights(), down.weights()], samples);
    }

    /// Takes a window away that was added.
    pub(crate) fn subtract(&mut self, across: &Span, down: &Span, samples: &Window) {
        let pitch = self.pitch;
        subtract_window(self.at(across, down), pitch, [across.weights(), down.weights()], samples);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_everywhere() {
        for side in [8, 16] {
            for size in [1_usize, 7, 8, 9, 15, 16, 17, 31, 33, 100] {
                let units = size.div_ceil(side);
                let mut sums = vec![0; size];
                for span in spans(units, side, size) {
                    assert!(span.start + span.len <= size);
                    for (sum, weight) in sums[span.start..].iter_mut().zip(&span.weights[..span.len]) {
                        *sum += weight;
                    }
                }
                assert_eq!(sums, vec![WEIGHT; size], "{size} samples in units of {side}");
            }
        }
    }
}
