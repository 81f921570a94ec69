//! The wavelet transform of one plane, level by level, several threads per level.
//!
//! Coefficients are kept *compact*: at each level the high half follows the low half without a gap (in the
//! square it starts at half the side), so that only what can be non-zero takes memory and time. A thread takes a
//! range of row pairs and streams through it, with a few rows of run-up; horizontal and vertical lifting of a
//! level are one pass over memory.

use common::params::Boundary;
use common::pyramid::{Orientation, Pyramid};
use rayon::prelude::*;

use super::lines::{Carry, merge_row, merge_rows, split_row, split_rows};
use super::simd::multiversion;
use crate::reference::{self, sample::Sample};
use crate::wavelet::Wavelet;

/// Samples of a level below which a second thread costs more than it saves.
const PARALLEL_SAMPLES: usize = 1 << 15;

/// One plane and its coefficients.
#[derive(Debug)]
pub(super) struct Plane {
    pyramid: Pyramid,
    boundary: Boundary,
    pitch: usize,
    /// Low bands of even (0: the plane) and odd levels.
    low: [Vec<f32>; 2],
    /// All bands of the last level and the detail of the others, compact.
    bands: Vec<f32>,
    carries: Vec<Carry>,
}

impl Plane {
    /// Buffers for planes of the pyramid's size.
    pub(super) fn new(pyramid: &Pyramid, boundary: Boundary) -> Self {
        let plane = pyramid.plane();
        let (columns, rows) =
            if pyramid.levels() == 0 { (plane.width(), plane.height()) } else { pyramid.transform_extent(1) };
        // Rows start on cache lines, and not a power of two apart.
        let pitch = columns.next_multiple_of(16) + 16;
        let carries = (0..rayon::current_num_threads()).map(|_| Carry::new(pitch)).collect();
        Self {
            pyramid: pyramid.clone(),
            boundary,
            pitch,
            low: [vec![0.0; rows * pitch], vec![0.0; rows.div_ceil(2) * pitch]],
            bands: vec![0.0; rows * pitch],
            carries,
        }
    }

    /// Floats from one row to the next, in the plane and in the bands.
    pub(super) fn pitch(&self) -> usize {
        self.pitch
    }

    /// The samples, to be written before [`Self::forward`].
    pub(super) fn samples_mut(&mut self) -> &mut [f32] {
        &mut self.low[0]
    }

    /// The samples after [`Self::inverse`].
    pub(super) fn samples(&self) -> &[f32] {
        &self.low[0]
    }

    /// The coefficients, compact.
    pub(super) fn bands(&self) -> &[f32] {
        &self.bands
    }

    /// The coefficients, compact, to be written.
    pub(super) fn bands_mut(&mut self) -> &mut [f32] {
        &mut self.bands
    }

    /// Where in the compact bands the coefficient (x, y) of the square lies; `None` if it is always zero.
    pub(super) fn compact(&self, x: usize, y: usize) -> Option<usize> {
        let levels = self.pyramid.levels();
        let level = (1..=levels).find(|&level| x.max(y) >= self.pyramid.side() >> level);
        let (level, orientation) = match level {
            None => (levels, Orientation::LL),
            Some(level) => {
                let half = self.pyramid.side() >> level;
                let orientation = match (x >= half, y >= half) {
                    (true, true) => Orientation::HH,
                    (true, false) => Orientation::HL,
                    _ => Orientation::LH,
                };
                (level, orientation)
            }
        };
        let band = self.pyramid.band(level, orientation);
        let (x, y) = (x - band.x, y - band.y);
        let inside = x < band.width && y < band.height;
        inside.then(|| self.band_start(level, orientation) + y * self.pitch + x)
    }

    /// Where in the compact bands a band starts.
    pub(super) fn band_start(&self, level: usize, orientation: Orientation) -> usize {
        if orientation == Orientation::LL {
            return 0;
        }
        let (columns, rows) = self.pyramid.transform_extent(level);
        let (right, below) = (columns.div_ceil(2), rows.div_ceil(2) * self.pitch);
        match orientation {
            Orientation::LL => 0,
            Orientation::HL => right,
            Orientation::LH => below,
            Orientation::HH => below + right,
        }
    }

    /// Samples to coefficients.
    pub(super) fn forward(&mut self) {
        if self.boundary != Boundary::Symmetric {
            let plane = self.gather_samples();
            let square = reference::dwt::forward(&plane, &self.pyramid, &f32::steps(Wavelet::Cdf97), self.boundary);
            self.load_square(&square);
            return;
        }
        self.clear_padding();
        let levels = self.pyramid.levels();
        for level in 1..=levels {
            let extent = self.pyramid.transform_extent(level);
            let [even, odd] = &mut self.low;
            let (from, to) = if level % 2 == 1 { (even, odd) } else { (odd, even) };
            forward_level(from, to, &mut self.bands, &mut self.carries, extent, self.pitch);
        }
        let (columns, rows) = self.low_extent();
        let low = &self.low[levels % 2];
        for (to, from) in self.bands.chunks_mut(self.pitch).zip(low.chunks(self.pitch)).take(rows) {
            to[..columns].copy_from_slice(&from[..columns]);
        }
    }

