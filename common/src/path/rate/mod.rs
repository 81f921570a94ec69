//! Target rate, from which the next frame's budget and its pacing follow.
//!
//! Every 10 ms, 20 ms for sound alone, 5 ms while a queue grows, and sooner if much arrives, a feedback report tells the arrival
//! of each datagram. From that follow the queueing delay, in short the wait ([`delay`]), the capacity estimate ([`capacity`])
//! and the loss ([`excess`]), and from these the target by the following rules:
//!
//! - **Follow.** Frames leave in bursts faster than the target, so that the distances at which they arrive show the
//!   capacity. While no queue stands, the target follows [`OF_SHOWN`] of the capacity estimate within a few frames, in
//!   the same way after the start, a stall, a collapse or a cut.
//! - **Delay.** A queue that stands for a whole frame interval above [`WAIT_MAX_US`], or a wait that grows steeply
//!   within a frame, cuts the target to the rate that arrived meanwhile, less a part that empties the queue soon, and
//!   again with each feedback report until the queue is empty; then the target is the rate that arrived while there was
//!   a queue. There is no cut if more arrives than the target: the queue shrinks already. The length of the queue
//!   follows from the bytes in flight, because the reported waits are a round trip old. Detail of the present frame that
//!   has not left, and for which the new target has no room, does not leave any more.
//! - **Competition.** If the queue stands although the target has been low for [`CROWDED`], other traffic fills it, as
//!   TCP does. Then the target is that of a TCP Cubic flow ([`cubic`]), else no capacity would be left for us (as in
//!   Copa: Arun and Balakrishnan, NSDI 2018, section 2.2). This ends when the queue runs empty, for which the target is
//!   lowered now and then as a test.
//! - **Loss** cuts the target only when it is unusual for the path and persists: shallow queues and policers cause no
//!   delay.
//! - **Silence**: if nothing arrives for 250 ms, or no feedback report, the target is halved, again every 250 ms; after
//!   a second only coarse bands go.
//!
//! Causes and the signs by which they are told apart (`tests/home_lines.rs` has each):
//!
//! ```text
//! receiver's program stalls   it reports so; the wait leaps, then datagrams arrive together: held      no change
//! sender's program stalls     it looks at the clock too late; what left just before counts as held     no change
//! radio or relay pauses       the wait leaps likewise, then datagrams arrive faster than on any line   no change
//! radio becomes slower        the wait grows with each datagram, none arrive together                  cut, follow
//! queue too long (bloat)      the queue stands, and shrinks with a lower target                        cut, follow
//! policer, shallow queue      no wait; loss beyond the usual in three spans in a row                   cut, ceiling
//! TCP beside                  the queue stands, and datagrams sent after the cut wait as long          compete
//! radio sends in batches      bursts show more than arrives in a standing queue: not believed          doubt
//! radio is silent for longer  hold follows upon hold: the last datagram of each batch shows the queue  follow
//! ```
//!
//! Google's congestion control (14,000 lines in its port, the crate goog_cc) is not used. Its trendline filter
//! (Carlucci et al., Analysis and design of the Google congestion control for WebRTC, MMSys 2016) sees only differences
//! of delay between groups of packets, because RTP receivers do not report absolute times against one clock; a frame
//! every 16 ms gives it a sample every 16 ms, it needs 20 for a slope, and it grows by 8 % a second. Here the one-way
//! delay of each datagram is known relative to the shortest, so that the queueing delay is measured, the slope of the
//! trendline only detects a collapse within one frame, and bursts show how far the target may grow at once.

mod beside;
mod capacity;
mod cubic;
mod delay;
mod excess;
mod found;
mod line;
mod rules;

use std::time::Duration;

use self::capacity::Capacity;
use self::cubic::Cubic;
use self::delay::{QueueDelay, WAIT_NONE_US};
use self::excess::ExcessLoss;
pub(super) use self::line::Beside;
use self::line::Line;
use super::sent::Arrival;
use crate::reason::{Change, Queue, Reason};
use crate::units::{Bitrate, Timestamp};

