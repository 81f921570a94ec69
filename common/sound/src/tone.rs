//! A test tone, exact enough to tune by.

use std::f64::consts::TAU;

use crate::RATE_HZ;

/// Frames in which it fades in and out.
const FADE: u32 = 480;

/// A sine that keeps its phase in 64 bits: it is right to a millionth of a cent, however long it sounds. It neither allocates nor waits.
#[derive(Clone, Debug)]
pub struct Tone {
    phase: u64,
    step: u64,
    loudness: f64,
    /// Frames of the fade that have sounded.
    faded: u32,
    is_on: bool,
}

impl Tone {
    /// Creates a tone of `hz` (1 to 20,000, otherwise the nearest) with samples of up to `loudness` (0 to 1).
    pub fn new(hz: f64, loudness: f32) -> Self {
        let hz = if hz.is_finite() { hz.clamp(1.0, 20_000.0) } else { 440.0 };
        let loudness = if loudness.is_finite() { f64::from(loudness).clamp(0.0, 1.0) } else { 0.0 };
        let step = (hz / f64::from(RATE_HZ) * 2_f64.powi(64)).round() as u64;
        Self { phase: 0, step, loudness, faded: 0, is_on: true }
    }

    /// Lets it sound, or fade out.
    pub fn turn(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Adds it to `out`, interleaved.
    pub fn add(&mut self, out: &mut [f32], channels: usize) {
        for frame in out.chunks_exact_mut(channels.max(1)) {
            self.faded = if self.is_on { (self.faded + 1).min(FADE) } else { self.faded.saturating_sub(1) };
            if self.faded == 0 {
                continue;
            }
            let fade = f64::from(self.faded) / f64::from(FADE);
            let sample = self.loudness * fade * (TAU * self.phase as f64 / 2_f64.powi(64)).sin();
            frame.iter_mut().for_each(|out| *out += sample as f32);
            self.phase = self.phase.wrapping_add(self.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each frame adds one step, and what sounds is that phase: after an hour it is that of exact arithmetic.
    #[test]
    fn it_is_right_to_a_hundredth_of_a_cent_over_an_hour() {
        for hz in [27.5, 440.0, 442.0, 4186.009] {
            let mut tone = Tone::new(hz, 0.5);
            let mut out = [0.0; 4800];
            tone.add(&mut out, 1);
            assert_eq!(tone.phase, tone.step.wrapping_mul(4800));
            let hour = 3600 * 48_000_u64;
            let turns = u128::from(tone.step) * u128::from(hour) / (1 << 64);
            let cents = 1200.0 * (turns as f64 / (hz * 3600.0)).log2();
            assert!(cents.abs() < 0.01, "{hz} Hz: {cents} cent");
            tone.phase = tone.step.wrapping_mul(hour);
            let phase = TAU * tone.phase as f64 / 2_f64.powi(64);
            let off = (phase / TAU - (hz * 3600.0).fract()).abs();
            assert!(off.min(1.0 - off) < 1e-3, "{hz} Hz: {off} of a turn");
            let mut next = [0.0];
            tone.add(&mut next, 1);
            assert!((f64::from(next[0]) - 0.5 * phase.sin()).abs() < 1e-6, "{hz} Hz: {}", next[0]);
        }
    }

    #[test]
    fn it_begins_and_ends_without_a_click() {
        let mut tone = Tone::new(1000.0, 1.0);
        let mut out = vec![0.0; 4000];
        tone.add(&mut out[..2000], 2);
        tone.turn(false);
        tone.add(&mut out[2000..], 2);
        let step_max =
            out.chunks_exact(2).zip(out.chunks_exact(2).skip(1)).map(|(a, b)| (a[0] - b[0]).abs()).fold(0.0, f32::max);
        assert!(step_max < (TAU * 1000.0 / 48_000.0) as f32 * 1.05, "{step_max}");
        assert!(out.iter().any(|sample| *sample > 0.9) && out[3998..] == [0.0; 2]);
        let mut nothing = [0.0; 2];
        Tone::new(f64::NAN, f32::NAN).add(&mut nothing, 0);
        assert_eq!(nothing, [0.0; 2]);
    }
}
