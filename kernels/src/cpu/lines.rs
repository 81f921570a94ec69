//! One-dimensional lifting on whole rows: across a row, and of rows against each other. Symmetric boundary.

use crate::lifting::{ALPHA, BETA, DELTA, GAMMA, K, K_INVERSE};

/// Splits `row` into its low half (front of `out`) and high half (behind it); one sample is its own low half.
#[inline(always)]
pub(super) fn split_row(row: &[f32], out: &mut [f32]) {
    let (s, d) = out[..row.len()].split_at_mut(row.len().div_ceil(2));
    for ((pair, s), d) in row.chunks_exact(2).zip(s.iter_mut()).zip(d.iter_mut()) {
        (*s, *d) = (pair[0], pair[1]);
    }
    if row.len() % 2 == 1 {
        s[s.len() - 1] = row[row.len() - 1];
    }
    if d.is_empty() {
        return;
    }
    update_odd(d, s, ALPHA);
    update_even(s, d, BETA);
    update_odd(d, s, GAMMA);
    update_even(s, d, DELTA);
    s.iter_mut().for_each(|s| *s *= K);
    d.iter_mut().for_each(|d| *d *= K_INVERSE);
}

/// Inverse of [`split_row`]; uses `halves` as scratch.
#[inline(always)]
pub(super) fn merge_row(halves: &mut [f32], row: &mut [f32]) {
    let (s, d) = halves[..row.len()].split_at_mut(row.len().div_ceil(2));
    if !d.is_empty() {
        s.iter_mut().for_each(|s| *s *= K_INVERSE);
        d.iter_mut().for_each(|d| *d *= K);
        update_even(s, d, -DELTA);
        update_odd(d, s, -GAMMA);
        update_even(s, d, -BETA);
        update_odd(d, s, -ALPHA);
    }
    for ((pair, s), d) in row.chunks_exact_mut(2).zip(s.iter()).zip(d.iter()) {
        (pair[0], pair[1]) = (*s, *d);
    }
    if row.len() % 2 == 1 {
        row[row.len() - 1] = s[s.len() - 1];
    }
}

/// `d[n] += coefficient (s[n] + s[n+1])`
#[inline(always)]
fn update_odd(d: &mut [f32], s: &[f32], coefficient: f32) {
    for ((d, a), b) in d.iter_mut().zip(s).zip(&s[1..]) {
        *d = coefficient.mul_add(a + b, *d);
    }
    if d.len() == s.len() {
        let last = d.len() - 1;
        d[last] = coefficient.mul_add(s[last] + s[last], d[last]);
    }
}

/// `s[n] += coefficient (d[n-1] + d[n])`
#[inline(always)]
fn update_even(s: &mut [f32], d: &[f32], coefficient: f32) {
    s[0] = coefficient.mul_add(d[0] + d[0], s[0]);
    for ((s, a), b) in s[1..].iter_mut().zip(d).zip(&d[1..]) {
        *s = coefficient.mul_add(a + b, *s);
    }
    if s.len() > d.len() {
        let last = d.len() - 1;
        s[last + 1] = coefficient.mul_add(d[last] + d[last], s[last + 1]);
    }
}

/// Rows that a vertical transform carries from one pair of rows to the next.
#[derive(Debug, Default)]
pub(super) struct Carry {
    /// Forward: even row, then the rows after the first, second and third step. Inverse: likewise backwards.
    pub(super) rows: [Vec<f32>; 4],
    /// The two rows that come in.
    pub(super) even: Vec<f32>,
    pub(super) odd: Vec<f32>,
    /// The two rows that go out.
    pub(super) low: Vec<f32>,
    pub(super) high: Vec<f32>,
}

impl Carry {
    /// For rows of `columns`.
    pub(super) fn new(columns: usize) -> Self {
        let row = || vec![0.0; columns];
        Self { rows: [row(), row(), row(), row()], even: row(), odd: row(), low: row(), high: row() }
    }
}

/// Forward step n: from even row n (carried), odd row n and even row n + 1 come low and high row n - 1.
#[inline(always)]
pub(super) fn split_rows(carry: &mut Carry, columns: usize) {
    let [even, first, second, third] = &mut carry.rows;
    let (even, first, second, third) =
        (&mut even[..columns], &mut first[..columns], &mut second[..columns], &mut third[..columns]);
    let (next, odd) = (&carry.even[..columns], &carry.odd[..columns]);
    let (low, high) = (&mut carry.low[..columns], &mut carry.high[..columns]);
    for x in 0..columns {
        let d1 = ALPHA.mul_add(even[x] + next[x], odd[x]);
        let s1 = BETA.mul_add(first[x] + d1, even[x]);
        let d2 = GAMMA.mul_add(second[x] + s1, first[x]);
        let s2 = DELTA.mul_add(third[x] + d2, second[x]);
        low[x] = s2 * K;
        high[x] = d2 * K_INVERSE;
        (even[x], first[x], second[x], third[x]) = (next[x], d1, s1, d2);
    }
}

/// Inverse step n: from low row n (`even`) and high row n (`odd`) come even row n - 1 (`low`) and odd row n - 2
/// (`high`).
#[inline(always)]
pub(super) fn merge_rows(carry: &mut Carry, columns: usize) {
    let [d_before, s1_before, d1_before, s0_before] = &mut carry.rows;
    let (d_before, s1_before) = (&mut d_before[..columns], &mut s1_before[..columns]);
    let (d1_before, s0_before) = (&mut d1_before[..columns], &mut s0_before[..columns]);
    let (low_in, high_in) = (&carry.even[..columns], &carry.odd[..columns]);
    let (even, odd) = (&mut carry.low[..columns], &mut carry.high[..columns]);
    for x in 0..columns {
        let s = low_in[x] * K_INVERSE;
        let d = high_in[x] * K;
        let s1 = (-DELTA).mul_add(d_before[x] + d, s);
        let d1 = (-GAMMA).mul_add(s1_before[x] + s1, d_before[x]);
        let s0 = (-BETA).mul_add(d1_before[x] + d1, s1_before[x]);
        odd[x] = (-ALPHA).mul_add(s0_before[x] + s0, d1_before[x]);
        even[x] = s0;
        (d_before[x], s1_before[x], d1_before[x], s0_before[x]) = (d, s1, d1, s0);
    }
}
