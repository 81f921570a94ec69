//! Delay of what is heard: as small as the lateness of packets, their copies and the card's period allow.

use super::lateness::Lateness;
use super::losses::Losses;
use crate::RATE_HZ;
use crate::drift::Drift;
use crate::drift::resample::FILTER_FRAMES;
use crate::unit::COPIES_MAX;

const SECOND: f64 = RATE_HZ as f64;
/// Greatest delay beyond the line's own that sound takes for what comes late: 30 ms. What is wished for comes on top.
const ADDED_FRAMES_MAX: f64 = 0.03 * SECOND;
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
/// Time in which every packet came much later than the fastest ones before, after which the line or the sender has changed; no pause is
/// as long.
const LONGER_FRAMES: f64 = 0.4 * SECOND;
/// Lateness that is much, beyond what noise makes of the least transit: 4 ms.
const MUCH_FRAMES: f64 = SECOND / 250.0;
/// Share of packets that may be later than the delay bears.
const LATE_SHARE: f64 = 0.0003;
/// Lost packets that copies may leave out in a minute since they are late.
const MISSED_A_MINUTE: f64 = 0.75;
/// Growth up to which resampled sound does not jump, but is slowed for some seconds, frames: 2 ms. What is late by so much more than the
/// rest is one packet of thousands, and has been missed already.
const GROW_FRAMES: f64 = SECOND / 500.0;
/// Packets too late one after another from which on it jumps all the same: no longer one of thousands.
const MISSED: u32 = 4;
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
    drift: Drift,
    lateness: Lateness,
    /// Copies in each packet, and how many of them the delay waits for.
    copies: u8,
    waits: u8,
    extra: f64,
    began: f64,
    is_settled: bool,
    /// Since when every packet was much later than the fastest before, how many, and their least transit.
    longer: Option<(f64, u32, f64)>,
    /// Packets that were too late, one after another.
    missed: u32,
    /// Part of the delay that was needed for every packet, or for the copies that were waited for, in the last period.
    needed: f64,
    /// Delay above the least transit that the loop keeps while sound is resampled.
    aim: Option<f64>,
    /// Frames by which sound was later than that in the last period.
    late_by: f64,
    /// Ratio less 1 that the loop adds to the drift's.
    pull: f64,
    /// Frames that may be cut.
    credit: f64,
    last: f64,
    target: f64,
    added: f64,
}

