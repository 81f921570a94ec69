//! Rules by which the target falls, grows and competes.

use std::time::Duration;

use super::cubic::Cubic;
use super::delay::WAIT_NONE_US;
use super::{
    BLIND_GROWTH_S, COLLAPSE_SLOPE, Ceiling, Crowd, Doubt, FOLLOW_S, OF_SHOWN, RateControl, Regime, SLOW_GROWTH_S,
    STANDING_WINDOW_US, Sign, TEST_INTERVAL, Told, bitrate, time,
};
use crate::reason::Reason;
use crate::units::Timestamp;

/// Longest time in which a queue should run empty.
const EMPTYING_MAX: Duration = Duration::from_secs(1);
/// Share of what arrives that is sent while a queue empties, less what empties it within this time, seconds.
const EMPTYING: f64 = 0.7;
const EMPTYING_S: f64 = 0.05;
/// Share of what arrives that is sent after loss without a queue.
const AFTER_LOSS: f64 = 0.88;
/// Ratio of a burst's capacity to the rate of arrivals, in a standing queue, above which the burst is not believed.
const WRONG: f64 = 2.0;
/// Time for which bursts are not believed then, at first and at most.
const DOUBT: Duration = Duration::from_millis(500);
const DOUBT_MAX: Duration = Duration::from_secs(4);
/// Time of growth by a factor of e meanwhile, seconds.
const DOUBT_GROWTH_S: f64 = 1.3;
/// Time for which a ceiling holds, at first and if it is found again and again.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_MAX: Duration = Duration::from_secs(16);
/// Factor up to which loss is due to the same ceiling; a target beyond it without loss ends the ceiling.
const BEYOND: f64 = 1.5;
/// Part of the ceiling below which growth is not slowed.
const NEAR: f64 = 0.85;
/// Share of the target below which a sender does not need more.
const USED: f64 = 0.6;

impl RateControl {
    /// Sends less than what arrived in the last `window_us`, so that the queue empties.
    pub(super) fn cut(&mut self, told: &Told<'_>, window_us: u64, sign: Sign, now: Timestamp) {
        let arrived = self.capacity.sure_throughput(window_us).unwrap_or(self.target_bps);
        let before = self.target_bps;
        // The line was not what limits if no queue stands, and what is under way and does not come is lost.
        let standing = self.delay.standing_us();
        let has_queue = standing >= WAIT_NONE_US || self.delay.last_us() >= WAIT_NONE_US;
        let after = if has_queue { self.emptying(told, arrived) } else { AFTER_LOSS * arrived };
        // More comes than is sent: what has stood in the way is gone, and the queue will be.
        if after >= before {
            return;
        }
        let lately = self.capacity.throughput(STANDING_WINDOW_US).unwrap_or(arrived).max(arrived);
        let shown = self.capacity.shown().zip(self.capacity.last_shown()).map(|(all, last)| all.min(last));
        if has_queue && shown.is_some_and(|shown| shown > WRONG * lately) {
            let is_new = self.doubt.is_none_or(|doubt| doubt.until <= now);
            let again = self.doubt.filter(|doubt| now.since(doubt.until) < DOUBT_MAX);
            let span = again.map_or(DOUBT, |doubt| (2 * doubt.span).min(DOUBT_MAX));
            self.doubt = Some(Doubt { bps: lately, span, until: now + span });
            if is_new {
                let shown = bitrate(shown.unwrap_or_default());
                self.tell(Reason::BurstsDoubted { shown, arrived: bitrate(lately), span });
            }
        }
        self.set_target(after);
        self.tell_cut(before, arrived, sign);
        if has_queue {
            self.capacity.limit(arrived);
        }
        self.settled_at = now + self.rtt_min.min(EMPTYING_MAX) + Duration::from_millis(30);
        let wanted = if let Regime::Emptying { wanted_bps, .. } = self.mode { before.max(wanted_bps) } else { before };
        self.mode = Regime::Emptying { until: now + EMPTYING_MAX, wanted_bps: wanted };
        if standing >= WAIT_NONE_US {
            let crowd = Crowd { cut: now, share_bps: lately, since: now, most_us: standing };
            self.crowded.get_or_insert(crowd);
        }
    }

