//! How fast to send: the target from which the next frame's budget and its pacing follow.
//!
//! Every 10 ms, 5 ms while a queue grows, and sooner if much comes, the receiver tells when each datagram came. From that come
//! the wait in the network's queues ([`delay`]), the speed of the link ([`capacity`]) and loss ([`excess`]); four rules
//! make the target of them:
//!
//! - **Delay.** A queue that stands for a whole frame interval above [`WAIT_MAX_US`], or a wait that grows steeply
//!   within a frame, cuts the target to what arrived meanwhile, less what empties the queue in about a third of a second.
//!   Otherwise the target grows: at once where bursts have shown the link to be fast, slowly near the last cut.
//! - **Competition.** If the queue stands although we have given way for [`CROWDED`], someone else fills it, as TCP
//!   does. Then the target is that of a TCP Cubic flow ([`cubic`]), else nothing would be left for us (as in Copa: Arun
//!   and Balakrishnan, NSDI 2018, section 2.2). The queue running empty, which a pause for a test provokes, ends this.
//! - **Loss** cuts only when it is unusual for the path and persists: shallow queues and policers show in no delay.
//! - **Silence** of the receiver for 250 ms halves the target, again every 250 ms; after a second only coarse bands go.
//!
//! Why not Google's congestion control, of which the crate goog_cc is a port (14,000 lines)? Its trendline filter
//! (Carlucci et al., Analysis and design of the Google congestion control for WebRTC, MMSys 2016) sees differences of
//! delay between groups of packets only, because RTP receivers do not report absolute times against one clock; a frame
//! every 16 ms gives it a sample every 16 ms, it needs 20 for a slope, and grows by 8 % a second. Here each datagram's
//! delay is known against the shortest, so a queue is seen as such and not as a slope summed up, the slope serves only to
//! see a collapse within one frame, and bursts show how far the target may grow at once.

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
const WAIT_MAX_US: i64 = 25_000;
/// A standing queue below this is none: jitter, microseconds.
const WAIT_NONE_US: i64 = 8_000;
/// A slope and a wait that only a link much slower than the burst makes.
const COLLAPSE_SLOPE: f64 = 0.3;
const COLLAPSE_WAIT_US: i64 = 10_000;
/// A queue is emptied in about this time.
const EMPTYING_S: f64 = 0.35;
/// Share of what arrived that is sent after a cut, once the queue is empty.
const AFTER_CUT: f64 = 0.9;
/// A queue that stands so long while we give way is not ours.
const CROWDED: Duration = Duration::from_millis(1_500);
/// Between two tests whether the queue is still someone else's.
const TEST_INTERVAL: Duration = Duration::from_secs(12);
/// Growth by a factor of e where the link is known to be faster, seconds.
const FAST_GROWTH_S: f64 = 0.6;
/// The same near the rate of the last cut, and where nothing is known.
const SLOW_GROWTH_S: f64 = 10.0;
const BLIND_GROWTH_S: f64 = 3.0;
/// Silence that halves the target; four times this leaves the coarse bands only.
const SILENCE: Duration = Duration::from_millis(250);
const SILENCES_COARSE: u32 = 4;
/// First target, bits a second: a picture of sorts, and a burst that measures the link.
const START_BPS: u64 = 4_000_000;
/// Lowest target, bits a second.
const LEAST_BPS: f64 = 300e3;
/// How much faster than the target a burst leaves before the link's speed is known, and than the known speed.
const START_PACE: f64 = 4.0;
const PACE: f64 = 1.25;

#[derive(Clone, Debug)]
enum Mode {
    /// The queue is ours alone.
    Alone,
    /// After a cut, until the queue is empty.
    Emptying { until: Timestamp, resume_bps: f64 },
    /// Someone else keeps the queue full.
    Competing {
        cubic: Cubic,
        next_test: Timestamp,
        /// Until when the target is held down to this, bits a second.
        test: Option<(Timestamp, f64)>,
    },
}

/// What a feedback has told.
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
    /// No cut yet: the first one ends the rapid start.
    starting: bool,
    /// What arrived at the last cut, until the target has gone beyond it unharmed.
    ceiling_bps: Option<f64>,
    /// No further reaction before: the last one does not show yet.
    settled_at: Timestamp,
    /// Since when a queue stands, and what got through at the first cut since then.
    crowded: Option<(Timestamp, Option<f64>)>,
    heard: Timestamp,
    silences: u32,
    updated: Timestamp,
    /// Bytes sent in this span, and the rate of the last one.
    used: (Timestamp, usize, f64),
}

