//! Prints how near concealment comes to what was lost: Duet's receiving side beside JackTrip's method, and silence, on ten signals, of
//! which files that are named as arguments are recorded ones (ffmpeg reads them). JackTrip's is a model after the description of its
//! regulator, not its code: coefficients by Burg's method of order `n - 1` from the last `n` samples (four packets of 64, three of 128,
//! two of 256), one packet extrapolated, the next cross-faded over its length.
#![allow(clippy::unwrap_used, reason = "a measurement")]

use std::f64::consts::TAU;
use std::process::Command;

use sound::format::{Channels, Coding, Format};
use sound::playout::{self, Receiving};
use sound::unit::Unit;
use sound::{Cycle, pcm};

const RATE: usize = 48_000;
/// Length of a signal that is made, s.
const SECONDS: usize = 16;
/// Frames before the first loss, and from one to the next at least.
const FIRST: usize = 5 * RATE;
const EACH: usize = 4_800;
/// Frames that count after a gap: as long as Duet's cross-fade is.
const AFTER: usize = 64;
/// Frames of a spectrum, and bins that count, up to 19 kHz.
const SPECTRUM: usize = 1_024;
const BINS: usize = 400;

/// Random numbers from -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Returns the height of a note of a melody, Hz.
fn note(at: usize) -> f64 {
    220.0 * f64::exp2(f64::from([0, 4, 7, 12, 11, 7, 5, 2][at % 8]) / 12.0)
}

/// Returns a signal that is made: its value each frame, from time, s, and noise.
fn made(mut value: impl FnMut(f64, &mut Noise) -> f64) -> Vec<f32> {
    let mut noise = Noise(0x5EED_5EED);
    let samples: Vec<f64> = (0..SECONDS * RATE).map(|at| value(at as f64 / RATE as f64, &mut noise)).collect();
    level(samples.into_iter().map(|sample| sample as f32).collect())
}

/// Brings the greatest sample to 0.7, and adds the noise of 16 bits.
fn level(mut samples: Vec<f32>) -> Vec<f32> {
    let peak = samples.iter().fold(1e-9, |peak: f32, sample| peak.max(sample.abs()));
    let mut noise = Noise(77);
    for sample in &mut samples {
        *sample = 0.7 * *sample / peak + 1e-5 * noise.next() as f32;
        *sample = (*sample * 32_768.0).round() / 32_768.0;
    }
    samples
}

fn signals() -> Vec<(String, Vec<f32>)> {
    let mut phase = 0.0;
    let violin = made(|time, noise| {
        let hz = note((time * 1.5) as usize) * (1.0 + 0.006 * (TAU * 5.5 * time).sin());
        phase += TAU * hz / RATE as f64;
        (1..=14).map(|part| (phase * f64::from(part)).sin() / f64::from(part).powf(1.1)).sum::<f64>()
            + 0.02 * noise.next()
    });
    let piano = made(|time, _| {
        (0..4)
            .map(|back| {
                let begin = (time * 3.0).floor() / 3.0 - f64::from(back) / 3.0;
                let (age, hz) = (time - begin, note((begin.max(0.0) * 3.0) as usize));
                (1..=12)
                    .map(|part| {
                        let part = f64::from(part);
                        let stretched = hz * part * (1.0 + 4e-4 * part * part).sqrt();
                        (TAU * stretched * age).sin() * (-age * (1.5 + 0.5 * part)).exp() / part
                    })
                    .sum::<f64>()
                    * (age * 400.0).min(1.0)
            })
            .sum()
    });
    let drums = made(|time, noise| {
        let beat = time * 6.0;
        let age = beat.fract() / 6.0;
        match beat as usize % 4 {
            0 => (TAU * (50.0 * age + 3.0 * (1.0 - (-age * 30.0).exp()))).sin() * (-age * 12.0).exp(),
            2 => (0.7 * noise.next() + 0.5 * (TAU * 190.0 * age).sin()) * (-age * 18.0).exp(),
            _ => 0.4 * noise.next() * (-age * 60.0).exp(),
        }
    });
    let mut low = [0.0; 2];
    let noise = made(|_, noise| {
        low[0] += 0.05 * (noise.next() - low[0]);
        low[1] += 0.3 * (noise.next() - low[1]);
        low[0] * 3.0 + low[1]
    });
    let length = SECONDS as f64;
    let sweep = made(|time, _| {
        let rate = (8_000.0_f64 / 60.0).ln() / length;
        (TAU * 60.0 * ((rate * time).exp() - 1.0) / rate).sin()
    });
    let chord = made(|time, _| {
        [130.8, 164.8, 196.0, 246.9, 329.6]
            .iter()
            .map(|hz| {
                (1..=6).map(|part| (TAU * hz * f64::from(part) * time).sin() / f64::from(part * part)).sum::<f64>()
            })
            .sum()
    });
    let (mut string, mut place) = (vec![0.0; 220], 0);
    let plucked = made(|time, noise| {
        if (time * 4.0).fract() < 0.5 / RATE as f64 * 4.0 {
            string = (0..(RATE as f64 / note((time * 4.0) as usize)) as usize).map(|_| noise.next()).collect();
            place = 0;
        }
        let next = (place + 1) % string.len();
        let sample = string[place];
        string[place] = 0.498 * (string[place] + string[next]);
        place = next;
        sample
    });
    let (mut turn, mut formants) = (0.0, [[0.0; 2]; 3]);
    let voice = made(|time, noise| {
        let hz = 120.0 * (1.0 + 0.15 * (TAU * 0.7 * time).sin() + 0.01 * (TAU * 5.0 * time).sin());
        turn += hz / RATE as f64;
        let pulse = if turn >= 1.0 { 1.0 } else { 0.0 };
        turn = turn.fract();
        let vowel =
            [[700.0, 1_220.0, 2_600.0], [300.0, 2_300.0, 3_000.0], [450.0, 800.0, 2_830.0]][(time * 4.0) as usize % 3];
        let push = pulse + 0.02 * noise.next();
        formants
            .iter_mut()
            .zip(vowel)
            .map(|(state, hz)| {
                let (radius, angle) = (0.992, TAU * hz / RATE as f64);
                let value = push + 2.0 * radius * angle.cos() * state[0] - radius * radius * state[1];
                *state = [value, state[0]];
                value
            })
            .sum()
    });
    let named =
        [("violin", violin), ("piano", piano), ("drums", drums), ("noise", noise), ("sweep", sweep), ("chord", chord)];
    let more = [("plucked string", plucked), ("sung vowels", voice)];
    named.into_iter().chain(more).map(|(name, samples)| (name.to_owned(), samples)).collect()
}

