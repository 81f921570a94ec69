//! Sounds that the probe sends.

use std::path::Path;

use anyhow::{Context, Result, bail};
use common::netsim::Random;

use super::counted;

/// Samples a second.
const RATE: usize = 48_000;
/// Length of the smooth noise, samples.
pub(crate) const SMOOTH: usize = 1 << 17;
/// Band of it, Hz: what every coder keeps.
const BAND: [f64; 2] = [300.0, 4_000.0];
/// Reach of its filter, samples.
const REACH: usize = 256;
/// Root mean square of it.
const LOUDNESS: f32 = 0.1;
/// Length of a clap, samples: a millisecond.
const CLAP: usize = 48;
const FULL: f32 = 32_768.0;

/// A sound, which is repeated.
#[derive(Clone, Debug)]
pub(crate) enum Signal {
    /// The counted noise: delays exact to the sample.
    Counted,
    /// A sound, left and right, for programs that code or resample.
    Table(Vec<[f32; 2]>),
    /// A click a second, at a time of the machine's clock.
    Clap,
    /// None.
    Silence,
}

impl Signal {
    /// Parses `counted`, `smooth`, `sweep`, `wav:FILE`, `clap` or `silence`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let after_noise = |sound: Vec<[f32; 2]>| Self::Table([&smooth()[..RATE], &sound].concat());
        Ok(match text.split_once(':') {
            None if text == "counted" => Self::Counted,
            None if text == "smooth" => Self::Table(smooth()),
            None if text == "sweep" => after_noise(sweep()),
            None if text == "clap" => Self::Clap,
            None if text == "silence" => Self::Silence,
            Some(("wav", path)) => after_noise(wav(Path::new(path))?),
            _ => bail!("there is no signal `{text}`: there are counted, smooth, sweep, wav:FILE, clap, silence"),
        })
    }

    /// Returns the sample of a number, left and right.
    pub(crate) fn sample(&self, number: u64) -> [f32; 2] {
        match self {
            Self::Counted => counted::sample(number),
            Self::Table(table) => table[(number % table.len() as u64) as usize],
            Self::Clap if (number as usize).is_multiple_of(RATE) => [0.5; 2],
            Self::Clap if number as usize % RATE < CLAP => counted::sample(number).map(|value| 2.0 * value),
            Self::Clap | Self::Silence => [0.0; 2],
        }
    }
}

/// Returns noise in the band that every coder keeps; it begins anew without a seam.
fn smooth() -> Vec<[f32; 2]> {
    let mut random = Random::new(40);
    let white: Vec<f32> = (0..SMOOTH).map(|_| random.normal() as f32).collect();
    let taps: Vec<f32> = (0..=2 * REACH)
        .map(|tap| {
            let at = tap as f64 - REACH as f64;
            let low = |hz: f64| {
                let turn = std::f64::consts::TAU * hz / RATE as f64;
                if at == 0.0 { turn } else { (turn * at).sin() / at }
            };
            let window = 0.5 + 0.5 * (std::f64::consts::PI * at / REACH as f64).cos();
            (window * (low(BAND[1]) - low(BAND[0]))) as f32
        })
        .collect();
    let mut noise: Vec<f32> = (0..SMOOTH)
        .map(|at| taps.iter().enumerate().map(|(tap, weight)| weight * white[(at + tap) % SMOOTH]).sum())
        .collect();
    let loudness = (noise.iter().map(|value| value * value).sum::<f32>() / SMOOTH as f32).sqrt();
    noise.iter_mut().for_each(|value| *value = rounded((*value * LOUDNESS / loudness).clamp(-0.9, 0.9)));
    noise.into_iter().map(|value| [value; 2]).collect()
}

/// Returns a sine from 20 Hz to 20 kHz in five seconds.
fn sweep() -> Vec<[f32; 2]> {
    let length = 5 * RATE;
    let span = 1_000f64.ln();
    let sample = |at: usize| {
        let turn = std::f64::consts::TAU * 20.0 / RATE as f64 * length as f64 / span;
        let value = 0.5 * (turn * (span * at as f64 / length as f64).exp_m1()).sin();
        [rounded(value as f32); 2]
    };
    (0..length).map(sample).collect()
}

/// Returns the sound of a WAV file of 48 kHz, 16 bits, one or two channels.
fn wav(path: &Path) -> Result<Vec<[f32; 2]>> {
    let mut file = hound::WavReader::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let form = file.spec();
    if form.sample_rate as usize != RATE || form.bits_per_sample != 16 || !(1..=2).contains(&form.channels) {
        bail!("{} is not of 48 kHz, 16 bits, one or two channels", path.display());
    }
    let samples: Vec<i16> = file.samples::<i16>().collect::<Result<_, _>>()?;
    let frames = samples.chunks_exact(form.channels.into());
    Ok(frames.map(|frame| [frame[0], frame[frame.len() - 1]].map(|value| f32::from(value) / FULL)).collect())
}

/// Rounds to 16 bits.
fn rounded(value: f32) -> f32 {
    (value * FULL).round() / FULL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_have_their_length_and_are_of_sixteen_bits() {
        for (text, length) in [("smooth", SMOOTH), ("sweep", 6 * RATE)] {
            let Signal::Table(table) = Signal::parse(text).unwrap() else { panic!("{text}") };
            assert_eq!(table.len(), length);
            assert!(table.iter().flatten().all(|&value| value.abs() < 0.95 && rounded(value) == value));
        }
        assert!(Signal::parse("noise").unwrap_err().to_string().contains("counted, smooth"));
    }

    #[test]
    fn a_clap_comes_once_a_second() {
        let loud: Vec<_> = (0..100_000).filter(|&at| Signal::Clap.sample(at) != [0.0; 2]).collect();
        assert!([0, 48_000, 96_000].iter().all(|at| loud.contains(at)), "{loud:?}");
        assert!(loud.iter().all(|at| at % 48_000 < 48), "{loud:?}");
    }
}
