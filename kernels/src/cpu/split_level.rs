//! One level of the forward transform: the plane or low band is read once, row by row.

use std::ops::Range;

use common::params::Boundary;
use rayon::prelude::*;

use super::filter::{Element, Filter};
use super::level::{Level, Place, Rows, Scratch};
use super::line::{HALO, Line};
use super::row;
use super::short::{SHORT, Short, end_row, is_end, short_length};
use super::simd::multiversion;
use super::vector::Isa;
use super::window::{Extension, Window, with_run_up};

/// What a task writes: consecutive rows of the low band and of the detail beside and below it.
struct Output<'a, T> {
    low: &'a mut [T],
    low_pitch: usize,
    /// Rows of the upper half: HL at column `right`.
    beside: &'a mut [T],
    /// Rows of the lower half: LH, and HH at column `right`.
    below: &'a mut [T],
    place: Place,
}

impl<T> Output<'_, T> {
    /// Columns of low row `y` and of its detail, both halves.
    #[inline(always)]
    fn low_row(&mut self, y: usize, columns: Range<usize>, level: &Level) -> [&mut [T]; 2] {
        let high = columns.start..columns.end.min(level.columns / 2);
        let beside = &mut self.beside[y * self.place.pitch + self.place.right..];
        [&mut self.low[y * self.low_pitch..][columns], &mut beside[high]]
    }

    /// Columns of high row `y`, both halves; `None` behind the last one.
    #[inline(always)]
    fn high_row(&mut self, y: usize, columns: Range<usize>, level: &Level) -> Option<[&mut [T]; 2]> {
        let high = columns.start..columns.end.min(level.columns / 2);
        let row = self.below.get_mut(y * self.place.pitch..)?;
        if row.is_empty() {
            return None;
        }
        let (left, right) = row.split_at_mut(self.place.right);
        Some([&mut left[columns], &mut right[high]])
    }
}

/// Splits the samples `from` into `to` (low band) and `bands` (detail).
pub(super) fn split_level<T: Element>(
    level: &Level,
    filter: &Filter<T>,
    from: Rows<'_, T>,
    (to, low_pitch): (&mut [T], usize),
    bands: &mut [T],
    place: Place,
    scratch: &mut Scratch<T>,
) {
    let Scratch { windows, ends } = scratch;
    if level.rows > 1 {
        split_segments(level, filter, from, (to, low_pitch), bands, place, windows);
    }
    if level.has_separate_ends() {
        let (beside, below) = bands.split_at_mut(place.below);
        let output = Output { low: to, low_pitch, beside, below: &mut below[..level.rows / 2 * place.pitch], place };
        split_ends(level, filter, from, output, ends);
    }
}

/// All rows as if they went on beyond the ends, each thread a segment.
fn split_segments<T: Element>(
    level: &Level,
    filter: &Filter<T>,
    from: Rows<'_, T>,
    (to, low_pitch): (&mut [T], usize),
    bands: &mut [T],
    place: Place,
    windows: &mut [Window<T>],
) {
    let (low_rows, high_rows) = (level.rows.div_ceil(2), level.rows / 2);
    let pairs = level.pairs_per_task(windows.len());
    let (beside, below) = bands.split_at_mut(place.below);
    let below = below[..high_rows * place.pitch].chunks_mut(pairs * place.pitch).map(Some);
    let below = below.chain(std::iter::repeat_with(|| None));
    let beside = beside[..low_rows * place.pitch].chunks_mut(pairs * place.pitch);
    let low = to[..low_rows * low_pitch].chunks_mut(pairs * low_pitch);
    let tasks = low.zip(beside).zip(below).zip(windows.iter_mut()).enumerate();
    let tasks = tasks.map(|(index, (((low, beside), below), window))| {
        let output = Output { low, low_pitch, beside, below: below.unwrap_or_default(), place };
        move || split_rows(level, filter, from, output, window, index * pairs)
    });
    if pairs >= low_rows {
        tasks.for_each(|task| task());
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().for_each(|task| task());
    }
}

