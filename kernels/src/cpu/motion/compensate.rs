//! Prediction on the processor: planes of samples between samples, made once for a reference, and whole windows at a time.

use picture::frame::{Chroma, FrameSize};
#[cfg(test)]
use picture::pyramid::Rect;
use rayon::prelude::*;

use super::overlap::{blend_row, round_sums};
use super::planes::{Bordered, Luma, within};
use super::square::{add_8, add_16, eighths_8, eighths_16, eighths_32, predict_16, predict_32};
use crate::Picture;
#[cfg(test)]
use crate::motion::field::WINDOW;
use crate::motion::field::{CELL_WEIGHT, Field, Motion, UNIT, Unit};
use crate::motion::overlap::{WEIGHT, rising, rising_cell};
use crate::motion::predictor::{Predictor, plane_size, planes};

/// A channel of chroma of the reference.
#[derive(Debug)]
struct Colour {
    size: FrameSize,
    side: usize,
    plane: Bordered,
}

impl Colour {
    /// The samples that those from (x, y) on are predicted from, and the part of a sample that they lie between.
    fn eighth(&self, x: usize, y: usize, [right, below]: [i32; 2]) -> (&[u8], [u16; 2]) {
        let factor = if self.side < UNIT { 1 } else { 2 };
        let x = within(8 * x as i32 + factor * right, 8, self.size.width());
        let y = within(8 * y as i32 + factor * below, 8, self.size.height());
        (self.plane.from(x >> 3, y >> 3), [x, y].map(|at| (at & 7) as u16))
    }
}

/// Prediction of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuPredictor {
    chroma: Chroma,
    size: FrameSize,
    luma: Luma,
    colours: Vec<Colour>,
}

impl CpuPredictor {
    /// For pictures of a stream.
    pub(crate) fn new(chroma: Chroma, size: FrameSize) -> Self {
        let colour = |channel| {
            let (size, side) = plane_size(chroma, size, channel);
            Colour { size, side, plane: Bordered::new(size) }
        };
        Self { chroma, size, luma: Luma::new(size), colours: (1..chroma.channels().len()).map(colour).collect() }
    }

    /// Returns the luma of the reference, for the search.
    pub(crate) fn luma(&self) -> &Luma {
        &self.luma
    }
}

impl Predictor for CpuPredictor {
    fn refer(&mut self, reference: &Picture) {
        let planes = planes(self.chroma, self.size, reference.data());
        self.luma.take(planes[0]);
        for (colour, plane) in self.colours.iter_mut().zip(&planes[1..]) {
            colour.plane.take(colour.size, plane);
        }
    }

    #[cfg(test)]
    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]) {
        let mut window = [0; WINDOW * WINDOW];
        self.rows::<WINDOW>(channel, (rect.x, rect.y), rect.height, motion, &mut window, WINDOW);
        for (to, from) in out.chunks_mut(WINDOW).zip(window.chunks(WINDOW)).take(rect.height) {
            to[..rect.width].copy_from_slice(&from[..rect.width]);
        }
    }

    fn compensate(&self, field: &Field, out: &mut Picture) {
        self.compensate_from(0, field, out);
    }
}

impl CpuPredictor {
    /// Writes the prediction of the channels from this one on.
    pub(crate) fn compensate_from(&self, first: usize, field: &Field, out: &mut Picture) {
        let mut rest = out.data_mut();
        for channel in 0..self.chroma.channels().len() {
            let (size, side) = plane_size(self.chroma, self.size, channel);
            let plane = rest.split_off_mut(..size.pixels()).unwrap_or_default();
            if channel < first {
                continue;
            }
            if side == UNIT {
                self.plane::<UNIT>(channel, size, field, plane);
            } else {
                self.plane::<{ UNIT / 2 }>(channel, size, field, plane);
            }
        }
    }

    /// Predicts `W` samples, 32, 16 or 8, in each of `rows` rows from (x, y) on; `out` has rows `pitch` apart.
    fn rows<const W: usize>(
        &self,
        channel: usize,
        (x, y): (usize, usize),
        rows: usize,
        motion: Motion,
        out: &mut [u8],
        pitch: usize,
    ) {
        if let Motion::Flat(samples) = motion {
            out.chunks_mut(pitch).take(rows).for_each(|row| row[..W].fill(samples[channel]));
            return;
        }
        let vector = motion.components();
        if let Some(colour) = channel.checked_sub(1).and_then(|colour| self.colours.get(colour)) {
            let (from, part) = colour.eighth(x, y, vector);
            match W {
                8 => eighths_8(out, pitch, rows, from, colour.plane.pitch, part),
                16 => eighths_16(out, pitch, rows, from, colour.plane.pitch, part),
                _ => eighths_32(out, pitch, rows, from, colour.plane.pitch, part),
            }
            return;
        }
        let taps = self.luma.quarter(4 * x as i32 + vector[0], 4 * y as i32 + vector[1]);
        if W == 16 { predict_16(out, pitch, rows, taps) } else { predict_32(out, pitch, rows, taps) }
    }

