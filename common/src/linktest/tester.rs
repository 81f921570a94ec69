//! The side of a link test that sends the load.

use std::time::Duration;

use crate::path::pacing::{Paced, Pacer, pacing_span};
use crate::path::{Datagram, Directions, FeedbackOutcome, Path, Rank, Share};
use crate::percentiles::{Percentiles, TimeHistogram};
use crate::units::{Bitrate, Timestamp};
use crate::wire::media::{ENVELOPE_BYTES, Envelope};
use crate::wire::on_wire;

/// The load's stream.
pub(super) const STREAM: u8 = 0;
/// Its rank: nothing else is there.
pub(super) const RANK: Rank = Rank(0);
/// Time between two frames of the load.
const INTERVAL: Duration = Duration::from_micros(16_667);
/// Time without load, and between two datagrams then.
const IDLE: Duration = Duration::from_secs(2);
const IDLE_INTERVAL: Duration = Duration::from_millis(10);
/// Longest wait for the first answer after that.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// A load of which nothing is reported for so long means that the other side has gone.
const REPORT_MAX: Duration = Duration::from_secs(5);
/// Caps tried, from the first to the last: pictures do not get better beyond it.
const CAP_FIRST: Bitrate = Bitrate::from_bps(1_000_000);
const CAP_LAST: Bitrate = Bitrate::from_bps(200_000_000);
/// Share of a cap that the target must reach for the next one, percent.
const FOLLOWS_PERCENT: u64 = 85;
/// A target that has risen by so many percent of before is looked at again, as long as the rise may take; one that has not, this
/// often: after a cut for loss it takes a moment to know what is usual.
const RISES_PERCENT: u64 = 103;
const STILL: u32 = 2;
const RISE_MAX: Duration = Duration::from_secs(10);
/// Time that the target has to settle at a cap, in which a queue can empty, and time for which it is looked at then.
const SETTLE: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(400);
const HOLD: Duration = Duration::from_secs(2);
/// Rates held at most, each at nine tenths of the one before.
const HOLDS: u32 = 4;
/// A rate is held if the target stays above this share of it,
const HELD: f64 = 0.9;
/// and if at most this much more is lost than without load.
const LOSS_MAX: f64 = 0.03;
/// Largest datagram, bytes; about what video has.
const LOAD_BYTES_MAX: usize = 1_150;

/// The findings about the way from here to there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Round trip without load, microseconds.
    pub rtt: Percentiles,
    /// Round trip at the usable rate, microseconds.
    pub rtt_loaded: Percentiles,
    /// Share of the datagrams without load that did not arrive, 0 to 1.
    pub loss: f64,
    /// Share of the datagrams that did not arrive at the usable rate, 0 to 1.
    pub loss_loaded: f64,
    /// Rate that the link carried for two seconds without queueing, with all that is around the datagrams; zero: none. If it held none of
    /// those tried, nine tenths of what came of the last.
    pub usable: Bitrate,
    /// The link may carry more than was tried.
    pub at_least: bool,
}

/// The other side does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the other side does not answer the test's datagrams: something on the way lets only small or few ones through"
)]
pub struct Silent;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Idle,
    Rise,
    Hold,
}

/// A time at one cap.
#[derive(Clone, Copy, Debug)]
struct Step {
    purpose: Purpose,
    cap: Bitrate,
    /// Counts begin, and end.
    from: Timestamp,
    until: Timestamp,
    /// Lost and received before it.
    before: Option<(u64, u64)>,
    /// Sum, number and least of the targets, bits a second.
    targets: (f64, u32, f64),
}

/// A datagram of the load that waits to leave: its bytes.
#[derive(Debug)]
struct Made(usize);

impl Paced for Made {
    fn bytes(&self) -> usize {
        self.0
    }

    fn is_parity(&self) -> bool {
        false
    }
}

/// Measures the way to the other side.
#[derive(Debug)]
pub(super) struct Tester {
    path: Path,
    bytes_max: usize,
    step: Step,
    /// Highest mean of the target at a cap, and the end of the rise.
    found: Bitrate,
    rise_until: Timestamp,
    /// Looks in a row in which it has not risen.
    still: u32,
    holds: u32,
    /// Time of the next frame, or of the next small datagram.
    next: Timestamp,
    pacer: Pacer<Made>,
    idle: TimeHistogram,
    loaded: TimeHistogram,
    /// Number of datagrams without load.
    idle_sent: u64,
    /// Share of them that was lost.
    loss: f64,
    /// Time of the last feedback report.
    heard: Option<Timestamp>,
    outcome: Option<Result<Measured, Silent>>,
}

