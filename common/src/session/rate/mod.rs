//! Target rate, from which the next frame's budget and its pacing follow.
//!
//! Every 10 ms, 5 ms while a queue grows, and sooner if much comes, the receiver tells when each datagram came. From that
//! come the wait in the network's queues ([`delay`]), the speed of the line ([`capacity`]) and loss ([`excess`]); these
//! rules make the target of them:
//!
//! - **Follow.** Frames leave in bursts faster than the target, so that how close together they come shows the line. While
//!   no queue stands, the target follows [`OF_SHOWN`] of that within a few frames, up as far as it goes: after a stall, a
//!   collapse or a cut as after the start, for no rule remembers what the line once was.
//! - **Delay.** A queue that stands for a whole frame interval above [`WAIT_MAX_US`], or a wait that grows steeply
//!   within a frame, cuts the target to what arrived meanwhile, less what empties the queue soon, and with each feedback
//!   anew until the queue is empty; then it goes back to what the line took while there was a queue. Nothing is cut if
//!   more comes than the target: the queue shrinks already. How long the queue is follows from what is under way, for
//!   the waits that are told are a round trip old.
//! - **Competition.** If the queue stands although we have given way for [`CROWDED`], someone else fills it, as TCP
//!   does. Then the target is that of a TCP Cubic flow ([`cubic`]), else nothing would be left for us (as in Copa: Arun
//!   and Balakrishnan, NSDI 2018, section 2.2). The queue running empty, which a pause for a test provokes, ends this.
//! - **Loss** cuts only when it is unusual for the path and persists: shallow queues and policers show in no delay.
//! - **Silence**: if nothing arrives for 250 ms, or no feedback, the target is halved, again every 250 ms; after a second
//!   only coarse bands go.
//!
//! Causes and the signs by which they are told apart (`tests/home_lines.rs` has each):
//!
//! ```text
//! receiver's program stalls   it says so; the wait leaps, then all comes at one time: held         no change
//! sender's program stalls     nothing is sent; what had its time stamp before leaps likewise      no change
//! radio or relay pauses       the same leap, and what follows comes faster than any line           no change
//! radio becomes slower        the wait grows by each datagram's distance, none comes at once       cut, follow
//! queue too long (bloat)      the queue stands, and shrinks as we give way                         cut, follow
//! policer, shallow queue      no wait; loss beyond the usual in three spans in a row               cut, ceiling
//! TCP beside                  the queue stands, and what was sent after the cut waits as long      compete
//! radio sends in batches      bursts show more than comes in a standing queue: not believed        doubt
//! ```
//!
//! Google's congestion control (14,000 lines in its port, the crate goog_cc) is not used. Its trendline filter
//! (Carlucci et al., Analysis and design of the Google congestion control for WebRTC, MMSys 2016) sees differences of
//! delay between groups of packets only, because RTP receivers do not report absolute times against one clock; a frame
//! every 16 ms gives it a sample every 16 ms, it needs 20 for a slope, and grows by 8 % a second. Here each datagram's
//! delay is known against the shortest, so a queue is seen as such and not as a slope summed up, the slope serves only
//! to see a collapse within one frame, and bursts show how far the target may grow at once.

mod capacity;
mod cubic;
mod delay;
mod excess;
mod rules;

use std::time::Duration;

use self::capacity::Capacity;
use self::cubic::Cubic;
use self::delay::QueueDelay;
use self::excess::ExcessLoss;
use super::sent::Arrival;
use crate::units::{Bitrate, Timestamp};