/// Longest standing queueing delay, microseconds.
const WAIT_MAX_US: i64 = 12_000;
/// Slope and wait that only a line much slower than the burst causes.
const COLLAPSE_SLOPE: f64 = 0.35;
const COLLAPSE_WAIT_US: i64 = 12_000;
/// Window of the rate of arrivals, microseconds: in a collapse, while a queue empties, and otherwise.
const COLLAPSE_WINDOW_US: u64 = 8_000;
const EMPTYING_WINDOW_US: u64 = 50_000;
const STANDING_WINDOW_US: u64 = 100_000;
/// Share of what arrived that is sent after a cut, once the queue is empty.
const AFTER_CUT: f64 = 0.9;
/// Time that a queue stands, while the target is low, from which on it is other traffic's.
const CROWDED: Duration = Duration::from_millis(1_500);
/// Share to which the wait falls, while the target is low, if the queue is ours.
const SHRUNK: f64 = 0.7;
/// Time between two tests whether the queue is still other traffic's.
const TEST_INTERVAL: Duration = Duration::from_secs(12);
/// Share of the capacity estimate that the target follows, and the time constant, seconds.
const OF_SHOWN: f64 = 0.97;
const FOLLOW_S: f64 = 0.04;
/// Time of growth by a factor of e where bursts disagree, and near a rate that has caused loss, seconds.
const SLOW_GROWTH_S: f64 = 10.0;
/// Time likewise where the capacity is unknown, and where bursts are not to be believed, seconds.
const BLIND_GROWTH_S: f64 = 2.0;
/// Silence that halves the target; four times this leaves the coarse bands only.
const SILENCE: Duration = Duration::from_millis(250);
const SILENCES_COARSE: u32 = 4;
/// First target, bits a second: enough for a coarse picture, and for a burst that measures the line.
const START_BPS: u64 = 4_000_000;
/// Lowest target, bits a second.
const LEAST_BPS: f64 = 300e3;
/// Factor by which a burst leaves faster than the target before the capacity is known.
const START_PACE: f64 = 4.0;
/// Factor by which it leaves faster than the capacity estimate, and if the last bursts arrived as fast as they left.
const PACE: f64 = 1.25;
const SEARCH_PACE: f64 = 4.0;
/// Least speed of a burst, bits a second: small frames leave at once, or they would show nothing of the line.
const PACE_LEAST: f64 = 4e6;
/// Ratio of a capacity to the highest target from which on a frame leaves at once.
const SHOWN_MAX: f64 = 64.0;

/// Reasons that the owner has not taken: a feedback has a few at most.
const REASONS_MAX: usize = 16;
/// A target that has grown by this factor grows; one that has not risen by this factor for so long grows no more.
const GROWS: f64 = 1.1;
const RISES: f64 = 1.02;
const RISES_WITHIN: Duration = Duration::from_secs(1);
/// Probing is told once in this time.
const PROBING_TOLD: Duration = Duration::from_secs(10);

/// Span over which the used part of the target is counted.
const USED_SPAN: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
enum Regime {
    /// No other traffic keeps the queue full.
    Alone,
    /// After a cut, until the queue is empty.
    Emptying { until: Timestamp, wanted_bps: f64 },
    /// Other traffic keeps the queue full.
    Competing {
        cubic: Cubic,
        next_test: Timestamp,
        /// End of a test, and the low target until then, bits a second.
        test: Option<(Timestamp, f64)>,
    },
}

/// Reason of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Delay,
    Collapse,
    Loss,
}

/// Contents of a feedback report.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// Datagrams that have arrived, in the order of sending.
    pub(super) arrivals: &'a [Arrival],
    /// Round trip, if anything arrived.
    pub(super) rtt: Option<Duration>,
    /// Datagrams whose fate is now known, and how many of them were lost.
    pub(super) fates: (u32, u32),
    /// Bytes that have left and of which nothing has been heard.
    pub(super) in_flight_bytes: usize,
    /// Time from which on the receiver is not sure of the arrivals, its clock.
    pub(super) unsure_from: Option<Timestamp>,
    /// Delay of the feedback report itself beyond that of others.
    pub(super) feedback_late: Duration,
}

