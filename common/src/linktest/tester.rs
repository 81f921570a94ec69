//! The end of a link test that measures.

use std::time::Duration;

use super::pings::Pings;
use super::search::{RATE_MAX, Search};
use crate::percentiles::{Percentiles, TimeHistogram};
use crate::units::{Bitrate, Timestamp};
use crate::wire::on_wire;
use crate::wire::probe::{Arrived, TestDatagram};

/// Pings before there is any load.
const IDLE: Duration = Duration::from_secs(2);
/// Datagrams of a burst: a frame's worth.
const BURST: u32 = 48;
const BURSTS: usize = 3;
/// Length of a train at one rate; long enough that a queue shows.
const STEP: Duration = Duration::from_millis(400);
const HOLD: Duration = Duration::from_secs(2);
/// Rates held at most, each at nine tenths of the one before.
const HOLDS: u32 = 3;
/// Pause before what came of a train is asked for, so that a queue can empty.
const SETTLE: Duration = Duration::from_millis(250);
const ASK_INTERVAL: Duration = Duration::from_millis(100);
/// A train of which nothing is told for so long means that the other side has gone.
const TELL_MAX: Duration = Duration::from_secs(5);
/// A rate passes if its queue is at most this much longer than the pings' own variation,
const QUEUE_MAX: Duration = Duration::from_millis(25);
/// if at most this much more is lost than without load,
const LOSS_MAX: f64 = 0.03;
/// and at least this much of it arrives in the time.
const ARRIVED_MIN: f64 = 0.9;
/// Largest datagram sent, bytes; about what video has.
const LOAD_BYTES_MAX: usize = 1_150;

/// The findings of a link test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Round trip without load, microseconds.
    pub rtt: Percentiles,
    /// Round trip at the usable rate, microseconds.
    pub rtt_loaded: Percentiles,
    /// Share of the pings that had no answer without load, 0 to 1; both ways together.
    pub loss: f64,
    /// Share of the datagrams that did not arrive at the usable rate, 0 to 1; one way.
    pub loss_loaded: f64,
    /// Rate that the link carried for two seconds without queueing, with all that is around the datagrams; zero: none.
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
enum TestStage {
    Idle { until: Timestamp },
    Sending(Load),
    Asking { load: Load, next: Timestamp, until: Timestamp },
    Over,
}

/// A train under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    purpose: LoadPurpose,
    began: Timestamp,
    sent: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadPurpose {
    Burst,
    Step(Bitrate),
    Hold(Bitrate),
}

/// Measures a link; drain [`Self::poll_datagram`] whenever something has come or [`Self::poll_timeout`] has passed.
#[derive(Debug)]
pub struct Tester {
    bytes: usize,
    stage: TestStage,
    train: u16,
    bursts: Vec<f64>,
    search: Search,
    holds: u32,
    shortest_way_us: Option<i64>,
    pings: Pings,
    outcome: Option<Result<Measured, Silent>>,
}

impl Tester {
    /// Begins to measure a link whose datagrams hold at most `max_datagram` bytes.
    pub fn new(max_datagram: usize, now: Timestamp) -> Self {
        Self {
            bytes: max_datagram.min(LOAD_BYTES_MAX),
            stage: TestStage::Idle { until: now + IDLE },
            train: 0,
            bursts: Vec::new(),
            search: Search::new(Bitrate::from_bps(0)),
            holds: 0,
            shortest_way_us: None,
            pings: Pings::new(now),
            outcome: None,
        }
    }

    /// Returns the result, once there is one.
    pub fn outcome(&self) -> Option<Result<Measured, Silent>> {
        self.outcome
    }

