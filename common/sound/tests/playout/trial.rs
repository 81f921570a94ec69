//! A call's receiving side over a bad line between two cards: what a seed makes of them.

use sound::unit::Body;

use crate::world::Chance;

/// Time after which a stream's own clock, the first lateness and the like are known, s.
const SETTLED_S: f64 = 8.0;
/// Time within which the delay must be what the line needs, after all that happens is over, s.
const CALM_S: f64 = 45.0;

/// Mishap of a line or a card; lengths in s.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The line holds everything for so long, s.
    Stall(f64),
    /// The line is longer from now on by so much, s; shorter where negative.
    Route(f64),
    /// The sender's card misses so many of its periods.
    Captured(u32),
    /// The receiver's card misses so many of its periods; its count goes on.
    Played(u32),
    /// The receiver's callbacks of so long a time come at its end, all at once, s.
    Held(f64),
}

/// A line, two cards, and what happens to them.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) seed: u64,
    /// Frames of a packet, of the sender's period and of the receiver's.
    pub(crate) frames: usize,
    pub(crate) sender_period: usize,
    pub(crate) period: usize,
    pub(crate) seconds: f64,
    pub(crate) wire_s: f64,
    pub(crate) loss: f64,
    /// Mean packets of a run of losses.
    pub(crate) burst: f64,
    /// Standard deviation of a packet's lateness, s.
    pub(crate) jitter_s: f64,
    /// Share of packets that others overtake, and that come twice.
    pub(crate) reorder: f64,
    pub(crate) duplicate: f64,
    pub(crate) copies: usize,
    pub(crate) body: Body,
    pub(crate) sender_ppm: f64,
    pub(crate) receiver_ppm: f64,
    /// Tone that is sent at half of full scale with 24 bits; none: three tones with 16.
    pub(crate) tone_hz: Option<u32>,
    pub(crate) events: Vec<(f64, Event)>,
}

impl Trial {
    /// Returns a line without faults between cards of one clock.
    pub(crate) fn quiet(frames: usize, seconds: f64) -> Self {
        Self {
            seed: 1,
            frames,
            sender_period: frames,
            period: frames,
            seconds,
            wire_s: 0.025,
            loss: 0.0,
            burst: 1.0,
            jitter_s: 0.0,
            reorder: 0.0,
            duplicate: 0.0,
            copies: 0,
            body: Body::Whole,
            sender_ppm: 0.0,
            receiver_ppm: 0.0,
            tone_hz: None,
            events: Vec::new(),
        }
    }

    /// Returns a line and cards of a home by the seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed.wrapping_add(77));
        let mut pick = |list: &[f64]| list[(chance.share() * list.len() as f64) as usize];
        let frames = pick(&[64.0, 64.0, 128.0, 256.0]) as usize;
        let mut trial = Self {
            seed,
            sender_period: pick(&[frames as f64, frames as f64, 64.0, 128.0, 256.0, 441.0]) as usize,
            period: pick(&[frames as f64, frames as f64, 64.0, 128.0, 256.0, 100.0]) as usize,
            wire_s: pick(&[0.0002, 0.005, 0.012, 0.025, 0.06]),
            loss: pick(&[0.0, 0.0, 0.001, 0.01, 0.05]),
            burst: pick(&[1.0, 1.0, 3.0, 8.0]),
            jitter_s: pick(&[0.0, 0.0, 0.0003, 0.001, 0.003]),
            reorder: pick(&[0.0, 0.0, 0.001, 0.02]),
            duplicate: pick(&[0.0, 0.0, 0.01, 0.2]),
            copies: pick(&[0.0, 1.0, 2.0, 3.0]) as usize,
            body: if pick(&[0.0, 1.0]) > 0.0 { Body::Whole } else { Body::Adpcm },
            sender_ppm: pick(&[0.0, 0.0, 20.0, 100.0, 200.0, -100.0]),
            receiver_ppm: pick(&[0.0, 0.0, -20.0, -100.0, -200.0, 100.0]),
            ..Self::quiet(frames, 0.0)
        };
        if trial.loss == 0.0 {
            // A sender adds none then.
            trial.copies = 0;
        }
        let count = pick(&[1.0, 2.0, 3.0, 5.0, 8.0]) as usize;
        let mut at = SETTLED_S;
        for _ in 0..count {
            let kind = pick(&[0.0, 1.0, 2.0, 3.0, 4.0]) as usize;
            let size = pick(&[0.1, 0.3, 0.6, 1.0]);
            let event = match kind {
                0 => Event::Stall(0.2 * size),
                1 => Event::Route(0.02 * size * pick(&[-1.0, 1.0]).clamp(-trial.wire_s / 0.02, 1.0)),
                2 => Event::Captured((12.0 * size).ceil() as u32),
                3 => Event::Played((12.0 * size).ceil() as u32),
                _ => Event::Held(0.05 * size),
            };
            trial.events.push((at, event));
            // Several in a row, or apart.
            at += pick(&[0.03, 0.5, 2.5, 6.0]);
        }
        trial.seconds = at + CALM_S + 12.0;
        trial
    }
}