impl Tester {
    /// Begins to measure a link whose datagrams hold at most `max_datagram` bytes.
    pub(super) fn new(max_datagram: usize, now: Timestamp) -> Self {
        let step = Step {
            purpose: Purpose::Idle,
            cap: CAP_FIRST,
            from: now,
            until: now + IDLE,
            before: None,
            targets: (0.0, 0, f64::INFINITY),
        };
        Self {
            path: Path::new(Directions::Sends, CAP_FIRST),
            bytes_max: max_datagram.clamp(ENVELOPE_BYTES, LOAD_BYTES_MAX),
            step,
            found: Bitrate::from_bps(0),
            rise_until: now,
            still: 0,
            holds: 0,
            next: now,
            pacer: Pacer::default(),
            idle: TimeHistogram::new(),
            loaded: TimeHistogram::new(),
            idle_sent: 0,
            loss: 0.0,
            heard: None,
            outcome: None,
        }
    }

    /// Returns the result, once there is one.
    pub(super) fn outcome(&self) -> Option<Result<Measured, Silent>> {
        self.outcome
    }

    /// Takes a datagram; any other than a feedback report changes nothing.
    pub(super) fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) {
        let received = self.path.counters().datagrams_received;
        if self.path.on_datagram(datagram, now) != Datagram::Feedback(FeedbackOutcome::Accepted) {
            return;
        }
        self.heard = Some(now);
        let counters = self.path.counters();
        let Some(rtt) = counters.rtt.filter(|_| counters.datagrams_received > received) else { return };
        match self.step.purpose {
            Purpose::Idle => self.idle.record(rtt),
            Purpose::Rise => {}
            Purpose::Hold if self.step.from > now => {}
            Purpose::Hold => self.loaded.record(rtt),
        }
    }

    /// Returns the next datagram to send now.
    pub(super) fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.path.handle_timeout(now);
        self.go_on(now);
        if self.outcome.is_some() {
            return None;
        }
        if self.step.purpose == Purpose::Idle {
            // After its time only answers are waited for.
            if self.next > now || self.step.until <= now {
                return None;
            }
            self.next = now + IDLE_INTERVAL;
            self.idle_sent += 1;
            return Some(self.datagram(ENVELOPE_BYTES, now));
        }
        if self.next <= now {
            self.next = (self.next + INTERVAL).max(now);
            self.frame(now);
        }
        let Made(bytes) = self.pacer.poll(now)?;
        Some(self.datagram(bytes, now))
    }

    /// Returns the time to poll for datagrams next.
    pub(super) fn poll_timeout(&self) -> Timestamp {
        let end = match self.step.purpose {
            Purpose::Idle => self.step.until + ANSWER_MAX,
            Purpose::Rise | Purpose::Hold => self.step.until,
        };
        let next = Some(self.next).filter(|_| self.step.purpose != Purpose::Idle || self.next < self.step.until);
        [next, self.pacer.next_at(), self.path.poll_timeout()].into_iter().flatten().fold(end, Timestamp::min)
    }

    /// Makes the next frame of what the path has for it.
    fn frame(&mut self, now: Timestamp) {
        let wire_bytes = (self.path.budget(STREAM).as_bps() as f64 * INTERVAL.as_secs_f64() / 8.0) as usize;
        let count = wire_bytes.div_ceil(on_wire(self.bytes_max)).max(1);
        let bytes = (wire_bytes / count).saturating_sub(on_wire(0)).clamp(ENVELOPE_BYTES, self.bytes_max);
        let wire_bits = 8.0 * (count * on_wire(bytes)) as f64;
        let span = Duration::from_secs_f64(wire_bits / self.path.pace().as_bps().max(1) as f64);
        self.pacer.start((0..count).map(|_| Made(bytes)).collect(), now, span.min(pacing_span(INTERVAL)));
        if now >= self.step.from {
            let (sum, number, least) = self.step.targets;
            let target = self.path.target().as_bps() as f64;
            self.step.targets = (sum + target, number + 1, least.min(target));
            let counters = self.path.counters();
            self.step.before.get_or_insert((counters.datagrams_lost, counters.datagrams_received));
        }
    }

    fn datagram(&mut self, bytes: usize, now: Timestamp) -> Vec<u8> {
        let sequence = self.path.send(STREAM, bytes, now);
        let mut out = Vec::with_capacity(bytes);
        Envelope { stream: STREAM, sequence, capture: now, sent_offset_us: 0 }.write(0, &mut out);
        out.resize(bytes, 0);
        out
    }

    /// Ends a step whose time is over.
    fn go_on(&mut self, now: Timestamp) {
        if now < self.step.until || self.outcome.is_some() {
            return;
        }
        let counters = self.path.counters();
        let (lost, received) = (counters.datagrams_lost, counters.datagrams_received);
        match self.step.purpose {
            // Answers to the last datagrams are under way.
            Purpose::Idle if now < self.step.until + ANSWER_MAX && lost + received < self.idle_sent => {}
            Purpose::Idle if received == 0 => self.outcome = Some(Err(Silent)),
            Purpose::Idle => {
                self.loss = (1.0 - received as f64 / self.idle_sent.max(1) as f64).max(0.0);
                self.path.begin(STREAM, Share { rank: RANK, needs: None, interval: INTERVAL }, now);
                self.next = now;
                self.heard = Some(now);
                self.rise_until = now + RISE_MAX;
                self.set(Purpose::Rise, CAP_FIRST, LOOK, now);
            }
            _ if self.heard.is_none_or(|heard| now.since(heard) > REPORT_MAX) => self.outcome = Some(Err(Silent)),
            Purpose::Rise => {
                let (sum, number, _) = self.step.targets;
                let (cap, found) = (self.step.cap, Bitrate::from_bps((sum / f64::from(number.max(1))) as u64));
                let rises = found.as_bps() * 100 > self.found.as_bps() * RISES_PERCENT;
                self.found = self.found.max(found);
                if cap < CAP_LAST && found.as_bps() * 100 >= cap.as_bps() * FOLLOWS_PERCENT {
                    self.set(Purpose::Rise, Bitrate::from_bps(2 * cap.as_bps()).min(CAP_LAST), LOOK, now);
                    self.still = 0;
                } else if now < self.rise_until && (rises || self.still < STILL) {
                    self.still = if rises { 0 } else { self.still + 1 };
                    self.set(Purpose::Rise, cap, LOOK, now);
                } else {
                    self.set(Purpose::Hold, nine_tenths(self.found), HOLD, now);
                }
            }
            Purpose::Hold => {
                // A program that stood still for all of it has measured nothing.
                let Some((lost_before, received_before)) = self.step.before else {
                    return self.set(Purpose::Hold, self.step.cap, HOLD, now);
                };
                // Both are the other side's word, and what was overtaken is lost no more.
                let (lost, received) =
                    (lost.saturating_sub(lost_before) as f64, received.saturating_sub(received_before) as f64);
                let loss = lost / (lost + received).max(1.0);
                self.holds += 1;
                let beyond = loss - self.loss - self.loss_error();
                let is_held =
                    self.step.targets.2 >= HELD * self.step.cap.as_bps() as f64 && received > 0.0 && beyond <= LOSS_MAX;
                let came = Bitrate::from_bps((self.step.cap.as_bps() as f64 * (1.0 - beyond.clamp(0.0, 1.0))) as u64);
                if is_held || self.holds >= HOLDS {
                    // What hardly arrives carries nothing.
                    let carried = if is_held { self.step.cap } else { nine_tenths(came) };
                    let usable = if received > lost { carried } else { Bitrate::from_bps(0) };
                    self.outcome = Some(Ok(self.measured(usable, loss)));
                } else {
                    self.loaded = TimeHistogram::new();
                    self.set(Purpose::Hold, nine_tenths(came), HOLD, now);
                }
            }
        }
    }

    /// Begins to stream with another cap; counts begin once the target has settled.
    fn set(&mut self, purpose: Purpose, cap: Bitrate, span: Duration, now: Timestamp) {
        let from = now + SETTLE + 2 * self.path.counters().rtt.unwrap_or_default();
        self.path.set_rate_max(cap);
        let targets = (0.0, 0, f64::INFINITY);
        self.step = Step { purpose, cap, from, until: from + span, before: None, targets };
    }

    /// Returns by how much chance alone may have made the loss without load too small: three standard deviations.
    fn loss_error(&self) -> f64 {
        let count = self.idle_sent.max(1) as f64;
        let share = self.loss.max(1.0 / count);
        3.0 * (share * (1.0 - share) / count).sqrt()
    }

    fn measured(&self, usable: Bitrate, loss_loaded: f64) -> Measured {
        Measured {
            rtt: self.idle.percentiles(),
            rtt_loaded: self.loaded.percentiles(),
            loss: self.loss,
            loss_loaded,
            usable,
            at_least: usable >= nine_tenths(CAP_LAST),
        }
    }
}

fn nine_tenths(rate: Bitrate) -> Bitrate {
    Bitrate::from_bps(rate.as_bps() / 10 * 9)
}
