//! Planes of a reference with a border, and those of samples between samples, made once.

use picture::frame::FrameSize;
use rayon::prelude::*;

use super::square::Taps;
use crate::cpu::simd::multiversion;
use crate::motion::field::HALF_TAPS;

/// Samples around a plane: a window that lies beyond them sees what one does that still touches them.
const BORDER: usize = 64;
/// Most samples outside at which a window may begin, so that it and what the filter adds lie in the border.
const BEFORE: i32 = 56;
const BEHIND: i32 = 8;
const _: () = assert!(BEFORE + BEHIND == BORDER as i32, "a window and what the filter adds lie in the border");
/// Rows that a thread takes at least.
const ROWS_PER_TASK: usize = 32;

/// Cuts a place along an axis of `size` samples, in parts of a sample, to where a window may begin: beyond, all samples are
/// the same, at parts of a sample, too.
pub(super) fn within(place: i32, parts: i32, size: usize) -> i32 {
    let whole = place.div_euclid(parts).clamp(-BEFORE, size as i32 + BEHIND);
    parts * whole + place.rem_euclid(parts)
}

/// A plane with a border of its outermost samples.
#[derive(Debug, Default)]
pub(crate) struct Bordered {
    pub(crate) pitch: usize,
    samples: Vec<u8>,
}

impl Bordered {
    /// Black.
    pub(crate) fn new(size: FrameSize) -> Self {
        let pitch = size.width() + 2 * BORDER;
        Self { pitch, samples: vec![0; pitch * (size.height() + 2 * BORDER)] }
    }

    /// Takes the samples of a plane.
    pub(crate) fn take(&mut self, size: FrameSize, plane: &[u8]) {
        let (width, last) = (size.width(), size.height() - 1);
        self.samples.par_chunks_mut(self.pitch).enumerate().with_min_len(ROWS_PER_TASK).for_each(|(y, to)| {
            let from = &plane[y.saturating_sub(BORDER).min(last) * width..][..width];
            to[..BORDER].fill(from[0]);
            to[BORDER..BORDER + width].copy_from_slice(from);
            to[BORDER + width..].fill(from[width - 1]);
        });
    }

    /// Returns the samples from (x, y) on; (0, 0) is the plane's first sample.
    pub(crate) fn from(&self, x: i32, y: i32) -> &[u8] {
        let at = (y + BORDER as i32) as usize * self.pitch + (x + BORDER as i32) as usize;
        &self.samples[at..]
    }
}

/// The luma of a reference.
#[derive(Debug)]
pub(crate) struct Luma {
    size: FrameSize,
    whole: Bordered,
    /// Half a sample to the right, below, and both.
    halves: [Bordered; 3],
}

impl Luma {
    /// Of pictures of this size.
    pub(crate) fn new(size: FrameSize) -> Self {
        Self { size, whole: Bordered::new(size), halves: [(); 3].map(|()| Bordered::new(size)) }
    }

    /// Takes the samples of a plane.
    pub(crate) fn take(&mut self, plane: &[u8]) {
        self.whole.take(self.size, plane);
        let [right, below, both] = &mut self.halves;
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

    /// The samples whose mean is the one at (x / 4, y / 4), and so for those to the right and below.
    pub(crate) fn quarter(&self, x: i32, y: i32) -> Taps<'_> {
        let (x, y) = (within(x, 4, self.size.width()), within(y, 4, self.size.height()));
        let (half_x, half_y, pitch) = (x >> 1, y >> 1, self.whole.pitch);
        let first = self.half(half_x, half_y);
        match (x & 1, y & 1) {
            (0, 0) => Taps::One([first], pitch),
            (1, 0) => Taps::Two([first, self.half(half_x + 1, half_y)], pitch),
            (0, _) => Taps::Two([first, self.half(half_x, half_y + 1)], pitch),
            _ => {
                let [right, below, both] = [(1, 0), (0, 1), (1, 1)].map(|(dx, dy)| self.half(half_x + dx, half_y + dy));
                Taps::Four([first, right, below, both], pitch)
            }
        }
    }
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
