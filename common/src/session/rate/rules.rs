//! What the target does: fall, grow, compete.

use std::time::Duration;

use super::cubic::Cubic;
use super::{
    AFTER_CUT, BLIND_GROWTH_S, EMPTYING_S, FAST_GROWTH_S, Mode, RateControl, SLOW_GROWTH_S, TEST_INTERVAL, Told,
    WAIT_NONE_US,
};
use crate::units::Timestamp;

/// Longest time that a queue is given to run empty.
const EMPTYING_MAX: Duration = Duration::from_secs(1);
/// Beyond this multiple of the rate of the last cut, unharmed, that rate says nothing any more.
const BEYOND: f64 = 1.1;
/// Below this part of it growth is fast.
const NEAR: f64 = 0.85;
/// Growth is fast only where bursts have shown a link faster than the target by this.
const ROOM: f64 = 1.3;
/// Who uses less of the target than this does not need more.
const USED: f64 = 0.6;

impl RateControl {
    /// Sends less than what arrived in the last `window_us`, so that the queue empties.
    pub(super) fn cut(&mut self, told: &Told<'_>, window_us: u64, now: Timestamp) {
        let arrived = self.capacity.throughput(window_us).unwrap_or(self.target_bps);
        // What is under way beyond what a round trip holds will stand in the queue.
        let under_way = 8.0 * told.in_flight_bytes as f64 / arrived.max(1.0);
        let backlog = under_way - self.rtt_min.min(EMPTYING_MAX).as_secs_f64() - self.interval.as_secs_f64();
        let queue = backlog.max(self.delay.standing_us() as f64 / 1e6);
        let part = (0.95 - queue / EMPTYING_S).clamp(0.3, AFTER_CUT);
        let before = self.target_bps;
        self.set_target(before.min(part * arrived));
        self.ceiling_bps = Some(arrived);
        self.capacity.limit(arrived);
        self.starting = false;
        self.settled_at = now + self.rtt_min.min(EMPTYING_MAX) + Duration::from_millis(30);
        self.mode = Mode::Emptying { until: now + EMPTYING_MAX, resume_bps: before.min(AFTER_CUT * arrived) };
        if let Some((_, share @ None)) = &mut self.crowded {
            *share = Some(arrived);
        }
    }

    /// Sends more, if it would be used and the link may take it.
    pub(super) fn grow(&mut self, now: Timestamp) {
        let used = self.used.2;
        if used < USED * self.target_bps && !self.starting {
            return;
        }
        let known = self.capacity.estimate();
        if self.starting
            && let Some(capacity) = known
        {
            self.set_target(self.target_bps.max(capacity / 2.0));
        }
        if self.ceiling_bps.is_some_and(|ceiling| self.target_bps > BEYOND * ceiling) {
            self.ceiling_bps = None;
        }
        let is_near = self.ceiling_bps.is_some_and(|ceiling| self.target_bps > NEAR * ceiling);
        let growth_s = match known {
            _ if is_near => SLOW_GROWTH_S,
            Some(capacity) if capacity > ROOM * self.target_bps => FAST_GROWTH_S,
            Some(_) => SLOW_GROWTH_S,
            None => BLIND_GROWTH_S,
        };
        // A long time without feedback is no reason for a leap.
        let span = now.since(self.updated).min(Duration::from_millis(50)).as_secs_f64();
        self.set_target(self.target_bps * (span / growth_s).exp());
    }

    /// Takes the place of a TCP flow that had `share` bits a second when the queue began to stand.
    pub(super) fn start_competing(&mut self, share: f64, standing: i64, now: Timestamp) {
        let cubic = Cubic::new(share, self.rtt_with(standing), now);
        self.mode = Mode::Competing { cubic, next_test: now + TEST_INTERVAL / 2, test: None };
        self.crowded = None;
    }

    pub(super) fn compete(&mut self, told: &Told<'_>, standing: i64, now: Timestamp) {
        let rtt = self.rtt_with(standing);
        let usual = self.loss.usual();
        let Mode::Competing { cubic, next_test, test } = &mut self.mode else { return };
        if standing < WAIT_NONE_US {
            self.ceiling_bps = Some(self.target_bps);
            self.crowded = None;
            self.mode = Mode::Alone;
            return;
        }
        let (known, lost) = told.fates;
        if lost >= 2 && f64::from(lost) > (usual + 0.02) * f64::from(known) && self.settled_at <= now {
            cubic.on_loss(now);
            // Fates are known only when later datagrams have come.
            self.settled_at = now + rtt * 3 / 2;
        }
        let mut target = cubic.rate(rtt, self.max_bps, now);
        if *next_test <= now {
            // Half of our share for as long as it would take to empty the queue if it were ours alone. The share of now:
            // while the queue shrinks, the window would make more of it.
            *test = Some((now + 2 * Duration::from_micros(standing.unsigned_abs()) + rtt, target / 2.0));
            *next_test = now + TEST_INTERVAL;
        }
        if let Some((_, half)) = test.filter(|(until, _)| now < *until) {
            target = half;
        }
        self.set_target(target);
    }

    pub(super) fn set_target(&mut self, bps: f64) {
        self.target_bps = bps.clamp(self.least_bps, self.max_bps);
    }

    fn rtt_with(&self, standing_us: i64) -> Duration {
        self.rtt_min.min(EMPTYING_MAX) + Duration::from_micros(standing_us.clamp(0, 2_000_000).unsigned_abs())
    }
}
