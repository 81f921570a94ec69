//! The vertical transform: a window of a few rows that slides down the plane.
//!
//! Rows come in one pair at a time; each lifting step then changes the one row for which all neighbours are there. A
//! step lags as many rows behind the one before as its neighbours reach. Rows beyond the ends of the plane are
//! numbered on: what they hold is decided by the boundary.

use std::mem::take;
use std::ops::Range;

use common::params::Boundary;

use super::filter::{Element, Filter};
use super::line::{HALO, Line};
use super::short::mirror;

/// Rows of the window, a power of two: those that a pair of rows reaches, and itself.
const fn lines(taps: usize) -> usize {
    if taps == 1 { 8 } else { 16 }
}

/// How rows continue beyond the first and the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    /// The rule.
    pub(super) boundary: Boundary,
    /// Number of rows, at least two.
    pub(super) rows: usize,
}

impl Extension {
    /// The row that `row` is equal to; `None` if it is zero.
    #[inline(always)]
    pub(super) fn source(self, row: isize) -> Option<usize> {
        let inside = (0..self.rows as isize).contains(&row);
        match self.boundary {
            _ if inside => Some(row as usize),
            Boundary::Symmetric => Some(mirror(row, self.rows)),
            Boundary::Periodic => Some(row.rem_euclid(self.rows as isize) as usize),
            Boundary::Zero => None,
        }
    }
}

/// The rows in use.
#[derive(Debug)]
pub(super) struct Window<T> {
    lines: Vec<Line<T>>,
    /// Where in each half the columns are that steps are for.
    columns: Range<usize>,
}

impl<T: Element> Window<T> {
    /// For rows of up to `columns` columns in a half and steps of `taps` pairs.
    pub(super) fn new(columns: usize, taps: usize) -> Self {
        Self { lines: (0..lines(taps)).map(|_| Line::new(columns)).collect(), columns: 0..0 }
    }

    /// From now on, steps are for `columns` of each half.
    #[inline(always)]
    pub(super) fn use_columns(&mut self, columns: &Range<usize>) {
        self.columns = HALO + columns.start..HALO + columns.end;
    }

    #[inline(always)]
    fn place(&self, row: isize) -> usize {
        row as usize & (self.lines.len() - 1)
    }

    /// Row `row`.
    #[inline(always)]
    pub(super) fn line(&self, row: isize) -> &Line<T> {
        &self.lines[self.place(row)]
    }

    /// Row `row`, to be filled.
    #[inline(always)]
    pub(super) fn line_mut(&mut self, row: isize) -> &mut Line<T> {
        let place = self.place(row);
        &mut self.lines[place]
    }

    /// All steps of the forward transform that even row `2 last` allows, except the last step.
    ///
    /// Returns the pair of rows that the last step, [`Self::store_pair`], completes.
    #[inline(always)]
    pub(super) fn split(&mut self, filter: &Filter<T>, last: isize, extension: Extension) -> isize {
        let taps = filter.taps as isize;
        let mut even = last;
        for step in (0..filter.count).step_by(2) {
            let odd = even - taps;
            self.lift(2 * odd + 1, filter.step(step), extension);
            even = odd - taps + 1;
            if step + 2 < filter.count {
                self.lift(2 * even, filter.step(step + 1), extension);
            }
        }
        even
    }

    /// All steps of the inverse transform that pair of rows `last` allows. Returns the pair that is complete.
    #[inline(always)]
    pub(super) fn merge(&mut self, filter: &Filter<T>, last: isize, extension: Extension) -> isize {
        let taps = filter.taps as isize;
        let mut odd = last;
        for step in (0..filter.count).step_by(2) {
            let even = odd - taps + 1;
            self.lift(2 * even, filter.step(step), extension);
            odd = even - taps;
            self.lift(2 * odd + 1, filter.step(step + 1), extension);
        }
        odd
    }

    /// One step on row `row`.
    #[inline(always)]
    fn lift(&mut self, row: isize, taps: &[T::Coefficient], extension: Extension) {
        if extension.boundary == Boundary::Zero && extension.source(row).is_none() {
            return;
        }
        let place = self.place(row);
        let mut line = take(&mut self.lines[place]);
        for (half, to) in line.both_mut().into_iter().enumerate() {
            let to = &mut to[self.columns.clone()];
            let [a, b] = self.neighbours(row, 1, half);
            match *taps {
                [tap] => {
                    for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
                        *to = to.lift(tap, a, b);
                    }
                }
                [tap, far_tap] => {
                    let [c, d] = self.neighbours(row, 3, half);
                    for ((((to, &a), &b), &c), &d) in to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                        *to = to.lift(tap, a, b).lift(far_tap, c, d);
                    }
                }
                _ => {}
            }
        }
        self.lines[place] = line;
    }

    /// A half of the rows `distance` before and after row `row`.
    #[inline(always)]
    fn neighbours(&self, row: isize, distance: isize, half: usize) -> [&[T]; 2] {
        let (before, after) = (self.line(row - distance).both()[half], self.line(row + distance).both()[half]);
        [&before[self.columns.clone()], &after[self.columns.clone()]]
    }

    /// The last forward step for pair `pair`: its low row, scaled, into the slices of `low` (low half, high half).
    #[inline(always)]
    pub(super) fn store_low(&self, filter: &Filter<T>, pair: isize, low: [&mut [T]; 2]) {
        let taps = filter.step(filter.count - 1);
        let row = 2 * pair;
        for (half, to) in low.into_iter().enumerate() {
            let from = &self.line(row).both()[half][self.columns.clone()];
            let [a, b] = self.neighbours(row, 1, half);
            match *taps {
                [tap] => {
                    for (((to, s), &a), &b) in to.iter_mut().zip(from).zip(a).zip(b) {
                        *to = s.lift(tap, a, b).scaled(filter.low_scale);
                    }
                }
                [tap, far_tap] => {
                    let [c, d] = self.neighbours(row, 3, half);
                    for (((((to, s), &a), &b), &c), &d) in to.iter_mut().zip(from).zip(a).zip(b).zip(c).zip(d) {
                        *to = s.lift(tap, a, b).lift(far_tap, c, d).scaled(filter.low_scale);
                    }
                }
                _ => {}
            }
        }
    }

    /// The high row of pair `pair`, scaled, into the slices of `high`.
    #[inline(always)]
    pub(super) fn store_high(&self, filter: &Filter<T>, pair: isize, high: [&mut [T]; 2]) {
        for (half, to) in high.into_iter().enumerate() {
            let from = &self.line(2 * pair + 1).both()[half][self.columns.clone()];
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.scaled(filter.high_scale);
            }
        }
    }
}

/// Pairs of rows that must come in for the pairs `pairs` to be complete.
pub(super) fn with_run_up<T: Element>(filter: &Filter<T>, pairs: Range<usize>) -> Range<isize> {
    let reach = filter.reach() as isize;
    pairs.start as isize - reach..pairs.end as isize + reach
}
