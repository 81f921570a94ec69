//! Prediction on the processor: planes of samples between samples, made once for a reference, and whole windows at a time.

use common::frame::{Chroma, FrameSize};
use rayon::prelude::*;

use super::overlap::round_sums;
use super::simd::multiversion;
use crate::Picture;
use crate::motion::field::{Field, Motion, UNIT, WINDOW};
use crate::motion::overlap::{Span, Sums, samples, spans};
use crate::motion::predictor::{Predictor, Rect, plane_size, planes};
use crate::reference::compensate::HALF_TAPS;

/// Samples around a plane: a window that lies beyond them sees what one does that still touches them.
const BORDER: usize = 64;
/// How far outside a window may begin, so that it and what the filter adds lie in the border.
const BEFORE: i32 = 56;
const BEHIND: i32 = 8;
/// Rows that a thread takes at least.
const ROWS_PER_TASK: usize = 32;

/// A plane with a border of its outermost samples.
#[derive(Debug, Default)]
struct Bordered {
    pitch: usize,
    samples: Vec<u8>,
}

impl Bordered {
    fn new(size: FrameSize) -> Self {
        let pitch = size.width() + 2 * BORDER;
        Self { pitch, samples: vec![0; pitch * (size.height() + 2 * BORDER)] }
    }

    fn take(&mut self, size: FrameSize, plane: &[u8]) {
        let (width, last) = (size.width(), size.height() - 1);
        self.samples.par_chunks_mut(self.pitch).enumerate().with_min_len(ROWS_PER_TASK).for_each(|(y, to)| {
            let from = &plane[y.saturating_sub(BORDER).min(last) * width..][..width];
            to[..BORDER].fill(from[0]);
            to[BORDER..BORDER + width].copy_from_slice(from);
            to[BORDER + width..].fill(from[width - 1]);
        });
    }

    /// Returns the samples from (x, y) on; (0, 0) is the plane's first sample.
    fn from(&self, x: i32, y: i32) -> &[u8] {
        let at = (y + BORDER as i32) as usize * self.pitch + (x + BORDER as i32) as usize;
        &self.samples[at..]
    }
}

/// A channel of the reference.
#[derive(Debug)]
struct Channel {
    size: FrameSize,
    side: usize,
    whole: Bordered,
    /// Of luma: half a sample to the right, below, and both.
    halves: [Bordered; 3],
}

impl Channel {
    fn new(chroma: Chroma, size: FrameSize, channel: usize) -> Self {
        let (size, side) = plane_size(chroma, size, channel);
        let half = || if channel == 0 { Bordered::new(size) } else { Bordered::default() };
        Self { size, side, whole: Bordered::new(size), halves: [half(), half(), half()] }
    }

    fn take(&mut self, plane: &[u8]) {
        self.whole.take(self.size, plane);
        let [right, below, both] = &mut self.halves;
        if right.samples.is_empty() {
            return;
        }
        let pitch = self.whole.pitch;
        let rows = self.whole.samples.len() / pitch;
        let whole = |y: usize| &self.whole.samples[y * pitch..][..pitch];
        let to = right.samples.par_chunks_mut(pitch).zip(below.samples.par_chunks_mut(pitch));
        let to = to.zip(both.samples.par_chunks_mut(pitch)).enumerate().with_min_len(ROWS_PER_TASK);
        to.for_each(|(y, ((right, below), both))| {
            half_right(right, whole(y));
            half_below(below, std::array::from_fn(|tap| whole((y + tap).saturating_sub(3).min(rows - 1))));
            half_right(both, below);
        });
    }

    /// The plane that holds samples at (x / 2, y / 2), from that one on.
    fn half(&self, x: i32, y: i32) -> &[u8] {
        let plane = match (x & 1, y & 1) {
            (0, 0) => &self.whole,
            (_, 0) => &self.halves[0],
            (0, _) => &self.halves[1],
            _ => &self.halves[2],
        };
        plane.from(x >> 1, y >> 1)
    }

    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]) {
        let (right, below) = match motion {
            Motion::Flat(samples) => {
                out.chunks_mut(WINDOW).take(rect.height).for_each(|row| row[..rect.width].fill(samples[channel]));
                return;
            }
            Motion::Vector { x, y } => (i32::from(x), i32::from(y)),
        };
        // Parts of a sample: quarters of luma, eighths of chroma.
        let (scale, factor) = match (channel, self.side < UNIT) {
            (0, _) => (4, 1),
            (_, true) => (8, 1),
            (_, false) => (8, 2),
        };
        let place = |at: usize, motion: i32, size: usize| {
            let place = scale * at as i32 + factor * motion;
            let within = (place.div_euclid(scale)).clamp(-BEFORE, size as i32 + BEHIND);
            // Beyond, all samples are the same, at parts of a sample, too.
            scale * within + place.rem_euclid(scale)
        };
        let (x, y) = (place(rect.x, right, self.size.width()), place(rect.y, below, self.size.height()));
        let pitch = self.whole.pitch;
        if channel > 0 {
            return eighths(out, self.whole.from(x >> 3, y >> 3), pitch, rect, [x & 7, y & 7]);
        }
        let (half_x, half_y) = (x >> 1, y >> 1);
        let first = self.half(half_x, half_y);
        match (x & 1, y & 1) {
            (0, 0) => copy(out, first, pitch, rect),
            (1, 0) => mean_of_two(out, [first, self.half(half_x + 1, half_y)], pitch, rect),
            (0, _) => mean_of_two(out, [first, self.half(half_x, half_y + 1)], pitch, rect),
            _ => {
                let others = [(1, 0), (0, 1), (1, 1)].map(|(dx, dy)| self.half(half_x + dx, half_y + dy));
                mean_of_four(out, [first, others[0], others[1], others[2]], pitch, rect);
            }
        }
    }
}