    /// Coefficients to samples.
    pub(super) fn inverse(&mut self) {
        if self.boundary != Boundary::Symmetric {
            let square = self.store_square();
            let plane = reference::dwt::inverse(&square, &self.pyramid, &f32::steps(Wavelet::Cdf97), self.boundary);
            self.load_samples(&plane);
            return;
        }
        let levels = self.pyramid.levels();
        let (columns, rows) = self.low_extent();
        let low = &mut self.low[levels % 2];
        for (to, from) in low.chunks_mut(self.pitch).zip(self.bands.chunks(self.pitch)).take(rows) {
            to[..columns].copy_from_slice(&from[..columns]);
        }
        for level in (1..=levels).rev() {
            let extent = self.pyramid.transform_extent(level);
            let [even, odd] = &mut self.low;
            let (from, to) = if level % 2 == 1 { (odd, even) } else { (even, odd) };
            inverse_level(from, &self.bands, to, &mut self.carries, extent, self.pitch);
        }
    }

    /// Size of the last low band, padding included.
    fn low_extent(&self) -> (usize, usize) {
        let levels = self.pyramid.levels();
        if levels == 0 {
            return (self.pyramid.plane().width(), self.pyramid.plane().height());
        }
        let (columns, rows) = self.pyramid.transform_extent(levels);
        (columns.div_ceil(2), rows.div_ceil(2))
    }

    /// Zeros what pads the samples: low bands were kept there.
    fn clear_padding(&mut self) {
        let plane = self.pyramid.plane();
        let columns = if self.pyramid.levels() == 0 { plane.width() } else { self.pyramid.transform_extent(1).0 };
        for (y, row) in self.low[0].chunks_mut(self.pitch).enumerate() {
            row[if y < plane.height() { plane.width() } else { 0 }..columns].fill(0.0);
        }
    }

    /// Takes the samples from rows without gaps.
    pub(super) fn load_samples(&mut self, plane: &[f32]) {
        let width = self.pyramid.plane().width();
        for (to, from) in self.low[0].chunks_mut(self.pitch).zip(plane.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
        }
    }

    /// The samples without the gaps between rows.
    pub(super) fn gather_samples(&self) -> Vec<f32> {
        let plane = self.pyramid.plane();
        let rows = self.low[0].chunks(self.pitch).take(plane.height());
        rows.flat_map(|row| &row[..plane.width()]).copied().collect()
    }

    /// The coefficients as a square in Mallat layout.
    pub(super) fn store_square(&self) -> Vec<f32> {
        let side = self.pyramid.side();
        let value = |at| self.compact(at % side, at / side).map_or(0.0, |at| self.bands[at]);
        (0..side * side).into_par_iter().map(value).collect()
    }

    /// Takes the coefficients from a square in Mallat layout.
    pub(super) fn load_square(&mut self, square: &[f32]) {
        let side = self.pyramid.side();
        for (at, &value) in square.iter().enumerate() {
            if let Some(at) = self.compact(at % side, at / side) {
                self.bands[at] = value;
            }
        }
    }
}

/// How many row pairs each thread takes.
fn pairs_per_task((columns, rows): (usize, usize), threads: usize) -> usize {
    let pairs = rows.div_ceil(2);
    if columns * rows < PARALLEL_SAMPLES { pairs } else { pairs.div_ceil(threads) }
}

/// Index of the row that a row beyond the ends mirrors; `rows` >= 2.
fn mirror(row: isize, rows: usize) -> usize {
    let period = 2 * (rows - 1);
    let row = row.unsigned_abs() % period;
    if row < rows { row } else { period - row }
}

/// Splits the low band `from` into `to` (low) and `bands` (detail).
fn forward_level(
    from: &[f32],
    to: &mut [f32],
    bands: &mut [f32],
    carries: &mut [Carry],
    extent: (usize, usize),
    pitch: usize,
) {
    let pairs = pairs_per_task(extent, carries.len());
    let low_rows = extent.1.div_ceil(2);
    let (beside, below) = bands[..extent.1 * pitch].split_at_mut(low_rows * pitch);
    let below = below.chunks_mut(pairs * pitch).map(Some).chain(std::iter::repeat_with(|| None));
    let beside = beside.chunks_mut(pairs * pitch);
    let tasks = to[..low_rows * pitch].chunks_mut(pairs * pitch).zip(beside).zip(below).zip(carries).enumerate();
    let tasks = tasks.map(|(index, (((low, beside), below), carry))| {
        move || forward_task(from, low, beside, below.unwrap_or_default(), carry, index * pairs, extent, pitch)
    });
    if pairs >= low_rows {
        tasks.for_each(|task| task());
    } else {
        tasks.collect::<Vec<_>>().into_par_iter().for_each(|task| task());
    }
}