/// The rate control of one connection.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    max_bps: f64,
    least_bps: f64,
    interval: Duration,
    target_bps: f64,
    mode: Regime,
    delay: QueueDelay,
    capacity: Capacity,
    /// Sound on the line, and what is known of the line then.
    beside: Option<Beside>,
    /// Time at which others' sound was found.
    found_at: Timestamp,
    looks: bool,
    line: Line,
    is_narrow: bool,
    loss: ExcessLoss,
    rtt_min: Duration,
    /// Time since which what is sent takes the way of now.
    way_since: Timestamp,
    /// Rate above which growth is slow.
    ceiling: Option<Ceiling>,
    /// The last time that bursts showed a faster line than there was.
    doubt: Option<Doubt>,
    /// Time before which there is no further reaction: the last one does not show yet.
    settled_at: Timestamp,
    crowded: Option<Crowd>,
    heard: Timestamp,
    silences: u32,
    updated: Timestamp,
    used: Used,
    /// Events that the owner has not taken.
    reasons: Vec<Reason>,
    growth: Growth,
    /// Time at which probing was told last.
    probed: Option<Timestamp>,
}

/// Begin and end of growth, as they are told.
#[derive(Clone, Copy, Debug)]
struct Growth {
    from_bps: f64,
    since: Timestamp,
    /// The target as last seen.
    last_bps: f64,
    /// Rate at which it last rose, and the time; none: growth has not begun.
    risen: Option<(f64, Timestamp)>,
}

impl Growth {
    /// A target that does not grow.
    fn none(bps: f64, now: Timestamp) -> Self {
        Self { from_bps: bps, since: now, last_bps: bps, risen: None }
    }
}

/// A queue that has stood since our first cut, although the target is low.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    /// Time of that cut, and the rate that got through then, bits a second.
    cut: Timestamp,
    share_bps: f64,
    /// Time since which the queue has not shrunk, and the longest wait since then, microseconds. Datagrams sent before
    /// the cut do not count.
    since: Timestamp,
    most_us: i64,
}

/// Rate of arrivals when the target was cut because of loss, which neither the queueing delay nor bursts show.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    bps: f64,
    /// Time for which it holds in full, and its end.
    patience: Duration,
    until: Timestamp,
    /// Time since which the target has been well beyond it.
    passed: Option<Timestamp>,
}

/// Bursts that arrived in a queue and showed more capacity than the rate of all arrivals: a radio sends many datagrams
/// at once, and then none for a while.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Rate that really came, beyond which bursts are not believed for this long, and the end of that.
    bps: f64,
    span: Duration,
    until: Timestamp,
}

/// Used part of the target.
#[derive(Clone, Copy, Debug)]
struct Used {
    since: Timestamp,
    last: Timestamp,
    sent_bits: f64,
    allowed_bits: f64,
    /// Share used in the last span.
    share: f64,
}

impl RateControl {
    /// Creates the rate control for frames every `interval` and at most `max`. The stream begins at `now`.
    pub(super) fn new(max: Bitrate, interval: Duration, now: Timestamp) -> Self {
        let max_bps = max.as_bps() as f64;
        Self {
            max_bps,
            least_bps: LEAST_BPS.min(max_bps),
            interval,
            target_bps: Self::start(max).as_bps() as f64,
            mode: Regime::Alone,
            delay: QueueDelay::new(interval),
            capacity: Capacity::new(SHOWN_MAX * max_bps),
            beside: None,
            found_at: now,
            looks: true,
            line: Line::default(),
            is_narrow: true,
            loss: ExcessLoss::default(),
            rtt_min: Duration::MAX,
            way_since: now,
            ceiling: None,
            doubt: None,
            settled_at: now,
            crowded: None,
            // The first feedback takes a round trip.
            heard: now + SILENCE,
            silences: 0,
            updated: now,
            used: Used { since: now, last: now, sent_bits: 0.0, allowed_bits: 0.0, share: 1.0 },
            reasons: Vec::with_capacity(REASONS_MAX),
            growth: Growth::none(Self::start(max).as_bps() as f64, now),
            probed: None,
        }
    }

    /// Takes notice that what leaves from now on takes another way: its delays are others, and its loss.
    pub(super) fn on_path_changed(&mut self, now: Timestamp) {
        self.delay = QueueDelay::new(self.interval);
        self.rtt_min = Duration::MAX;
        (self.crowded, self.way_since) = (None, now);
        (self.line, self.is_narrow) = (self.line.elsewhere(), true);
    }

