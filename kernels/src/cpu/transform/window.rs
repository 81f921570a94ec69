//! The vertical transform: rows come in one pair after another, and all lifting steps on a column are done in
//! registers. What the steps remember of the rows before is kept from one group of pairs to the next.

use picture::params::Boundary;

use super::filter::LiftingFilter;
use super::level::LevelGeometry;
use super::lift::{Down, Lift};
use super::line::{HALO, LineBuffer};
use super::short::{SHORT, mirror};
use crate::cpu::simd::multiversion;
use crate::cpu::vector::{Isa, Vector, VectorSample};

/// Pairs of rows that are lifted at a time: what is remembered is read and written once for all of them. A filter
/// remembers an even number of pairs.
pub(super) const PAIRS: usize = 2;
/// Most vectors that are remembered of a column, [`Lift::VECTORS`].
const MOST_VECTORS: usize = 7;

/// Rows on their way through a level.
#[derive(Debug)]
pub(super) struct Window<T> {
    /// A group of rows.
    pub(super) lines: LineBuffer<T>,
    /// Values remembered of the rows before.
    memory: LineBuffer<T>,
    /// A row that nobody reads.
    unused: Vec<T>,
    /// Room for a row of samples.
    pub(super) row: Vec<T>,
}

impl<T: VectorSample> Window<T> {
    /// Creates a window for rows of up to `columns` columns in a half.
    pub(super) fn new(columns: usize) -> Self {
        let memory = LineBuffer::new(1, MOST_VECTORS * columns.next_multiple_of(HALO));
        Self {
            lines: LineBuffer::new(2 * PAIRS, columns),
            memory,
            unused: vec![T::default(); columns],
            row: vec![T::default(); 2 * columns],
        }
    }
}

/// Memory for rows on their way through a level.
#[derive(Debug)]
pub(super) struct WindowScratch<T> {
    /// One for each thread that there may be.
    pub(super) windows: Vec<Window<T>>,
    /// The rows at both ends of a level with [`LevelGeometry::has_separate_ends`].
    pub(super) ends: LineBuffer<T>,
}

impl<T: VectorSample> WindowScratch<T> {
    /// Creates memory for levels of up to `columns` samples in a row.
    pub(super) fn new(columns: usize, boundary: Boundary) -> Self {
        let half = columns.div_ceil(2);
        let windows = (0..rayon::current_num_threads()).map(|_| Window::new(half)).collect();
        let ends = if boundary == Boundary::Symmetric { 1 } else { SHORT };
        Self { windows, ends: LineBuffer::new(ends, half) }
    }
}

/// Returns the row that stands for one beyond the first or the last. Zeros are left to those who compute the ends
/// apart.
pub(super) fn source(row: isize, level: &LevelGeometry) -> usize {
    match level.boundary {
        _ if (0..level.rows as isize).contains(&row) => row as usize,
        Boundary::Periodic => row.rem_euclid(level.rows as isize) as usize,
        Boundary::Symmetric | Boundary::Zero => mirror(row, level.rows),
    }
}

/// Returns the first pair of each group, for pairs 0 to `pairs` of a filter with this lag. As many come in before the
/// first as are remembered, whose results count for nothing; those of pairs behind the last are thrown away too.
pub(super) fn groups(lag: isize, pairs: isize) -> impl Iterator<Item = isize> {
    (-2 * lag..pairs).step_by(PAIRS)
}

multiversion! {
    /// Lifts `columns` columns of half `half` of the window's rows, high and low in turn, into the low and the high
    /// rows `to`; rows of which `to` has nothing are thrown away.
    pub(super) fn split<T: VectorSample>(filter: &LiftingFilter<T>, window: &mut Window<T>, half: usize, columns: usize,
        to: [[&mut [T]; 2]; PAIRS]) = split_any;
}

#[inline(always)]
fn split_any<I: Isa, T: VectorSample>(
    filter: &LiftingFilter<T>,
    window: &mut Window<T>,
    half: usize,
    columns: usize,
    to: [[&mut [T]; 2]; PAIRS],
) {
    // SAFETY: this function was compiled for the instruction set.
    unsafe {
        match (filter.count, filter.taps) {
            (4, 1) if !T::REVERSIBLE => split_vectors::<T::Vector<I>, 4, 1>(filter, window, half, columns, to),
            (2, 2) if !T::REVERSIBLE => split_vectors::<T::Vector<I>, 2, 2>(filter, window, half, columns, to),
            _ => split_vectors::<T::Vector<I>, 2, 1>(filter, window, half, columns, to),
        }
    }
}

