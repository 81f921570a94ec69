//! The sender's half of a trial: its card and packets, and the line.

use std::collections::BTreeMap;

use sound::adpcm::AdpcmEncoder;
use sound::format::{Channels, Coding, Format};
use sound::unit::{Body, Unit};
use sound::{RATE_HZ, pcm};

use crate::trial::{Event, Trial};
use crate::world::{Chance, tones};

const RATE: f64 = RATE_HZ as f64;

/// Returns a sample of a tone at half of full scale.
fn tone(hz: u32, at: usize) -> f32 {
    (0.5 * (std::f64::consts::TAU * f64::from(hz) * at as f64 / RATE).sin()) as f32
}

/// Sender's card and packets.
pub(crate) struct Sender<'a> {
    trial: &'a Trial,
    pub(crate) rate: f64,
    /// Card's next frame, and the first of the next packet.
    pub(crate) frame: usize,
    begin: usize,
    encoder: AdpcmEncoder,
    /// Last packets as copies.
    before: Vec<Unit>,
    table: Vec<f32>,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        Self {
            trial,
            rate: RATE * (1.0 + trial.sender_ppm * 1e-6),
            frame: 0,
            begin: 0,
            encoder: AdpcmEncoder::default(),
            before: Vec::new(),
            table: (0..RATE_HZ as usize).map(|at| trial.tone_hz.map_or(tones(at), |hz| tone(hz, at))).collect(),
        }
    }

    /// Misses periods: what waits for the rest of its packet is gone, and numbers stay positions.
    pub(crate) fn miss(&mut self, periods: u32) {
        self.frame += periods as usize * self.trial.sender_period;
        self.begin = self.frame.div_ceil(self.trial.frames) * self.trial.frames;
    }

    /// Captures a period. Returns when it was over, and the packets that are full then.
    pub(crate) fn capture(&mut self) -> (f64, Vec<Vec<Unit>>) {
        self.frame += self.trial.sender_period;
        let mut packets = Vec::new();
        while self.frame >= self.begin + self.trial.frames {
            packets.push(self.packet());
            self.begin += self.trial.frames;
        }
        (self.frame as f64 / self.rate, packets)
    }

    fn packet(&mut self) -> Vec<Unit> {
        let Trial { frames, copies, body, .. } = *self.trial;
        let samples: Vec<f32> = (self.begin..self.begin + frames).map(|at| self.table[at % self.table.len()]).collect();
        let coding = if self.trial.tone_hz.is_some() { Coding::Pcm24 } else { Coding::Pcm16 };
        let format = Format { channels: Channels::Mono, coding, frames: frames as u16 };
        let mut unit = Unit {
            capture_us: (self.begin as f64 / self.rate * 1e6) as u64,
            copies: copies as u8,
            ..Unit::new((self.begin / frames) as u32, format)
        };
        unit.len = match coding {
            Coding::Pcm24 => pcm::encode_24(&samples, &mut unit.bytes),
            _ => pcm::encode_16(&samples, &mut unit.bytes),
        } as u16;
        let mut copy = unit.clone();
        if body == Body::Adpcm {
            copy.body = Body::Adpcm;
            copy.len = self.encoder.encode(&samples, 1, &mut copy.bytes).unwrap() as u16;
        }
        let mut units = vec![unit];
        for old in self.before.iter().rev() {
            let back = units[0].number - old.number;
            if usize::try_from(back).unwrap() <= copies {
                units.push(Unit { copies_back: back as u8, ..old.clone() });
            }
        }
        self.before.push(copy);
        if self.before.len() > copies {
            self.before.remove(0);
        }
        units
    }
}

/// The line: what it does to each packet.
pub(crate) struct Line<'a> {
    trial: &'a Trial,
    chance: Chance,
    is_bad: bool,
    newest: f64,
    /// Packets under way, by arrival in nanoseconds and number of the entry.
    way: BTreeMap<(u64, u64), Vec<Unit>>,
    entries: u64,
    /// Arrival of each packet, and its transit, s.
    transits: Vec<(f64, f64)>,
    /// Numbers that came, and whether so late that they may count as lost and come after all.
    pub(crate) came: BTreeMap<u32, bool>,
    /// Times at which packets that were lost would have come, s.
    losses: Vec<f64>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(trial: &'a Trial) -> Self {
        Self {
            trial,
            chance: Chance::new(trial.seed ^ 0x5EED),
            is_bad: false,
            newest: 0.0,
            way: BTreeMap::new(),
            entries: 0,
            transits: Vec::new(),
            came: BTreeMap::new(),
            losses: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, sent: f64, units: Vec<Unit>) {
        let trial = self.trial;
        let unit = &units[0];
        let mut at = sent + trial.wire_s + 50e-6 * (1.0 + self.chance.share());
        at += self.chance.normal().abs() * trial.jitter_s;
        for &(from, event) in &trial.events {
            if let (Event::Route(by), true) = (event, sent >= from) {
                at += by;
            }
        }
        let is_lost = if trial.burst > 1.0 {
            match self.is_bad {
                true => self.chance.share() > 1.0 / trial.burst,
                false => self.chance.share() < trial.loss / (1.0 - trial.loss) / trial.burst,
            }
        } else {
            self.chance.share() < trial.loss
        };
        self.is_bad = is_lost;
        // No way is shorter than that.
        at = at.max(sent + 100e-6);
        if is_lost {
            self.losses.push(at);
            return;
        }
        if self.chance.share() < trial.reorder {
            at += 0.001 + 0.004 * self.chance.share();
        } else {
            self.newest = self.newest.max(at);
            at = self.newest;
        }
        for &(from, event) in &trial.events {
            if let (Event::Stall(long), true) = (event, at >= from)
                && at < from + long
            {
                at = from + long;
                self.newest = self.newest.max(at);
            }
        }
        self.transits.push((at, at - unit.capture_us as f64 * 1e-6));
        self.came.insert(unit.number, at - sent > 0.15);
        self.enter(at, units.clone());
        if self.chance.share() < trial.duplicate {
            let later = at + 0.005 * self.chance.share();
            self.enter(later, units);
        }
    }

    fn enter(&mut self, at: f64, mut units: Vec<Unit>) {
        units.iter_mut().for_each(|unit| unit.arrival_us = (at * 1e6) as u64 + 1_000_000);
        self.entries += 1;
        self.way.insert(((at * 1e9) as u64, self.entries), units);
    }

    /// Returns what comes until then.
    pub(crate) fn arrived(&mut self, until: f64) -> BTreeMap<(u64, u64), Vec<Unit>> {
        let later = self.way.split_off(&((until * 1e9) as u64, u64::MAX));
        std::mem::replace(&mut self.way, later)
    }

    /// Returns how many packets were lost that could have been heard between two times, s.
    pub(crate) fn lost(&self, from: f64, until: f64) -> usize {
        self.losses.iter().filter(|at| (from - 0.06..until).contains(*at)).count()
    }

    /// Returns the least transit of the last 30 s, in which the delay may still follow what was late, and the lateness that all but three
    /// of ten thousand keep there, ms.
    pub(crate) fn needs_ms(&self, end: f64) -> (f64, f64) {
        let mut newest: Vec<f64> = self.transits.iter().filter(|(at, _)| *at > end - 30.0).map(|(_, t)| *t).collect();
        newest.sort_by(f64::total_cmp);
        let late = newest[(newest.len() - 1) - newest.len() * 3 / 10_000];
        (newest[0] * 1e3, (late - newest[0]) * 1e3)
    }
}
