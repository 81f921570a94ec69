//! The horizontal transform of a row, in registers: each sample is read once and each coefficient written
//! once, all lifting steps between.
//!
//! With `u` the vector that the last step made and `t` the one before, a step is `t <- t + tap (u + u delayed)`, and
//! then `u delayed` is the next target: every step lags one more sample behind. Nothing but the last vector of each step
//! is kept from block to block. At the ends the row continues by whole-sample symmetry.

use common::params::Boundary;

use super::filter::{Element, Filter, MOST_STEPS};
use super::line::{HALO, Line};
use super::short::{SHORT, Short, TOUCHED, end_row, short_length};
use super::vector::Vector;
use crate::reference::sample::Sample;

/// Samples on each side of a row that its coefficients depend on.
const REACH: usize = 6;

/// What every step keeps to delay vectors: one for a pair of neighbours, three for two.
type Carries<V> = [[V; 3]; MOST_STEPS];

/// Samples of a half by which coefficients lag behind the samples that come in.
const fn lag(steps: usize, taps: usize) -> usize {
    steps / 2 * (2 * taps - 1)
}

/// Blocks that come in before the first, so that all delayed vectors hold what they should.
const fn warm_up(steps: usize, taps: usize, lanes: usize) -> usize {
    (2 * lag(steps, taps)).div_ceil(lanes)
}

/// All steps on one block. `t` and `u` are the first target and its neighbours. Returns the last target's band (`u`)
/// and the other band at the same position.
#[inline(always)]
unsafe fn lift_block<V: Vector, const STEPS: usize, const TAPS: usize>(
    first: V,
    neighbours: V,
    taps: &[[<V::Element as Sample>::Coefficient; TAPS]; STEPS],
    carries: &mut Carries<V>,
    late: &mut V,
    forward: bool,
) -> (V, V) {
    // SAFETY: the caller vouches for the instruction set; no memory is touched.
    unsafe {
        let (mut t, mut u, mut other) = (first, neighbours, neighbours);
        if TAPS == 2 {
            // The target of two pairs lags one sample more.
            t = first.delayed(late);
        }
        for (taps, carry) in taps.iter().zip(carries) {
            let near = u.delayed(&mut carry[0]);
            if TAPS == 1 {
                let target = t.lift(near, u, taps[0]);
                other = if forward { u } else { near };
                (t, u) = (near, target);
            } else {
                let far = near.delayed(&mut carry[1]);
                let farthest = far.delayed(&mut carry[2]);
                let target = t.lift(far, near, taps[0]).lift(farthest, u, taps[1]);
                other = if forward { near } else { far };
                (t, u) = (farthest, target);
            }
        }
        (u, other)
    }
}

/// The `2 LANES` samples of `row` from `at` on, mirrored beyond the ends as far as coefficients depend on them.
#[inline(always)]
fn mirrored<T: Element>(row: &[T], at: isize, window: &mut [T]) {
    window.fill(T::default());
    let (length, end) = (row.len() as isize, at + window.len() as isize);
    let (from, to) = (at.clamp(0, length), end.clamp(0, length));
    if from < to {
        window[(from - at) as usize..(to - at) as usize].copy_from_slice(&row[from as usize..to as usize]);
    }
    for k in 1..=REACH as isize {
        for (place, source) in [(-k, k), (length - 1 + k, length - 1 - k)] {
            if (at..end).contains(&place) {
                window[(place - at) as usize] = row[source as usize];
            }
        }
    }
}

/// Low and high coefficients of `row` into the halves of `line`; `row` is longer than [`SHORT`].
#[inline(always)]
pub(super) fn split<V: Vector, const STEPS: usize, const TAPS: usize>(
    row: &[V::Element],
    filter: &Filter<V::Element>,
    line: &mut Line<V::Element>,
) {
    let (lag, warm_up) = (lag(STEPS, TAPS), warm_up(STEPS, TAPS, V::LANES));
    let (taps, low_scale, high_scale) = (filter.all::<STEPS, TAPS>(), filter.low_scale, filter.high_scale);
    let (low, high) = line.halves_mut();
    let blocks = row.len().div_ceil(2).div_ceil(V::LANES);
    let (low, high) = (&mut low[HALO..HALO + blocks * V::LANES], &mut high[HALO..HALO + blocks * V::LANES]);
    // Odd samples first, so that a pair is (d[n-1], s[n]).
    let first = 2 * lag as isize - 1;
    let mut window = [V::Element::default(); 2 * HALO];
    let window = &mut window[..2 * V::LANES];
    // SAFETY: the caller was compiled for the vector's instruction set. A block is loaded from `row` only if it lies
    // inside, else from `window`, which holds as many samples; block b is stored at b LANES, within both halves.
    unsafe {
        let zero = V::splat(V::Element::default());
        let mut carries: Carries<V> = [[zero; 3]; MOST_STEPS];
        let mut late = zero;
        for block in -(warm_up as isize)..blocks as isize {
            let at = first + 2 * block * V::LANES as isize;
            let from = if at >= 0 && at as usize + 2 * V::LANES <= row.len() {
                row.as_ptr().add(at as usize)
            } else {
                mirrored(row, at, window);
                window.as_ptr()
            };
            let (odd, even) = V::load_pairs(from);
            let (s, d) = lift_block::<V, STEPS, TAPS>(odd, even, &taps, &mut carries, &mut late, true);
            if block >= 0 {
                let to = block as usize * V::LANES;
                s.scaled(low_scale).store(low.as_mut_ptr().add(to));
                d.scaled(high_scale).store(high.as_mut_ptr().add(to));
            }
        }
    }
}