impl RateControl {
    /// For frames every `interval` and at most `max`. The stream begins at `now`.
    pub(super) fn new(max: Bitrate, interval: Duration, now: Timestamp) -> Self {
        let max_bps = max.as_bps() as f64;
        Self {
            max_bps,
            least_bps: LEAST_BPS.min(max_bps),
            interval,
            target_bps: Self::start(max).as_bps() as f64,
            mode: Mode::Alone,
            delay: QueueDelay::new(interval),
            capacity: Capacity::default(),
            loss: ExcessLoss::default(),
            rtt_min: Duration::MAX,
            starting: true,
            ceiling_bps: None,
            settled_at: now,
            crowded: None,
            // The first feedback takes a round trip.
            heard: now + SILENCE,
            silences: 0,
            updated: now,
            used: (now, 0, 0.0),
        }
    }

    /// The first target of a stream of at most `max`.
    pub(super) fn start(max: Bitrate) -> Bitrate {
        max.min(Bitrate::from_bps(START_BPS))
    }

    /// What the frames with all around them may take.
    pub(super) fn target(&self) -> Bitrate {
        Bitrate::from_bps(self.target_bps as u64)
    }

    /// How fast a frame leaves.
    pub(super) fn pace(&self) -> Bitrate {
        let bps = match self.capacity.estimate() {
            // Into a queue that is full already a burst would only overflow.
            _ if matches!(self.mode, Mode::Competing { .. }) => 0.0,
            Some(capacity) => PACE * capacity,
            None => START_PACE * self.target_bps,
        };
        Bitrate::from_bps(bps.max(PACE * self.target_bps) as u64)
    }

    /// Whether the receiver has been silent for so long that only coarse bands should go.
    pub(super) fn is_coarse_only(&self) -> bool {
        self.silences >= SILENCES_COARSE
    }

    /// A datagram that takes so much on the wire left.
    pub(super) fn on_sent(&mut self, bytes: usize, now: Timestamp) {
        let (since, total, _) = &mut self.used;
        *total += bytes;
        let span = now.since(*since);
        if span >= Duration::from_millis(250) {
            let bps = 8.0 * *total as f64 / span.as_secs_f64();
            self.used = (now, 0, bps);
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub(super) fn next_timeout(&self) -> Timestamp {
        self.heard + SILENCE * (self.silences + 1)
    }

    /// The receiver has been silent.
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
        (self.heard, self.silences) = (now, 0);
        self.rtt_min = told.rtt.map_or(self.rtt_min, |rtt| rtt.min(self.rtt_min));
        self.delay.set_crowded(matches!(self.mode, Mode::Competing { .. }));
        for arrival in told.arrivals {
            self.delay.on_arrival(arrival);
            self.capacity.on_arrival(arrival);
        }
        let persists = self.loss.on_fates(told.fates.0, told.fates.1, now);
        if !told.arrivals.is_empty() {
            self.update(told, persists, now);
        }
        self.updated = now;
    }

    fn update(&mut self, told: &Told<'_>, loss_persists: bool, now: Timestamp) {
        let standing = self.delay.standing_us();
        if standing < WAIT_NONE_US {
            self.crowded = None;
        } else {
            self.crowded.get_or_insert((now, None));
        }
        if let Mode::Competing { .. } = self.mode {
            self.compete(told, standing, now);
            return;
        }
        // The shortest wait of the last interval may be of before the queue grew.
        if let Mode::Emptying { until, resume_bps } = self.mode
            && (standing.max(self.delay.last_us()) < WAIT_NONE_US || until <= now)
        {
            self.set_target(self.target_bps.max(resume_bps));
            self.mode = Mode::Alone;
        }
        if let Some((since, Some(share))) = self.crowded
            && now.since(since) >= CROWDED
        {
            self.start_competing(share, standing, now);
            return;
        }
        let collapses = self.delay.last_us() > COLLAPSE_WAIT_US && self.delay.slope() > Some(COLLAPSE_SLOPE);
        if (standing > WAIT_MAX_US || collapses || loss_persists) && self.settled_at <= now {
            self.cut(told, if collapses { 20_000 } else { 100_000 }, now);
        } else if matches!(self.mode, Mode::Alone) && standing < WAIT_NONE_US {
            self.grow(now);
        }
    }
}
