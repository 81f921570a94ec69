//! Nothing louder than full scale, and no louder than what was sent: after concealment, changes of format and of the volume, and whatever
//! a peer sends.

use sound::format::{Channels, Coding, Format};
use sound::level::Level;
use sound::observed::Outcome;
use sound::opus::{self, Encoder};
use sound::playout::{self, Receiving};
use sound::unit::{Body, Unit};
use sound::{Cycle, pcm};

use crate::world::Chance;

/// Forms that a peer may change to.
const FORMATS: [Format; 5] = [
    Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: 64 },
    Format { channels: Channels::Stereo, coding: Coding::Pcm24, frames: 64 },
    Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 256 },
    Format { channels: Channels::Mono, coding: Coding::Pcm24, frames: 128 },
    Format { channels: Channels::Stereo, coding: Coding::Opus, frames: opus::FRAMES },
];
const PERIOD: usize = 64;

/// A receiving side of two channels, and what came out of it.
struct Out {
    receiving: Receiving,
    frame: u64,
    loudest: f32,
    step: f32,
    last: [f32; 2],
}

impl Out {
    fn new() -> Self {
        Self { receiving: playout::new(), frame: 0, loudest: 0.0, step: 0.0, last: [0.0; 2] }
    }

    fn us(&self) -> u64 {
        1_000_000 + self.frame * 125 / 6
    }

    /// Plays until so many frames are over.
    fn play(&mut self, until: u64) {
        while self.frame < until {
            let mut out = [0.0; 2 * PERIOD];
            let cycle = Cycle { frame: self.frame, us: self.us() };
            self.receiving.playout.play(&mut out, 2, cycle);
            self.receiving.concealer.work();
            self.frame += PERIOD as u64;
            for frame in out.as_chunks::<2>().0 {
                for (sample, last) in frame.iter().zip(self.last) {
                    assert!(sample.is_finite() && sample.abs() <= 1.0, "{sample}");
                    self.loudest = self.loudest.max(sample.abs());
                    self.step = self.step.max((sample - last).abs());
                }
                self.last = *frame;
            }
        }
    }
}

/// A tone of a fifth of full scale, at most twice as loud by the volume.
#[test]
fn losses_and_changes_of_format_and_volume_make_no_jump() {
    for seed in 1..=10 {
        let (mut out, mut chance) = (Out::new(), Chance::new(seed));
        let mut encoder = Encoder::new(Channels::Stereo, 128_000).unwrap();
        let (mut at, mut epoch, mut number, mut format) = (0_u64, 0, 0, FORMATS[0]);
        while at < 20 * 48_000 {
            if chance.share() < 3e-5 * f64::from(format.frames) {
                format = FORMATS[(chance.share() * FORMATS.len() as f64) as usize];
                (epoch, number) = ((epoch + 1) % 8, 0);
                encoder = Encoder::new(Channels::Stereo, 128_000).unwrap();
            }
            if chance.share() < 0.003 {
                out.receiving.controls.set_volume([0.0, 0.25, 1.0, 2.0][(chance.share() * 4.0) as usize]);
            }
            let frames = u64::from(format.frames);
            let samples: Vec<f32> = (at..at + frames)
                .flat_map(|at| {
                    let sample = 0.2 * (at as f32 * std::f32::consts::TAU / 256.0).sin();
                    std::iter::repeat_n(sample, format.channels.count())
                })
                .collect();
            at += frames;
            out.play(at);
            let now_us = out.us();
            let mut unit = Unit { epoch, capture_us: now_us, arrival_us: now_us, ..Unit::new(number, format) };
            unit.len = match format.coding {
                Coding::Pcm16 => pcm::encode_16(&samples, &mut unit.bytes),
                Coding::Pcm24 => pcm::encode_24(&samples, &mut unit.bytes),
                Coding::Opus => encoder.encode(&samples, &mut unit.bytes[..255]),
            } as u16;
            number += 1;
            if chance.share() > 0.03 {
                out.receiving.feed.push(&unit);
            }
        }
        let starts = out.receiving.observed.count(Outcome::Start);
        assert!(starts > 3 && out.receiving.observed.count(Outcome::Concealed) > 50, "seed {seed}: {starts} forms");
        assert!(out.loudest > 0.15 && out.loudest < 0.5, "seed {seed}: {}", out.loudest);
        // The tone's own greatest step is 0.01 at that volume, and a fade's 0.02; Opus, whose encoder begins in the middle of the tone, makes
        // up to 0.08 of that.
        assert!(out.step < 0.1, "seed {seed}: a jump of {}", out.step);
    }
}

/// Any bytes of any form, any level, and a volume that is no number.
#[test]
fn nothing_goes_beyond_full_scale_whatever_comes() {
    for seed in 1..=10 {
        let (mut out, mut chance) = (Out::new(), Chance::new(seed));
        for number in 0..6_000 {
            let format = FORMATS[(chance.share() * FORMATS.len() as f64) as usize];
            let any = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1.0, 4.0];
            out.receiving.controls.set_volume(any[(chance.share() * any.len() as f64) as usize]);
            let now_us = out.us();
            let mut unit = Unit {
                epoch: (number / 300 % 8) as u8,
                capture_us: now_us,
                arrival_us: now_us,
                level: Level((chance.share() * 256.0) as u8),
                ..Unit::new(number, FORMATS[(number / 300) as usize % FORMATS.len()])
            };
            if chance.share() < 0.05 {
                unit.format = format;
            }
            unit.bytes.iter_mut().for_each(|byte| *byte = (chance.share() * 256.0) as u8);
            let samples = unit.format.channels.count() * usize::from(unit.format.frames);
            unit.len = match unit.format.coding {
                Coding::Pcm16 => 2 * samples,
                Coding::Pcm24 => 3 * samples,
                // Of the full band, 2.5 ms, two channels.
                Coding::Opus => {
                    unit.bytes[0] = 0xe4;
                    (2.0 + chance.share() * 200.0) as usize
                }
            } as u16;
            if chance.share() < 0.1 && unit.format.coding != Coding::Opus {
                unit.body = Body::Adpcm;
                unit.len = sound::adpcm::block_bytes(unit.format.channels.count(), unit.format.frames.into()) as u16;
            }
            if chance.share() > 0.1 {
                out.receiving.feed.push(&unit);
            }
            out.play(out.frame + u64::from(unit.format.frames));
        }
        let played = out.receiving.observed.count(Outcome::Own);
        assert!(played > 1_000 && out.loudest > 0.9, "seed {seed}: {played} packets, {}", out.loudest);
    }
}
