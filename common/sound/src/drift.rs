//! Difference between the sender's clock and this card's, from the least transit of each second, and the ratio that removes it.

pub(crate) mod resample;

use crate::RATE_HZ;

const SECOND: f64 = RATE_HZ as f64;
/// Seconds whose least transits are kept.
const SECONDS: usize = 60;
/// Newest seconds, the one under way aside, whose least transit counts.
const LEAST_SECONDS: usize = 5;
/// Frames by which transits must have moved before clocks are held to be two: 0.15 ms. An arrival is known to some 0.05 ms, and a clock
/// that moves less in a minute (2.4 parts per million) costs one cut or repetition of a packet in nine minutes.
const MOVED_FRAMES: f64 = 7.0;
/// The same, against what is left of the least transits beside their line: more than a single step leaves, which is 6.
const MOVED_SHARE: f64 = 7.0;
/// Part that is added for few points, by the cube of those beyond two: noise is taken for a line once in a million times, by Student's
/// distribution. A card that stands still now and then makes many short lines.
const FEW_SHARE: f64 = 5_000.0;
/// Greatest difference of clocks that is followed.
const DRIFT_MAX: f64 = 600e-6;
/// Change of the least transit from one second to the next that no clock makes, frames: 1 ms.
const STEP_FRAMES: f64 = SECOND / 1000.0;
/// The same, against what jitter and the sender's periods make of that change from second to second.
const STEP_SHARE: f64 = 4.0;
/// Weight of a second in what is known of that.
const NOISE_WEIGHT: f64 = 0.1;
/// Time for which transits say nothing of the clocks after a card has left something out.
const BROKEN_FRAMES: f64 = 5.0 * SECOND;
/// Seconds after which the loop is slow.
const FAST_SECONDS: u32 = 60;
/// Difference of clocks below which resampling ends, and the seconds that it takes.
const ONE_CLOCK: (f64, u32) = (0.5e-6, 300);

/// Least transit of a second: when it came, and what it was, both in frames of this card.
type Least = (f64, f64);

/// Estimate of the drift, and the loop that removes it.
#[derive(Debug)]
pub(crate) struct Drift {
    /// Oldest first.
    seconds: Vec<Least>,
    current: Option<Least>,
    /// Mean change of the least transit from a second to the next, frames.
    noise: f64,
    second_ends: f64,
    /// Until then transits say nothing of the clocks: a card has stood still, and the count of its frames fits its time only roughly.
    broken_until: f64,
    /// Ratio less 1 that equal delay needs; none while clocks are one as far as is known.
    following: Option<f64>,
    followed_seconds: u32,
    equal_seconds: u32,
}

impl Drift {
    pub(crate) fn new() -> Self {
        Self {
            seconds: Vec::with_capacity(SECONDS),
            current: None,
            noise: 0.0,
            second_ends: f64::NEG_INFINITY,
            broken_until: f64::NEG_INFINITY,
            following: None,
            followed_seconds: 0,
            equal_seconds: 0,
        }
    }

    /// Begins anew at a least transit, and keeps what is known of the clocks unless they are others.
    pub(crate) fn restart(&mut self, now: f64, transit: f64, is_other: bool) {
        self.seconds.clear();
        self.current = Some((now, transit));
        self.second_ends = now + SECOND;
        if is_other {
            (self.following, self.followed_seconds, self.equal_seconds) = (None, 0, 0);
            self.noise = 0.0;
        }
    }

    /// Takes that one of the cards has left something out.
    pub(crate) fn stand_still(&mut self, now: f64) {
        let least = self.least(now);
        self.restart(now, least, false);
        self.broken_until = now + BROKEN_FRAMES;
    }

    /// Takes a packet's transit.
    pub(crate) fn arrive(&mut self, now: f64, transit: f64) {
        if self.current.is_none_or(|(_, least)| transit < least) {
            self.current = Some((now, transit));
        }
    }

    /// Returns the ratio less 1 that equal delay needs, while sound is to be resampled.
    pub(crate) fn following(&self) -> Option<f64> {
        self.following
    }