multiversion! {
    /// Pairs of rows from `first` on, as many as the output has low rows.
    fn split_rows<T: Element>(level: &Level, filter: &Filter<T>, from: Rows<'_, T>, output: Output<'_, T>,
        window: &mut Window<T>, first: usize) = split_rows_body;
}

#[inline(always)]
fn split_rows_body<I: Isa, T: Element>(
    level: &Level,
    filter: &Filter<T>,
    from: Rows<'_, T>,
    mut output: Output<'_, T>,
    window: &mut Window<T>,
    first: usize,
) {
    let pairs = output.low.len().div_ceil(output.low_pitch);
    let extension = Extension { boundary: level.boundary, rows: level.rows };
    let range = with_run_up(filter, first..first + pairs);
    for row in 2 * range.start..2 * range.end - 1 {
        match extension.source(row) {
            Some(source) => split_row::<I, T>(level, filter, from.row(source), window.line_mut(row)),
            None => window.line_mut(row).clear(),
        }
        if row % 2 != 0 {
            continue;
        }
        for columns in level.chunks::<T>() {
            window.use_columns(&columns);
            let pair = window.split(filter, row / 2, extension);
            let Ok(y) = usize::try_from(pair - first as isize) else { continue };
            window.store_low(filter, pair, output.low_row(y, columns.clone(), level));
            if let Some(to) = output.high_row(y, columns, level) {
                window.store_high(filter, pair, to);
            }
        }
    }
}

multiversion! {
    /// The first and last rows of a level whose rows the window cannot continue.
    fn split_ends<T: Element>(level: &Level, filter: &Filter<T>, from: Rows<'_, T>, output: Output<'_, T>,
        ends: &mut [Line<T>]) = split_ends_body;
}

#[inline(always)]
fn split_ends_body<I: Isa, T: Element>(
    level: &Level,
    filter: &Filter<T>,
    from: Rows<'_, T>,
    mut output: Output<'_, T>,
    ends: &mut [Line<T>],
) {
    let columns = 0..level.columns.div_ceil(2);
    let length = short_length(level.rows);
    for (at, line) in ends.iter_mut().enumerate().take(length) {
        split_row::<I, T>(level, filter, from.row(end_row(at, level.rows)), line);
    }
    for half in 0..2 {
        for x in HALO..HALO + columns.len() {
            let mut column = Short::from_samples(length, |at| ends[at].both()[half][x]);
            column.split(filter, level.boundary);
            for (at, line) in ends.iter_mut().enumerate().take(length) {
                line.both_mut()[half][x] = column.sample(at);
            }
        }
    }
    for (at, line) in ends.iter().enumerate().take(length).filter(|&(at, _)| is_end(at, level.rows)) {
        let row = end_row(at, level.rows);
        let to = if row.is_multiple_of(2) {
            Some(output.low_row(row / 2, columns.clone(), level))
        } else {
            output.high_row(row / 2, columns.clone(), level)
        };
        for (to, from) in to.into_iter().flatten().zip(line.both()) {
            to.copy_from_slice(&from[HALO..HALO + to.len()]);
        }
    }
}

/// The horizontal transform of a row.
#[inline(always)]
fn split_row<I: Isa, T: Element>(level: &Level, filter: &Filter<T>, row: &[T], line: &mut Line<T>) {
    let row = &row[..level.columns];
    if row.len() <= SHORT {
        row::split_short(row, filter, level.boundary, line);
        return;
    }
    match (filter.count, filter.taps) {
        (4, 1) if !T::REVERSIBLE => row::split::<T::Vector<I>, 4, 1>(row, filter, line),
        (2, 2) if !T::REVERSIBLE => row::split::<T::Vector<I>, 2, 2>(row, filter, line),
        _ => row::split::<T::Vector<I>, 2, 1>(row, filter, line),
    }
    if level.boundary != Boundary::Symmetric {
        row::split_ends(row, filter, level.boundary, line);
    }
}
