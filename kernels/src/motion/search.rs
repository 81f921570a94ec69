//! Search for the vectors of a frame.
//!
//! Units are searched each on its own, then with their neighbours' vectors, then with what their windows' overlap makes
//! of them; at last blocks are joined and units quartered where that is worth its bits. Units of one colour of four, of
//! which no two touch, do not depend on each other, so that every step gives the same vectors in any order. All in
//! integers.

use common::frame::{Chroma, FrameSize};
use rayon::prelude::*;

use super::coarse::Coarse;
use super::coder::Effort;
use super::cost::Costs;
use super::field::{BLOCK_CELLS, Field, Motion, UNIT, UNIT_CELLS, Unit, WINDOW};
use super::overlap::{Span, Sums, Window, mean, one, rect, samples, spans};
use super::predictor::{Predictor, Rect, plane_size};
use super::slice::units;
use crate::cpu::overlap::{difference, difference_from_sums, overlapped_difference};

/// Samples that a unit's search sees around it: half of its overlap.
const MARGIN: usize = 4;
/// Parts of a difference of one sample.
const PARTS: u64 = 256;
/// Where the search around a vector begins, quarters of a sample.
const FIRST_STRIDE: i32 = 8;
/// Steps of one stride or another that a search takes at most.
const STEPS: usize = 24;
/// Bits that quartering a unit must be able to save, in differences, to be tried.
const QUARTER_BITS: u64 = 20;
/// Bits that a vector's differences and its own are worth together, for which no better one is looked for.
const QUIET_BITS: u64 = 4;

const CROSS: [[i32; 2]; 4] = [[1, 0], [-1, 0], [0, 1], [0, -1]];
const AROUND: [[i32; 2]; 8] = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, 1], [1, -1], [-1, -1]];

/// A search for the motion of a picture, and its settings.
pub(crate) struct Search<'a> {
    pub(crate) predictor: &'a dyn Predictor,
    pub(crate) chroma: Chroma,
    pub(crate) size: FrameSize,
    /// Planes of the picture.
    pub(crate) source: &'a [&'a [u8]],
    /// Luma of the reference.
    pub(crate) reference: &'a [u8],
    pub(crate) costs: &'a Costs,
    /// The worth of a sixteenth of a bit, in [`PARTS`] of a difference.
    pub(crate) lambda: u64,
    pub(crate) effort: Effort,
}

/// The luma of a frame while its windows are chosen.
struct Overlapped<'a> {
    across: &'a [Span],
    down: &'a [Span],
    sums: Vec<u16>,
}