/// Longest standing queue, microseconds.
const WAIT_MAX_US: i64 = 12_000;
/// A standing queue below this is none: jitter, microseconds.
const WAIT_NONE_US: i64 = 8_000;
/// A slope and a wait that only a link much slower than the burst makes.
const COLLAPSE_SLOPE: f64 = 0.35;
const COLLAPSE_WAIT_US: i64 = 12_000;
/// The window of the rate that arrived, microseconds: in a collapse, while a queue empties, and otherwise.
const COLLAPSE_WINDOW_US: u64 = 8_000;
const EMPTYING_WINDOW_US: u64 = 50_000;
const STANDING_WINDOW_US: u64 = 100_000;
/// Share of what arrived that is sent after a cut, once the queue is empty.
const AFTER_CUT: f64 = 0.9;
/// A queue that stands so long while we give way is not ours.
const CROWDED: Duration = Duration::from_millis(1_500);
/// A queue whose wait has fallen to this share is ours: it shrinks as we give way.
const SHRUNK: f64 = 0.7;
/// Between two tests whether the queue is still someone else's.
const TEST_INTERVAL: Duration = Duration::from_secs(12);
/// Share of what bursts have shown of the line to which the target follows, and the time constant, seconds.
const OF_SHOWN: f64 = 0.95;
const FOLLOW_S: f64 = 0.06;
/// Growth by a factor of e where bursts disagree, and near what has caused loss, seconds.
const SLOW_GROWTH_S: f64 = 10.0;
/// The same where nothing is known of the line, and where bursts are not to be believed.
const BLIND_GROWTH_S: f64 = 2.0;
/// Silence that halves the target; four times this leaves the coarse bands only.
const SILENCE: Duration = Duration::from_millis(250);
const SILENCES_COARSE: u32 = 4;
/// First target, bits a second: a picture of sorts, and a burst that measures the link.
const START_BPS: u64 = 4_000_000;
/// Lowest target, bits a second.
const LEAST_BPS: f64 = 300e3;
/// Factor by which a burst leaves faster than the target before the line's speed is known.
const START_PACE: f64 = 4.0;
/// Factor by which it leaves faster than the last bursts have shown, and if these came as fast as they left.
const PACE: f64 = 1.25;
const SEARCH_PACE: f64 = 2.0;
/// Small frames leave at once, or they would show nothing of the line, bits a second.
const PACE_LEAST: f64 = 4e6;
/// Of a line this many times faster than the highest target nothing more need be known: a frame leaves at once.
const SHOWN_MAX: f64 = 64.0;

/// Span over which the used part of the target is counted.
const USED_SPAN: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
enum Mode {
    /// The queue is ours alone.
    Alone,
    /// After a cut, until the queue is empty.
    Emptying { until: Timestamp, wanted_bps: f64 },
    /// Someone else keeps the queue full.
    Competing {
        cubic: Cubic,
        next_test: Timestamp,
        /// Until when the target is held down to this, bits a second.
        test: Option<(Timestamp, f64)>,
    },
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
    /// From this on the receiver is not sure when they came, its clock.
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
    mode: Mode,
    delay: QueueDelay,
    capacity: Capacity,
    loss: ExcessLoss,
    rtt_min: Duration,
    /// Above what growth must be careful.
    ceiling: Option<Ceiling>,
    /// The last time that bursts showed a faster line than there was.
    doubt: Option<Doubt>,
    /// No further reaction before: the last one does not show yet.
    settled_at: Timestamp,
    crowded: Option<Crowd>,
    heard: Timestamp,
    silences: u32,
    updated: Timestamp,
    used: Used,
}

/// A queue that has stood since our first cut, although we gave way.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    /// Time of that cut, and the rate that got through then, bits a second.
    cut: Timestamp,
    share_bps: f64,
    /// Since when the queue has not shrunk, and how long the wait was at most since then, microseconds. What was sent
    /// before the cut does not count.
    since: Timestamp,
    most_us: i64,
}

/// Rate of arrivals when the target was cut because of loss: it says nothing about queues, and bursts show nothing of
/// it.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    bps: f64,
    /// Time for which it holds in full, and its end.
    patience: Duration,
    until: Timestamp,
    /// Since when the target has been well beyond it.
    passed: Option<Timestamp>,
}

