//! The way of pictures to the other machine and back, as a latency test measures it.
//!
//! The one that tests sends its pictures; the other shows each, codes what it has shown and sends that back, and tells the times
//! of the first half. Durations on one machine need no agreement of clocks, nor does the whole there and back; only how the
//! time on the line divides among its two directions rests on both clocks.

use std::collections::VecDeque;
use std::time::Duration;

use crate::percentiles::{Percentiles, TimeHistogram};
use crate::units::Timestamp;

/// Number of the stream, without datagrams, that tells of pictures which go back.
pub const BOUNCED: u8 = 2;

/// Halves of ways that wait for the other half. A picture that is lost on the way back has one half only.
const WAITING_MAX: usize = 64;

/// Stages of the way there and back, in their order.
pub const STAGES: [&str; 10] = [
    "camera and computer here",
    "line there",
    "wait for missing parts there",
    "decoder there",
    "display there",
    "computer there, on the way back",
    "line back",
    "wait for missing parts here",
    "decoder here",
    "display here",
];
/// Number of the first stages that are the way there.
pub const STAGES_THERE: usize = 5;
const LINE_THERE: usize = 1;
const LINE_BACK: usize = 6;

/// A picture's way from one machine to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// Taken, clock of the machine that sends. On the way back that is when the other machine showed it, by which the
    /// halves of a way find each other.
    pub capture: Timestamp,
    /// Last datagram at the sender's socket, the same clock.
    pub sent: Timestamp,
    /// Last datagram received, the receiving machine's clock, as all that follows.
    pub received: Timestamp,
    /// Released to the decoder.
    pub released: Timestamp,
    /// Picture ready.
    pub decoded: Timestamp,
    /// On the display.
    pub shown: Timestamp,
}

/// The way back, and what is known of the other machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The picture's way.
    pub way: OneWay,
    /// The other machine's clock minus own, microseconds.
    pub clock_offset_us: i64,
    /// Bound of that difference's error, microseconds.
    pub clock_error_us: u64,
}

/// Joins the halves of ways and adds them up.
#[derive(Debug, Default)]
pub struct Trips {
    bounces: VecDeque<OneWay>,
    returns: VecDeque<Return>,
    /// Pictures taken earlier do not count.
    from: Timestamp,
    pictures: u32,
    sums_us: [i64; STAGES.len()],
    one_way: TimeHistogram,
    round_trip: TimeHistogram,
    error_us: u64,
}

/// The findings of a latency test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Pictures that came back.
    pub pictures: u32,
    /// Means of the [`STAGES`], microseconds. Those of the lines rest on both clocks and may be negative if these disagree.
    pub stages_us: [f64; STAGES.len()],
    /// From capture here to the display there, microseconds, by both clocks.
    pub one_way_us: Percentiles,
    /// From capture here to the display here, by this clock alone.
    pub round_trip_us: Percentiles,
    /// Bound of the error of what rests on both clocks.
    pub clock_error_us: u64,
}

impl Latency {
    /// Returns the mean from capture here to the display there, microseconds, by both clocks.
    pub fn one_way_mean_us(&self) -> f64 {
        self.stages_us[..STAGES_THERE].iter().sum()
    }

    /// Returns the mean from capture here to the display here, microseconds: the clocks' difference is in both lines, with
    /// opposite signs.
    pub fn round_trip_mean_us(&self) -> f64 {
        self.stages_us.iter().sum()
    }

    /// Returns the mean one way without the other's clock, microseconds: both lines together halved, and the durations on
    /// each machine.
    pub fn halved_us(&self) -> f64 {
        self.one_way_mean_us() + (self.stages_us[LINE_BACK] - self.stages_us[LINE_THERE]) / 2.0
    }

    /// Returns true if the one way by both clocks and that without the other's differ by more than the clocks' error explains.
    pub fn is_clock_suspect(&self) -> bool {
        (self.one_way_mean_us() - self.halved_us()).abs() > self.clock_error_us as f64
    }
}

impl Trips {
    /// Leaves out pictures that were taken before `from`, and forgets all that was added up.
    pub fn begin(&mut self, from: Timestamp) {
        *self = Self { from, ..Self::default() };
    }

    /// Returns the pictures that came back and count.
    pub fn pictures(&self) -> u32 {
        self.pictures
    }

    /// Takes what the other machine tells of a picture that it has shown. Impossible times are ignored.
    pub fn on_bounce(&mut self, bounce: OneWay) {
        let OneWay { capture, sent, received, released, decoded, shown } = bounce;
        if sent < capture || released < received || decoded < released || shown < decoded {
            return;
        }
        match self.returns.iter().position(|back| back.way.capture == shown) {
            Some(at) => {
                if let Some(back) = self.returns.remove(at) {
                    self.join(&bounce, &back);
                }
            }
            None => wait(&mut self.bounces, bounce),
        }
    }

    /// Takes a picture that came back and was shown.
    pub fn on_return(&mut self, back: Return) {
        match self.bounces.iter().position(|bounce| bounce.shown == back.way.capture) {
            Some(at) => {
                if let Some(bounce) = self.bounces.remove(at) {
                    self.join(&bounce, &back);
                }
            }
            None => wait(&mut self.returns, back),
        }
    }