impl Delay {
    pub(crate) fn new() -> Self {
        Self {
            drift: Drift::new(),
            lateness: Lateness::new(),
            copies: 0,
            waits: 0,
            extra: 0.0,
            began: 0.0,
            is_settled: false,
            longer: None,
            missed: 0,
            needed: 0.0,
            aim: None,
            late_by: 0.0,
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
        (self.longer, self.aim, self.late_by, self.pull, self.credit) = (None, None, 0.0, 0.0, 0.0);
        self.waits = 0;
        transit + self.wanted(0.0, sizes)
    }

    /// Takes a packet's own sound, and returns true where it ends a pause.
    pub(crate) fn arrive(&mut self, arrival: f64, transit: f64, frames: usize, copies: u8, is_late: bool) -> bool {
        self.copies = copies.min(COPIES_MAX);
        self.missed = if is_late { self.missed.saturating_add(1) } else { 0 };
        self.drift.arrive(arrival, transit);
        let late = transit - self.drift.least(arrival);
        self.longer = match (late > MUCH_FRAMES + self.drift.step(), self.longer) {
            (false, _) => None,
            (true, None) => Some((arrival, 1, transit)),
            (true, Some((since, count, least))) => Some((since, count.saturating_add(1), least.min(transit))),
        };
        self.lateness.arrive(arrival, late.max(0.0), frames)
    }

    /// Takes that one of the cards has left something out: transits go on from another level.
    pub(crate) fn stand_still(&mut self, now: f64) {
        self.drift.stand_still(now);
        (self.aim, self.pull) = (None, 0.0);
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

    /// Returns the delay above the least transit that is wanted, where copies need so much.
    fn wanted(&self, copies: f64, sizes: Sizes) -> f64 {
        let quantile = self.lateness.quantile(LATE_SHARE).max(copies);
        let late = if self.is_settled { quantile } else { quantile.max(FIRST_FRAMES) };
        (late + Self::phase(sizes)).min(ADDED_FRAMES_MAX) + self.extra
    }

    /// Returns the part of it without which every packet is too late.
    fn phase(sizes: Sizes) -> f64 {
        // A packet is needed when the period with its first frame begins.
        if sizes.is_resampling {
            (sizes.period + FILTER_FRAMES / 2) as f64 + LOOP_FRAMES
        } else {
            (sizes.period as i64 - sizes.grid()) as f64
        }
    }

    /// Returns the lateness that must be borne so that copies repair all but [`MISSED_A_MINUTE`]. A lost packet is missed where each
    /// copy of it is lost or too late, and that of the packet after next may be late only as often as both before it are lost.
    fn of_copies(&mut self, losses: &Losses, frames: usize) -> f64 {
        let missed_share = MISSED_A_MINUTE * frames as f64 / (60.0 * SECOND);
        let (mut need, mut waits) = (0.0_f64, 0);
        for copy in 1..=self.copies {
            let late_share = missed_share / (f64::from(self.copies) * losses.share(copy.into()));
            // Around the limit the delay shall not go to and fro.
            if late_share < if copy <= self.waits { 2.0 } else { 1.0 } {
                need = need.max(f64::from(copy) * frames as f64 + self.lateness.quantile(late_share.min(1.0)));
                waits = copy;
            }
        }
        self.waits = waits;
        need
    }

    /// Follows the line for a period that begins now with this delay, and returns the frames by which the position must jump.
    pub(crate) fn steer(&mut self, now: f64, delay: f64, extra: f64, losses: &Losses, sizes: Sizes) -> i64 {
        if (extra - self.extra).abs() > EXTRA_FRAMES || extra == 0.0 {
            self.extra = extra;
        }
        let passed = (now - self.last).clamp(0.0, SECOND);
        self.last = now;
        if let Some((since, count, least)) = self.longer
            && now - since > LONGER_FRAMES
            && count >= 20
        {
            self.lateness.lower(least - self.drift.least(now));
            self.drift.restart(now, least, false);
            (self.longer, self.aim, self.late_by) = (None, None, 0.0);
        }
        let aim = self.aim;
        let before = self.late_by;
        let late = |drift: &Drift| {
            let late = aim.map_or(0.0, |aim| delay - drift.least(now) - aim);
            if drift.is_step(late - before) { None } else { Some(late) }
        };
        let ticked = self.drift.tick(now, |drift| late(drift).unwrap_or_default());
        self.lateness.lower(ticked.unwrap_or_default());
        let is_tick = ticked.is_some();
        let least = self.drift.least(now);
        let late = late(&self.drift).unwrap_or_else(|| {
            // The loop goes on from where the sound is now: it is for clocks, and too slow to bring back what a line or a card has moved.
            (self.aim, self.pull) = (None, 0.0);
            0.0
        });
        let added = delay - least;
        if !added.is_finite() {
            return 0;
        }
        let settles = !self.is_settled && now - self.began > SETTLE_FRAMES;
        self.is_settled |= settles;
        let copies = self.of_copies(losses, sizes.frames);
        let target = self.wanted(copies, sizes);
        let is_beyond = added > ADDED_FRAMES_MAX + self.extra + sizes.grid() as f64 + SLACK_FRAMES;
        let is_at_once = settles || is_beyond;
        let jump = if sizes.is_resampling {
            let needed = Self::phase(sizes) + f64::from(self.waits) * sizes.frames as f64 + self.extra;
            let is_more = needed > std::mem::replace(&mut self.needed, needed) || self.missed >= MISSED;
            self.steer_resampled(added, target, late, is_tick, (is_at_once, is_more))
        } else {
            self.steer_plain(added, target, passed, sizes.grid(), is_at_once)
        };
        (self.target, self.added) = (target, added - jump as f64);
        self.late_by = self.aim.map_or(0.0, |aim| self.added - aim);
        jump
    }

    fn steer_plain(&mut self, added: f64, target: f64, passed: f64, grid: i64, is_at_once: bool) -> i64 {
        self.aim = None;
        let step = grid as f64;
        let excess = added - target;
        if excess < 0.0 {
            self.credit = 0.0;
            // Rounding up may not lead beyond what is allowed.
            let most = ((ADDED_FRAMES_MAX + self.extra - added) / step).floor().max(0.0);
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

    fn steer_resampled(&mut self, added: f64, target: f64, late: f64, is_tick: bool, at_once: (bool, bool)) -> i64 {
        let (is_at_once, is_more) = (at_once.0, at_once.1 || self.aim.is_none());
        let mut aim = *self.aim.get_or_insert(added);
        if is_tick {
            // Down to somewhat more than is wanted: what is wanted moves to and fro by a little.
            let excess = (aim - target - SLACK_FRAMES).max(0.0);
            // Much is not heard for longer than little: still less than two hundredths of a semitone.
            let shrunk = excess.min((excess / 8.0).clamp(SHRINK_FRAMES, 2.0 * SHRINK_FRAMES));
            let grown = (target - aim).clamp(0.0, 2.0 * SHRINK_FRAMES);
            aim += grown - shrunk;
            self.pull = self.drift.pull(late) + (shrunk - grown) / SECOND;
        }
        let mut jump = 0;
        if target > aim + if is_more { 0.0 } else { GROW_FRAMES } {
            let grown = (target - aim).floor();
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
