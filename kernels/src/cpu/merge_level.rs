//! One level of the inverse transform: each band is read once, row by row.

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

/// The four bands of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bands<'a, T> {
    /// The low band.
    pub(super) low: Rows<'a, T>,
    /// The coefficients that hold the detail.
    pub(super) detail: &'a [T],
    /// Where in them.
    pub(super) place: Place,
}

impl<'a, T> Bands<'a, T> {
    /// Row `row` of the level: the rows of its low and of its high half.
    #[inline(always)]
    fn row(&self, row: usize) -> [&'a [T]; 2] {
        let y = row / 2 * self.place.pitch;
        if row.is_multiple_of(2) {
            [self.low.row(row / 2), &self.detail[y + self.place.right..]]
        } else {
            let below = &self.detail[self.place.below + y..];
            [below, &below[self.place.right..]]
        }
    }
}

/// Merges the bands of a level into the samples `to`.
pub(super) fn merge_level<T: Element>(
    level: &Level,
    filter: &Filter<T>,
    bands: Bands<'_, T>,
    (to, pitch): (&mut [T], usize),
    scratch: &mut Scratch<T>,
) {
    let Scratch { windows, ends } = scratch;
    if level.rows > 1 {
        merge_segments(level, filter, bands, (&mut *to, pitch), windows);
    }
    if level.has_separate_ends() {
        merge_ends(level, filter, bands, to, pitch, ends);
    }
}

/// All rows as if they went on beyond the ends, each thread a segment.
fn merge_segments<T: Element>(
    level: &Level,
    filter: &Filter<T>,
    bands: Bands<'_, T>,
    (to, pitch): (&mut [T], usize),
    windows: &mut [Window<T>],
) {
    let pairs = level.pairs_per_task(windows.len());
    let last = (level.rows - 1) * pitch + level.columns;
    let tasks = to[..last].chunks_mut(2 * pairs * pitch).zip(windows.iter_mut()).enumerate();
    let run = |(index, (to, window)): (usize, (&mut [T], &mut Window<T>))| {
        merge_rows(level, filter, bands, to, pitch, window, index * pairs);
    };
    if 2 * pairs >= level.rows { tasks.for_each(run) } else { tasks.collect::<Vec<_>>().into_par_iter().for_each(run) }
}

multiversion! {
    /// Pairs of rows from `first` on, as many as `to` has rows.
    fn merge_rows<T: Element>(level: &Level, filter: &Filter<T>, bands: Bands<'_, T>, to: &mut [T], pitch: usize,
        window: &mut Window<T>, first: usize) = merge_rows_body;
}

#[inline(always)]
fn merge_rows_body<I: Isa, T: Element>(
    level: &Level,
    filter: &Filter<T>,
    bands: Bands<'_, T>,
    to: &mut [T],
    pitch: usize,
    window: &mut Window<T>,
    first: usize,
) {
    let rows = to.len().div_ceil(pitch);
    let extension = Extension { boundary: level.boundary, rows: level.rows };
    let scales = [filter.low_scale, filter.high_scale];
    for last in with_run_up(filter, first..first + rows.div_ceil(2)) {
        let mut pair = last;
        for columns in level.chunks::<T>() {
            for row in [2 * last, 2 * last + 1] {
                let line = window.line_mut(row);
                match extension.source(row) {
                    Some(source) => load(bands.row(source), Some(scales[source % 2]), level, &columns, line),
                    None => line.clear(),
                }
            }
            window.use_columns(&columns);
            pair = window.merge(filter, last, extension);
        }
        let Ok(y) = usize::try_from(2 * (pair - first as isize)) else { continue };
        for (y, row) in [(y, 2 * pair), (y + 1, 2 * pair + 1)] {
            if y < rows {
                merge_row::<I, T>(level, filter, window.line_mut(row), &mut to[y * pitch..][..level.columns]);
            }
        }
    }
}

/// Columns of a row, times the vertical scale of its half.
#[inline(always)]
fn load<T: Element>(from: [&[T]; 2], scale: Option<T>, level: &Level, columns: &Range<usize>, line: &mut Line<T>) {
    let counts = [level.columns.div_ceil(2), level.columns / 2];
    for ((from, to), count) in from.into_iter().zip(line.both_mut()).zip(counts) {
        let from = &from[columns.start..columns.end.min(count)];
        let to = &mut to[HALO + columns.start..][..from.len()];
        match scale {
            Some(scale) => to.iter_mut().zip(from).for_each(|(to, from)| *to = from.scaled(scale)),
            None => to.copy_from_slice(from),
        }
    }
}

/// The horizontal transform of a row.
#[inline(always)]
fn merge_row<I: Isa, T: Element>(level: &Level, filter: &Filter<T>, line: &mut Line<T>, samples: &mut [T]) {
    if level.columns <= SHORT {
        row::merge_short(line, filter, level.boundary, samples);
        return;
    }
    row::extend(line, level.columns);
    match (filter.count, filter.taps) {
        (4, 1) if !T::REVERSIBLE => row::merge::<T::Vector<I>, 4, 1>(line, filter, samples),
        (2, 2) if !T::REVERSIBLE => row::merge::<T::Vector<I>, 2, 2>(line, filter, samples),
        _ => row::merge::<T::Vector<I>, 2, 1>(line, filter, samples),
    }
    if level.boundary != Boundary::Symmetric {
        row::merge_ends(line, filter, level.boundary, samples);
    }
}

multiversion! {
    /// The first and last rows of a level whose rows the window cannot continue.
    fn merge_ends<T: Element>(level: &Level, filter: &Filter<T>, bands: Bands<'_, T>, to: &mut [T], pitch: usize,
        ends: &mut [Line<T>]) = merge_ends_body;
}

#[inline(always)]
fn merge_ends_body<I: Isa, T: Element>(
    level: &Level,
    filter: &Filter<T>,
    bands: Bands<'_, T>,
    to: &mut [T],
    pitch: usize,
    ends: &mut [Line<T>],
) {
    let columns = 0..level.columns.div_ceil(2);
    let length = short_length(level.rows);
    for (at, line) in ends.iter_mut().enumerate().take(length) {
        load(bands.row(end_row(at, level.rows)), None, level, &columns, line);
    }
    for half in 0..2 {
        for x in HALO..HALO + columns.len() {
            let mut column = Short::from_samples(length, |at| ends[at].both()[half][x]);
            column.merge(filter, level.boundary);
            for (at, line) in ends.iter_mut().enumerate().take(length) {
                line.both_mut()[half][x] = column.sample(at);
            }
        }
    }
    for (at, line) in ends.iter_mut().enumerate().take(length).filter(|&(at, _)| is_end(at, level.rows)) {
        let to = &mut to[end_row(at, level.rows) * pitch..][..level.columns];
        merge_row::<I, T>(level, filter, line, to);
    }
}
