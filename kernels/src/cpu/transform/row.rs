//! The horizontal transform of a row, in registers: each sample is read once and each coefficient written once, all
//! lifting steps between. At the ends the row continues by whole-sample symmetry.
//!
//! The parts of a vector go along parts of the row, side by side.

use picture::params::Boundary;

use super::filter::{LiftingFilter, lag, memory};
use super::lift::{Along, Lift};
use super::line::HALO;
use super::short::{Short, TOUCHED, end_row, short_length};
use crate::cpu::simd::multiversion;
use crate::cpu::vector::{Isa, Vector, VectorSample};

/// Layout of a half's columns in the parts of vectors.
struct Parts {
    /// Columns of each part, the last one's perhaps beyond the end.
    columns: usize,
    /// Vectors of each.
    blocks: usize,
    /// Columns of all parts.
    all: usize,
    /// Blocks that come in before the first, so that the steps remember what they should.
    before: usize,
}

impl Parts {
    #[inline(always)]
    fn new<V: Vector>(columns: usize, memory: usize) -> Self {
        let count = V::LANES / V::PART;
        let columns = columns.div_ceil(count).next_multiple_of(V::PART);
        let (blocks, before) = (columns / V::PART, memory.div_ceil(V::PART));
        Self { columns, blocks, all: count * columns, before }
    }
}

/// Returns the samples of `row` that `2 PART` lanes of each part take from `at` on, mirrored beyond the ends as far as
/// coefficients depend on them.
#[inline(never)]
fn mirrored<T: VectorSample>(row: &[T], at: isize, apart: usize, window: &mut [T], parts: usize) {
    let last = row.len() - 1;
    for (part, window) in window.chunks_exact_mut(window.len() / parts).enumerate() {
        let at = at + (part * apart) as isize;
        for (at, to) in (at..).zip(window) {
            let at = at.unsigned_abs();
            *to = row[at.min((2 * last).saturating_sub(at))];
        }
    }
}

multiversion! {
    /// Splits `row` into low and high coefficients in the halves of a line, behind a halo; `row` is longer than
    /// [`super::short::SHORT`]. `ahead` is a row that will be read soon.
    pub(super) fn split<T: VectorSample>(row: &[T], ahead: &[T], filter: &LiftingFilter<T>, low: &mut [T], high: &mut [T]) = split_any;
}

#[inline(always)]
fn split_any<I: Isa, T: VectorSample>(
    row: &[T],
    ahead: &[T],
    filter: &LiftingFilter<T>,
    low: &mut [T],
    high: &mut [T],
) {
    // SAFETY: this function was compiled for the instruction set.
    unsafe {
        match (filter.count, filter.taps) {
            (4, 1) if !T::REVERSIBLE => split_vectors::<T::Vector<I>, 4, 1>(row, ahead, filter, low, high),
            (2, 2) if !T::REVERSIBLE => split_vectors::<T::Vector<I>, 2, 2>(row, ahead, filter, low, high),
            _ => split_vectors::<T::Vector<I>, 2, 1>(row, ahead, filter, low, high),
        }
    }
}

#[inline(always)]
unsafe fn split_vectors<V: Vector, const STEPS: usize, const TAPS: usize>(
    row: &[V::Element],
    ahead: &[V::Element],
    filter: &LiftingFilter<V::Element>,
    low: &mut [V::Element],
    high: &mut [V::Element],
) {
    let parts = Parts::new::<V>(row.len().div_ceil(2), memory(STEPS, TAPS));
    let (low, high) = (&mut low[HALO..HALO + parts.all], &mut high[HALO..HALO + parts.all]);
    let apart = 2 * parts.columns;
    // Odd samples first, so that a pair is (d[n-1], s[n]).
    let first = 2 * lag(STEPS, TAPS) as isize - 1;
    let mut window = [V::Element::default(); 2 * HALO];
    let window = &mut window[..2 * V::LANES];
    let (blocks, late) = (parts.blocks as isize, STEPS as isize - 1);
    // Blocks whose first and last parts lie inside the row.
    let reach = first + 2 * (parts.all - parts.columns + V::PART) as isize;
    let inside = ((row.len() as isize - reach).div_euclid(2 * V::PART as isize) + 1).min(blocks);
    // SAFETY: the caller vouches for the instruction set. A block is loaded from `row` only if its first and last parts
    // lie inside, else from `window`, which holds as many samples; block b is stored at b PART of each part, within
    // both halves.
    unsafe {
        let zero = V::splat(V::Element::default());
        let mut lift = Lift::<V, STEPS, TAPS>::new(filter);
        let mut block = -(parts.before as isize);
        while block < blocks + late {
            let at = first + 2 * block * V::PART as isize;
            let (odd, even) = if block >= blocks {
                (zero, zero)
            } else if at >= 0 && block < inside {
                V::load_pairs(row.as_ptr().add(at as usize), apart)
            } else {
                mirrored(row, at, apart, window, V::LANES / V::PART);
                V::load_pairs(window.as_ptr(), 2 * V::PART)
            };
            let (s, d) = lift.pipelined::<Along>(odd, even, true);
            if block >= late {
                let to = (block - late) as usize * V::PART;
                s.scaled(filter.low_scale).store_parts(low.as_mut_ptr().add(to), parts.columns);
                d.scaled(filter.high_scale).store_parts(high.as_mut_ptr().add(to), parts.columns);
            }
            block += 1;
            if block == late && block < inside {
                // All but the first and the last blocks, without questions.
                let mut from = row.as_ptr().add((first + 2 * block * V::PART as isize) as usize);
                let (mut low, mut high) = (low.as_mut_ptr(), high.as_mut_ptr());
                let mut ahead = ahead.as_ptr();
                for _ in block..inside {
                    V::prefetch(ahead);
                    ahead = ahead.wrapping_add(2 * V::LANES);
                    let (odd, even) = V::load_pairs(from, apart);
                    let (s, d) = lift.pipelined::<Along>(odd, even, true);
                    s.scaled(filter.low_scale).store_parts(low, parts.columns);
                    d.scaled(filter.high_scale).store_parts(high, parts.columns);
                    (from, low, high) = (from.add(2 * V::PART), low.add(V::PART), high.add(V::PART));
                }
                block = inside;
            }
        }
    }
}

