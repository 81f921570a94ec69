//! The callback's half of concealment: goes on from what was heard last, and fades out.

use rtrb::{Consumer, Producer};

use super::shapes::{Coefficients, Frame, HISTORY_FRAMES, ORDER};

/// Frames after which an extrapolation has faded out: 20 ms.
pub(crate) const FADE_FRAMES: usize = 960;
/// Frames that the past has room for before the older half is let go.
const PAST_ROOM: usize = 2 * HISTORY_FRAMES;
/// Sums that run beside each other.
const LANES: usize = 16;

/// Sound that was heard last, by channel.
#[derive(Debug)]
struct Past {
    channels: [Vec<f32>; 2],
}

impl Past {
    fn push(&mut self, frames: &[Frame]) {
        let frames = &frames[frames.len().saturating_sub(HISTORY_FRAMES)..];
        for (side, channel) in self.channels.iter_mut().enumerate() {
            if channel.len() + frames.len() > PAST_ROOM {
                let old = channel.len() - HISTORY_FRAMES;
                channel.copy_within(old.., 0);
                channel.truncate(HISTORY_FRAMES);
            }
            channel.extend(frames.iter().map(|frame| frame[side]));
        }
    }
}

/// Continues sound from its past.
#[derive(Debug)]
pub(crate) struct Extrapolator {
    heard: Producer<Frame>,
    sets: Consumer<Coefficients>,
    set: Coefficients,
    past: Past,
    /// By channel the last [`ORDER`] samples of the past, and what was extrapolated from them.
    ahead: [Vec<f32>; 2],
    /// Greatest absolute sample of the past, and greatest step from one to the next: no extrapolation goes beyond.
    limits: [(f32, f32); 2],
    /// Frames since the extrapolation began.
    age: usize,
}

/// Returns the sum of products of two rows of [`ORDER`] samples.
fn dot(one: &[f32], other: &[f32; ORDER]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let ((one, _), (other, _)) = (one.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    for (a, b) in one.iter().zip(other) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

impl Extrapolator {
    pub(crate) fn new(heard: Producer<Frame>, sets: Consumer<Coefficients>) -> Self {
        let mut set = [[0.0; ORDER]; 2];
        // Before the worker's first set the last sample dies away.
        set.iter_mut().for_each(|channel| channel[ORDER - 1] = 0.99);
        let room = || {
            let mut past = Vec::with_capacity(PAST_ROOM);
            past.resize(HISTORY_FRAMES, 0.0);
            past
        };
        let past = Past { channels: [room(), room()] };
        let ahead = || vec![0.0; ORDER + FADE_FRAMES];
        Self { heard, sets, set, past, ahead: [ahead(), ahead()], limits: [(0.0, 0.0); 2], age: FADE_FRAMES }
    }

    /// Takes in what has been heard. `is_real`: not extrapolated; from the rest the worker would learn its own faults.
    pub(crate) fn hear(&mut self, frames: &[Frame], is_real: bool) {
        self.past.push(frames);
        if is_real {
            // A worker that does not come finds a full ring and knows it.
            let _ = self.heard.push_partial_slice(frames);
        }
    }

    /// Says what was heard last once more, up to now.
    pub(crate) fn recall(&self, out: &mut [Frame]) {
        for (side, past) in self.past.channels.iter().enumerate() {
            for (place, sample) in out.iter_mut().rev().zip(past.iter().rev()) {
                place[side] = *sample;
            }
        }
    }

    /// Begins anew from what was heard last.
    pub(crate) fn begin(&mut self) {
        self.age = 0;
        // Not later: one extrapolation is of one set.
        while let Ok(set) = self.sets.pop() {
            self.set = set;
        }
        for ((past, ahead), limits) in self.past.channels.iter().zip(&mut self.ahead).zip(&mut self.limits) {
            ahead[..ORDER].copy_from_slice(&past[past.len() - ORDER..]);
            let recent = &past[past.len() - HISTORY_FRAMES..];
            let peak = recent.iter().fold(0.0, |peak: f32, sample| sample.abs().max(peak));
            let step = recent.windows(2).fold(0.0, |step: f32, pair| (pair[1] - pair[0]).abs().max(step));
            *limits = (peak, step);
        }
    }

    /// Returns the next frame, silence once it has faded out.
    pub(crate) fn next(&mut self) -> Frame {
        if self.age == FADE_FRAMES {
            return [0.0; 2];
        }
        let gain = 0.5 + 0.5 * (std::f32::consts::PI * self.age as f32 / FADE_FRAMES as f32).cos();
        let mut frame = [0.0; 2];
        for (side, place) in frame.iter_mut().enumerate() {
            let ahead = &mut self.ahead[side];
            let sample = dot(&ahead[self.age..self.age + ORDER], &self.set[side]);
            let (peak, step) = self.limits[side];
            let last = ahead[self.age + ORDER - 1];
            let sample = if sample.is_finite() { sample } else { 0.0 };
            let sample = sample.clamp(last - step, last + step).clamp(-peak, peak);
            ahead[self.age + ORDER] = sample;
            *place = gain * sample;
        }
        self.age += 1;
        frame
    }
}