/// Bursts that came in a queue, and showed a line faster than all that came: a radio sends many datagrams at once, and
/// then none for a while.
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
    /// Of the last span.
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
            mode: Mode::Alone,
            delay: QueueDelay::new(interval),
            capacity: Capacity::new(SHOWN_MAX * max_bps),
            loss: ExcessLoss::default(),
            rtt_min: Duration::MAX,
            ceiling: None,
            doubt: None,
            settled_at: now,
            crowded: None,
            // The first feedback takes a round trip.
            heard: now + SILENCE,
            silences: 0,
            updated: now,
            used: Used { since: now, last: now, sent_bits: 0.0, allowed_bits: 0.0, share: 1.0 },
        }
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
        let bps = match self.capacity.shown() {
            // Into a queue that is full already a burst would only overflow.
            _ if matches!(self.mode, Mode::Competing { .. }) => {
                return Bitrate::from_bps((PACE * self.target_bps) as u64);
            }
            Some(shown) if self.capacity.may_be_faster() => SEARCH_PACE * shown,
            Some(shown) => PACE * shown,
            None => START_PACE * self.target_bps,
        };
        Bitrate::from_bps(bps.max(PACE * self.target_bps).max(PACE_LEAST) as u64)
    }

    /// Returns true if the receiver has been silent for so long that only coarse bands should go.
    pub(super) fn is_coarse_only(&self) -> bool {
        self.silences >= SILENCES_COARSE
    }

    /// Takes a datagram that has left and takes so many bytes on the wire.
    pub(super) fn on_sent(&mut self, bytes: usize, now: Timestamp) {
        let used = &mut self.used;
        used.sent_bits += 8.0 * bytes as f64;
        used.allowed_bits += self.target_bps * now.since(used.last).as_secs_f64();
        used.last = now;
        if now.since(used.since) >= USED_SPAN.max(4 * self.interval) {
            used.share = used.sent_bits / used.allowed_bits.max(1.0);
            (used.since, used.sent_bits, used.allowed_bits) = (now, 0.0, 0.0);
        }
    }

    /// Returns the time to call [`Self::handle_timeout`].
    pub(super) fn next_timeout(&self) -> Timestamp {
        self.heard + SILENCE * (self.silences + 1)
    }

    /// Cuts the target, because the receiver has been silent.
    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        let silences = (now.since(self.heard).as_micros() / SILENCE.as_micros()) as u32;
        if silences > self.silences {
            let halvings = (silences - self.silences).min(32);
            self.silences = silences;
            self.set_target(self.target_bps / f64::from(halvings).exp2());
        }
    }

    /// Takes a feedback into account.
    pub(super) fn on_feedback(&mut self, told: &Told<'_>, now: Timestamp) {
        // A feedback without arrivals tells that the way back is there; what has left may be under way for long.
        if !told.arrivals.is_empty() || told.in_flight_bytes == 0 {
            (self.heard, self.silences) = (now, 0);
        }
        self.rtt_min = told.rtt.map_or(self.rtt_min, |rtt| rtt.min(self.rtt_min));
        self.delay.set_crowded(matches!(self.mode, Mode::Competing { .. }));
        for arrival in told.arrivals {
            let is_unsure = told.unsure_from.is_some_and(|from| from <= arrival.received);
            let wait = self.delay.on_arrival(arrival, is_unsure);
            self.capacity.on_arrival(arrival, wait);
        }
        let persists = self.loss.on_fates(told.fates.0, told.fates.1, now);
        if !told.arrivals.is_empty() {
            self.update(told, persists, now);
        }
        self.updated = now;
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
        if let Mode::Competing { .. } = self.mode {
            self.compete(told, standing, now);
            return;
        }
        // The shortest wait of the last interval may be of before the queue grew.
        if let Mode::Emptying { until, wanted_bps } = self.mode
            && (standing.max(self.delay.last_us()) < WAIT_NONE_US || until <= now)
        {
            // While there was a queue, what came was what the line takes.
            let taken = self.capacity.throughput(STANDING_WINDOW_US).unwrap_or(0.0);
            self.set_target(self.target_bps.max(wanted_bps.min(AFTER_CUT * taken)));
            self.mode = Mode::Alone;
        }
        if let Some(crowd) = self.crowded
            && now.since(crowd.since) >= CROWDED
        {
            self.start_competing(crowd.share_bps, standing, now);
            return;
        }
        let collapses = self.delay.last_us() > COLLAPSE_WAIT_US && self.delay.slope() > Some(COLLAPSE_SLOPE);
        if (standing > WAIT_MAX_US || collapses) && self.settled_at <= now {
            self.cut(told, if collapses { COLLAPSE_WINDOW_US } else { STANDING_WINDOW_US }, now);
        } else if matches!(self.mode, Mode::Emptying { .. }) && standing.max(self.delay.last_us()) >= WAIT_NONE_US {
            self.give_way(told, if collapses { COLLAPSE_WINDOW_US } else { EMPTYING_WINDOW_US });
        } else if (loss_persists || self.is_found_again()) && self.settled_at <= now {
            self.cut(told, STANDING_WINDOW_US, now);
            self.set_ceiling(now);
        } else if matches!(self.mode, Mode::Alone) && standing < WAIT_NONE_US {
            self.grow(now);
        }
    }
}
