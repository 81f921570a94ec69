//! Last step before the card: volume, level, channels, and nothing above full scale.

use super::slots::Frame;
use crate::RATE_HZ;
use crate::level::Level;

/// Change of the volume's factor in a frame: from silence to unchanged in 10 ms.
const GAIN_STEP: f32 = 100.0 / RATE_HZ as f32;
/// Frames for which a peak is held.
const HOLD_FRAMES: u32 = 3 * RATE_HZ / 2;
/// Factor by which a level falls in a frame: 26 decibels a second.
const FALL: f32 = 1.0 - 3.0 / RATE_HZ as f32;

/// Volume and levels.
#[derive(Debug)]
pub(crate) struct Output {
    gain: f32,
    level: f32,
    peak: f32,
    held: u32,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { gain: 1.0, level: 0.0, peak: 0.0, held: 0 }
    }

    /// Writes frames as interleaved samples, with the volume going towards `gain`. A channel alone gets the mean of both sides, a third
    /// one silence.
    pub(crate) fn write(&mut self, frames: &[Frame], gain: f32, out: &mut [f32], channels: usize) {
        for (place, &[left, right]) in out.chunks_mut(channels.max(1)).zip(frames) {
            let loud = left.abs().max(right.abs());
            self.level = (self.level * FALL).max(loud);
            self.held = (self.held + 1).min(HOLD_FRAMES);
            if loud >= self.peak {
                (self.peak, self.held) = (loud, 0);
            } else if self.held == HOLD_FRAMES {
                self.peak = (self.peak * FALL).max(loud);
            }
            self.gain += (gain - self.gain).clamp(-GAIN_STEP, GAIN_STEP);
            let limit = |sample: f32| {
                let sample = sample * self.gain;
                if sample.is_nan() { 0.0 } else { sample.clamp(-1.0, 1.0) }
            };
            place.fill(0.0);
            match place {
                [] => {}
                [one] => *one = limit(0.5 * left + 0.5 * right),
                [one, two, ..] => (*one, *two) = (limit(left), limit(right)),
            }
        }
    }

    /// Returns the level and the peak that is held.
    pub(crate) fn levels(&self) -> (Level, Level) {
        (Level::of(self.level), Level::of(self.peak))
    }
}