impl Search<'_> {
    /// The vectors of the picture, beginning with those of the last frame.
    pub(crate) fn find(&self, last: Option<&Field>) -> Field {
        let mut field = in_units(self.size, last);
        let coarse = (last.is_none() || self.effort >= Effort::High)
            .then(|| [self.source[0], self.reference].map(|plane| Coarse::new(plane, self.size)));
        self.search_alone(&mut field, coarse.as_ref());
        self.search_beside(&mut field);
        let [columns, rows] = field.units();
        let (across, down) = (spans(columns, UNIT, self.size.width()), spans(rows, UNIT, self.size.height()));
        let mut overlapped = Overlapped { across: &across, down: &down, sums: self.sums(&field, &across, &down) };
        let passes = match self.effort {
            Effort::Low => 0,
            Effort::Medium => 1,
            Effort::High => 2,
        };
        for _ in 0..passes {
            self.search_overlapped(&mut field, &mut overlapped);
        }
        self.join(&mut field, &mut overlapped);
        if self.effort > Effort::Low {
            self.quarter(&mut field, &mut overlapped);
        }
        field
    }

    fn bits(&self, sixteenths: u32) -> u64 {
        self.lambda * u64::from(sixteenths)
    }

    /// Difference of the source from what a vector predicts in a rectangle.
    fn difference(&self, rect: Rect, motion: Motion) -> u32 {
        let (mut window, pitch) = ([0; WINDOW * WINDOW], self.size.width());
        self.predictor.block(0, rect, motion, &mut window);
        difference(&self.source[0][rect.y * pitch + rect.x..], pitch, &window, WINDOW, rect)
    }

    /// Returns the cost of a vector for a part of `side` cells at (x, y), seen alone, with `margin` samples around it.
    fn alone(&self, field: &Field, [x, y]: [usize; 2], side: usize, margin: usize, [dx, dy]: [i32; 2]) -> u64 {
        let motion = Motion::vector(dx, dy);
        let samples = side * UNIT / UNIT_CELLS;
        let span = |at: usize, size: usize| {
            let (start, end) =
                ((at * UNIT / UNIT_CELLS).saturating_sub(margin), at * UNIT / UNIT_CELLS + samples + margin);
            (start.min(size), end.min(size) - start.min(size))
        };
        let ((left, width), (top, height)) = (span(x, self.size.width()), span(y, self.size.height()));
        if width == 0 || height == 0 {
            return self.bits(self.costs.part(field, x, y, side, motion));
        }
        let rect = Rect { x: left, y: top, width, height };
        let difference = u64::from(self.difference(rect, motion)) * PARTS * (samples * samples) as u64;
        difference / (width * height) as u64 + self.bits(self.costs.part(field, x, y, side, motion))
    }

    /// The best of `candidates` and of what lies around it, down from a stride.
    fn best(&self, cost: impl Fn([i32; 2]) -> u64, candidates: &mut Vec<[i32; 2]>, mut stride: i32) -> ([i32; 2], u64) {
        candidates.sort_unstable();
        candidates.dedup();
        let costs = candidates.iter().map(|&vector| (cost(vector), vector));
        let (mut least, mut best) = costs.min().unwrap_or((u64::MAX, [0, 0]));
        let mut steps = 0;
        while stride > 0 && least > self.bits(16) * QUIET_BITS {
            let around: &[[i32; 2]] = if stride >= 4 { &CROSS } else { &AROUND };
            let middle = best;
            for step in around {
                let vector = [middle[0] + stride * step[0], middle[1] + stride * step[1]];
                let cost = cost(vector);
                if cost < least {
                    (least, best) = (cost, vector);
                }
            }
            steps += 1;
            if best == middle || stride < 4 || steps >= STEPS {
                stride /= 2;
            }
        }
        (best, least)
    }

    /// Each unit with the last frame's vectors thereabouts, and those of a search over the picture.
    fn search_alone(&self, field: &mut Field, coarse: Option<&[Coarse; 2]>) {
        let found = self.units_of(
            field,
            |_, _| true,
            |x, y| {
                let cells = [UNIT_CELLS * x, UNIT_CELLS * y];
                let mut candidates = vec![[0, 0]];
                for [dx, dy] in [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]] {
                    candidates.extend(neighbour(field, x, y, dx, dy).map(Motion::components));
                }
                candidates.extend(coarse.map(|[source, reference]| source.search(reference, x, y)));
                let cost = |vector| self.alone(field, cells, UNIT_CELLS, MARGIN, vector);
                self.best(cost, &mut candidates, FIRST_STRIDE).0
            },
        );
        for (x, y, vector) in found {
            field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, Motion::vector(vector[0], vector[1]));
        }
    }

    /// Each unit with its neighbours' vectors.
    fn search_beside(&self, field: &mut Field) {
        for colour in 0..4 {
            let found = self.units_of(
                field,
                |x, y| x % 2 + 2 * (y % 2) == colour,
                |x, y| {
                    let cells = [UNIT_CELLS * x, UNIT_CELLS * y];
                    let own = one(field.unit(x, y)).components();
                    let (expected, _) = field.expected(cells[0], cells[1], UNIT_CELLS);
                    let mut candidates = vec![own, expected, [0, 0]];
                    for [dx, dy] in AROUND {
                        candidates.extend(neighbour(field, x, y, dx, dy).map(Motion::components));
                    }
                    let cost = |vector| self.alone(field, cells, UNIT_CELLS, MARGIN, vector);
                    self.best(cost, &mut candidates, 1).0
                },
            );
            for (x, y, vector) in found {
                field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, Motion::vector(vector[0], vector[1]));
            }
        }
    }

    /// `find` of the units that `take` names.
    fn units_of<T: Send>(
        &self,
        field: &Field,
        take: impl Fn(usize, usize) -> bool + Sync,
        find: impl Fn(usize, usize) -> T + Sync,
    ) -> Vec<(usize, usize, T)> {
        let [columns, rows] = field.units();
        let row = |y: usize| {
            let taken = (0..columns).filter(|&x| take(x, y));
            taken.map(|x| (x, y, find(x, y))).collect::<Vec<_>>()
        };
        (0..rows).into_par_iter().flat_map_iter(row).collect()
    }

    /// The sums of all windows of luma.
    fn sums(&self, field: &Field, across: &[Span], down: &[Span]) -> Vec<u16> {
        let pitch = self.size.width();
        let mut sums = vec![0; self.size.pixels()];
        for parity in 0..2 {
            strips(&mut sums, pitch, down, parity, 2, 1).into_par_iter().for_each(|(y, mut strip)| {
                let mut window = [0; WINDOW * WINDOW];
                for (x, across) in across.iter().enumerate() {
                    samples(self.predictor, 0, field.unit(x, y), across, &down[y], &mut window);
                    strip.add(across, &down[y], &window);
                }
            });
        }
        sums
    }

    /// Each unit with its neighbours' vectors, those around its own and one sample, by what the picture becomes.
    fn search_overlapped(&self, field: &mut Field, overlapped: &mut Overlapped<'_>) {
        let pitch = self.size.width();
        for colour in 0..4 {
            let rows = strips(&mut overlapped.sums, pitch, overlapped.down, colour / 2, 2, 1);
            let (across, down) = (overlapped.across, overlapped.down);
            let search = |(y, mut strip): (usize, Sums<'_>)| {
                let columns = (colour % 2..across.len()).step_by(2);
                columns
                    .map(|x| (x, y, self.choose_overlapped(field, x, y, &across[x], &down[y], &mut strip)))
                    .collect::<Vec<_>>()
            };
            let found: Vec<_> = rows.into_par_iter().flat_map_iter(search).collect();
            for (x, y, motion) in found {
                field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, motion);
            }
        }
    }

    fn choose_overlapped(
        &self,
        field: &Field,
        x: usize,
        y: usize,
        across: &Span,
        down: &Span,
        sums: &mut Sums<'_>,
    ) -> Motion {
        let own = one(field.unit(x, y));
        let (cell_x, cell_y) = (UNIT_CELLS * x, UNIT_CELLS * y);
        let (expected, _) = field.expected(cell_x, cell_y, UNIT_CELLS);
        let mut candidates = vec![own, Motion::vector(expected[0], expected[1]), Motion::ZERO];
        for [dx, dy] in CROSS {
            candidates.extend(neighbour(field, x, y, dx, dy).filter(|motion| !motion.is_flat()));
            if let Motion::Vector { x, y } = own {
                candidates.push(Motion::vector(i32::from(x) + dx, i32::from(y) + dy));
            }
        }
        candidates.push(self.flat(x, y));
        let mut window = [0; WINDOW * WINDOW];
        samples(self.predictor, 0, Unit::One(own), across, down, &mut window);
        sums.subtract(across, down, &window);
        let mut best = (u64::MAX, own);
        for (index, &motion) in candidates.iter().enumerate() {
            if candidates[..index].contains(&motion) {
                continue;
            }
            let cost = self.overlapped(Unit::One(motion), across, down, sums, &mut window)
                + self.bits(self.costs.part(field, cell_x, cell_y, UNIT_CELLS, motion));
            if cost < best.0 {
                best = (cost, motion);
            }
        }
        samples(self.predictor, 0, Unit::One(best.1), across, down, &mut window);
        sums.add(across, down, &window);
        best.1
    }

    /// Difference of the source from sums without a unit, and that unit.
    fn overlapped(&self, unit: Unit, across: &Span, down: &Span, sums: &mut Sums<'_>, window: &mut Window) -> u64 {
        samples(self.predictor, 0, unit, across, down, window);
        let pitch = sums.pitch;
        let source = &self.source[0][down.start * pitch + across.start..];
        let difference = overlapped_difference(
            source,
            pitch,
            sums.at(across, down),
            pitch,
            [across.weights(), down.weights()],
            window,
        );
        u64::from(difference) * PARTS
    }

    /// The mean samples of unit (x, y).
    fn flat(&self, x: usize, y: usize) -> Motion {
        let mut samples = [128; 3];
        for ((channel, sample), plane) in samples.iter_mut().enumerate().zip(self.source) {
            let (size, side) = plane_size(self.chroma, self.size, channel);
            let (left, top) = (x * side, y * side);
            let (width, height) = (side.min(size.width() - left), side.min(size.height() - top));
            *sample = mean(plane, size.width(), Rect { x: left, y: top, width, height });
        }
        Motion::flat(samples)
    }

    /// Joins the units of blocks to one part where that is worth the difference.
    fn join(&self, field: &mut Field, overlapped: &mut Overlapped<'_>) {
        let (columns, pitch) = (field.layout().columns(), self.size.width());
        for colour in 0..4 {
            let rows = strips(&mut overlapped.sums, pitch, overlapped.down, 2 * (colour / 2), 4, 2);
            let (across, down) = (overlapped.across, overlapped.down);
            let search = |(y, mut strip): (usize, Sums<'_>)| {
                let columns = (colour % 2..columns).step_by(2);
                let joined = columns.filter_map(|x| {
                    let motion = self.choose_joined(field, x, y / 2, across, down, &mut strip)?;
                    Some((x, y / 2, motion))
                });
                joined.collect::<Vec<_>>()
            };
            let found: Vec<_> = rows.into_par_iter().flat_map_iter(search).collect();
            for (x, y, motion) in found {
                field.set_whole(x, y, true);
                field.fill(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, motion);
            }
        }
    }

    /// The motion that block (x, y) has if it is joined.
    fn choose_joined(
        &self,
        field: &Field,
        x: usize,
        y: usize,
        across: &[Span],
        down: &[Span],
        sums: &mut Sums<'_>,
    ) -> Option<Motion> {
        let units: Vec<_> = units(x, y).into_iter().filter(|&(x, y)| field.has_unit(x, y)).collect();
        let motions: Vec<_> = units.iter().map(|&(x, y)| one(field.unit(x, y))).collect();
        let first = *motions.first()?;
        if motions.iter().all(|&motion| motion == first) {
            return Some(first);
        }
        let apart = units.iter().zip(&motions).map(|(&(x, y), &motion)| {
            self.costs.quarter(field, x, y, false)
                + self.costs.part(field, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, motion)
        });
        let bits_apart = apart.sum::<u32>() + self.costs.split(field, x, y, true);
        // The block's own square of windows.
        let (last_x, last_y) = *units.last()?;
        let (left, top) = (&across[2 * x], &down[2 * y]);
        let rect = Rect {
            x: left.start,
            y: top.start,
            width: across[last_x].start + across[last_x].len - left.start,
            height: down[last_y].start + down[last_y].len - top.start,
        };
        let pitch = sums.pitch;
        let source = &self.source[0][rect.y * pitch + rect.x..];
        let now = difference_from_sums(source, pitch, sums.at(left, top), pitch, rect);
        let now = u64::from(now) * PARTS + self.bits(bits_apart);
        let mut window = [0; WINDOW * WINDOW];
        let mut change = |sums: &mut Sums<'_>, motion: Option<Motion>, add: bool| {
            for (&(x, y), &own) in units.iter().zip(&motions) {
                let (across, down) = (&across[x], &down[y]);
                samples(self.predictor, 0, Unit::One(motion.unwrap_or(own)), across, down, &mut window);
                if add { sums.add(across, down, &window) } else { sums.subtract(across, down, &window) }
            }
        };
        change(sums, None, false);
        let mut others = vec![0; WINDOW * 2 * WINDOW * 2];
        let pitch_of_others = 2 * WINDOW;
        for (to, from) in others.chunks_mut(pitch_of_others).zip(sums.at(left, top).chunks(pitch)).take(rect.height) {
            to[..rect.width].copy_from_slice(&from[..rect.width]);
        }
        let (expected, _) = field.expected(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS);
        let mut candidates = motions.clone();
        candidates.extend([Motion::vector(expected[0], expected[1]), Motion::ZERO]);
        let mut best = (now, None);
        for (index, &motion) in candidates.iter().enumerate() {
            if candidates[..index].contains(&motion) {
                continue;
            }
            change(sums, Some(motion), true);
            let difference = difference_from_sums(source, pitch, sums.at(left, top), pitch, rect);
            let bits = self.costs.split(field, x, y, false)
                + self.costs.part(field, BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, motion);
            let cost = u64::from(difference) * PARTS + self.bits(bits);
            if cost < best.0 {
                best = (cost, Some(motion));
            }
            for (to, from) in sums.at(left, top).chunks_mut(pitch).zip(others.chunks(pitch_of_others)).take(rect.height)
            {
                to[..rect.width].copy_from_slice(&from[..rect.width]);
            }
        }
        change(sums, best.1, true);
        best.1
    }

    /// Quarters the units whose cells are better apart.
    fn quarter(&self, field: &mut Field, overlapped: &mut Overlapped<'_>) {
        let pitch = self.size.width();
        for colour in 0..4 {
            let rows = strips(&mut overlapped.sums, pitch, overlapped.down, colour / 2, 2, 1);
            let (across, down) = (overlapped.across, overlapped.down);
            let search = |(y, mut strip): (usize, Sums<'_>)| {
                let columns = (colour % 2..across.len()).step_by(2).filter(|x| !field.is_whole(x / 2, y / 2));
                // Cells are tried in a copy: no unit of this row touches another one.
                let mut trial = field.clone();
                let quartered = columns.filter_map(|x| {
                    Some((x, y, self.choose_quartered(&mut trial, x, y, &across[x], &down[y], &mut strip)?))
                });
                quartered.collect::<Vec<_>>()
            };
            let found: Vec<_> = rows.into_par_iter().flat_map_iter(search).collect();
            for (x, y, cells) in found {
                field.set_quartered(x, y, true);
                for (cell, motion) in cells.into_iter().enumerate() {
                    field.fill(UNIT_CELLS * x + cell % 2, UNIT_CELLS * y + cell / 2, 1, motion);
                }
            }
        }
    }

    fn choose_quartered(
        &self,
        field: &mut Field,
        x: usize,
        y: usize,
        across: &Span,
        down: &Span,
        sums: &mut Sums<'_>,
    ) -> Option<[Motion; 4]> {
        let own = one(field.unit(x, y));
        let (cell_x, cell_y) = (UNIT_CELLS * x, UNIT_CELLS * y);
        let pitch = sums.pitch;
        let source = &self.source[0][down.start * pitch + across.start..];
        let now = difference_from_sums(source, pitch, sums.at(across, down), pitch, rect(across, down));
        let now = u64::from(now) * PARTS;
        if now < self.bits(16) * QUARTER_BITS {
            return None;
        }
        let bits_whole =
            self.costs.quarter(field, x, y, false) + self.costs.part(field, cell_x, cell_y, UNIT_CELLS, own);
        let mut cells = [own; 4];
        for (index, cell) in cells.iter_mut().enumerate() {
            let at = [cell_x + index % 2, cell_y + index / 2];
            let mut candidates = vec![own.components(), [0, 0], field.expected(at[0], at[1], 1).0];
            for [dx, dy] in CROSS {
                candidates.extend(neighbour(field, x, y, dx, dy).map(Motion::components));
            }
            let cost = |vector| self.alone(field, at, 1, MARGIN, vector);
            let vector = self.best(cost, &mut candidates, 2).0;
            *cell = Motion::vector(vector[0], vector[1]);
            field.fill(at[0], at[1], 1, *cell);
        }
        if cells.iter().all(|&cell| cell == own) {
            return None;
        }
        let parts = cells.iter().enumerate();
        let parts = parts.map(|(index, &cell)| self.costs.part(field, cell_x + index % 2, cell_y + index / 2, 1, cell));
        let bits_quartered = self.costs.quarter(field, x, y, true) + parts.sum::<u32>();
        let mut window = [0; WINDOW * WINDOW];
        samples(self.predictor, 0, Unit::One(own), across, down, &mut window);
        sums.subtract(across, down, &window);
        let cost = self.overlapped(Unit::Four(cells), across, down, sums, &mut window) + self.bits(bits_quartered);
        let better = cost < now + self.bits(bits_whole);
        let kept = if better { Unit::Four(cells) } else { Unit::One(own) };
        samples(self.predictor, 0, kept, across, down, &mut window);
        sums.add(across, down, &window);
        better.then_some(cells)
    }
}