/// Prediction of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuPredictor {
    chroma: Chroma,
    size: FrameSize,
    channels: Vec<Channel>,
}

impl CpuPredictor {
    /// For pictures of a stream.
    pub(crate) fn new(chroma: Chroma, size: FrameSize) -> Self {
        let channels = (0..chroma.channels().len()).map(|channel| Channel::new(chroma, size, channel)).collect();
        Self { chroma, size, channels }
    }
}

impl Predictor for CpuPredictor {
    fn refer(&mut self, reference: &Picture) {
        for (channel, plane) in self.channels.iter_mut().zip(planes(self.chroma, self.size, reference.data())) {
            channel.take(plane);
        }
    }

    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]) {
        self.channels[channel].block(channel, rect, motion, out);
    }

    fn compensate(&self, field: &Field, out: &mut Picture) {
        let mut rest = out.data_mut();
        for (index, channel) in self.channels.iter().enumerate() {
            let mut plane = rest.split_off_mut(..channel.size.pixels()).unwrap_or_default();
            let [columns, rows] = field.units();
            let (across, down) =
                (spans(columns, channel.side, channel.size.width()), spans(rows, channel.side, channel.size.height()));
            let pitch = channel.size.width();
            // A thread takes the rows between the middles of two rows of units, where no others reach.
            let side = channel.side;
            let first = plane.split_off_mut(..(side / 2 * pitch).min(plane.len())).unwrap_or_default();
            let strips = rayon::iter::once(first).chain(plane.par_chunks_mut(side * pitch)).enumerate();
            strips.for_each(|(strip, out)| {
                let first_row = if strip == 0 { 0 } else { strip * side - side / 2 };
                let mut sums = vec![0; out.len()];
                let mut window = [0; WINDOW * WINDOW];
                let height = out.len() / pitch;
                for y in [strip.checked_sub(1), Some(strip)].into_iter().flatten().filter(|&y| y < rows) {
                    // The part of the unit's window in this strip.
                    let Some(part) = cut(&down[y], first_row, height) else { continue };
                    for (x, across) in across.iter().enumerate() {
                        samples(self, index, field.unit(x, y), across, &part, &mut window);
                        Sums { sums: &mut sums, pitch, first_row }.add(across, &part, &window);
                    }
                }
                round_sums(out, &sums);
            });
        }
    }
}

/// Returns the part of a span that lies in the `len` samples from `start` on.
fn cut(span: &Span, start: usize, len: usize) -> Option<Span> {
    let (first, end) = (span.start.max(start), (span.start + span.len).min(start + len));
    let skipped = first - span.start;
    let mut cut = Span { start: first, len: end.checked_sub(first)?, weights: [0; WINDOW], second: [0; WINDOW] };
    cut.weights[..cut.len].copy_from_slice(&span.weights[skipped..][..cut.len]);
    cut.second[..cut.len].copy_from_slice(&span.second[skipped..][..cut.len]);
    (cut.len > 0).then_some(cut)
}

multiversion! {
    /// Samples half way between those of a row; the last ones of both ends are those of the row.
    fn half_right(to: &mut [u8], row: &[u8]) = half_right_body;
}

#[inline(always)]
fn half_right_body(to: &mut [u8], row: &[u8]) {
    let inner = row.len() - 7;
    let taps: [&[u8]; 8] = std::array::from_fn(|tap| &row[tap..][..inner]);
    half_way(&mut to[3..][..inner], taps);
    to[..3].copy_from_slice(&row[..3]);
    to[3 + inner..].copy_from_slice(&row[3 + inner..]);
}

multiversion! {
    /// Samples half way between the fourth and the fifth row.
    fn half_below(to: &mut [u8], rows: [&[u8]; 8]) = half_way;
}

