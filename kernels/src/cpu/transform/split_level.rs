//! One level of the forward transform: the plane or low band is read once, row by row.

use picture::params::Boundary;
use rayon::prelude::*;

use super::filter::LiftingFilter;
use super::level::{DetailPlace, LevelGeometry};
use super::line::{HALO, LineBuffer};
use super::row;
use super::row_source::RowSource;
use super::short::{SHORT, Short, end_row, is_end, short_length};
use super::window::{self, PAIRS, Window, WindowScratch, source};
use crate::cpu::vector::VectorSample;

/// Output of a task: consecutive rows of the low band and of the detail beside and below it.
struct Written<'a, T> {
    low: &'a mut [T],
    low_pitch: usize,
    /// Rows of the upper half: HL at column `right`.
    beside: &'a mut [T],
    /// Rows of the lower half: LH, and HH at column `right`.
    below: &'a mut [T],
    place: DetailPlace,
}

impl<T> Written<'_, T> {
    /// Returns low and high rows from `y` on, those columns of half `half`; empty behind the last one.
    fn pairs<const P: usize>(&mut self, y: usize, half: usize, columns: usize) -> [[&mut [T]; 2]; P] {
        let (low, low_pitch) =
            if half == 0 { (&mut *self.low, self.low_pitch) } else { (&mut *self.beside, self.place.pitch) };
        let start = half * self.place.right;
        let rows = |data, pitch| <[T]>::chunks_mut(data, pitch).skip(y).map(|row| &mut row[start..start + columns]);
        let (mut low, mut high) = (rows(low, low_pitch), rows(self.below, self.place.pitch));
        std::array::from_fn(|_| [&mut low, &mut high].map(|rows| rows.next().unwrap_or_default()))
    }
}

/// Splits the samples `from` into `to` (low band) and `bands` (detail).
pub(super) fn split_level<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    from: impl RowSource<T>,
    (to, low_pitch): (&mut [T], usize),
    bands: &mut [T],
    place: DetailPlace,
    scratch: &mut WindowScratch<T>,
) {
    let WindowScratch { windows, ends } = scratch;
    if level.rows > 1 {
        split_segments(level, filter, from, (to, low_pitch), bands, place, windows);
    }
    if level.has_separate_ends() {
        let (beside, below) = bands.split_at_mut(place.below);
        let output = Written { low: to, low_pitch, beside, below: &mut below[..level.rows / 2 * place.pitch], place };
        split_ends(level, filter, from, output, ends, &mut windows[0].row);
    }
}

/// Splits all rows as if they went on beyond the ends, each thread a segment.
fn split_segments<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    from: impl RowSource<T>,
    (to, low_pitch): (&mut [T], usize),
    bands: &mut [T],
    place: DetailPlace,
    windows: &mut [Window<T>],
) {
    let (low_rows, high_rows) = (level.rows.div_ceil(2), level.rows / 2);
    let pairs = level.pairs_per_task(windows.len().min(rayon::current_num_threads()));
    let (beside, below) = bands.split_at_mut(place.below);
    let below = below[..high_rows * place.pitch].chunks_mut(pairs * place.pitch).map(Some);
    let below = below.chain(std::iter::repeat_with(|| None));
    let beside = beside[..low_rows * place.pitch].chunks_mut(pairs * place.pitch);
    let low = to[..low_rows * low_pitch].chunks_mut(pairs * low_pitch);
    let tasks = low.zip(beside).zip(below).zip(windows.iter_mut()).enumerate();
    let tasks = tasks.map(|(index, (((low, beside), below), window))| {
        let output = Written { low, low_pitch, beside, below: below.unwrap_or_default(), place };
        move || split_rows(level, filter, from, output, window, index * pairs)
    });
    if pairs >= low_rows {
        tasks.for_each(|task| task());
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().for_each(|task| task());
    }
}

/// Pairs of rows from `first` on, as many as the output has low rows.
fn split_rows<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    from: impl RowSource<T>,
    mut output: Written<'_, T>,
    window: &mut Window<T>,
    first: usize,
) {
    let pairs = output.low.len().div_ceil(output.low_pitch) as isize;
    let (first, lag) = (first as isize, filter.lag() as isize);
    for y in window::groups(lag, pairs) {
        // Rows come in with the odd one first.
        let start = 2 * (first + y + lag) - 1;
        let at = |line: usize| source(start + line as isize, level);
        for line in 0..2 * PAIRS {
            let Window { lines, row, .. } = &mut *window;
            let (row, ahead) = (from.row(at(line), level.columns, row), from.ahead(at(line + 2 * PAIRS)));
            split_row(level, filter, row, ahead, lines.line_mut(line));
        }
        for half in 0..2 {
            let columns = (level.columns + 1 - half) / 2;
            let to = usize::try_from(y).map_or_else(|_| Default::default(), |y| output.pairs(y, half, columns));
            window::split(filter, window, half, columns, to);
        }
    }
}

/// Splits the first and last rows of a level whose rows do not go on beyond the ends.
fn split_ends<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    from: impl RowSource<T>,
    mut output: Written<'_, T>,
    ends: &mut LineBuffer<T>,
    room: &mut [T],
) {
    let length = short_length(level.rows);
    for at in 0..length {
        let row = from.row(end_row(at, level.rows), level.columns, room);
        split_row(level, filter, row, &[], ends.line_mut(at));
    }
    for (half, columns) in [level.columns.div_ceil(2), level.columns / 2].into_iter().enumerate() {
        for x in HALO..HALO + columns {
            let mut column = Short::from_samples(length, |at| ends.line(at)[half][x]);
            column.split(filter, level.boundary);
            for at in 0..length {
                ends.line_mut(at)[half][x] = column.sample(at);
            }
        }
        for at in (0..length).filter(|&at| is_end(at, level.rows)) {
            let row = end_row(at, level.rows);
            let [pair] = output.pairs(row / 2, half, columns);
            pair[row % 2].copy_from_slice(&ends.line(at)[half][HALO..HALO + columns]);
        }
    }
}

/// Splits a row horizontally. `ahead` is one that will be read soon.
fn split_row<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    row: &[T],
    ahead: &[T],
    [low, high]: [&mut [T]; 2],
) {
    if row.len() <= SHORT {
        row::split_short(row, filter, level.boundary, [low, high]);
        return;
    }
    row::split(row, ahead, filter, low, high);
    if level.boundary != Boundary::Symmetric {
        row::split_ends(row, filter, level.boundary, [low, high]);
    }
}