/// The vectors of the last frame, one for each unit; what was flat rests.
fn in_units(size: FrameSize, last: Option<&Field>) -> Field {
    let mut field = Field::new(size);
    for y in 0..field.layout().rows() {
        for x in 0..field.layout().columns() {
            field.set_whole(x, y, false);
        }
    }
    let [columns, rows] = field.units();
    for (x, y) in (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))) {
        let [right, below] = last.map(|last| one(last.unit(x, y)).components()).unwrap_or_default();
        field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, Motion::vector(right, below));
    }
    field
}

/// The motion of the unit so far to the right of and below unit (x, y), if it is in the picture.
fn neighbour(field: &Field, x: usize, y: usize, dx: i32, dy: i32) -> Option<Motion> {
    let (x, y) = (x.checked_add_signed(dx as isize)?, y.checked_add_signed(dy as isize)?);
    field.has_unit(x, y).then(|| one(field.unit(x, y)))
}

/// The rows of windows of units `first`, `first + step`, .. and the `more - 1` below each, which do not overlap.
fn strips<'a>(
    sums: &'a mut [u16],
    pitch: usize,
    down: &[Span],
    first: usize,
    step: usize,
    more: usize,
) -> Vec<(usize, Sums<'a>)> {
    let (mut rest, mut row, mut strips) = (sums, 0, Vec::new());
    for y in (first..down.len()).step_by(step) {
        let last = &down[(y + more - 1).min(down.len() - 1)];
        let _ = rest.split_off_mut(..(down[y].start - row) * pitch);
        let end = last.start + last.len;
        let own = rest.split_off_mut(..(end - down[y].start) * pitch).unwrap_or_default();
        strips.push((y, Sums { sums: own, pitch, first_row: down[y].start }));
        row = end;
    }
    strips
}
