//! Concealment beside what was lost.

use sound::format::{Channels, Coding, Format};
use sound::observed::Outcome;
use sound::playout::{self, Receiving};
use sound::unit::Unit;
use sound::{Cycle, pcm};

const FRAMES: usize = 64;
/// Packets of each of two chords, and those of the second before one is lost.
const PACKETS: usize = 3_000;
const BEFORE: usize = 375;

/// Returns a sample of the first chord, later of the second.
fn chord(frame: usize) -> f32 {
    let tones: [f64; 3] = if frame < PACKETS * FRAMES { [196.0, 246.9, 392.0] } else { [523.3, 932.3, 1174.7] };
    tones.iter().map(|hz| 0.2 * (std::f64::consts::TAU * hz * frame as f64 / 48_000.0).sin()).sum::<f64>() as f32
}

/// A packet that is lost half a second after all has changed is foretold from what was heard since, not from what was before.
#[test]
fn what_is_lost_is_foretold_from_what_was_heard_last() {
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: FRAMES as u16 };
    let (mut heard, mut out) = (Vec::new(), [0.0; FRAMES]);
    for number in 0..PACKETS + 2 * BEFORE {
        let us = 1_000_000 + (number * FRAMES) as u64 * 125 / 6;
        let mut unit = Unit { capture_us: us, arrival_us: us, ..Unit::new(number as u32, format) };
        let samples: Vec<f32> = (number * FRAMES..(number + 1) * FRAMES).map(chord).collect();
        unit.len = pcm::encode_16(&samples, &mut unit.bytes) as u16;
        if number != PACKETS + BEFORE {
            feed.push(&unit);
        }
        playout.play(&mut out, 1, Cycle { frame: (number * FRAMES) as u64, us: us + 100 });
        concealer.work();
        heard.extend(out);
    }
    let near = |one: f32, other: f32| (one - other).abs() < 1e-4;
    let begin = (PACKETS + 10) * FRAMES;
    let late = (0..4_800).find(|late| (begin..begin + 2_000).all(|at| near(heard[at + late], chord(at)))).unwrap();
    let lost = (PACKETS + BEFORE) * FRAMES;
    let energy = |samples: &mut dyn Iterator<Item = f32>| samples.map(|sample| f64::from(sample).powi(2)).sum::<f64>();
    let signal = energy(&mut (lost..lost + FRAMES).map(chord));
    let error = energy(&mut (lost..lost + FRAMES).map(|at| heard[at + late] - chord(at)));
    let snr_db = 10.0 * (signal / error).log10();
    assert_eq!((observed.count(Outcome::Concealed), observed.count(Outcome::Lost)), (1, 1));
    assert!(snr_db > 20.0, "{snr_db:.1} dB");
}