    fn join(&mut self, there: &OneWay, back: &Return) {
        if there.capture < self.from {
            return;
        }
        let between =
            |from: Timestamp, to: Timestamp| to.as_us().cast_signed().wrapping_sub(from.as_us().cast_signed());
        let (offset, back, error_us) = (back.clock_offset_us, &back.way, back.clock_error_us);
        let stages = [
            between(there.capture, there.sent),
            between(there.sent, there.received).wrapping_sub(offset),
            between(there.received, there.released),
            between(there.released, there.decoded),
            between(there.decoded, there.shown),
            between(back.capture, back.sent),
            between(back.sent, back.received).wrapping_add(offset),
            between(back.received, back.released),
            between(back.released, back.decoded),
            between(back.decoded, back.shown),
        ];
        let round_trip = between(there.capture, back.shown);
        let one_way = between(there.capture, there.shown).wrapping_sub(offset);
        self.pictures = self.pictures.saturating_add(1);
        for (sum, stage) in self.sums_us.iter_mut().zip(stages) {
            *sum = sum.saturating_add(stage);
        }
        let time = |us: i64| Duration::from_micros(u64::try_from(us).unwrap_or(0));
        self.one_way.record(time(one_way));
        self.round_trip.record(time(round_trip));
        self.error_us = self.error_us.max(error_us);
    }

    /// Returns what was found; none without a picture.
    pub fn latency(&self) -> Option<Latency> {
        if self.pictures == 0 {
            return None;
        }
        let mean = |sum: i64| sum as f64 / f64::from(self.pictures);
        Some(Latency {
            pictures: self.pictures,
            stages_us: self.sums_us.map(mean),
            one_way_us: self.one_way.percentiles(),
            round_trip_us: self.round_trip.percentiles(),
            clock_error_us: self.error_us,
        })
    }
}

fn wait<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= WAITING_MAX {
        queue.pop_front();
    }
    queue.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other machine's clock is so much ahead.
    const AHEAD_US: i64 = 5_000_000;

    /// A picture taken at `at` microseconds whose stages take 1, 2 and so on to 10 ms. `wrong_us`: error of the offset.
    fn trip(at: u64, wrong_us: i64) -> (OneWay, Return) {
        let mut now = at;
        let mut after = |ms: u64, ahead: i64| {
            now += 1_000 * ms;
            Timestamp::from_us(now.checked_add_signed(ahead).unwrap())
        };
        let capture = after(0, 0);
        let sent = after(1, 0);
        let [received, released, decoded, shown] = [2, 3, 4, 5].map(|ms| after(ms, AHEAD_US));
        let there = OneWay { capture, sent, received, released, decoded, shown };
        let (capture, sent) = (shown, after(6, AHEAD_US));
        let [received, released, decoded, shown] = [7, 8, 9, 10].map(|ms| after(ms, 0));
        let way = OneWay { capture, sent, received, released, decoded, shown };
        (there, Return { way, clock_offset_us: AHEAD_US + wrong_us, clock_error_us: 3_000 })
    }

    #[test]
    fn the_stages_are_the_whole_whichever_half_comes_first() {
        let mut trips = Trips::default();
        assert_eq!(trips.latency(), None);
        for number in 0..10 {
            let (bounce, back) = trip(40_000 * number, 0);
            if number % 2 == 0 {
                trips.on_bounce(bounce);
                trips.on_return(back);
            } else {
                trips.on_return(back);
                trips.on_bounce(bounce);
            }
        }
        let latency = trips.latency().unwrap();
        assert_eq!(latency.pictures, 10);
        assert_eq!(latency.stages_us, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|ms| 1e3 * f64::from(ms)));
        assert_eq!((latency.one_way_mean_us(), latency.round_trip_mean_us()), (15e3, 55e3));
        // Taken from the first and the last time, whatever lies between.
        assert_eq!((latency.one_way_us.sum, latency.round_trip_us.sum), (150_000, 550_000));
        // The lines take 2 and 7 ms: half of both is 4.5.
        assert_eq!((latency.halved_us(), latency.clock_error_us), (17.5e3, 3_000));
        assert!(!latency.is_clock_suspect());
    }

    #[test]
    fn a_wrong_clock_changes_the_one_way_and_not_the_round_trip_and_is_told() {
        for (wrong_us, is_suspect) in [(0, false), (400, false), (-6_000, true), (1_000, true), (40_000, true)] {
            let mut trips = Trips::default();
            let (bounce, back) = trip(0, wrong_us);
            trips.on_bounce(bounce);
            trips.on_return(back);
            let latency = trips.latency().unwrap();
            assert_eq!(latency.one_way_mean_us(), 15e3 - wrong_us as f64);
            assert_eq!(
                latency.one_way_us.sum,
                u64::try_from(15_000 - wrong_us).unwrap_or(0),
                "what is negative counts as none"
            );
            assert_eq!((latency.round_trip_mean_us(), latency.halved_us()), (55e3, 17.5e3));
            assert_eq!(latency.is_clock_suspect(), is_suspect, "{wrong_us}: {latency:?}");
            assert_eq!(latency.round_trip_us.sum, 55_000, "whatever the clock says");
        }
    }

    #[test]
    fn pictures_from_before_the_begin_and_lost_halves_do_not_count() {
        let mut trips = Trips::default();
        trips.begin(Timestamp::from_us(50_000));
        for number in 0..1_000 {
            let (bounce, back) = trip(40_000 * number, 0);
            trips.on_bounce(bounce);
            if number == 1 || number == 999 {
                trips.on_return(back);
            }
        }
        assert_eq!(trips.pictures(), 1, "the last one");
        assert_eq!((trips.bounces.len(), trips.returns.len()), (WAITING_MAX - 1, 0), "the last one has been joined");
        let (bounce, back) = trip(60_000_000, 0);
        trips.on_return(back);
        trips.on_bounce(OneWay { decoded: Timestamp::from_us(0), ..bounce });
        assert_eq!(trips.pictures(), 1, "impossible times");
    }
}