/// Reads a file's sound.
fn recorded(path: &str) -> (String, Vec<f32>) {
    let arguments = ["-v", "error", "-i", path, "-ac", "1", "-ar", "48000", "-f", "f32le", "-"];
    let output = Command::new("ffmpeg").args(arguments).output().unwrap();
    let samples: Vec<f32> = output.stdout.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    assert!(
        samples.len() > RATE,
        "{path} has less than a second of sound: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    // Short ones again, so that there are losses enough.
    let repeated = samples.iter().copied().cycle().take(samples.len().clamp(SECONDS * RATE, 40 * RATE));
    (path.rsplit('/').next().unwrap_or(path).to_owned(), level(repeated.collect()))
}

/// Returns where packets are missing: sound is there, and it is far from the last one.
fn gaps(samples: &[f32], frames: usize) -> Vec<usize> {
    let energy = |part: &[f32]| part.iter().map(|sample| f64::from(sample * sample)).sum::<f64>() / part.len() as f64;
    let all = energy(samples);
    let mut noise = Noise(3);
    let (mut gaps, mut next) = (Vec::new(), FIRST);
    for begin in (0..samples.len().saturating_sub(2 * SPECTRUM)).step_by(frames) {
        if begin >= next && energy(&samples[begin - 480..begin]) > 0.09 * all {
            gaps.push(begin);
            next = begin + EACH + ((1.0 + noise.next()) * 2_000.0) as usize;
        }
    }
    gaps
}

/// Plays a signal without the packets that are missing through the receiving side.
fn duet(samples: &[f32], frames: usize, gaps: &[usize]) -> Vec<f32> {
    let Receiving { mut feed, mut playout, mut concealer, .. } = playout::new();
    let format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: frames as u16 };
    let (mut heard, mut out) = (Vec::new(), vec![0.0; frames]);
    for (number, packet) in samples.chunks_exact(frames).enumerate() {
        let us = 1_000_000 + ((number + 1) * frames) as u64 * 125 / 6;
        let mut unit = Unit { capture_us: us, arrival_us: us, ..Unit::new(number as u32, format) };
        unit.len = pcm::encode_16(packet, &mut unit.bytes) as u16;
        if !gaps.contains(&(number * frames)) {
            feed.push(&unit);
        }
        playout.play(&mut out, 1, Cycle { frame: ((number + 1) * frames) as u64, us: us + 100 });
        concealer.work();
        heard.extend_from_slice(&out);
    }
    // From where it is bit-exact: the delay is whole packets.
    let tail = heard.len() - RATE / 4;
    let late = (0..RATE / 4).find(|late| {
        let (begin, end) = (FIRST - 60_000, FIRST - 500);
        heard.get(begin + late..end + late) == Some(&samples[begin..end])
    });
    let late = late.unwrap();
    let mut aligned = heard[late..tail].to_vec();
    aligned.resize(samples.len(), 0.0);
    aligned
}