    /// Predicts a plane whose units have `SIDE` samples: square by square from the middle of a unit to that of the next, where the
    /// same four units meet.
    fn plane<const SIDE: usize>(&self, channel: usize, size: FrameSize, field: &Field, plane: &mut [u8]) {
        let [columns, rows] = field.units();
        let (width, pitch) = (size.width(), size.width());
        let (across, down) = (meetings(columns, SIDE, width), meetings(rows, SIDE, size.height()));
        let mut rest = plane;
        let strips = down
            .iter()
            .enumerate()
            .filter(|(_, down)| down.len > 0)
            .map(|(y, down)| (y, down, rest.split_off_mut(..down.len * pitch).unwrap_or_default()));
        let strips: Vec<_> = strips.collect();
        strips.into_par_iter().for_each(|(y, down, out)| {
            let mut meeting = Vec::with_capacity(4);
            for (x, across) in across.iter().enumerate().filter(|(_, across)| across.len > 0) {
                meeting.clear();
                for (row, second_row) in down.units(y) {
                    meeting.extend(across.units(x).map(|(column, second)| (column, row, [second, second_row])));
                }
                let Some(&(column, row, _)) = meeting.first() else { continue };
                let first = field.unit(column, row);
                let to = &mut out[across.start..];
                let at = (across.start, down.start);
                let same = matches!(first, Unit::One(_)) && meeting.iter().all(|&(x, y, _)| field.unit(x, y) == first);
                if let (true, Unit::One(motion), true) = (same, first, across.len == SIDE) {
                    self.rows::<SIDE>(channel, at, down.len, motion, to, pitch);
                    continue;
                }
                let (mut sums, mut window) = ([0; UNIT * UNIT], [0; UNIT * UNIT]);
                let mut before = None;
                for &(x, y, seconds) in &meeting {
                    match field.unit(x, y) {
                        Unit::One(motion) if before == Some(motion) => {}
                        Unit::One(motion) => {
                            self.rows::<SIDE>(channel, at, down.len, motion, &mut window, SIDE);
                            before = Some(motion);
                        }
                        Unit::Four(cells) => {
                            let second = [&across.cells[usize::from(seconds[0])], &down.cells[usize::from(seconds[1])]];
                            self.blended::<SIDE>(channel, at, down.len, (cells, second), &mut window);
                            before = None;
                        }
                    }
                    let weights = [&across.weights[usize::from(seconds[0])], &down.weights[usize::from(seconds[1])]];
                    add_square::<SIDE>(&mut sums, weights, &window);
                }
                for (to, sums) in to.chunks_mut(pitch).zip(sums.chunks(SIDE)).take(down.len) {
                    round_sums(&mut to[..across.len], &sums[..across.len]);
                }
            }
        });
    }

    /// The part of a unit of four cells in a square; `second`: the weights of its right and lower cells.
    fn blended<const SIDE: usize>(
        &self,
        channel: usize,
        at: (usize, usize),
        rows: usize,
        (cells, [across, down]): ([Motion; 4], [&[u8; UNIT]; 2]),
        out: &mut [u8; UNIT * UNIT],
    ) {
        let mut parts = [[0; UNIT * UNIT]; 4];
        for (part, motion) in parts.iter_mut().zip(cells) {
            self.rows::<SIDE>(channel, at, rows, motion, part, SIDE);
        }
        for ((y, to), &below) in out.chunks_mut(SIDE).enumerate().zip(down).take(rows) {
            blend_row(to, parts.each_ref().map(|part| &part[SIDE * y..][..SIDE]), &across[..SIDE], below);
        }
    }
}

fn add_square<const SIDE: usize>(
    sums: &mut [u16; UNIT * UNIT],
    [across, down]: [&[u16; UNIT]; 2],
    samples: &[u8; UNIT * UNIT],
) {
    if let (Some(across), Some(down)) = (across.first_chunk::<8>(), down.first_chunk::<8>())
        && SIDE == 8
    {
        add_8(sums, SIDE, [across, down], samples);
    } else {
        add_16(sums, SIDE, [across, down], samples);
    }
}

/// The samples along an axis between the middles of two units.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    start: usize,
    len: usize,
    has_first: bool,
    has_second: bool,
    /// The weights of the first and of the second unit.
    weights: [[u16; UNIT]; 2],
    /// The weights of the second half of the first and of the second unit, if they are of four cells.
    cells: [[u8; UNIT]; 2],
}

/// The meetings of `units` units of `side` samples along an axis of `size` samples: before each of them, and after the last.
fn meetings(units: usize, side: usize, size: usize) -> Vec<Meeting> {
    let meeting = |unit: usize| {
        let from = if unit == 0 { side / 2 } else { 0 };
        let start = (unit * side + from - side / 2).min(size);
        let end = (unit * side + side / 2).min(size);
        let (len, has_first, has_second) = (end - start, unit > 0, unit < units);
        // Of the first sample, counted from the middle of the first unit: not 0 where there is none.
        let places = || (from..).take(len);
        let mut weights = [[0; UNIT]; 2];
        for (second, weights) in weights.iter_mut().enumerate() {
            for (weight, at) in weights.iter_mut().zip(places()) {
                *weight = match (has_first && has_second, second) {
                    (false, _) => WEIGHT,
                    (true, 0) => WEIGHT - rising(at, side),
                    (true, _) => rising(at, side),
                };
            }
        }
        let mut cells = [[0; UNIT]; 2];
        // Counted from where the unit's window begins; the middle of the unit is sample `side` of it.
        for (begin, cells) in [side, 0].into_iter().zip(&mut cells) {
            for (weight, at) in cells.iter_mut().zip(places()) {
                *weight = match (at + begin).checked_sub(side - side / 4) {
                    None => 0,
                    Some(at) if at >= side / 2 => CELL_WEIGHT,
                    Some(at) => rising_cell(at, side),
                };
            }
        }
        Meeting { start, len, has_first, has_second, weights, cells }
    };
    (0..=units).map(meeting).collect()
}

impl Meeting {
    /// The units that meet in number `at`, and which is the second.
    fn units(&self, at: usize) -> impl Iterator<Item = (usize, bool)> + use<> {
        let first = self.has_first.then(|| (at - 1, false));
        first.into_iter().chain(self.has_second.then_some((at, true)))
    }
}
