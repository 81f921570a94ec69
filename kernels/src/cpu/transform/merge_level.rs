//! One level of the inverse transform: each band is read once, row by row.

use picture::params::Boundary;
use rayon::prelude::*;

use super::filter::LiftingFilter;
use super::level::{DetailPlace, LevelGeometry, PlaneRows};
use super::line::{HALO, LineBuffer};
use super::output::Output;
use super::row;
use super::short::{SHORT, Short, end_row, is_end, short_length};
use super::window::{self, PAIRS, Window, WindowScratch, source};
use crate::cpu::vector::VectorSample;

/// The four bands of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bands<'a, T> {
    /// The low band.
    pub(super) low: PlaneRows<'a, T>,
    /// The coefficients that hold the detail.
    pub(super) detail: &'a [T],
    /// Place in them.
    pub(super) place: DetailPlace,
}

impl<'a, T> Bands<'a, T> {
    /// Returns row `row` of the level: the rows of its low and of its high half.
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

/// Merges the bands of a level into rows of samples, or what is kept of them, which is all that `to` has room for: rows
/// `pitch` apart.
pub(super) fn merge_level<T: VectorSample, O: Output<T>>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    bands: Bands<'_, T>,
    (to, pitch): (&mut [O], usize),
    scratch: &mut WindowScratch<T>,
) {
    let WindowScratch { windows, ends } = scratch;
    if level.rows > 1 {
        merge_segments(level, filter, bands, (&mut *to, pitch), windows);
    }
    if level.has_separate_ends() {
        merge_ends(level, filter, bands, (to, pitch), ends, &mut windows[0].row);
    }
}

/// Merges all rows as if they went on beyond the ends, each thread a segment.
fn merge_segments<T: VectorSample, O: Output<T>>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    bands: Bands<'_, T>,
    (to, pitch): (&mut [O], usize),
    windows: &mut [Window<T>],
) {
    let pairs = level.pairs_per_task(windows.len().min(rayon::current_num_threads()));
    let last = ((level.rows - 1) * pitch + level.columns).min(to.len());
    let tasks = to[..last].chunks_mut(2 * pairs * pitch).zip(windows.iter_mut()).enumerate();
    let run = |(index, (to, window)): (usize, (&mut [O], &mut Window<T>))| {
        merge_rows(level, filter, bands, to, pitch, window, index * pairs);
    };
    if 2 * pairs >= level.rows { tasks.for_each(run) } else { tasks.collect::<Vec<_>>().into_par_iter().for_each(run) }
}

/// Pairs of rows from `first` on, as many as `to` has rows.
fn merge_rows<T: VectorSample, O: Output<T>>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    bands: Bands<'_, T>,
    to: &mut [O],
    pitch: usize,
    window: &mut Window<T>,
    first: usize,
) {
    let pairs = to.len().div_ceil(2 * pitch) as isize;
    let (first, lag) = (first as isize, filter.lag() as isize);
    for y in window::groups(lag, pairs) {
        let start = 2 * (first + y + lag);
        let row = |line: usize| bands.row(source(start + line as isize, level));
        for half in 0..2 {
            let columns = (level.columns + 1 - half) / 2;
            let from = std::array::from_fn(|pair| [0, 1].map(|odd| &row(2 * pair + odd)[half][..columns]));
            window::merge(filter, window, half, from);
        }
        let Ok(y) = usize::try_from(2 * y) else { continue };
        for (line, to) in to.chunks_mut(pitch).skip(y).take(2 * PAIRS).enumerate() {
            let ahead = row(line + 2 * PAIRS);
            let Window { lines, row, .. } = &mut *window;
            O::keep(to, level.columns, row, |row| merge_row(level, filter, lines.line_mut(line), ahead, row));
        }
    }
}

/// Merges a row horizontally. `ahead` are the halves of one that will be read soon.
fn merge_row<T: VectorSample>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    [low, high]: [&mut [T]; 2],
    ahead: [&[T]; 2],
    samples: &mut [T],
) {
    if level.columns <= SHORT {
        row::merge_short([low, high], filter, level.boundary, samples);
        return;
    }
    row::extend([&mut *low, &mut *high], level.columns);
    row::merge(low, high, ahead, filter, samples);
    if level.boundary != Boundary::Symmetric {
        row::merge_ends([low, high], filter, level.boundary, samples);
    }
}

/// Merges the first and last rows of a level whose rows do not go on beyond the ends.
fn merge_ends<T: VectorSample, O: Output<T>>(
    level: &LevelGeometry,
    filter: &LiftingFilter<T>,
    bands: Bands<'_, T>,
    (to, pitch): (&mut [O], usize),
    ends: &mut LineBuffer<T>,
    row: &mut [T],
) {
    let columns = [level.columns.div_ceil(2), level.columns / 2];
    let length = short_length(level.rows);
    for half in 0..2 {
        for at in 0..length {
            let from = bands.row(end_row(at, level.rows))[half];
            ends.line_mut(at)[half][HALO..HALO + columns[half]].copy_from_slice(&from[..columns[half]]);
        }
        for x in HALO..HALO + columns[half] {
            let mut column = Short::from_samples(length, |at| ends.line(at)[half][x]);
            column.merge(filter, level.boundary);
            for at in 0..length {
                ends.line_mut(at)[half][x] = column.sample(at);
            }
        }
    }
    for at in (0..length).filter(|&at| is_end(at, level.rows)) {
        if let Some(to) = to.chunks_mut(pitch).nth(end_row(at, level.rows)) {
            O::keep(to, level.columns, row, |row| merge_row(level, filter, ends.line_mut(at), [&[]; 2], row));
        }
    }
}
