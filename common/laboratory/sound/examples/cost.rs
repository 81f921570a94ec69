//! Prints what each part of a receiving side costs: microseconds of a core for a second of sound, two channels.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a measurement")]

use std::time::{Duration, Instant};

use sound::format::{Channels, Coding, Format};
use sound::playout::{self, Receiving};
use sound::unit::Unit;
use sound::{Cycle, RATE_HZ, pcm};

const SECONDS: u64 = 40;
/// Seconds until two clocks are known.
const SKIPPED: u64 = 10;

/// Returns the time that feeding, playing and the worker take in a second.
fn run(frames: u64, ppm: f64) -> [Duration; 3] {
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: frames as u16 };
    let samples: Vec<f32> =
        (0..2 * frames).map(|at| 0.3 * (at as f32 * 0.37).sin() * (at as f32 * 0.011).cos()).collect();
    let mut unit = Unit::new(0, format);
    unit.len = pcm::encode_16(&samples, &mut unit.bytes) as u16;
    let (mut out, mut sums, mut sent) = (vec![0.0; 2 * frames as usize], [Duration::ZERO; 3], 0.0);
    for period in 0..SECONDS * u64::from(RATE_HZ) / frames {
        let frame = period * frames;
        let us = 1_000_000 + frame * 125 / 6;
        let mut parts = [Duration::ZERO; 3];
        let mut timed = |part: usize, work: &mut dyn FnMut()| {
            let begin = Instant::now();
            work();
            parts[part] += begin.elapsed();
        };
        while sent <= frame as f64 {
            unit.arrival_us = 1_000_000 + (sent / 0.048) as u64;
            unit.capture_us = unit.arrival_us;
            timed(0, &mut || assert!(feed.push(&unit)));
            unit.number += 1;
            sent += frames as f64 * (1.0 + ppm * 1e-6);
        }
        timed(1, &mut || playout.play(&mut out, 2, Cycle { frame, us }));
        timed(2, &mut || _ = concealer.work());
        if frame > SKIPPED * u64::from(RATE_HZ) {
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
    }
    assert_eq!(observed.is_resampling(), ppm != 0.0);
    sums.map(|sum| sum / (SECONDS - SKIPPED) as u32)
}

fn main() {
    println!(
        "| samples | clocks | feeding, us | playing, us | worker, us | of a core, % |\n|---:|---|---:|---:|---:|---:|"
    );
    for frames in [64, 128, 256] {
        for (clocks, ppm) in [("one", 0.0), ("two", 200.0)] {
            let [feed, play, work] = run(frames, ppm).map(|time| time.as_secs_f64() * 1e6);
            println!("| {frames} | {clocks} | {feed:.0} | {play:.0} | {work:.0} | {:.2} |", (feed + play + work) / 1e4);
        }
    }
}
