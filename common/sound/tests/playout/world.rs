//! A sender's card, a line and a receiver's card in virtual time.

use sound::adpcm::AdpcmEncoder;
use sound::format::{Channels, Coding, Format};
use sound::observed::Outcome;
use sound::playout::{self, Receiving};
use sound::unit::{Body, Unit};
use sound::{Cycle, RATE_HZ, pcm};

/// Random numbers of a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number from 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of the normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (self.share() + 1e-12).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Conditions of a run.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) seed: u64,
    /// Frames of a packet, and of the receiver's period.
    pub(crate) frames: usize,
    pub(crate) period: usize,
    pub(crate) seconds: f64,
    /// Seconds at the beginning that do not count.
    pub(crate) skip: f64,
    pub(crate) loss: f64,
    /// Mean packets of a run of losses.
    pub(crate) burst: f64,
    pub(crate) jitter_ms: f64,
    /// Seconds from which and to which everything is held for 40 to 150 ms once a second.
    pub(crate) pauses: (f64, f64),
    pub(crate) copies: usize,
    pub(crate) body: Body,
    pub(crate) sender_ppm: f64,
    pub(crate) receiver_ppm: f64,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            seed: 1,
            frames: 64,
            period: 64,
            seconds: 120.0,
            skip: 30.0,
            loss: 0.0,
            burst: 1.0,
            jitter_ms: 0.0,
            pauses: (0.0, 0.0),
            copies: 0,
            body: Body::Whole,
            sender_ppm: 0.0,
            receiver_ppm: 0.0,
        }
    }
}

/// Figures of a run, without its beginning.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) minutes: f64,
    counts: Vec<u64>,
    /// Delay added in each second's first period, ms.
    pub(crate) added_ms: Vec<f64>,
    pub(crate) drift_ppm: Option<f32>,
    pub(crate) is_resampling: bool,
    /// Samples sent and heard, one channel, where asked for.
    pub(crate) heard: Vec<f32>,
}

impl Ran {
    pub(crate) fn count(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize]
    }

    pub(crate) fn a_minute(&self, outcome: Outcome) -> f64 {
        self.count(outcome) as f64 / self.minutes
    }

    /// Returns the delay that a share of seconds keep, ms.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        let mut sorted = self.added_ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share) as usize]
    }

    pub(crate) fn line(&self, name: &str) -> String {
        format!(
            "{name}: added p50 {:.2} p99 {:.2} max {:.2} ms; a minute: concealed {:.2}, gaps {:.2}, adpcm {:.1}, jumps {:.2}; drift {:?} {}",
            self.quantile_ms(0.5),
            self.quantile_ms(0.99),
            self.quantile_ms(1.0),
            self.a_minute(Outcome::Concealed),
            self.a_minute(Outcome::Gap),
            self.a_minute(Outcome::RepairedAdpcm),
            self.a_minute(Outcome::Jump),
            self.drift_ppm,
            self.is_resampling,
        )
    }
}

/// Returns a sample of three tones that begin anew each second.
pub(crate) fn tones(frame: usize) -> f32 {
    let turn = std::f64::consts::TAU * (frame % RATE_HZ as usize) as f64 / f64::from(RATE_HZ);
    let sample = 0.4 * (220.0 * turn).sin() + 0.2 * (277.0 * turn).sin() + 0.15 * (1320.0 * turn).sin();
    ((sample * 32_768.0).round() / 32_768.0) as f32
}

const WIRE_S: f64 = 0.025;