/// Columns of a half beyond the ends of a row that its samples depend on.
const REACH_COLUMNS: usize = 4;

/// Continues both halves of a row of `length` by whole-sample symmetry.
pub(super) fn extend<T: VectorSample>(line: [&mut [T]; 2], length: usize) {
    let [low, high] = line;
    for k in 1..=REACH_COLUMNS {
        low[HALO - k] = low[HALO + k];
        high[HALO - k] = high[HALO + k - 1];
    }
    // Positions of the first columns that are not there.
    let (low_end, high_end) = (HALO + length.div_ceil(2), HALO + length / 2);
    let even = 1 - length % 2;
    for k in 0..REACH_COLUMNS {
        low[low_end + k] = low[low_end - 2 - k + even];
        high[high_end + k] = high[high_end - 1 - k - even];
    }
}

multiversion! {
    /// Returns the samples of a row from the halves of a line, which [`extend`] has continued. `ahead` are the halves
    /// of a row that will be read soon.
    pub(super) fn merge<T: VectorSample>(low: &[T], high: &[T], ahead: [&[T]; 2], filter: &LiftingFilter<T>, samples: &mut [T])
        = merge_any;
}

#[inline(always)]
fn merge_any<I: Isa, T: VectorSample>(
    low: &[T],
    high: &[T],
    ahead: [&[T]; 2],
    filter: &LiftingFilter<T>,
    samples: &mut [T],
) {
    // SAFETY: this function was compiled for the instruction set.
    unsafe {
        match (filter.count, filter.taps) {
            (4, 1) if !T::REVERSIBLE => merge_vectors::<T::Vector<I>, 4, 1>(low, high, ahead, filter, samples),
            (2, 2) if !T::REVERSIBLE => merge_vectors::<T::Vector<I>, 2, 2>(low, high, ahead, filter, samples),
            _ => merge_vectors::<T::Vector<I>, 2, 1>(low, high, ahead, filter, samples),
        }
    }
}

