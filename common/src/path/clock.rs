//! Offset of the peer's clock from ours, from pings (as in NTP, RFC 5905 section 8).

use std::collections::VecDeque;

use crate::units::Timestamp;

/// Answers that count: with two pings a second 8 s, in which two clocks drift apart by less than 1 ms.
const WINDOW: usize = 16;
/// Drift of one clock from another at most, parts in a million: two crystals that nobody corrects.
const DRIFT_PPM: u64 = 100;

/// Error of an offset beyond which latencies that rest on it are doubtful, microseconds.
pub const SUSPECT_US: u64 = 2_000;

/// Offset and round trip from the last 16 pings; the one with the shortest round trip counts, since its
/// two ways were the least unequal.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    rtt_us: u64,
    offset_us: i64,
    /// Time at which the answer came.
    at: Timestamp,
}

impl ClockOffset {
    /// Takes the answer, which came at `now`, to a ping that left at `ping_sent` (own clock); the peer got it at
    /// `received` and answered at `sent` (peer's clock). Impossible times are ignored.
    pub fn on_pong(&mut self, ping_sent: Timestamp, received: Timestamp, sent: Timestamp, now: Timestamp) {
        let [t0, t1, t2, t3] = [ping_sent, received, sent, now].map(|time| i128::from(time.as_us()));
        let rtt_us = (t3 - t0) - (t2 - t1);
        let offset_us = ((t1 - t0) + (t2 - t3)) / 2;
        if let (true, Ok(rtt_us), Ok(offset_us)) = (t2 >= t1, rtt_us.try_into(), offset_us.try_into()) {
            self.samples.truncate(WINDOW - 1);
            self.samples.push_front(Sample { rtt_us, offset_us, at: now });
        }
    }

    /// Returns the peer's clock minus own, microseconds; none before the first answer.
    pub fn offset_us(&self) -> Option<i64> {
        self.best().map(|sample| sample.offset_us)
    }

    /// Returns the bound of the offset's error at `now`, microseconds; none before the first answer. It is half of the round
    /// trip, since nobody can tell how that divides among the two ways (RFC 5905 section 11.3), and what the clocks may have
    /// drifted since.
    pub fn error_us(&self, now: Timestamp) -> Option<u64> {
        self.best().map(|sample| {
            let drift = u128::from(DRIFT_PPM) * now.since(sample.at).as_micros() / 1_000_000;
            sample.rtt_us.div_ceil(2).saturating_add(drift.try_into().unwrap_or(u64::MAX))
        })
    }

    /// Returns the answer with the shortest round trip.
    fn best(&self) -> Option<&Sample> {
        self.samples.iter().min_by_key(|sample| sample.rtt_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers a ping at `at` over ways of `there` and `back` to a peer whose clock is 1 s ahead and that takes 50 us.
    fn ping(clock: &mut ClockOffset, at: u64, there: u64, back: u64) {
        let received = at + there + 1_000_000;
        let [sent, received, answered, now] =
            [at, received, received + 50, at + there + 50 + back].map(Timestamp::from_us);
        clock.on_pong(sent, received, answered, now);
    }

    fn rtt_us(clock: &ClockOffset) -> Option<u64> {
        clock.best().map(|sample| sample.rtt_us)
    }

    #[test]
    fn the_shortest_round_trip_decides() {
        let mut clock = ClockOffset::default();
        assert_eq!((clock.offset_us(), rtt_us(&clock)), (None, None));
        ping(&mut clock, 0, 9_000, 3_000);
        assert_eq!(clock.offset_us(), Some(1_003_000));
        ping(&mut clock, 10_000, 2_000, 2_000);
        ping(&mut clock, 20_000, 2_000, 7_000);
        assert_eq!((clock.offset_us(), rtt_us(&clock)), (Some(1_000_000), Some(4_000)));
    }

    #[test]
    fn the_error_is_half_of_the_round_trip_and_grows_with_time() {
        let mut clock = ClockOffset::default();
        let at = Timestamp::from_us;
        assert_eq!(clock.error_us(at(0)), None);
        ping(&mut clock, 0, 5_000, 1_000);
        // The clock was wrong by 2 ms, and the bound holds that.
        assert_eq!((clock.offset_us(), clock.error_us(at(6_050))), (Some(1_002_000), Some(3_000)));
        ping(&mut clock, 10_000, 900, 901);
        assert_eq!(clock.error_us(at(11_851)), Some(901));
        assert!(clock.error_us(at(8_011_851)).is_some_and(|error| error == 1_701 && error < SUSPECT_US));
        assert_eq!(clock.error_us(at(20_011_851)), Some(2_901), "no answer for 20 s");
    }

    #[test]
    fn old_answers_are_forgotten() {
        let mut clock = ClockOffset::default();
        ping(&mut clock, 0, 1_000, 1_000);
        for at in 1..=WINDOW as u64 {
            ping(&mut clock, at * 100_000, 5_000, 5_000);
        }
        assert_eq!(rtt_us(&clock), Some(10_000));
    }

    #[test]
    fn impossible_times_change_nothing() {
        let mut clock = ClockOffset::default();
        let t = Timestamp::from_us;
        clock.on_pong(t(100), t(500), t(400), t(200));
        clock.on_pong(t(100), t(0), t(u64::MAX), t(200));
        clock.on_pong(t(200), t(7), t(7), t(100));
        assert_eq!(clock.offset_us(), None);
        clock.on_pong(t(0), t(u64::MAX), t(u64::MAX), t(0));
        assert_eq!(clock.offset_us(), None);
    }
}
