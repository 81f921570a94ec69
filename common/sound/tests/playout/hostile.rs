//! Streams that end, begin anew, lie and flood.

use sound::format::{Channels, Coding, Format};
use sound::observed::Outcome;
use sound::playout::{self, Receiving};
use sound::unit::Unit;
use sound::{Cycle, pcm};

use crate::world::Chance;

const MONO: Format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: 64 };

/// A receiving side with a card of 64 frames.
struct Ear {
    receiving: Receiving,
    period: u64,
    last: f32,
    /// Largest step from one sample to the next, and loudest sample.
    step: f32,
    loudest: f32,
}

impl Ear {
    fn new() -> Self {
        let receiving = playout::new();
        Self { receiving, period: 0, last: 0.0, step: 0.0, loudest: 0.0 }
    }

    fn now_us(&self) -> u64 {
        1_000_000 + self.period * 64 * 125 / 6
    }

    /// Returns a packet of a tone of 187.5 Hz with amplitude a half, which goes on where numbers begin anew.
    fn packet(&self, number: u32) -> Unit {
        let samples: Vec<f32> = (0..64_u64)
            .map(|at| 0.5 * ((u64::from(number) * 64 + at) as f64 * std::f64::consts::TAU / 256.0).sin() as f32)
            .collect();
        let mut unit = Unit { capture_us: self.now_us(), arrival_us: self.now_us(), ..Unit::new(number, MONO) };
        unit.len = pcm::encode_16(&samples, &mut unit.bytes) as u16;
        unit
    }

    fn push(&mut self, unit: &Unit) {
        self.receiving.feed.push(unit);
    }

    fn play(&mut self) {
        let mut out = [0.0; 64];
        let cycle = Cycle { frame: self.period * 64, us: self.now_us() };
        self.receiving.playout.play(&mut out, 1, cycle);
        self.receiving.concealer.work();
        self.period += 1;
        for sample in out {
            assert!(sample.is_finite() && sample.abs() <= 1.0, "{sample}");
            self.step = self.step.max((sample - self.last).abs());
            self.loudest = self.loudest.max(sample.abs());
            self.last = sample;
        }
    }

    fn count(&self, outcome: Outcome) -> u64 {
        self.receiving.observed.count(outcome)
    }
}

#[test]
fn a_stream_whose_sender_has_gone_ends_and_another_begins() {
    let mut ear = Ear::new();
    for number in 0..2_000 {
        let unit = ear.packet(number);
        ear.push(&unit);
        ear.play();
    }
    assert!(ear.receiving.observed.heard().is_some() && ear.loudest > 0.4);
    (0..1_500).for_each(|_| ear.play());
    let concealed = ear.count(Outcome::Concealed);
    assert_eq!(ear.receiving.observed.heard(), None);
    (0..1_500).for_each(|_| ear.play());
    assert_eq!(ear.count(Outcome::Concealed), concealed, "nothing is missing of a stream that has ended");
    for number in 7..600 {
        let unit = ear.packet(number);
        ear.push(&unit);
        ear.play();
    }
    assert!(ear.receiving.observed.heard().is_some());
    // The tone's own largest step is 0.013: ends and beginnings are faded.
    assert!(ear.step < 0.04, "{}", ear.step);
}

#[test]
fn a_stream_that_begins_anew_in_each_packet_begins_once_a_period() {
    let mut ear = Ear::new();
    for period in 0..200_u32 {
        for packet in 0..50 {
            let unit = Unit { epoch: (packet % 8) as u8, ..ear.packet(period * 50 + packet) };
            ear.push(&unit);
        }
        ear.play();
    }
    assert!(ear.count(Outcome::Start) <= 200, "{}", ear.count(Outcome::Start));
}

#[test]
fn whatever_a_peer_sends_nothing_is_louder_than_what_was_sent_or_jumps() {
    for seed in 0..40 {
        let (mut ear, mut chance) = (Ear::new(), Chance::new(seed + 1));
        let (mut number, mut epoch) = (0_u32, 0);
        for _ in 0..3_000 {
            let any = chance.share();
            let mut unit = ear.packet(number);
            match (any * 400.0) as u32 {
                0 => number = number.wrapping_add((chance.share() * 5e4) as u32),
                1 => number = u32::MAX - 20,
                2 => epoch = (epoch + 1) % 8,
                3 => unit.capture_us = (chance.share() * 1.8e19) as u64,
                4 => unit.arrival_us = (chance.share() * 1.8e19) as u64,
                5 => unit.len = (chance.share() * 70_000.0) as u16,
                6 => unit.format = Format { frames: (chance.share() * 70_000.0) as u16, ..MONO },
                7 => unit.format = Format { coding: Coding::Opus, frames: 120, ..MONO },
                8 => unit.copies_back = (chance.share() * 255.0) as u8,
                9 => unit.is_muted = true,
                10..30 => unit = ear.packet(number.wrapping_add(1)),
                _ => {}
            }
            unit.epoch = epoch;
            if (chance.share() * 30.0) as u32 != 0 {
                ear.push(&unit);
            }
            number = number.wrapping_add(1);
            ear.play();
        }
        assert!(ear.loudest <= 0.75, "seed {seed}: {}", ear.loudest);
        assert!(ear.step < 0.1, "seed {seed}: a jump of {}", ear.step);
    }
}