/// Runs a scene; `keep` keeps what is heard.
pub(crate) fn run(scene: &Scene, keep: bool) -> Ran {
    let Scene { frames, period, .. } = *scene;
    let table: Vec<f32> = (0..RATE_HZ as usize).map(tones).collect();
    let mut chance = Chance::new(scene.seed);
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: frames as u16 };
    let rate = |ppm: f64| f64::from(RATE_HZ) * (1.0 + ppm * 1e-6);
    let (sender, receiver) = (rate(scene.sender_ppm), rate(scene.receiver_ppm));
    let phase = chance.share() * period as f64 / receiver;
    let mut encoder = AdpcmEncoder::default();
    let mut bodies: Vec<Unit> = Vec::new();
    let (mut number, mut arrives, mut is_bad) = (0_usize, 0.0_f64, false);
    let mut pause = (f64::MAX, f64::MAX);
    let mut next: Option<(f64, Vec<Unit>)> = None;
    let mut ran = Ran {
        minutes: (scene.seconds - scene.skip) / 60.0,
        counts: Vec::new(),
        added_ms: Vec::new(),
        drift_ppm: None,
        is_resampling: false,
        heard: Vec::new(),
    };
    let mut before = Vec::new();
    let counts = || Outcome::ALL.map(|outcome| observed.count(outcome)).to_vec();
    let mut out = vec![0.0; period];
    for cycle in 0_u64.. {
        let now = phase + cycle as f64 * period as f64 / receiver;
        if now > scene.seconds {
            break;
        }
        loop {
            if let Some((at, _)) = &next {
                if *at > now {
                    break;
                }
                for unit in next.take().unwrap().1 {
                    feed.push(&unit);
                }
            }
            let begin = (number * frames) as f64 / sender;
            let sent = begin + frames as f64 / sender;
            let mut at = sent + WIRE_S + 50e-6 * (1.0 + chance.share());
            if scene.jitter_ms > 0.0 {
                at += chance.normal().abs() * scene.jitter_ms * 1e-3;
            }
            let (from, until) = scene.pauses;
            if at > pause.1 || pause.0 == f64::MAX {
                let begins = at.ceil() + 0.5 * chance.share();
                pause = (begins, begins + 0.04 + 0.11 * chance.share());
            }
            if at > pause.0 && (from..until).contains(&at) {
                at = pause.1;
            }
            is_bad = match (scene.burst > 1.0, is_bad) {
                (false, _) => chance.share() < scene.loss,
                (true, true) => chance.share() > 1.0 / scene.burst,
                (true, false) => chance.share() < scene.loss / (1.0 - scene.loss) / scene.burst,
            };
            let mut unit = Unit {
                capture_us: (begin * 1e6) as u64,
                copies: scene.copies as u8,
                ..Unit::new(number as u32, format)
            };
            let place = number * frames % table.len();
            let samples: Vec<f32> = (place..place + frames).map(|at| table[at % table.len()]).collect();
            unit.len = pcm::encode_16(&samples, &mut unit.bytes) as u16;
            let mut copy = unit.clone();
            if scene.body == Body::Adpcm {
                copy.len = encoder.encode(&samples, 1, &mut copy.bytes).unwrap() as u16;
                copy.body = Body::Adpcm;
            }
            number += 1;
            if !is_bad {
                arrives = at.max(arrives);
                let mut units = vec![unit];
                for (back, body) in bodies.iter().rev().enumerate() {
                    units.push(Unit { copies_back: back as u8 + 1, ..body.clone() });
                }
                units.iter_mut().for_each(|unit| unit.arrival_us = (arrives * 1e6) as u64);
                next = Some((arrives, units));
            }
            bodies.push(copy);
            if bodies.len() > scene.copies {
                bodies.remove(0);
            }
        }
        playout.play(&mut out, 1, Cycle { frame: cycle * period as u64, us: (now * 1e6) as u64 });
        if cycle % 4 == 0 && (keep || scene.loss > 0.0) {
            concealer.work();
        }
        if keep {
            ran.heard.extend_from_slice(&out);
        }
        if now >= scene.skip && before.is_empty() {
            before = counts();
        }
        if now >= scene.skip + ran.added_ms.len() as f64
            && let Some(heard) = observed.heard()
        {
            let delay_us = heard.local_us as f64 - heard.capture_us as f64;
            ran.added_ms.push(delay_us / 1e3 - (WIRE_S + frames as f64 / sender) * 1e3);
        }
    }
    ran.counts = counts().iter().zip(&before).map(|(now, before)| now - before).collect();
    (ran.drift_ppm, ran.is_resampling) = (observed.drift_ppm(), observed.is_resampling());
    ran
}
