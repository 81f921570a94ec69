//! Cards that stand still now and then, on one clock.

use sound::format::{Channels, Coding, Format};
use sound::observed::Outcome;
use sound::playout::{self, Receiving};
use sound::unit::{UNIT_BYTES_MAX, Unit};
use sound::{Cycle, RATE_HZ};

use crate::world::Chance;

const FRAMES: usize = 64;
/// From the capture of a packet to its arrival, periods.
const WIRE_PERIODS: u64 = 20;

/// A card whose count of frames fits its time only roughly after it has stood still, until a loop has found it again.
#[derive(Default)]
struct Card {
    /// Frames by which the count is ahead of the time, for good.
    ahead: f64,
    /// Rest of the error that the loop takes away, frames.
    error: f64,
}

impl Card {
    fn stand_still(&mut self, chance: &mut Chance) {
        self.error = 40.0 * (chance.share() - 0.5);
        self.ahead += (40.0 * (chance.share() - 0.5)).round();
    }

    /// Returns the count and time of a period that begins at `frame` of the true time.
    fn cycle(&mut self, frame: f64) -> Cycle {
        // 1.5 s, as that of JACK.
        self.error *= 1.0 - FRAMES as f64 / (1.5 * f64::from(RATE_HZ));
        let us = (frame + self.error) / f64::from(RATE_HZ) * 1e6 + 1e9;
        Cycle { frame: (frame + self.ahead) as u64 + 48_000, us: us as u64 }
    }
}

/// Runs two cards of one clock, of which one stands still each few seconds, and returns the share of seconds with resampling.
fn run(seed: u64, is_sender: bool) -> f64 {
    let mut chance = Chance::new(seed);
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: FRAMES as u16 };
    let (mut captures, mut plays) = (Card::default(), Card::default());
    let (mut out, mut next, mut resampled, mut seconds) = ([0.0; FRAMES], 1000, 0, 0);
    let mut waits = std::collections::VecDeque::new();
    let (mut first, mut begin) = (None, 0);
    for period in 0..120 * 750_u64 {
        if period == next {
            // Three periods are left out by a card.
            next += (750.0 * (2.0 + 12.0 * chance.share())) as u64;
            if is_sender { &mut captures } else { &mut plays }.stand_still(&mut chance);
            begin = period + 3;
        }
        let frame = (period * FRAMES as u64) as f64;
        let is_still = period < begin;
        if !(is_still && is_sender) {
            let cycle = captures.cycle(frame);
            let from = *first.get_or_insert(cycle.frame);
            // A packet begins at the next whole one after a gap, as the sender's do.
            let number = (cycle.frame - from).div_ceil(FRAMES as u64);
            let early = number * FRAMES as u64 + from - cycle.frame;
            let arrival_us =
                (frame + (WIRE_PERIODS * FRAMES as u64 + early) as f64 + 20.0 * chance.share()) / 0.048 + 1e9;
            waits.push_back(Unit {
                capture_us: cycle.us + early * 1000 / 48,
                arrival_us: arrival_us as u64,
                len: 2 * FRAMES as u16,
                bytes: [1; UNIT_BYTES_MAX],
                ..Unit::new(number as u32, format)
            });
        }
        if is_still && !is_sender {
            continue;
        }
        let now_us = frame / 0.048 + 1e9;
        while waits.front().is_some_and(|unit| (unit.arrival_us as f64) < now_us) {
            feed.push(&waits.pop_front().unwrap());
        }
        playout.play(&mut out, 1, plays.cycle(frame));
        concealer.work();
        if period % 750 == 0 {
            seconds += 1;
            resampled += u64::from(observed.is_resampling());
        }
    }
    assert!(observed.count(Outcome::Own) > 60_000, "seed {seed}: {} heard", observed.count(Outcome::Own));
    resampled as f64 / f64::from(seconds)
}

/// Frames that a card leaves out, and the time that its driver then says, make no second clock: sound stays exact.
#[test]
fn a_card_that_stands_still_is_not_another_clock() {
    for seed in 1..=3 {
        for is_sender in [false, true] {
            let share = run(seed, is_sender);
            assert!(share < 0.01, "seed {seed}, sender {is_sender}: {:.0} % of the time resampled", 100.0 * share);
        }
    }
}