    /// Tells of a cut, unless the target is the lowest already.
    fn tell_cut(&mut self, before: f64, arrived: f64, sign: Sign) {
        if self.target_bps >= before {
            return;
        }
        let (change, queue) = (self.change_from(before), self.queue(arrived));
        self.tell(match sign {
            Sign::Delay => Reason::CutByDelay { change, queue },
            Sign::Collapse => {
                let slope = self.delay.slope().unwrap_or(COLLAPSE_SLOPE);
                Reason::CutByCollapse { change, queue, slope_percent: (100.0 * slope) as u32 }
            }
            Sign::Loss => {
                let [lost_percent, usual_percent] = self.loss.seen().map(|share| (100.0 * share).round() as u32);
                Reason::CutByLoss { change, lost_percent, usual_percent }
            }
        });
    }

    /// Lowers the target so that the queue goes on emptying, given what arrived in the last `window_us`.
    pub(super) fn give_way(&mut self, told: &Told<'_>, window_us: u64) {
        if let Some(arrived) = self.capacity.sure_throughput(window_us) {
            self.set_target(self.emptying(told, arrived));
        }
    }

    /// Returns the rate, bits a second, at which the queue of a line that takes `arrived` is empty soon.
    fn emptying(&self, told: &Told<'_>, arrived: f64) -> f64 {
        // What is under way beyond what a round trip holds stands in the queue, or will.
        let under_way = 8.0 * told.in_flight_bytes as f64 / arrived.max(1.0) - told.feedback_late.as_secs_f64();
        let queue = under_way - self.rtt_min.min(EMPTYING_MAX).as_secs_f64() - self.interval.as_secs_f64();
        (EMPTYING - queue.max(0.0) / EMPTYING_S).max(0.0) * arrived
    }

    /// Sets a ceiling: the line, or a policer, loses what is beyond the present target.
    pub(super) fn set_ceiling(&mut self, now: Timestamp) {
        let bps = self.target_bps;
        let same = |known: &Ceiling| (known.bps / BEYOND..known.bps * BEYOND).contains(&bps);
        let patience = match self.ceiling.filter(same) {
            Some(known) => (2 * known.patience).min(PATIENCE_MAX),
            None => PATIENCE,
        };
        self.ceiling = Some(Ceiling { bps, patience, until: now + patience, passed: None });
        self.tell(Reason::CeilingSet { ceiling: bitrate(bps), patience });
    }

    /// Sends more, if it would be used and the line may take it.
    pub(super) fn grow(&mut self, now: Timestamp) {
        if self.used.share < USED {
            return;
        }
        // A long time without feedback is no reason for a leap.
        let span = now.since(self.updated).min(Duration::from_millis(50)).as_secs_f64();
        let by = |seconds: f64| (span / seconds).exp();
        // Forgotten once the target has been beyond it for as long as it held.
        if let Some(ceiling) = self.ceiling
            && ceiling.passed.is_some_and(|at| at + ceiling.patience < now)
        {
            self.ceiling = None;
            self.tell(Reason::CeilingForgotten { ceiling: bitrate(ceiling.bps) });
        }
        if let Some(ceiling) = &mut self.ceiling
            && ceiling.passed.is_none()
            && self.target_bps > NEAR * ceiling.bps
        {
            if self.target_bps > BEYOND * ceiling.bps {
                ceiling.passed = Some(now);
            }
            let growth_s = if now < ceiling.until { SLOW_GROWTH_S } else { BLIND_GROWTH_S };
            self.set_target(self.target_bps * by(growth_s));
            return;
        }
        let most = self.ceiling.filter(|ceiling| ceiling.passed.is_none()).map_or(f64::MAX, |ceiling| ceiling.bps);
        let doubted = self.doubt.filter(|doubt| now < doubt.until).map_or(f64::MAX, |doubt| doubt.bps);
        let shown = self.capacity.shown().map(|shown| shown.min(doubted));
        let grown = match shown {
            // The line is known, and the target never beyond what it leaves.
            _ if self.beside.is_some() => {
                self.target_bps + (self.most_bps() - self.target_bps) * (1.0 - 1.0 / by(FOLLOW_S))
            }
            Some(_) if self.target_bps > OF_SHOWN * doubted => self.target_bps * by(DOUBT_GROWTH_S),
            Some(shown) => {
                let room = (OF_SHOWN * shown - self.target_bps).max(0.0);
                let slow = if self.capacity.is_certain() { 0.0 } else { self.target_bps * (by(SLOW_GROWTH_S) - 1.0) };
                self.target_bps + slow.max(room * (1.0 - 1.0 / by(FOLLOW_S)))
            }
            None => self.target_bps * by(BLIND_GROWTH_S),
        };
        self.set_target(grown.min(most.max(self.target_bps)));
    }

