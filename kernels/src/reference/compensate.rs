//! Prediction from a reference: samples between samples, and the overlap of units.

use picture::frame::{Chroma, FrameSize};
#[cfg(test)]
use picture::pyramid::Rect;

use crate::Picture;
#[cfg(test)]
use crate::motion::field::WINDOW;
use crate::motion::field::{CELL_WEIGHT, Field, HALF_TAPS, Motion, UNIT, Unit};
use crate::motion::overlap::{WEIGHT, rising, rising_cell};
use crate::motion::predictor::{Predictor, plane_size, planes};

/// A plane that goes on beyond its ends with its outermost samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndlessPlane<'a> {
    /// Row after row.
    pub(crate) samples: &'a [u8],
    /// Its size.
    pub(crate) size: FrameSize,
}

impl EndlessPlane<'_> {
    /// Returns the sample at (x, y).
    pub(crate) fn at(&self, x: i32, y: i32) -> u8 {
        let column = x.clamp(0, self.size.width() as i32 - 1) as usize;
        let row = y.clamp(0, self.size.height() as i32 - 1) as usize;
        self.samples[row * self.size.width() + column]
    }

    /// Returns the sample at (x / 2, y / 2).
    pub(crate) fn half(&self, x: i32, y: i32) -> u8 {
        let (column, row) = (x >> 1, y >> 1);
        let down = |column| match y & 1 {
            0 => self.at(column, row),
            _ => half_way(|at| self.at(column, row + at)),
        };
        if x & 1 == 0 { down(column) } else { half_way(|at| down(column + at)) }
    }

    /// Returns the sample at (x / 4, y / 4): the mean of the nearest ones at halves.
    pub(crate) fn quarter(&self, x: i32, y: i32) -> u8 {
        let half = |dx, dy| u32::from(self.half((x >> 1) + dx, (y >> 1) + dy));
        let (dx, dy) = (x & 1, y & 1);
        ((half(0, 0) + half(dx, 0) + half(0, dy) + half(dx, dy) + 2) >> 2) as u8
    }

    /// Returns the sample at (x / 8, y / 8): a straight line between whole samples along each axis.
    pub(crate) fn eighth(&self, x: i32, y: i32) -> u8 {
        let at = |dx, dy| i32::from(self.at((x >> 3) + dx, (y >> 3) + dy));
        let (fx, fy) = (x & 7, y & 7);
        let (upper, lower) = ((8 - fx) * at(0, 0) + fx * at(1, 0), (8 - fx) * at(0, 1) + fx * at(1, 1));
        (((8 - fy) * upper + fy * lower + 32) >> 6) as u8
    }
}

/// Returns the sample between samples 0 and 1.
fn half_way(sample: impl Fn(i32) -> u8) -> u8 {
    let taps = HALF_TAPS.into_iter().zip(-3..);
    let sum: i32 = taps.map(|(tap, at)| tap * (i32::from(sample(at)) + i32::from(sample(1 - at)))).sum();
    ((sum + 32) >> 6).clamp(0, 255) as u8
}

/// Returns the prediction of `motion` at (x, y) of the plane of a channel; `half`: of half the width and height of luma.
pub(crate) fn sample(plane: EndlessPlane<'_>, channel: usize, half: bool, motion: Motion, x: usize, y: usize) -> u8 {
    let (x, y) = (x as i32, y as i32);
    match motion {
        Motion::Flat(samples) => samples[channel],
        Motion::Vector { x: right, y: below } => {
            let (right, below) = (i32::from(right), i32::from(below));
            match (channel, half) {
                (0, _) => plane.quarter(4 * x + right, 4 * y + below),
                (_, true) => plane.eighth(8 * x + right, 8 * y + below),
                (_, false) => plane.eighth(8 * x + 2 * right, 8 * y + 2 * below),
            }
        }
    }
}

/// Returns the two units, or the unit twice, that meet at `at` along an axis of `units` units, with their weights.
fn meeting(at: usize, side: usize, units: usize) -> [(usize, u32); 2] {
    let from_middle = at + side / 2;
    let (second, place) = (from_middle / side, from_middle % side);
    let weight = rising(place, side);
    let first = second.saturating_sub(1);
    [(first, u32::from(WEIGHT - weight)), (second.min(units - 1), u32::from(weight))]
}

/// Returns the weights of the first and second half of unit `unit` at `at`.
fn halves(at: usize, side: usize, unit: usize) -> [u32; 2] {
    let start = unit * side + side / 2 - side / 4;
    let second = match at.checked_sub(start) {
        None => 0,
        Some(at) if at >= side / 2 => CELL_WEIGHT,
        Some(at) => rising_cell(at, side),
    };
    [u32::from(CELL_WEIGHT - second), u32::from(second)]
}

/// Returns the prediction of a picture of sampling `chroma` by `field` from `reference`, sample by sample.
pub(crate) fn compensate(reference: &Picture, chroma: Chroma, field: &Field) -> Vec<u8> {
    let picture_size = reference.size();
    let mut out = Vec::with_capacity(reference.data().len());
    for (channel, samples) in planes(chroma, picture_size, reference.data()).into_iter().enumerate() {
        let (size, side) = plane_size(chroma, picture_size, channel);
        let plane = EndlessPlane { samples, size };
        let [columns, rows] = field.units();
        for (x, y) in (0..size.height()).flat_map(|y| (0..size.width()).map(move |x| (x, y))) {
            let of = |motion| u32::from(sample(plane, channel, side < UNIT, motion, x, y));
            let mut sum = 0;
            for (unit_y, down) in meeting(y, side, rows) {
                for (unit_x, across) in meeting(x, side, columns) {
                    let value = match field.unit(unit_x, unit_y) {
                        Unit::One(motion) => of(motion),
                        Unit::Four(cells) => {
                            let (across, down) = (halves(x, side, unit_x), halves(y, side, unit_y));
                            let part = |index: usize| across[index % 2] * down[index / 2] * of(cells[index]);
                            ((0..4).map(part).sum::<u32>() + 32) >> 6
                        }
                    };
                    sum += across * down * value;
                }
            }
            out.push(((sum + 128) >> 8) as u8);
        }
    }
    out
}

/// Prediction of the reference back end.
#[derive(Debug)]
pub(crate) struct ReferencePredictor {
    chroma: Chroma,
    reference: Picture,
}

impl ReferencePredictor {
    /// Creates a compensation for pictures of a stream.
    pub(crate) fn new(chroma: Chroma, size: FrameSize) -> Self {
        Self { chroma, reference: Picture::for_stream(chroma, size) }
    }
}

impl Predictor for ReferencePredictor {
    fn refer(&mut self, reference: &Picture) {
        self.reference.data_mut().copy_from_slice(reference.data());
    }

    #[cfg(test)]
    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]) {
        let (size, side) = plane_size(self.chroma, self.reference.size(), channel);
        let plane =
            EndlessPlane { samples: planes(self.chroma, self.reference.size(), self.reference.data())[channel], size };
        for y in 0..rect.height {
            for x in 0..rect.width {
                out[y * WINDOW + x] = sample(plane, channel, side < UNIT, motion, rect.x + x, rect.y + y);
            }
        }
    }

    fn compensate(&self, field: &Field, out: &mut Picture) {
        out.data_mut().copy_from_slice(&compensate(&self.reference, self.chroma, field));
    }
}
