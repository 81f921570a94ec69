//! The callback's half of concealment: goes on from what was heard last, and fades out.

use rtrb::{Consumer, Producer};

use super::shapes::{Coefficients, Frame, HISTORY_FRAMES, ORDER};

/// Frames for which an extrapolation is as loud as it was foretold: the longest packet, of which most follows what was heard.
const HOLD_FRAMES: usize = 256;
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

/// Bounds that no extrapolation leaves: those of sound as it came. One that follows from another, as where each packet is a little late,
/// would otherwise go a little beyond it each time.
#[derive(Debug, Default)]
struct Limits {
    /// By channel greatest absolute sample and greatest step from one to the next, of the frames before and of the newest.
    before: [(f32, f32); 2],
    newest: [(f32, f32); 2],
    /// Frames of the newest.
    frames: usize,
}

impl Limits {
    fn take(&mut self, frames: &[Frame]) {
        if self.frames >= HISTORY_FRAMES {
            (self.before, self.newest, self.frames) = (self.newest, [(0.0, 0.0); 2], 0);
        }
        self.frames += frames.len();
        for (side, (peak, step)) in self.newest.iter_mut().enumerate() {
            *peak = frames.iter().fold(*peak, |peak, frame| frame[side].abs().max(peak));
            *step = frames.windows(2).fold(*step, |step, pair| (pair[1][side] - pair[0][side]).abs().max(step));
        }
    }

    /// Returns the sample, or the next one to it that may follow the last.
    fn keep(&self, side: usize, sample: f32, last: f32) -> f32 {
        let (before, newest) = (self.before[side], self.newest[side]);
        let (peak, step) = (before.0.max(newest.0).max(last.abs()), before.1.max(newest.1));
        sample.clamp(last - step, last + step).clamp(-peak, peak)
    }
}

/// Continues sound from its past.
#[derive(Debug)]
pub(crate) struct Extrapolator {
    heard: Producer<Frame>,
    sets: Consumer<Coefficients>,
    set: Coefficients,
    /// Newest that the worker has computed, for the next extrapolation: one is of one set.
    newest: Coefficients,
    past: Past,
    /// By channel the last [`ORDER`] samples of the past, and what was extrapolated from them.
    ahead: [Vec<f32>; 2],
    limits: Limits,
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
        Self {
            heard,
            sets,
            set,
            newest: set,
            past,
            ahead: [ahead(), ahead()],
            limits: Limits::default(),
            age: FADE_FRAMES,
        }
    }

    /// Takes in what has been heard, of which the first `faded` were faded in. `is_real`: not extrapolated; from the rest the worker
    /// would learn its own faults.
    pub(crate) fn hear(&mut self, frames: &[Frame], faded: usize, is_real: bool) {
        self.past.push(frames);
        // Taken as they come: in a full ring the worker would find no room for newer ones.
        while let Ok(set) = self.sets.pop() {
            self.newest = set;
        }
        if is_real {
            // A worker that does not come finds a full ring and knows it.
            let _ = self.heard.push_partial_slice(frames);
            self.limits.take(&frames[faded..]);
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
        self.set = self.newest;
        for (past, ahead) in self.past.channels.iter().zip(&mut self.ahead) {
            for (place, &sample) in ahead.iter_mut().zip(&past[past.len() - ORDER..]) {
                *place = if sample.is_finite() { sample } else { 0.0 };
            }
        }
    }

    /// Returns the next frame, silence once it has faded out.
    pub(crate) fn next(&mut self) -> Frame {
        if self.age == FADE_FRAMES {
            return [0.0; 2];
        }
        let faded = self.age.saturating_sub(HOLD_FRAMES) as f32 / (FADE_FRAMES - HOLD_FRAMES) as f32;
        let gain = 0.5 + 0.5 * (std::f32::consts::PI * faded).cos();
        let mut frame = [0.0; 2];
        for (side, place) in frame.iter_mut().enumerate() {
            let ahead = &mut self.ahead[side];
            let sample = dot(&ahead[self.age..self.age + ORDER], &self.set[side]);
            let last = ahead[self.age + ORDER - 1];
            let sample = if sample.is_finite() { sample } else { 0.0 };
            let sample = self.limits.keep(side, sample, last);
            ahead[self.age + ORDER] = sample;
            *place = gain * sample;
        }
        self.age += 1;
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::super::halves;
    use super::*;

    /// A decoder promises no numbers for any bytes that a peer makes up.
    #[test]
    fn what_is_no_number_neither_panics_nor_stays() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (mut extrapolator, mut concealer) = halves();
            extrapolator.hear(&[[0.5; 2]; 600], 0, true);
            extrapolator.hear(&[[bad; 2]; 40], 0, true);
            concealer.work();
            extrapolator.hear(&[[bad, 0.5]; 1], 0, true);
            extrapolator.begin();
            for _ in 0..2 * FADE_FRAMES {
                let [left, right] = extrapolator.next();
                assert!(left.is_finite() && right.is_finite() && left.abs().max(right.abs()) <= 0.5, "{bad}");
            }
        }
    }
}
