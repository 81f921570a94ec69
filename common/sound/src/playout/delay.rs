//! Delay of what is heard: as small as the lateness of packets, their copies and the card's period allow.

use super::lateness::Lateness;
use crate::RATE_HZ;
use crate::drift::Drift;
use crate::drift::resample::FILTER_FRAMES;

const SECOND: f64 = RATE_HZ as f64;
/// Speed at which the delay falls, frames a second: 0.5 ms a second.
const SHRINK_FRAMES: f64 = 24.0;
/// Excess that is left, so that noise of the least transit does not move the delay to and fro, frames: 0.25 ms.
const SLACK_FRAMES: f64 = 12.0;
/// Room for what the loop leaves while sound is resampled, frames.
const LOOP_FRAMES: f64 = 8.0;
/// Lateness that a stream begins with, frames: 5 ms. Nothing is known then.
const FIRST_FRAMES: f64 = SECOND / 200.0;
/// Time after which a stream's lateness is known well enough to do without that.
const SETTLE_FRAMES: f64 = 3.0 * SECOND;
/// Time for which a loss makes the delay wait for copies.
const LOSS_FRAMES: f64 = 30.0 * SECOND;
/// Time in which every packet was late, after which the line or the sender has changed; no pause is as long.
const LATE_FRAMES: f64 = 0.4 * SECOND;
/// Least growth while sound is resampled, frames: not one jump for each of many small ones.
const GROW_FRAMES: f64 = 32.0;
/// Change of the extra delay below which it stays, frames: 2 ms.
const EXTRA_FRAMES: f64 = SECOND / 500.0;

/// Sizes that the delay depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Frames of a period of the card.
    pub(crate) period: usize,
    /// Frames of a packet.
    pub(crate) frames: usize,
    pub(crate) is_resampling: bool,
}

impl Sizes {
    /// Returns the steps in which a position that is not resampled fits both.
    pub(crate) fn grid(self) -> i64 {
        let (mut a, mut b) = (self.period.max(1), self.frames.max(1));
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a as i64
    }
}

/// Delay, and what it follows from.
#[derive(Debug)]
pub(crate) struct Delay {
    added_max: f64,
    drift: Drift,
    lateness: Lateness,
    copies: u8,
    extra: f64,
    began: f64,
    is_settled: bool,
    loss_ends: f64,
    /// Since when every packet was late, how many, and their least transit.
    late: Option<(f64, u32, f64)>,
    /// Delay above the least transit that the loop keeps while sound is resampled.
    aim: Option<f64>,
    /// Ratio less 1 that the loop adds to the drift's.
    pull: f64,
    /// Frames that may be cut.
    credit: f64,
    last: f64,
    target: f64,
    added: f64,
}

impl Delay {
    pub(crate) fn new(added_max: f64) -> Self {
        Self {
            added_max,
            drift: Drift::new(),
            lateness: Lateness::new(),
            copies: 0,
            extra: 0.0,
            began: 0.0,
            is_settled: false,
            loss_ends: f64::NEG_INFINITY,
            late: None,
            aim: None,
            pull: 0.0,
            credit: 0.0,
            last: 0.0,
            target: 0.0,
            added: 0.0,
        }
    }

    /// Begins a stream whose first packet has this transit, and returns the delay to begin with.
    pub(crate) fn start(&mut self, now: f64, transit: f64, sizes: Sizes) -> f64 {
        self.drift.restart(now, transit, true);
        self.lateness.clear();
        (self.began, self.is_settled, self.last) = (now, false, now);
        (self.late, self.aim, self.pull, self.credit) = (None, None, 0.0, 0.0);
        self.loss_ends = f64::NEG_INFINITY;
        transit + self.wanted(now, sizes)
    }

    /// Takes a packet's own sound, and returns true where it ends a pause.
    pub(crate) fn arrive(&mut self, arrival: f64, transit: f64, frames: usize, copies: u8, is_late: bool) -> bool {
        self.copies = copies.min(8);
        self.drift.arrive(arrival, transit);
        self.late = match (is_late, self.late) {
            (false, _) => None,
            (true, None) => Some((arrival, 1, transit)),
            (true, Some((since, count, least))) => Some((since, count.saturating_add(1), least.min(transit))),
        };
        self.lateness.arrive(arrival, transit - self.drift.least(arrival), frames)
    }

    /// Takes that a packet never came.
    pub(crate) fn lose(&mut self, now: f64) {
        self.loss_ends = now + LOSS_FRAMES;
    }