    /// Changes the time between frames.
    pub(super) fn set_interval(&mut self, interval: Duration) {
        if std::mem::replace(&mut self.interval, interval) != interval {
            self.delay = QueueDelay::new(interval);
        }
    }

    /// Changes the most to send.
    pub(super) fn set_max(&mut self, max: Bitrate) {
        self.max_bps = max.as_bps() as f64;
        self.least_bps = LEAST_BPS.min(self.max_bps);
        self.target_bps = self.target_bps.min(self.max_bps);
        self.capacity.set_most(SHOWN_MAX * self.max_bps);
    }

    /// Returns the first target of a stream of at most `max`.
    pub(super) fn start(max: Bitrate) -> Bitrate {
        max.min(Bitrate::from_bps(START_BPS))
    }

    /// Returns the rate that the frames with all around them may take.
    pub(super) fn target(&self) -> Bitrate {
        Bitrate::from_bps(self.target_bps as u64)
    }

    /// Returns the rate at which a frame leaves.
    pub(super) fn pace(&self) -> Bitrate {
        if let Some(beside) = self.beside.filter(|_| !self.is_competing()) {
            return Bitrate::from_bps(self.pace_beside(beside) as u64);
        }
        let bps = match self.capacity.shown() {
            // Into a queue that is full already a burst would only overflow.
            _ if self.is_competing() => {
                return Bitrate::from_bps((PACE * self.target_bps) as u64);
            }
            Some(shown) if self.capacity.may_be_faster() => SEARCH_PACE * shown,
            Some(shown) => PACE * shown,
            None => START_PACE * self.target_bps,
        };
        Bitrate::from_bps(bps.max(PACE * self.target_bps).max(PACE_LEAST) as u64)
    }

    /// Returns the bits a second that the line bears beyond any doubt, besides sound; none: nobody knows.
    pub(super) fn bears(&self) -> Option<Bitrate> {
        let is_free = matches!(self.mode, Regime::Alone) && self.delay.standing_us() < WAIT_NONE_US;
        let is_doubted = self.ceiling.is_some() || self.doubt.is_some_and(|doubt| self.updated < doubt.until);
        if !is_free || is_doubted {
            return None;
        }
        let bps = match self.beside {
            Some(beside) => self.line.bears().map(|_| self.pace_beside(beside)),
            None => self.capacity.shown().filter(|_| self.capacity.is_certain() || self.capacity.may_be_faster()),
        };
        bps.map(bitrate)
    }

    /// Returns what own sound takes of the target, bits a second.
    fn own_bps(&self) -> f64 {
        self.beside.map_or(0.0, |beside| beside.own)
    }

    /// Returns true if other traffic keeps the queue full.
    fn is_competing(&self) -> bool {
        matches!(self.mode, Regime::Competing { .. })
    }

    /// Returns true if the receiver has been silent for so long that only coarse bands should go.
    pub(super) fn is_coarse_only(&self) -> bool {
        self.silences >= SILENCES_COARSE
    }

    /// Takes a datagram that has left and takes so many bytes on the wire. Sound shows nothing of the line, since it leaves packet by
    /// packet, and whether it takes all that it may says nothing of whether the rest needs more.
    pub(super) fn on_sent(&mut self, bytes: usize, is_sound: bool, now: Timestamp) {
        if is_sound {
            return;
        }
        self.line.on_sent(now);
        let left_bps = self.target_bps - self.own_bps();
        let used = &mut self.used;
        used.sent_bits += 8.0 * bytes as f64;
        used.allowed_bits += left_bps.max(0.0) * now.since(used.last).as_secs_f64();
        used.last = now;
        if now.since(used.since) >= USED_SPAN.max(4 * self.interval) {
            used.share = used.sent_bits / used.allowed_bits.max(1.0);
            (used.since, used.sent_bits, used.allowed_bits) = (now, 0.0, 0.0);
        }
    }

    /// Takes notice that this program stood still for `span` until now: no silence of the receiver's.
    pub(super) fn on_stall(&mut self, span: Duration, now: Timestamp) {
        self.heard = self.heard.max((self.heard + span).min(now));
    }

    /// Returns the time to call [`Self::handle_timeout`].
    pub(super) fn next_timeout(&self) -> Timestamp {
        self.heard + SILENCE * (self.silences + 1)
    }

