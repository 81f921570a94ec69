//! The end of a link test that answers.

use crate::units::Timestamp;
use crate::wire::probe::{Arrived, TestDatagram};

/// Ways of one train that are kept; more datagrams are counted only.
const WAYS_MAX: usize = 1 << 16;

/// Answers a tester's datagrams; holds what came of the last train.
#[derive(Clone, Debug, Default)]
pub struct Answerer {
    train: u16,
    arrived: Arrived,
    ways_us: Vec<i64>,
}

impl Answerer {
    /// Takes a datagram that came at `now` and gives the answer, if it has one. Anything else than a tester's datagram
    /// has none.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> Option<Vec<u8>> {
        let answer = match TestDatagram::from_bytes(datagram)? {
            TestDatagram::Ping { number, sent } => TestDatagram::Pong { number, sent, received: now },
            TestDatagram::Load { train, sent } => {
                self.on_load(train, sent, now);
                return None;
            }
            TestDatagram::Ask { train } => TestDatagram::Tell { train, arrived: self.arrived(train) },
            TestDatagram::Pong { .. } | TestDatagram::Tell { .. } | TestDatagram::Turn | TestDatagram::Found(_) => {
                return None;
            }
        };
        Some(answer.to_bytes(0))
    }

    fn on_load(&mut self, train: u16, sent: Timestamp, now: Timestamp) {
        if train != self.train || self.arrived.datagrams == 0 {
            (self.train, self.arrived) = (train, Arrived { first: now, ..Arrived::default() });
            self.ways_us.clear();
        }
        self.arrived.datagrams = self.arrived.datagrams.saturating_add(1);
        self.arrived.last = now;
        if self.ways_us.len() < WAYS_MAX {
            // Wraps for a hostile time only, and then gives that tester a wrong result.
            self.ways_us.push(now.as_us().wrapping_sub(sent.as_us()).cast_signed());
        }
    }

    /// Returns the counts of `train`: zero if another has come since.
    fn arrived(&mut self, train: u16) -> Arrived {
        if train != self.train || self.ways_us.is_empty() {
            return Arrived::default();
        }
        let at = (self.ways_us.len() * 95).div_ceil(100) - 1;
        let way_min_us = self.ways_us.iter().copied().min().unwrap_or_default();
        let (_, way_p95_us, _) = self.ways_us.select_nth_unstable(at);
        Arrived { way_min_us, way_p95_us: *way_p95_us, ..self.arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(answerer: &mut Answerer, train: u16) -> Arrived {
        let answer = answerer.on_datagram(&TestDatagram::Ask { train }.to_bytes(0), Timestamp::from_us(0)).unwrap();
        match TestDatagram::from_bytes(&answer) {
            Some(TestDatagram::Tell { train: told, arrived }) if told == train => arrived,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_train_is_counted_and_the_next_forgets_it() {
        let t = Timestamp::from_us;
        let mut answerer = Answerer::default();
        assert_eq!(tell(&mut answerer, 0), Arrived::default());
        for n in 0..100 {
            // The tester's clock is 5 s ahead; one way takes 1 ms, then 10 us more each time.
            let load = TestDatagram::Load { train: 3, sent: t(5_000_000 + 1_000 * n) }.to_bytes(500);
            assert_eq!(answerer.on_datagram(&load, t(2_000 + 1_010 * n)), None);
        }
        let arrived = tell(&mut answerer, 3);
        assert_eq!((arrived.datagrams, arrived.first, arrived.last), (100, t(2_000), t(2_000 + 1_010 * 99)));
        assert_eq!((arrived.way_min_us, arrived.way_p95_us), (-4_998_000, -4_998_000 + 940));
        answerer.on_datagram(&TestDatagram::Load { train: 4, sent: t(0) }.to_bytes(500), t(1));
        assert_eq!((tell(&mut answerer, 3).datagrams, tell(&mut answerer, 4).datagrams), (0, 1));
    }

    #[test]
    fn anything_else_has_no_answer() {
        let mut answerer = Answerer::default();
        for bytes in
            [&[][..], &[1; 12], &[0; 64], &TestDatagram::Tell { train: 0, arrived: Arrived::default() }.to_bytes(0)]
        {
            assert_eq!(answerer.on_datagram(bytes, Timestamp::from_us(1)), None);
        }
        let hostile = TestDatagram::Load { train: 0, sent: Timestamp::from_us(u64::MAX) }.to_bytes(0);
        for _ in 0..WAYS_MAX + 10 {
            answerer.on_datagram(&hostile, Timestamp::from_us(0));
        }
        assert_eq!(tell(&mut answerer, 0).datagrams as usize, WAYS_MAX + 10);
        assert_eq!(answerer.ways_us.len(), WAYS_MAX);
    }
}