/// Burg's method, in double precision; the coefficient of the newest sample first.
fn burg(samples: &[f64], order: usize) -> Vec<f64> {
    let (mut forward, mut backward) = (samples[1..].to_vec(), samples[..samples.len() - 1].to_vec());
    let mut all = vec![1.0];
    for _ in 0..order {
        let product: f64 = forward.iter().zip(&backward).map(|(f, b)| f * b).sum();
        let energy: f64 = forward.iter().chain(&backward).map(|value| value * value).sum();
        if energy <= 1e-12 || forward.len() < 2 {
            break;
        }
        let reflection = -2.0 * product / energy;
        all.push(0.0);
        let before: Vec<f64> = all.iter().rev().copied().collect();
        all.iter_mut().zip(before).for_each(|(value, opposite)| *value += reflection * opposite);
        let next_forward = forward.iter().zip(&backward).skip(1).map(|(f, b)| f + reflection * b).collect();
        let len = backward.len() - 1;
        backward = backward.iter().zip(&forward).take(len).map(|(b, f)| b + reflection * f).collect();
        forward = next_forward;
    }
    all[1..].iter().map(|value| -value).collect()
}

/// The model of JackTrip's method.
fn jacktrip(samples: &[f32], frames: usize, gaps: &[usize]) -> Vec<f32> {
    let packets = match frames {
        ..=64 => 4,
        65..=128 => 3,
        _ => 2,
    };
    let mut heard = samples.to_vec();
    for &gap in gaps {
        let past: Vec<f64> = heard[gap - packets * frames..gap].iter().map(|sample| f64::from(*sample)).collect();
        let coefficients = burg(&past, past.len() - 1);
        let mut ahead = past;
        for _ in 0..2 * frames {
            let next = coefficients.iter().zip(ahead.iter().rev()).map(|(weight, sample)| weight * sample).sum::<f64>();
            ahead.push(next);
        }
        let ahead = &ahead[packets * frames..];
        for (at, place) in heard[gap..gap + 2 * frames].iter_mut().enumerate() {
            let up = at.saturating_sub(frames) as f64 / frames as f64;
            let known = if at < frames { 0.0 } else { up };
            *place = (ahead[at] * (1.0 - known) + f64::from(*place) * known).clamp(-1.0, 1.0) as f32;
        }
    }
    heard
}

/// Returns the levels of a spectrum, dB.
fn spectrum(samples: &[f32], turns: &[(f64, f64)]) -> Vec<f64> {
    (0..BINS)
        .map(|bin| {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (at, sample) in samples.iter().enumerate() {
                let window = 0.5 - 0.5 * turns[at].1;
                let (sine, cosine) = turns[bin * at % SPECTRUM];
                real += f64::from(*sample) * window * cosine;
                imaginary += f64::from(*sample) * window * sine;
            }
            20.0 * (real.hypot(imaginary) + 1e-4).log10()
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns medians over gaps of the signal by the error, and of the distance of spectra, dB.
fn judge(samples: &[f32], heard: &[f32], frames: usize, gaps: &[usize], turns: &[(f64, f64)]) -> [f64; 2] {
    let snr = gaps.iter().map(|&gap| {
        let range = gap..gap + frames + AFTER;
        let signal: f64 = samples[range.clone()].iter().map(|sample| f64::from(*sample).powi(2)).sum();
        let error: f64 = range.map(|at| f64::from(samples[at] - heard[at]).powi(2)).sum();
        10.0 * ((signal + 1e-12) / (error + 1e-12)).log10()
    });
    let distance = gaps.iter().map(|&gap| {
        let begin = gap + frames / 2 - SPECTRUM / 2;
        let spectra = [samples, heard].map(|sound| spectrum(&sound[begin..begin + SPECTRUM], turns));
        let square: f64 = spectra[0].iter().zip(&spectra[1]).map(|(one, other)| (one - other).powi(2)).sum();
        (square / BINS as f64).sqrt()
    });
    [median(snr.collect()), median(distance.collect())]
}

fn main() {
    let turns: Vec<_> = (0..SPECTRUM).map(|at| (TAU * at as f64 / SPECTRUM as f64).sin_cos()).collect();
    let mut signals = signals();
    signals.extend(std::env::args().skip(1).map(|path| recorded(&path)));
    println!(
        "| signal | missing | gaps | SNR, dB: silence | as JackTrip | Duet | spectra apart, dB: silence | as JackTrip | Duet |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for frames in [64, 128, 256] {
        let mut means = [[0.0; 2]; 3];
        for (name, samples) in &signals {
            let gaps = gaps(samples, frames);
            let mut silent = samples.clone();
            gaps.iter().for_each(|&gap| silent[gap..gap + frames].fill(0.0));
            let ways = [silent, jacktrip(samples, frames, &gaps), duet(samples, frames, &gaps)];
            let judged = ways.map(|heard| judge(samples, &heard, frames, &gaps, &turns));
            row(name, frames, &gaps.len().to_string(), judged);
            for (mean, judged) in means.iter_mut().flatten().zip(judged.iter().flatten()) {
                *mean += judged / signals.len() as f64;
            }
        }
        row("mean", frames, "", means);
    }
}

fn row(name: &str, frames: usize, gaps: &str, [silence, jacktrip, duet]: [[f64; 2]; 3]) {
    println!(
        "| {name} | {frames} | {gaps} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
        silence[0], jacktrip[0], duet[0], silence[1], jacktrip[1], duet[1]
    );
}