    /// Halves the target for each further [`SILENCE`] of the receiver.
    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        let silences = (now.since(self.heard).as_micros() / SILENCE.as_micros()) as u32;
        if silences > self.silences {
            let halvings = (silences - self.silences).min(32);
            let (before, was_coarse_only) = (self.target_bps, self.is_coarse_only());
            self.silences = silences;
            self.set_target(self.target_bps / f64::from(halvings).exp2());
            self.note_growth(now);
            // Nothing is told of a target that cannot fall any more.
            let coarse_only = self.is_coarse_only();
            if before > self.target_bps || coarse_only != was_coarse_only {
                let (change, silence) = (self.change_from(before), now.since(self.heard));
                self.tell(Reason::CutBySilence { change, silence, coarse_only });
            }
        }
    }

    /// Takes a feedback report into account.
    pub(super) fn on_feedback(&mut self, told: &Told<'_>, now: Timestamp) {
        // A feedback without arrivals tells that the way back is there; what has left may be under way for long.
        if !told.arrivals.is_empty() || told.in_flight_bytes == 0 {
            if self.silences > 0 {
                self.tell(Reason::SilenceOver { silence: now.since(self.heard) });
            }
            (self.heard, self.silences) = (now, 0);
        }
        self.rtt_min = told.rtt.map_or(self.rtt_min, |rtt| rtt.min(self.rtt_min));
        self.delay.set_crowded(self.is_competing());
        let mut is_of_way = false;
        for arrival in told.arrivals.iter().filter(|arrival| arrival.sent >= self.way_since) {
            is_of_way = true;
            let is_unsure = arrival.is_unsure || told.unsure_from.is_some_and(|from| from <= arrival.received);
            let wait = self.delay.on_arrival(arrival, is_unsure);
            self.capacity.on_arrival(arrival, wait);
            self.line.on_arrival(arrival, wait, self.beside.map(|beside| beside.others + beside.own));
        }
        if self.beside.is_some() && self.is_competing() {
            // What grows is another's queue.
            self.line.limit_to_shown();
        }
        let persists = self.loss.on_fates(told.fates.0, told.fates.1, now);
        if is_of_way {
            self.update(told, persists, now);
        }
        self.follow_line(now);
        self.updated = now;
        self.note_growth(now);
        self.note_probing(now);
    }

    /// The reasons for what the target has done since this was last called, oldest first.
    pub(super) fn take_reasons(&mut self) -> impl Iterator<Item = Reason> {
        self.reasons.drain(..)
    }

    fn tell(&mut self, reason: Reason) {
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(reason);
        }
    }

    /// From `before` bits a second to the target of now.
    fn change_from(&self, before: f64) -> Change {
        Change { from: bitrate(before), to: self.target() }
    }

    /// The queue, and `arrived` bits a second.
    fn queue(&self, arrived: f64) -> Queue {
        let [standing, last] = [self.delay.standing_us(), self.delay.last_us()].map(time);
        Queue { standing, last, arrived: bitrate(arrived) }
    }

    /// Tells when growth begins and ends. In competition and while a queue empties the target is another rule's.
    fn note_growth(&mut self, now: Timestamp) {
        let (target, growth) = (self.target_bps, self.growth);
        let is_cut = target < growth.last_bps || !matches!(self.mode, Regime::Alone);
        self.growth.last_bps = target;
        if let Some((mark, at)) = growth.risen {
            if !is_cut && target >= RISES * mark {
                self.growth.risen = Some((target, now));
            } else if is_cut || now.since(at) > RISES_WITHIN {
                let change = Change { from: bitrate(growth.from_bps), to: bitrate(growth.last_bps) };
                self.growth = Growth::none(target, now);
                self.tell(Reason::GrowthEnded { change, took: at.since(growth.since) });
            }
        } else if is_cut {
            self.growth = Growth::none(target, now);
        } else if target >= GROWS * growth.from_bps {
            self.growth.risen = Some((target, now));
            let shown = self.capacity.shown().map(bitrate);
            self.tell(Reason::GrowthBegan { change: self.change_from(growth.from_bps), shown });
        }
    }

    /// Tells when bursts leave faster to see what the line takes, while the target would be raised.
    fn note_probing(&mut self, now: Timestamp) {
        let is_told = self.probed.is_some_and(|at| now.since(at) < PROBING_TOLD);
        let may_grow = matches!(self.mode, Regime::Alone) && self.target_bps < self.max_bps && self.beside.is_none();
        if let Some(shown) = self.capacity.shown()
            && !is_told
            && may_grow
            && self.capacity.may_be_faster()
        {
            self.probed = Some(now);
            self.tell(Reason::ProbingBegan { shown: bitrate(shown), pace: self.pace() });
        }
    }

    /// Returns true if the loss beyond a ceiling shows that it is there still.
    fn is_found_again(&self) -> bool {
        self.loss.is_unusual() && self.ceiling.is_some_and(|ceiling| self.target_bps > ceiling.bps)
    }

    fn update(&mut self, told: &Told<'_>, loss_persists: bool, now: Timestamp) {
        if self.delay.is_unknown() {
            return;
        }
        let standing = self.delay.standing_us();
        if standing < WAIT_NONE_US {
            self.crowded = None;
        } else if let Some(crowd) = &mut self.crowded {
            let is_after = told.arrivals.last().is_some_and(|last| last.sent >= crowd.cut);
            if !is_after || (standing as f64) < SHRUNK * crowd.most_us as f64 {
                (crowd.since, crowd.most_us) = (now, standing);
            }
            crowd.most_us = crowd.most_us.max(standing);
        }
        if let Regime::Competing { .. } = self.mode {
            self.compete(told, standing, now);
            return;
        }
        // The shortest wait of the last interval may be of before the queue grew.
        if let Regime::Emptying { until, wanted_bps } = self.mode
            && (standing.max(self.delay.last_us()) < WAIT_NONE_US || until <= now)
        {
            // While there was a queue, what came was what the line takes.
            let taken = self.capacity.throughput(STANDING_WINDOW_US).unwrap_or(0.0);
            let before = self.target_bps;
            self.set_target(self.target_bps.max(wanted_bps.min(AFTER_CUT * taken)));
            self.mode = Regime::Alone;
            self.growth = Growth::none(self.target_bps, now);
            let change = self.change_from(before);
            self.tell(if standing.max(self.delay.last_us()) < WAIT_NONE_US {
                Reason::QueueEmptied { change }
            } else {
                Reason::QueueStands { change, standing: time(standing) }
            });
        }
        if let Some(crowd) = self.crowded
            && now.since(crowd.since) >= CROWDED
            && !self.is_filled_by_own()
        {
            self.start_competing(&crowd, standing, now);
            return;
        }
        let collapses = self.delay.last_us() > COLLAPSE_WAIT_US && self.delay.slope() > Some(COLLAPSE_SLOPE);
        if (standing > WAIT_MAX_US || collapses) && self.settled_at <= now {
            let (window_us, sign) =
                if collapses { (COLLAPSE_WINDOW_US, Sign::Collapse) } else { (STANDING_WINDOW_US, Sign::Delay) };
            self.cut(told, window_us, sign, now);
        } else if matches!(self.mode, Regime::Emptying { .. }) && standing.max(self.delay.last_us()) >= WAIT_NONE_US {
            self.give_way(told, if collapses { COLLAPSE_WINDOW_US } else { EMPTYING_WINDOW_US });
        } else if (loss_persists || self.is_found_again()) && self.settled_at <= now {
            self.cut(told, STANDING_WINDOW_US, Sign::Loss, now);
            self.set_ceiling(now);
        } else if matches!(self.mode, Regime::Alone) && standing < WAIT_NONE_US {
            self.grow(now);
        }
    }
}

fn bitrate(bps: f64) -> Bitrate {
    Bitrate::from_bps(bps as u64)
}

fn time(us: i64) -> Duration {
    Duration::from_micros(us.max(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_of_our_own_is_no_silence_of_the_receiver() {
        let target_after = |stalled| {
            let mut rate =
                RateControl::new(Bitrate::from_bps(4_000_000), Duration::from_millis(16), Timestamp::default());
            let now = Timestamp::from_us(600_000);
            rate.on_stall(stalled, now);
            rate.handle_timeout(now);
            rate.target().as_bps()
        };
        let targets = [0, 400].map(|ms| target_after(Duration::from_millis(ms)));
        assert_eq!(targets, [2_000_000, 4_000_000]);
    }
}