/// Columns of a half beyond the ends of a row that its samples depend on.
const REACH_COLUMNS: usize = 4;

/// Continues the halves of `line`, a row of `length`, by whole-sample symmetry.
#[inline(always)]
pub(super) fn extend<T: Element>(line: &mut Line<T>, length: usize) {
    let (lows, highs) = (length.div_ceil(2), length / 2);
    let (low, high) = line.halves_mut();
    for k in 1..=REACH_COLUMNS {
        low[HALO - k] = low[HALO + k];
        high[HALO - k] = high[HALO + k - 1];
    }
    // Positions of the first columns that are not there.
    let (low_end, high_end) = (HALO + lows, HALO + highs);
    let even = 1 - length % 2;
    for k in 0..REACH_COLUMNS {
        low[low_end + k] = low[low_end - 2 - k + even];
        high[high_end + k] = high[high_end - 1 - k - even];
    }
}

/// The samples of a row from the coefficients of `line`, which [`extend`] has continued.
#[inline(always)]
pub(super) fn merge<V: Vector, const STEPS: usize, const TAPS: usize>(
    line: &mut Line<V::Element>,
    filter: &Filter<V::Element>,
    samples: &mut [V::Element],
) {
    let (lag, warm_up) = (lag(STEPS, TAPS), warm_up(STEPS, TAPS, V::LANES));
    let (taps, low_scale, high_scale) = (filter.all::<STEPS, TAPS>(), filter.low_scale, filter.high_scale);
    let (low, high) = line.halves_mut();
    let blocks = samples.len().div_ceil(2).div_ceil(V::LANES);
    let mut window = [V::Element::default(); 2 * HALO];
    let window = &mut window[..2 * V::LANES];
    let first = HALO + lag - warm_up * V::LANES;
    let columns = first..first + (warm_up + blocks) * V::LANES;
    let (low, high) = (&low[columns.clone()], &high[columns]);
    // SAFETY: the caller was compiled for the vector's instruction set. Block b is loaded at b LANES of both
    // halves, cut to that length above; it is stored into `samples` only if it lies inside, else into `window`.
    unsafe {
        let zero = V::splat(V::Element::default());
        let mut carries: Carries<V> = [[zero; 3]; MOST_STEPS];
        let mut late = zero;
        for block in 0..warm_up + blocks {
            let s = V::load(low.as_ptr().add(block * V::LANES)).scaled(low_scale);
            let d = V::load(high.as_ptr().add(block * V::LANES)).scaled(high_scale);
            let (odd, even) = lift_block::<V, STEPS, TAPS>(s, d, &taps, &mut carries, &mut late, false);
            let Some(block) = block.checked_sub(warm_up) else { continue };
            let to = 2 * block * V::LANES;
            if to + 2 * V::LANES <= samples.len() {
                V::store_pairs(even, odd, samples.as_mut_ptr().add(to));
            } else {
                V::store_pairs(even, odd, window.as_mut_ptr());
                let rest = &mut samples[to..];
                rest.copy_from_slice(&window[..rest.len()]);
            }
        }
    }
}

/// All coefficients of a row of at most [`SHORT`] samples.
#[inline(always)]
pub(super) fn split_short<T: Element>(row: &[T], filter: &Filter<T>, boundary: Boundary, line: &mut Line<T>) {
    let mut short = Short::from_samples(row.len(), |at| row[at]);
    short.split(filter, boundary);
    let (low, high) = line.halves_mut();
    low[HALO..HALO + short.even().len()].copy_from_slice(short.even());
    high[HALO..HALO + short.odd().len()].copy_from_slice(short.odd());
}

/// Replaces the coefficients at both ends of a whole row by those of another boundary than the symmetric one.
#[inline(always)]
pub(super) fn split_ends<T: Element>(row: &[T], filter: &Filter<T>, boundary: Boundary, line: &mut Line<T>) {
    let mut short = Short::from_samples(short_length(row.len()), |at| row[end_row(at, row.len())]);
    short.split(filter, boundary);
    let (low, high) = line.halves_mut();
    replace_ends(&mut low[HALO..HALO + row.len().div_ceil(2)], short.even());
    replace_ends(&mut high[HALO..HALO + row.len() / 2], short.odd());
}

/// The first and last [`TOUCHED`] values of `to` become those of `from`.
#[inline(always)]
fn replace_ends<T: Copy>(to: &mut [T], from: &[T]) {
    let (to_end, from_end) = (to.len() - TOUCHED, from.len() - TOUCHED);
    to[..TOUCHED].copy_from_slice(&from[..TOUCHED]);
    to[to_end..].copy_from_slice(&from[from_end..]);
}

/// All samples of a row of at most [`SHORT`] samples.
#[inline(always)]
pub(super) fn merge_short<T: Element>(line: &Line<T>, filter: &Filter<T>, boundary: Boundary, samples: &mut [T]) {
    let (low, high) = line.halves();
    let (low, high) = (&low[HALO..], &high[HALO..]);
    let mut short =
        Short::from_samples(samples.len(), |at| if at.is_multiple_of(2) { low[at / 2] } else { high[at / 2] });
    short.merge(filter, boundary);
    for (at, to) in samples.iter_mut().enumerate() {
        *to = short.sample(at);
    }
}

/// Replaces the samples at both ends of a whole row, as [`split_ends`] does the coefficients.
#[inline(always)]
pub(super) fn merge_ends<T: Element>(line: &Line<T>, filter: &Filter<T>, boundary: Boundary, samples: &mut [T]) {
    let (low, high) = line.halves();
    let (low, high) = (&low[HALO..], &high[HALO..]);
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

const _: () = assert!(SHORT > 2 * REACH);