    /// Takes the place of a TCP flow that had our share when the queue began to stand.
    pub(super) fn start_competing(&mut self, crowd: &Crowd, standing: i64, now: Timestamp) {
        let (share, stood) = (bitrate(crowd.share_bps), now.since(crowd.since));
        self.tell(Reason::CompetitionBegan { share, standing: time(standing), stood });
        // Own sound obeys nobody: what competes is all else.
        let share_bps = (crowd.share_bps - self.own_bps()).max(self.least_bps);
        let cubic = Cubic::new(share_bps, self.rtt_with(standing), now);
        self.mode = Regime::Competing { cubic, next_test: now + TEST_INTERVAL / 2, test: None };
        self.crowded = None;
    }

    pub(super) fn compete(&mut self, told: &Told<'_>, standing: i64, now: Timestamp) {
        let rtt = self.rtt_with(standing);
        let (usual, own) = (self.loss.usual(), self.own_bps());
        let Regime::Competing { cubic, next_test, test } = &mut self.mode else { return };
        if standing < WAIT_NONE_US {
            self.crowded = None;
            self.mode = Regime::Alone;
            self.tell(Reason::CompetitionEnded { target: self.target() });
            return;
        }
        let (known, lost) = told.fates;
        let is_cut = lost >= 2 && f64::from(lost) > (usual + 0.02) * f64::from(known) && self.settled_at <= now;
        if is_cut {
            cubic.on_loss(now);
            // Fates are known only when later datagrams have come.
            self.settled_at = now + rtt * 3 / 2;
        }
        let mut target = own + cubic.rate(rtt, (self.max_bps - own).max(self.least_bps), now);
        let is_probe = *next_test <= now;
        if is_probe {
            // Half of our share for as long as it would take to empty the queue if it were ours alone. The share of now:
            // while the queue shrinks, the window would make more of it.
            *test = Some((now + 2 * Duration::from_micros(standing.unsigned_abs()) + rtt, (own + target) / 2.0));
            *next_test = now + TEST_INTERVAL;
        }
        if let Some((_, half)) = test.filter(|(until, _)| now < *until) {
            target = half;
        }
        let before = self.target_bps;
        self.set_target(target);
        let change = self.change_from(before);
        if is_cut {
            self.tell(Reason::CutInCompetition { change, lost, known });
        }
        if is_probe {
            self.tell(Reason::CompetitionProbed { change, standing: time(standing) });
        }
    }

    pub(super) fn set_target(&mut self, bps: f64) {
        self.target_bps = bps.clamp(self.least_bps, self.most_bps());
    }

    fn rtt_with(&self, standing_us: i64) -> Duration {
        self.rtt_min.min(EMPTYING_MAX) + Duration::from_micros(standing_us.clamp(0, 2_000_000).unsigned_abs())
    }
}
