//! The other way: the side that answered measures, and the tester answers.

use std::time::Duration;

use super::{Answerer, Measured};
use crate::units::Timestamp;
use crate::wire::probe::{OtherWay, TestDatagram};

/// From one request that the other side take its turn to the next.
const ASK_INTERVAL: Duration = Duration::from_millis(100);
/// A side that has not begun by then does not know of turns.
const BEGIN_MAX: Duration = Duration::from_millis(1500);
/// A side that has begun and is silent for so long has gone: a train whose fate it asks for takes less.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// Longest turn.
const TURN_MAX: Duration = Duration::from_secs(35);

/// Asks the other side to take its turn, and answers it.
#[derive(Debug)]
pub struct Turning {
    answerer: Answerer,
    has_begun: bool,
    ask_at: Timestamp,
    until: Timestamp,
    end: Timestamp,
    outcome: Option<Option<OtherWay>>,
}

impl Turning {
    /// Begins to ask `now`.
    pub fn new(now: Timestamp) -> Self {
        let (answerer, has_begun, outcome) = (Answerer::default(), false, None);
        Self { answerer, has_begun, ask_at: now, until: now + BEGIN_MAX, end: now + TURN_MAX, outcome }
    }

    /// Returns what the other side has found, once it is clear; none within: it does not take turns, or has gone.
    pub fn outcome(&self) -> Option<Option<OtherWay>> {
        self.outcome
    }

    /// Takes a datagram that came at `now` and gives the answer, if it has one.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> Option<Vec<u8>> {
        match TestDatagram::from_bytes(datagram)? {
            TestDatagram::Found(found) => self.outcome = Some(Some(found)),
            TestDatagram::Ping { .. } | TestDatagram::Load { .. } | TestDatagram::Ask { .. } => {
                self.has_begun = true;
                self.until = (now + SILENCE_MAX).min(self.end);
            }
            // Late answers to this side's own test.
            TestDatagram::Pong { .. } | TestDatagram::Tell { .. } | TestDatagram::Turn => {}
        }
        self.answerer.on_datagram(datagram, now)
    }

    /// Returns the next datagram to send now.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if self.until <= now {
            self.outcome.get_or_insert(None);
        }
        if self.outcome.is_some() || self.has_begun || now < self.ask_at {
            return None;
        }
        self.ask_at = now + ASK_INTERVAL;
        Some(TestDatagram::Turn.to_bytes(0))
    }

    /// Returns the time to poll for datagrams next.
    pub fn poll_timeout(&self) -> Timestamp {
        if self.has_begun { self.until } else { self.until.min(self.ask_at) }
    }
}

/// Returns the datagram that tells the tester what this side has found in its turn.
pub fn told(measured: &Measured) -> Vec<u8> {
    let Measured { rtt_loaded, loss_loaded, usable, at_least, .. } = *measured;
    let lost_ppm = (loss_loaded * 1e6) as u32;
    let found = OtherWay { usable, at_least, loaded_p50_us: rtt_loaded.p50, loaded_p95_us: rtt_loaded.p95, lost_ppm };
    TestDatagram::Found(found).to_bytes(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    #[test]
    fn a_side_that_takes_no_turns_is_asked_for_a_while() {
        let mut turning = Turning::new(at(0));
        let asked = (0..3_000).filter(|ms| turning.poll_datagram(at(*ms)).is_some()).count();
        assert_eq!((asked, turning.outcome()), (15, Some(None)));
    }

    #[test]
    fn a_side_that_has_begun_is_answered_and_waited_for_until_it_is_silent() {
        let mut turning = Turning::new(at(0));
        assert_eq!(turning.poll_datagram(at(0)), Some(TestDatagram::Turn.to_bytes(0)));
        assert_eq!(turning.poll_timeout(), at(100));
        let ping = TestDatagram::Ping { number: 1, sent: at(7) };
        let answer =
            turning.on_datagram(&ping.to_bytes(0), at(50)).and_then(|answer| TestDatagram::from_bytes(&answer));
        assert_eq!(answer, Some(TestDatagram::Pong { number: 1, sent: at(7), received: at(50) }));
        assert_eq!((turning.poll_datagram(at(6_049)), turning.outcome()), (None, None));
        assert_eq!((turning.poll_datagram(at(6_050)), turning.outcome()), (None, Some(None)));
        // However long it goes on.
        let mut endless = Turning::new(at(0));
        let pinged = (0..100_000).find(|ms| {
            endless.on_datagram(&ping.to_bytes(0), at(*ms));
            endless.poll_datagram(at(*ms));
            endless.outcome().is_some()
        });
        assert_eq!(pinged, Some(35_000));
    }
}