#[inline(always)]
fn half_way(to: &mut [u8], taps: [&[u8]; 8]) {
    let [a, b, c, d, e, f, g, h] = taps.map(|tap| &tap[..to.len()]);
    for (x, to) in to.iter_mut().enumerate() {
        // At most 88 times 255 and at least -24 times 255: nothing wraps.
        let pair = |first: u8, second: u8| (u16::from(first) + u16::from(second)) as i16;
        let outer = (HALF_TAPS[0] as i16).wrapping_mul(pair(a[x], h[x]));
        let second = (HALF_TAPS[1] as i16).wrapping_mul(pair(b[x], g[x]));
        let third = (HALF_TAPS[2] as i16).wrapping_mul(pair(c[x], f[x]));
        let nearest = (HALF_TAPS[3] as i16).wrapping_mul(pair(d[x], e[x]));
        let sum = outer.wrapping_add(second).wrapping_add(third).wrapping_add(nearest);
        *to = (sum.wrapping_add(32) >> 6).clamp(0, 255) as u8;
    }
}

multiversion! {
    fn copy(out: &mut [u8], from: &[u8], pitch: usize, rect: Rect) = copy_body;
}

#[inline(always)]
fn copy_body(out: &mut [u8], from: &[u8], pitch: usize, rect: Rect) {
    for (to, from) in out.chunks_mut(WINDOW).zip(from.chunks(pitch)).take(rect.height) {
        to[..rect.width].copy_from_slice(&from[..rect.width]);
    }
}

multiversion! {
    fn mean_of_two(out: &mut [u8], from: [&[u8]; 2], pitch: usize, rect: Rect) = mean_of_two_body;
}

#[inline(always)]
fn mean_of_two_body(out: &mut [u8], [a, b]: [&[u8]; 2], pitch: usize, rect: Rect) {
    let rows = out.chunks_mut(WINDOW).zip(a.chunks(pitch).zip(b.chunks(pitch)));
    for (to, (a, b)) in rows.take(rect.height) {
        let mean = |a: u8, b: u8| ((u16::from(a) + u16::from(b) + 1) >> 1) as u8;
        by_eights(&mut to[..rect.width], [&a[..rect.width], &b[..rect.width]], |[a, b]| mean(a, b));
    }
}

multiversion! {
    fn mean_of_four(out: &mut [u8], from: [&[u8]; 4], pitch: usize, rect: Rect) = mean_of_four_body;
}

#[inline(always)]
fn mean_of_four_body(out: &mut [u8], [a, b, c, d]: [&[u8]; 4], pitch: usize, rect: Rect) {
    let (upper, lower) = (a.chunks(pitch).zip(b.chunks(pitch)), c.chunks(pitch).zip(d.chunks(pitch)));
    for (to, ((a, b), (c, d))) in out.chunks_mut(WINDOW).zip(upper.zip(lower)).take(rect.height) {
        let rows = [a, b, c, d].map(|row| &row[..rect.width]);
        by_eights(&mut to[..rect.width], rows, |values| {
            ((values.map(u16::from).into_iter().fold(2, u16::wrapping_add)) >> 2) as u8
        });
    }
}

/// `value` of the samples of rows side by side, eight at a time as far as that goes, which compiles to vectors.
#[inline(always)]
fn by_eights<const N: usize>(to: &mut [u8], from: [&[u8]; N], value: impl Fn([u8; N]) -> u8) {
    let whole = to.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        let parts: [[u8; 8]; N] = from.map(|row| std::array::from_fn(|lane| row[at..at + 8][lane]));
        for (lane, to) in to[at..at + 8].iter_mut().enumerate() {
            *to = value(parts.map(|part| part[lane]));
        }
    }
    for (at, to) in to.iter_mut().enumerate().skip(whole) {
        *to = value(from.map(|row| row[at]));
    }
}

multiversion! {
    fn eighths(out: &mut [u8], from: &[u8], pitch: usize, rect: Rect, part: [i32; 2]) = eighths_body;
}

#[inline(always)]
fn eighths_body(out: &mut [u8], from: &[u8], pitch: usize, rect: Rect, [fx, fy]: [i32; 2]) {
    let (fx, fy) = (fx as u16, fy as u16);
    let weights = [(8 - fx) * (8 - fy), fx * (8 - fy), (8 - fx) * fy, fx * fy];
    let rows = from.chunks(pitch).zip(from[pitch..].chunks(pitch));
    for (to, (upper, lower)) in out.chunks_mut(WINDOW).zip(rows).take(rect.height) {
        let width = rect.width;
        let rows = [&upper[..width], &upper[1..=width], &lower[..width], &lower[1..=width]];
        by_eights(&mut to[..width], rows, |values| {
            let parts = values.into_iter().zip(weights);
            // At most 64 times 255.
            let sum = parts.fold(32, |sum: u16, (value, weight)| sum.wrapping_add(weight.wrapping_mul(value.into())));
            (sum >> 6) as u8
        });
    }
}
