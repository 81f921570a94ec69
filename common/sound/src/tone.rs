//! A test tone, exact enough to tune by.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use crate::RATE_HZ;

/// Frames in which it fades in and out.
const FADE: u32 = 480;

/// Lowest and highest tone, hertz.
pub const HZ: RangeInclusive<f64> = 20.0..=20_000.0;
/// Greatest sample: 20 dB below full scale.
const LOUDNESS: f64 = 0.1;

/// A sine that keeps its phase in 64 bits: by the card's clock it is right to a millionth of a cent, however long it sounds. A card's
/// clock is off by some 50 ppm, which is a tenth of a cent. It neither allocates nor waits.
#[derive(Clone, Debug, Default)]
pub struct Tone {
    phase: u64,
    step: u64,
    /// Frames of the fade that have sounded.
    faded: u32,
}

impl Tone {
    /// Adds a tone of `hz` to `out`, interleaved; none: it fades out. Another one takes its place without a jump. Beyond [`HZ`] it is the
    /// nearest.
    pub fn add(&mut self, hz: Option<f64>, out: &mut [f32], channels: usize) {
        if let Some(hz) = hz {
            self.step = (hz.clamp(*HZ.start(), *HZ.end()) / f64::from(RATE_HZ) * 2_f64.powi(64)).round() as u64;
        }
        for frame in out.chunks_exact_mut(channels.max(1)) {
            self.faded = if hz.is_some() { (self.faded + 1).min(FADE) } else { self.faded.saturating_sub(1) };
            if self.faded == 0 {
                return;
            }
            let fade = f64::from(self.faded) / f64::from(FADE);
            let sample = LOUDNESS * fade * (TAU * self.phase as f64 / 2_f64.powi(64)).sin();
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
            let mut tone = Tone::default();
            let mut out = [0.0; 4800];
            tone.add(Some(hz), &mut out, 1);
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
            tone.add(Some(hz), &mut next, 1);
            assert!((f64::from(next[0]) - LOUDNESS * phase.sin()).abs() < 1e-6, "{hz} Hz: {}", next[0]);
        }
    }

    #[test]
    fn it_begins_and_ends_without_a_click() {
        let mut tone = Tone::default();
        let mut out = vec![0.0; 6000];
        tone.add(Some(700.0), &mut out[..2000], 2);
        tone.add(Some(1000.0), &mut out[2000..4000], 2);
        tone.add(None, &mut out[4000..], 2);
        let step_max =
            out.chunks_exact(2).zip(out.chunks_exact(2).skip(1)).map(|(a, b)| (a[0] - b[0]).abs()).fold(0.0, f32::max);
        assert!(step_max < (LOUDNESS * TAU * 1000.0 / 48_000.0) as f32 * 1.05, "{step_max}");
        assert!(out.iter().any(|sample| *sample > 0.09) && out[5998..] == [0.0; 2]);
        let mut nothing = [0.0; 2];
        for hz in [f64::NAN, f64::INFINITY, -5.0, 0.0] {
            Tone::default().add(Some(hz), &mut nothing, 0);
            assert!(nothing.iter().all(|sample| sample.abs() < 0.1));
        }
    }
}