    /// Returns the frames of input per frame of output while sound is to be resampled.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.drift.following().map(|drift| 1.0 + drift + self.pull)
    }

    /// Returns the drift, parts per million.
    pub(crate) fn drift_ppm(&self) -> Option<f32> {
        self.drift.following().map(|drift| (drift * 1e6) as f32).or(self.is_settled.then_some(0.0))
    }

    /// Returns the wanted and the real delay above the least transit, frames.
    pub(crate) fn target_and_added(&self) -> (f64, f64) {
        (self.target, self.added)
    }

    /// Returns the delay above the least transit that is wanted.
    fn wanted(&self, now: f64, sizes: Sizes) -> f64 {
        let quantile = self.lateness.quantile();
        let late = if self.is_settled { quantile } else { quantile.max(FIRST_FRAMES) };
        // A packet is needed when the period with its first frame begins.
        let phase = if sizes.is_resampling {
            (sizes.period + FILTER_FRAMES / 2) as f64 + LOOP_FRAMES
        } else {
            (sizes.period as i64 - sizes.grid()) as f64
        };
        let copies = if now < self.loss_ends { usize::from(self.copies) * sizes.frames } else { 0 };
        (late + phase + copies as f64).min(self.added_max) + self.extra
    }

    /// Follows the line for a period that begins now with this delay, and returns the frames by which the position must jump.
    pub(crate) fn steer(&mut self, now: f64, delay: f64, extra: f64, sizes: Sizes) -> i64 {
        if (extra - self.extra).abs() > EXTRA_FRAMES || extra == 0.0 {
            self.extra = extra;
        }
        let passed = (now - self.last).clamp(0.0, SECOND);
        self.last = now;
        if let Some((since, count, least)) = self.late
            && now - since > LATE_FRAMES
            && count >= 20
        {
            self.drift.restart(now, least, false);
            self.lateness.clear();
            (self.late, self.aim) = (None, None);
        }
        let aim = self.aim;
        let late = |least: f64| aim.map_or(0.0, |aim| delay - least - aim);
        let is_tick = self.drift.tick(now, late);
        let least = self.drift.least(now);
        let added = delay - least;
        if !added.is_finite() {
            return 0;
        }
        let settles = !self.is_settled && now - self.began > SETTLE_FRAMES;
        self.is_settled |= settles;
        let target = self.wanted(now, sizes);
        let is_beyond = added > self.added_max + self.extra + sizes.grid() as f64 + SLACK_FRAMES;
        let is_at_once = settles || is_beyond;
        let jump = if sizes.is_resampling {
            self.steer_resampled(added, target, late(least), is_tick, is_at_once)
        } else {
            self.steer_plain(added, target, passed, sizes.grid(), is_at_once)
        };
        (self.target, self.added) = (target, added - jump as f64);
        jump
    }

    fn steer_plain(&mut self, added: f64, target: f64, passed: f64, grid: i64, is_at_once: bool) -> i64 {
        self.aim = None;
        let step = grid as f64;
        let excess = added - target;
        if excess < 0.0 {
            self.credit = 0.0;
            // Rounding up may not lead beyond what is allowed.
            let most = ((self.added_max + self.extra - added) / step).floor().max(0.0);
            return -((-excess / step).ceil().min(most) * step) as i64;
        }
        if excess < step + SLACK_FRAMES {
            self.credit = 0.0;
            return 0;
        }
        self.credit += passed / SECOND * SHRINK_FRAMES;
        if is_at_once {
            return ((excess - SLACK_FRAMES) / step).floor() as i64 * grid;
        }
        if self.credit < step {
            return 0;
        }
        self.credit = 0.0;
        grid
    }

    fn steer_resampled(&mut self, added: f64, target: f64, late: f64, is_tick: bool, is_at_once: bool) -> i64 {
        let mut aim = *self.aim.get_or_insert(added);
        if is_tick {
            // Down to somewhat more than is wanted: what is wanted moves to and fro by a little.
            let shrunk = (aim - target - SLACK_FRAMES).clamp(0.0, SHRINK_FRAMES);
            aim -= shrunk;
            self.pull = self.drift.pull(late) + shrunk / SECOND;
        }
        let mut jump = 0;
        let room = (self.added_max + self.extra - aim).max(0.0).floor();
        if target > aim && room > 0.0 {
            let grown = (target - aim).max(GROW_FRAMES).min(room).floor();
            aim += grown;
            jump = -(grown as i64);
        } else if is_at_once && aim > target + SLACK_FRAMES {
            let cut = (aim - target - SLACK_FRAMES).floor();
            aim -= cut;
            jump = cut as i64;
        }
        self.aim = Some(aim);
        jump
    }
}