    /// Returns the least transit of the last seconds as it is now; clocks that drift move it.
    pub(crate) fn least(&self, now: f64) -> f64 {
        let drift = self.following.unwrap_or_default();
        let newest = self.seconds.iter().rev().take(LEAST_SECONDS);
        newest.chain(&self.current).map(|(at, least)| least - drift * (now - at)).fold(f64::INFINITY, f64::min)
    }

    /// Ends a second where one is over, and returns then by how many frames the line has become longer; 0 where no more than clocks and
    /// noise have moved the least transit. `late` are the frames by which sound is later than it should be.
    pub(crate) fn tick(&mut self, now: f64, late: impl FnOnce(&Self) -> f64) -> Option<f64> {
        if now < self.second_ends {
            return None;
        }
        let mut longer = 0.0;
        self.second_ends = if now > self.second_ends + SECOND { now } else { self.second_ends } + SECOND;
        if let Some(least) = self.current.take() {
            let drift = self.following.unwrap_or_default();
            let change = self.seconds.last().map_or(0.0, |(at, before)| least.1 - before + drift * (least.0 - at));
            let step = self.step();
            if change.abs() > step {
                longer = change.max(0.0);
                self.seconds.clear();
            }
            self.noise += NOISE_WEIGHT * (change.abs().min(step) - self.noise);
            if now < self.broken_until {
                self.seconds.clear();
            }
            if self.seconds.len() == SECONDS {
                self.seconds.remove(0);
            }
            self.seconds.push(least);
        }
        match self.following {
            None => self.following = self.line(),
            Some(drift) => self.follow(drift, late(self)),
        }
        Some(longer)
    }

    /// Returns the drift where the least transits lie on a line that is not level.
    fn line(&self) -> Option<f64> {
        let count = self.seconds.len() as f64;
        if self.seconds.len() < 5 {
            return None;
        }
        let (at, least) = self.seconds.iter().fold((0.0, 0.0), |sum, second| (sum.0 + second.0, sum.1 + second.1));
        let (at, least) = (at / count, least / count);
        let (mut product, mut square) = (0.0, 0.0);
        for second in &self.seconds {
            product += (second.0 - at) * (second.1 - least);
            square += (second.0 - at).powi(2);
        }
        let slope = product / square.max(1.0);
        let rest: f64 = self.seconds.iter().map(|second| (second.1 - least - slope * (second.0 - at)).powi(2)).sum();
        let beside = (rest / (count - 2.0)).sqrt();
        let share = MOVED_SHARE + FEW_SHARE / (count - 2.0).powi(3);
        let moved = slope.abs() * SECOND * count;
        (moved > MOVED_FRAMES.max(share * beside) && slope.abs() < DRIFT_MAX).then_some(-slope)
    }

    /// Moves the ratio so that sound is as late as it should be.
    fn follow(&mut self, drift: f64, late: f64) {
        self.followed_seconds += 1;
        let gain = if self.followed_seconds < FAST_SECONDS { 0.02 } else { 0.001 };
        // What is much later was moved by the line, and no clock.
        let late = late.clamp(-STEP_FRAMES, STEP_FRAMES);
        let drift = (drift + gain * late / SECOND).clamp(-DRIFT_MAX, DRIFT_MAX);
        self.following = Some(drift);
        self.equal_seconds = if drift.abs() < ONE_CLOCK.0 { self.equal_seconds + 1 } else { 0 };
        if self.equal_seconds > ONE_CLOCK.1 {
            (self.following, self.followed_seconds, self.equal_seconds) = (None, 0, 0);
        }
    }

    /// Returns true where no clock moves sound by so many frames from a period to the next: the line or a card has changed.
    pub(crate) fn is_step(&self, moved: f64) -> bool {
        moved.abs() > self.step() / 2.0
    }

    /// Returns the change of the least transit from one second to the next that is neither a clock's nor jitter's, frames.
    pub(crate) fn step(&self) -> f64 {
        STEP_FRAMES.max(STEP_SHARE * self.noise)
    }

    /// Returns the ratio less 1 that brings sound back that is late by so many frames.
    pub(crate) fn pull(&self, late: f64) -> f64 {
        let gain = if self.followed_seconds < FAST_SECONDS { 0.3 } else { 0.05 };
        (gain * late / SECOND).clamp(-DRIFT_MAX, DRIFT_MAX)
    }
}