#[inline(always)]
unsafe fn merge_vectors<V: Vector, const STEPS: usize, const TAPS: usize>(
    low: &[V::Element],
    high: &[V::Element],
    ahead: [&[V::Element]; 2],
    filter: &LiftingFilter<V::Element>,
    samples: &mut [V::Element],
) {
    let parts = Parts::new::<V>(samples.len().div_ceil(2), memory(STEPS, TAPS));
    let first = HALO + lag(STEPS, TAPS) - parts.before * V::PART;
    let columns = first..first + parts.before * V::PART + parts.all;
    let (low, high) = (&low[columns.clone()], &high[columns]);
    let apart = 2 * parts.columns;
    let mut window = [V::Element::default(); 2 * HALO];
    let window = &mut window[..2 * V::LANES];
    let (blocks, late) = (parts.before + parts.blocks, parts.before + STEPS - 1);
    // Blocks whose last part is wholly in the row.
    let rest = 2 * (parts.all - parts.columns);
    let inside = samples.len().saturating_sub(rest) / (2 * V::PART);
    // SAFETY: the caller vouches for the instruction set. Block b is loaded at b PART of each part of both halves, cut
    // to that length above; it is stored into `samples` only if its last part lies inside, else into `window`.
    unsafe {
        let zero = V::splat(V::Element::default());
        let mut lift = Lift::<V, STEPS, TAPS>::new(filter);
        let mut block = 0;
        while block < parts.blocks + late {
            let (mut s, mut d) = (zero, zero);
            if block < blocks {
                let at = block * V::PART;
                s = V::load_parts(low.as_ptr().add(at), parts.columns).scaled(filter.low_scale);
                d = V::load_parts(high.as_ptr().add(at), parts.columns).scaled(filter.high_scale);
            }
            let (odd, even) = lift.pipelined::<Along>(s, d, false);
            if block >= late {
                let to = 2 * (block - late) * V::PART;
                V::store_pairs(even, odd, window.as_mut_ptr(), 2 * V::PART);
                for (part, from) in window.chunks_exact(2 * V::PART).enumerate() {
                    for (to, from) in samples.iter_mut().skip(to + part * apart).zip(from) {
                        *to = *from;
                    }
                }
            }
            block += 1;
            let end = blocks.min(late + inside);
            if block == late && block < end {
                // All but the first and the last blocks, without questions.
                let (mut low, mut high) = (low.as_ptr().add(block * V::PART), high.as_ptr().add(block * V::PART));
                let mut to = samples.as_mut_ptr();
                let mut ahead = ahead.map(<[_]>::as_ptr);
                for _ in block..end {
                    for ahead in &mut ahead {
                        V::prefetch(*ahead);
                        *ahead = ahead.wrapping_add(V::LANES);
                    }
                    let s = V::load_parts(low, parts.columns).scaled(filter.low_scale);
                    let d = V::load_parts(high, parts.columns).scaled(filter.high_scale);
                    let (odd, even) = lift.pipelined::<Along>(s, d, false);
                    V::store_pairs(even, odd, to, apart);
                    (low, high, to) = (low.add(V::PART), high.add(V::PART), to.add(2 * V::PART));
                }
                block = end;
            }
        }
    }
}

/// Returns all coefficients of a row of at most [`super::short::SHORT`] samples.
pub(super) fn split_short<T: VectorSample>(
    row: &[T],
    filter: &LiftingFilter<T>,
    boundary: Boundary,
    line: [&mut [T]; 2],
) {
    let mut short = Short::from_samples(row.len(), |at| row[at]);
    short.split(filter, boundary);
    let [low, high] = line;
    low[HALO..HALO + short.even().len()].copy_from_slice(short.even());
    high[HALO..HALO + short.odd().len()].copy_from_slice(short.odd());
}

/// Replaces the coefficients at both ends of a whole row by those of another boundary than the symmetric one.
pub(super) fn split_ends<T: VectorSample>(
    row: &[T],
    filter: &LiftingFilter<T>,
    boundary: Boundary,
    line: [&mut [T]; 2],
) {
    let mut short = Short::from_samples(short_length(row.len()), |at| row[end_row(at, row.len())]);
    short.split(filter, boundary);
    let [low, high] = line;
    replace_ends(&mut low[HALO..HALO + row.len().div_ceil(2)], short.even());
    replace_ends(&mut high[HALO..HALO + row.len() / 2], short.odd());
}

/// Replaces the first and last [`TOUCHED`] values of `to` by those of `from`.
fn replace_ends<T: Copy>(to: &mut [T], from: &[T]) {
    let (to_end, from_end) = (to.len() - TOUCHED, from.len() - TOUCHED);
    to[..TOUCHED].copy_from_slice(&from[..TOUCHED]);
    to[to_end..].copy_from_slice(&from[from_end..]);
}

/// Returns all samples of a row of at most [`super::short::SHORT`] samples.
pub(super) fn merge_short<T: VectorSample>(
    line: [&[T]; 2],
    filter: &LiftingFilter<T>,
    boundary: Boundary,
    samples: &mut [T],
) {
    let [low, high] = line.map(|half| &half[HALO..]);
    let mut short =
        Short::from_samples(samples.len(), |at| if at.is_multiple_of(2) { low[at / 2] } else { high[at / 2] });
    short.merge(filter, boundary);
    for (at, to) in samples.iter_mut().enumerate() {
        *to = short.sample(at);
    }
}

/// Replaces the samples at both ends of a whole row, as [`split_ends`] does the coefficients.
pub(super) fn merge_ends<T: VectorSample>(
    line: [&[T]; 2],
    filter: &LiftingFilter<T>,
    boundary: Boundary,
    samples: &mut [T],
) {
    let [low, high] = line.map(|half| &half[HALO..]);
    let length = short_length(samples.len());
    let mut short = Short::from_samples(length, |at| {
        let at = end_row(at, samples.len());
        if at.is_multiple_of(2) { low[at / 2] } else { high[at / 2] }
    });
    short.merge(filter, boundary);
    let touched = 2 * TOUCHED;
    for k in 0..touched {
        samples[k] = short.sample(k);
        samples[samples.len() - 1 - k] = short.sample(length - 1 - k);
    }
}