multiversion! {
    /// Row pairs from `first` on, as many as `low` has rows.
    fn forward_task(from: &[f32], low: &mut [f32], beside: &mut [f32], below: &mut [f32], carry: &mut Carry,
        first: usize, extent: (usize, usize), pitch: usize) = forward_task_body;
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "three destinations of one pass")]
fn forward_task_body(
    from: &[f32],
    low: &mut [f32],
    beside: &mut [f32],
    below: &mut [f32],
    carry: &mut Carry,
    first: usize,
    (columns, rows): (usize, usize),
    pitch: usize,
) {
    let low_columns = columns.div_ceil(2);
    let source = |row: usize| &from[row * pitch..][..columns];
    if rows == 1 {
        split_row(source(0), &mut carry.low);
        low[..low_columns].copy_from_slice(&carry.low[..low_columns]);
        beside[low_columns..columns].copy_from_slice(&carry.low[low_columns..columns]);
        return;
    }
    let pairs = low.len() / pitch;
    let start = first as isize - 2;
    split_row(source(mirror(2 * start, rows)), &mut carry.rows[0]);
    for n in start..=(first + pairs) as isize {
        split_row(source(mirror(2 * n + 1, rows)), &mut carry.odd);
        split_row(source(mirror(2 * n + 2, rows)), &mut carry.even);
        split_rows(carry, columns);
        if n > first as isize {
            let at = (n as usize - 1 - first) * pitch;
            low[at..at + low_columns].copy_from_slice(&carry.low[..low_columns]);
            beside[at + low_columns..at + columns].copy_from_slice(&carry.low[low_columns..columns]);
            if at < below.len() {
                below[at..at + columns].copy_from_slice(&carry.high[..columns]);
            }
        }
    }
}

/// Merges `low` and the detail in `bands` into the next finer low band `to`.
fn inverse_level(
    low: &[f32],
    bands: &[f32],
    to: &mut [f32],
    carries: &mut [Carry],
    extent: (usize, usize),
    pitch: usize,
) {
    let pairs = pairs_per_task(extent, carries.len());
    let tasks = to[..extent.1 * pitch].chunks_mut(2 * pairs * pitch).zip(carries).enumerate();
    let run = |(index, (to, carry)): (usize, (&mut [f32], &mut Carry))| {
        inverse_task(low, bands, to, carry, index * pairs, extent, pitch);
    };
    if 2 * pairs >= extent.1 { tasks.for_each(run) } else { tasks.collect::<Vec<_>>().into_par_iter().for_each(run) }
}

multiversion! {
    /// Row pairs from `first` on, as many as `to` has rows.
    fn inverse_task(low: &[f32], bands: &[f32], to: &mut [f32], carry: &mut Carry, first: usize,
        extent: (usize, usize), pitch: usize) = inverse_task_body;
}

#[inline(always)]
fn inverse_task_body(
    low: &[f32],
    bands: &[f32],
    to: &mut [f32],
    carry: &mut Carry,
    first: usize,
    (columns, rows): (usize, usize),
    pitch: usize,
) {
    let low_columns = columns.div_ceil(2);
    let low_rows = rows.div_ceil(2);
    let load_low = |row: usize, into: &mut [f32]| {
        into[..low_columns].copy_from_slice(&low[row * pitch..][..low_columns]);
        into[low_columns..columns].copy_from_slice(&bands[row * pitch + low_columns..row * pitch + columns]);
    };
    if rows == 1 {
        load_low(0, &mut carry.low);
        merge_row(&mut carry.low, &mut to[..columns]);
        return;
    }
    let rows_out = to.len() / pitch;
    let pairs = rows_out.div_ceil(2);
    for n in first as isize - 2..=(first + pairs) as isize + 1 {
        load_low(mirror(2 * n, rows) / 2, &mut carry.even);
        let high = low_rows + mirror(2 * n + 1, rows) / 2;
        carry.odd[..columns].copy_from_slice(&bands[high * pitch..][..columns]);
        merge_rows(carry, columns);
        let (even, odd) = (2 * (n - 1 - first as isize), 2 * (n - 2 - first as isize) + 1);
        if (0..rows_out as isize).contains(&even) {
            merge_row(&mut carry.low, &mut to[even as usize * pitch..][..columns]);
        }
        if (0..rows_out as isize).contains(&odd) {
            merge_row(&mut carry.high, &mut to[odd as usize * pitch..][..columns]);
        }
    }
}