#[inline(always)]
unsafe fn split_vectors<V: Vector, const STEPS: usize, const TAPS: usize>(
    filter: &LiftingFilter<V::Element>,
    window: &mut Window<V::Element>,
    half: usize,
    columns: usize,
    mut to: [[&mut [V::Element]; 2]; PAIRS],
) {
    let Window { lines, memory, unused, .. } = window;
    let (pitch, from) = (lines.pitch(), &lines.half(half)[HALO..]);
    let (whole, vectors) = (columns / V::LANES, columns.div_ceil(V::LANES));
    let per_vector = Lift::<V, STEPS, TAPS>::VECTORS * V::LANES;
    let [low, high] = memory.line_mut(0);
    let memory = &mut [low, high][half][..vectors * per_vector];
    let from = &from[..(2 * PAIRS - 1) * pitch + vectors * V::LANES];
    let unused = unused[..columns].as_mut_ptr();
    let pointers = to.each_mut().map(|pair| {
        pair.each_mut().map(|row| match row.is_empty() {
            true => unused,
            false => row[..columns].as_mut_ptr(),
        })
    });
    // The last columns that are less than a vector go through a buffer.
    let mut last = [[[V::Element::default(); HALO]; 2]; PAIRS];
    let last_pointers = last.each_mut().map(|pair| pair.each_mut().map(|lanes| lanes.as_mut_ptr()));
    // SAFETY: the caller vouches for the instruction set; `from`, `memory` and rows were cut to all that is read and
    // written, and no vector is longer than a halo.
    unsafe {
        let mut lift = Lift::<V, STEPS, TAPS>::new(filter);
        let (mut from, mut memory) = (from.as_ptr(), memory.as_mut_ptr());
        for (count, mut to) in [(whole, pointers), (vectors - whole, last_pointers)] {
            for _ in 0..count {
                lift.load(memory);
                let mut row = from;
                for pair in &mut to {
                    let (odd, even) = (V::load(row), V::load(row.add(pitch)));
                    let (s, d) = lift.all::<Down>(odd, even, true);
                    s.scaled(filter.low_scale).store(pair[0]);
                    d.scaled(filter.high_scale).store(pair[1]);
                    *pair = pair.map(|to| to.add(V::LANES));
                    row = row.add(2 * pitch);
                }
                lift.store(memory);
                (from, memory) = (from.add(V::LANES), memory.add(per_vector));
            }
        }
    }
    let whole = whole * V::LANES;
    if whole < columns {
        for (row, last) in to.iter_mut().flatten().zip(last.iter().flatten()).filter(|(row, _)| !row.is_empty()) {
            row[whole..columns].copy_from_slice(&last[..columns - whole]);
        }
    }
}

multiversion! {
    /// Lifts the low and the high rows `from`, half `half` of pairs of rows, into the window's rows, even and odd in
    /// turn.
    pub(super) fn merge<T: VectorSample>(filter: &LiftingFilter<T>, window: &mut Window<T>, half: usize,
        from: [[&[T]; 2]; PAIRS]) = merge_any;
}

#[inline(always)]
fn merge_any<I: Isa, T: VectorSample>(
    filter: &LiftingFilter<T>,
    window: &mut Window<T>,
    half: usize,
    from: [[&[T]; 2]; PAIRS],
) {
    // SAFETY: this function was compiled for the instruction set.
    unsafe {
        match (filter.count, filter.taps) {
            (4, 1) if !T::REVERSIBLE => merge_vectors::<T::Vector<I>, 4, 1>(filter, window, half, from),
            (2, 2) if !T::REVERSIBLE => merge_vectors::<T::Vector<I>, 2, 2>(filter, window, half, from),
            _ => merge_vectors::<T::Vector<I>, 2, 1>(filter, window, half, from),
        }
    }
}

#[inline(always)]
unsafe fn merge_vectors<V: Vector, const STEPS: usize, const TAPS: usize>(
    filter: &LiftingFilter<V::Element>,
    window: &mut Window<V::Element>,
    half: usize,
    from: [[&[V::Element]; 2]; PAIRS],
) {
    let Window { lines, memory, .. } = window;
    let (pitch, to) = (lines.pitch(), &mut lines.half_mut(half)[HALO..]);
    let columns = from[0][0].len();
    let (whole, vectors) = (columns / V::LANES, columns.div_ceil(V::LANES));
    let per_vector = Lift::<V, STEPS, TAPS>::VECTORS * V::LANES;
    let [low, high] = memory.line_mut(0);
    let memory = &mut [low, high][half][..vectors * per_vector];
    let to = &mut to[..(2 * PAIRS - 1) * pitch + vectors * V::LANES];
    let pointers = from.map(|pair| pair.map(|row| row[..columns].as_ptr()));
    // The last columns that are less than a vector go through a buffer.
    let mut last = [[[V::Element::default(); HALO]; 2]; PAIRS];
    for (last, row) in last.iter_mut().flatten().zip(from.iter().flatten()) {
        let rest = &row[whole * V::LANES..columns];
        last[..rest.len()].copy_from_slice(rest);
    }
    let last_pointers = last.each_ref().map(|pair| pair.each_ref().map(|lanes| lanes.as_ptr()));
    // SAFETY: the caller vouches for the instruction set; `to`, `memory` and rows were cut to all that is read and
    // written, and no vector is longer than a halo.
    unsafe {
        let mut lift = Lift::<V, STEPS, TAPS>::new(filter);
        let (mut to, mut memory) = (to.as_mut_ptr(), memory.as_mut_ptr());
        for (count, mut from) in [(whole, pointers), (vectors - whole, last_pointers)] {
            for _ in 0..count {
                lift.load(memory);
                let mut row = to;
                for pair in &mut from {
                    let s = V::load(pair[0]).scaled(filter.low_scale);
                    let d = V::load(pair[1]).scaled(filter.high_scale);
                    let (odd, even) = lift.all::<Down>(s, d, false);
                    even.store(row);
                    odd.store(row.add(pitch));
                    *pair = pair.map(|from| from.add(V::LANES));
                    row = row.add(2 * pitch);
                }
                lift.store(memory);
                (to, memory) = (to.add(V::LANES), memory.add(per_vector));
            }
        }
    }
}