    /// Takes a datagram; any other than an answer changes nothing.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) {
        match TestDatagram::from_bytes(datagram) {
            Some(TestDatagram::Pong { number, sent, .. }) => {
                let loaded = matches!(self.stage, TestStage::Sending(Load { purpose: LoadPurpose::Hold(_), .. }));
                self.pings.on_pong(number, sent, now, loaded);
            }
            Some(TestDatagram::Tell { train, arrived }) if train == self.train => {
                if let TestStage::Asking { load, .. } = self.stage {
                    self.on_arrived(load, arrived, now);
                }
            }
            _ => {}
        }
    }

    /// Returns the next datagram to send now.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        loop {
            match self.stage {
                TestStage::Idle { until } if until <= now => {
                    if self.pings.answered == 0 {
                        self.end(Err(Silent));
                    } else {
                        self.begin(LoadPurpose::Burst, now);
                    }
                }
                TestStage::Idle { .. } => return self.pings.poll(now, false),
                TestStage::Sending(load) if self.is_sent(&load, now) => {
                    self.stage = TestStage::Asking { load, next: now + SETTLE, until: now + SETTLE + TELL_MAX };
                }
                TestStage::Sending(load) => {
                    let is_hold = matches!(load.purpose, LoadPurpose::Hold(_));
                    if is_hold && let Some(ping) = self.pings.poll(now, true) {
                        return Some(ping);
                    }
                    if self.due(&load) > now {
                        return None;
                    }
                    self.stage = TestStage::Sending(Load { sent: load.sent + 1, ..load });
                    return Some(TestDatagram::Load { train: self.train, sent: now }.to_bytes(self.bytes));
                }
                TestStage::Asking { until, .. } if until <= now => self.end(Err(Silent)),
                TestStage::Asking { next, .. } if next > now => return None,
                TestStage::Asking { load, until, .. } => {
                    self.stage = TestStage::Asking { load, next: now + ASK_INTERVAL, until };
                    return Some(TestDatagram::Ask { train: self.train }.to_bytes(0));
                }
                TestStage::Over => return None,
            }
        }
    }

    /// Returns the time to poll for datagrams next; none once there is an outcome.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match self.stage {
            TestStage::Idle { until } => Some(until.min(self.pings.next)),
            TestStage::Sending(load) => Some(self.due(&load)),
            TestStage::Asking { next, until, .. } => Some(next.min(until)),
            TestStage::Over => None,
        }
    }

    fn begin(&mut self, purpose: LoadPurpose, now: Timestamp) {
        self.train = self.train.wrapping_add(1);
        self.pings.next = now;
        self.stage = TestStage::Sending(Load { purpose, began: now, sent: 0 });
    }

    /// Returns the time at which the next datagram of a train leaves.
    fn due(&self, load: &Load) -> Timestamp {
        match load.purpose {
            LoadPurpose::Burst => load.began,
            LoadPurpose::Step(rate) | LoadPurpose::Hold(rate) => {
                let us =
                    u128::from(load.sent) * self.wire_bits() as u128 * 1_000_000 / u128::from(rate.as_bps().max(1));
                load.began + Duration::from_micros(us as u64)
            }
        }
    }

    fn is_sent(&self, load: &Load, now: Timestamp) -> bool {
        match load.purpose {
            LoadPurpose::Burst => load.sent >= BURST,
            LoadPurpose::Step(_) => now >= load.began + STEP,
            LoadPurpose::Hold(_) => now >= load.began + HOLD,
        }
    }

    const fn wire_bits(&self) -> usize {
        8 * on_wire(self.bytes)
    }

    /// Returns the bits a second at which a train arrived.
    fn speed(&self, arrived: &Arrived) -> f64 {
        let seconds = arrived.last.since(arrived.first).as_secs_f64().max(1e-6);
        f64::from(arrived.datagrams.saturating_sub(1)) * self.wire_bits() as f64 / seconds
    }

    fn on_arrived(&mut self, load: Load, arrived: Arrived, now: Timestamp) {
        if arrived.datagrams > 0 {
            let way = arrived.way_min_us;
            self.shortest_way_us = Some(self.shortest_way_us.map_or(way, |shortest| shortest.min(way)));
        }
        let next = match load.purpose {
            LoadPurpose::Burst => {
                self.bursts.push(self.speed(&arrived));
                if self.bursts.len() < BURSTS {
                    Some(LoadPurpose::Burst)
                } else {
                    self.bursts.sort_unstable_by(f64::total_cmp);
                    // A quarter: a burst may have found the link idle that others use.
                    self.search = Search::new(Bitrate::from_bps((self.bursts[BURSTS / 2] / 4.0) as u64));
                    self.search.rate().map(LoadPurpose::Step)
                }
            }
            LoadPurpose::Step(rate) => {
                self.search.on_result(self.passes(&load, rate, &arrived));
                match self.search.rate() {
                    Some(rate) => Some(LoadPurpose::Step(rate)),
                    None => Some(LoadPurpose::Hold(tenths(self.search.best(), 9)))
                        .filter(|_| self.search.best().as_bps() > 0),
                }
            }
            LoadPurpose::Hold(rate) => {
                self.holds += 1;
                if self.passes(&load, rate, &arrived) || self.holds >= HOLDS {
                    // What was held is known; what was found in the steps lasted only as long as they did.
                    return self.end(Ok(self.measured(rate, lost(&load, &arrived))));
                }
                self.pings.loaded = TimeHistogram::new();
                Some(LoadPurpose::Hold(tenths(rate, 9)))
            }
        };
        match next {
            Some(purpose) => self.begin(purpose, now),
            None => self.end(Ok(self.measured(Bitrate::from_bps(0), lost(&load, &arrived)))),
        }
    }

    /// Returns true if a train at `rate` came through without a queue, without much loss and in time.
    fn passes(&self, load: &Load, rate: Bitrate, arrived: &Arrived) -> bool {
        let idle = self.pings.idle.percentiles();
        let variation = Duration::from_micros(idle.p95.saturating_sub(idle.p50));
        let queue_us = arrived.way_p95_us.saturating_sub(self.shortest_way_us.unwrap_or(arrived.way_min_us));
        let queue = Duration::from_micros(u64::try_from(queue_us).unwrap_or(0));
        // Of a short train a single datagram is a large share.
        let lost_beyond = lost(load, arrived) - self.pings.loss() - 1.0 / f64::from(load.sent.max(1));
        arrived.datagrams > 1
            && queue <= QUEUE_MAX + variation
            && lost_beyond <= LOSS_MAX
            && self.speed(arrived) >= ARRIVED_MIN * rate.as_bps() as f64 * (1.0 - self.pings.loss())
    }

    fn measured(&self, usable: Bitrate, loss_loaded: f64) -> Measured {
        Measured {
            rtt: self.pings.idle.percentiles(),
            rtt_loaded: self.pings.loaded.percentiles(),
            loss: self.pings.loss(),
            loss_loaded,
            usable,
            at_least: usable >= tenths(RATE_MAX, 9),
        }
    }

    fn end(&mut self, outcome: Result<Measured, Silent>) {
        self.outcome = Some(outcome);
        self.stage = TestStage::Over;
    }
}

/// Returns the share of a train that did not arrive.
fn lost(load: &Load, arrived: &Arrived) -> f64 {
    1.0 - f64::from(arrived.datagrams.min(load.sent)) / f64::from(load.sent.max(1))
}

fn tenths(rate: Bitrate, tenths: u64) -> Bitrate {
    Bitrate::from_bps(rate.as_bps() / 10 * tenths)
}
