//! The receiving side in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bars;
mod conceal;
mod hostile;
mod hours;
mod line;
mod loud;
mod seeds;
mod snr;
mod still;
mod trial;
mod tried;
mod world;

use sound::format::{Channels, Coding, Format};
use sound::unit::Unit;
use sound::{Cycle, pcm, playout};

#[test]
fn a_quiet_line_brings_every_sample_as_it_was() {
    let playout::Receiving { mut feed, mut playout, observed, .. } = playout::new();
    let format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 64 };
    let sent: Vec<i16> = (0..64_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 16) as i16).collect();
    let mut heard = Vec::new();
    for (number, packet) in sent.chunks(128).enumerate() {
        let us = |periods: usize| (periods * 64 * 1_000_000 / 48_000) as u64;
        let mut unit = Unit {
            epoch: 3,
            capture_us: 5_000_000 + us(number),
            arrival_us: 1_000_000 + us(number + 1),
            ..Unit::new(number as u32, format)
        };
        let samples: Vec<f32> = packet.iter().map(|&sample| f32::from(sample) / 32_768.0).collect();
        unit.len = pcm::encode_16(&samples, &mut unit.bytes) as u16;
        assert!(feed.push(&unit));
        let mut out = [0.0; 128];
        playout.play(&mut out, 2, Cycle { frame: (number as u64 + 1) * 64, us: unit.arrival_us + 100 });
        heard.extend(out.map(|sample| (sample * 32_768.0) as i16));
    }
    let begin = heard.windows(64).position(|window| window == &sent[1280..1344]).unwrap() - 1280;
    assert_eq!(heard[begin + 1280..], sent[1280..sent.len() - begin]);
    let instant = observed.heard().unwrap();
    let (there_us, here_us) = (instant.capture_us as i64 - 5_000_000, instant.local_us as i64 - 1_000_000);
    let delay_us = begin as i64 / 2 * 1_000_000 / 48_000 + 1333;
    assert!((here_us - there_us - delay_us).abs() < 1500, "{instant:?}, {delay_us}");
}
