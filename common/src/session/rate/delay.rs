//! How long the datagrams wait in the network's queues, and whether the wait grows.
//!
//! The two clocks differ by a constant, so one-way delays are known up to a constant too; the shortest of the last
//! seconds is that of an empty queue, and what a datagram takes beyond it is its wait.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::sent::Arrival;

/// How long a shortest delay is remembered, at least; at most twice as long. Two clocks drift apart by less than 2 ms
/// in that time, and every queue that we alone have filled has been emptied several times.
const BASE_MEMORY_US: i64 = 10_000_000;
/// The same while someone else keeps the queue from emptying: it is seen empty in tests only.
const BASE_MEMORY_CROWDED_US: i64 = 120_000_000;
/// Samples kept at most, whatever times a peer reports: 50 ms of 200 Mbit/s.
const SAMPLES_MAX: usize = 1_024;
/// What the slope is taken over.
const SLOPE_WINDOW_US: i64 = 30_000;
/// Fewer or closer datagrams have no slope.
const SLOPE_DATAGRAMS: usize = 8;
const SLOPE_SPAN_US: i64 = 8_000;

/// Queueing delay of one connection.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    /// The shortest delays of this span of memory and of the one before.
    base_us: [Option<i64>; 2],
    base_since_us: i64,
    /// Arrival and wait of the last datagrams, by arrival.
    samples: VecDeque<(i64, i64)>,
    window_us: i64,
    memory_us: i64,
}

impl QueueDelay {
    /// For frames that come every `interval`: within one and a bit some datagram was the first of its frame, which
    /// waits for no other datagram of ours unless there is a standing queue.
    pub(super) fn new(interval: Duration) -> Self {
        let window_us = (interval.as_micros() as i64 * 5 / 4).max(SLOPE_WINDOW_US);
        Self { base_us: [None; 2], base_since_us: 0, samples: VecDeque::new(), window_us, memory_us: BASE_MEMORY_US }
    }

    /// Whether someone else keeps the queue full.
    pub(super) fn set_crowded(&mut self, is_crowded: bool) {
        self.memory_us = if is_crowded { BASE_MEMORY_CROWDED_US } else { BASE_MEMORY_US };
    }

    /// Takes an arrival and gives its wait.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival) -> i64 {
        let received = clamped(arrival.received.as_us());
        let delay = received - clamped(arrival.sent.as_us());
        if received.saturating_sub(self.base_since_us) > self.memory_us || received < self.base_since_us {
            self.base_us = [None, self.base_us[0]];
            self.base_since_us = received;
        }
        self.base_us[0] = Some(self.base_us[0].map_or(delay, |base| base.min(delay)));
        let base = self.base_us.into_iter().flatten().min().unwrap_or(delay);
        let wait = delay - base;
        self.samples.push_back((received, wait));
        let is_old = |first: &(i64, i64)| received - first.0 > self.window_us;
        while self.samples.len() > SAMPLES_MAX || self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
        wait
    }

    /// The queue that does not empty between frames, microseconds: the shortest wait of the last frame interval.
    pub(super) fn standing_us(&self) -> i64 {
        self.samples.iter().map(|sample| sample.1).min().unwrap_or(0)
    }

    /// The last datagram's wait, microseconds.
    pub(super) fn last_us(&self) -> i64 {
        self.samples.back().map_or(0, |sample| sample.1)
    }

    /// Microseconds of wait gained for each microsecond that passes: the least-squares slope over the last 30 ms, if
    /// there are enough datagrams. It lies between 0 and 1 when more is sent than the link takes (1 - link / sent), and
    /// below 0 after a stall, when the datagrams held up come all at once.
    pub(super) fn slope(&self) -> Option<f64> {
        let last = self.samples.back()?.0;
        let recent = || self.samples.iter().rev().take_while(|sample| last - sample.0 <= SLOPE_WINDOW_US);
        let count = recent().count();
        if count < SLOPE_DATAGRAMS || last - recent().last()?.0 < SLOPE_SPAN_US {
            return None;
        }
        let mean = |of: fn(&(i64, i64)) -> i64| recent().map(of).sum::<i64>() as f64 / count as f64;
        let (mean_at, mean_wait) = (mean(|sample| sample.0 % (1 << 40)), mean(|sample| sample.1));
        let mut products = (0.0, 0.0);
        for (at, wait) in recent() {
            let (at, wait) = ((at % (1 << 40)) as f64 - mean_at, *wait as f64 - mean_wait);
            products = (products.0 + at * wait, products.1 + at * at);
        }
        (products.1 > 0.0).then(|| products.0 / products.1)
    }
}

/// So that no sum or difference overflows, whatever a peer says.
fn clamped(us: u64) -> i64 {
    us.min(1 << 50) as i64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    fn arrive(delay: &mut QueueDelay, sent: u64, received: u64) -> i64 {
        let (sent, received) = (Timestamp::from_us(sent), Timestamp::from_us(received));
        delay.on_arrival(&Arrival { sent, received, bytes: 1_000 })
    }

    #[test]
    fn waits_are_counted_from_the_shortest_delay() {
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        assert_eq!(arrive(&mut delay, 0, 500_000), 0);
        assert_eq!(arrive(&mut delay, 1_000, 507_000), 6_000);
        assert_eq!((delay.standing_us(), delay.last_us()), (0, 6_000));
        assert_eq!(arrive(&mut delay, 50_000, 549_000), 0);
        assert_eq!(arrive(&mut delay, 90_000, 592_000), 3_000);
        assert_eq!(delay.standing_us(), 3_000, "the last interval counts");
    }

    #[test]
    fn a_longer_route_becomes_the_new_base() {
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        arrive(&mut delay, 0, 10_000);
        let waits: Vec<_> = (1..30).map(|s| arrive(&mut delay, s * 1_000_000, s * 1_000_000 + 60_000)).collect();
        assert_eq!((waits[0], waits[28]), (50_000, 0));
    }

    #[test]
    fn the_slope_is_that_of_an_overfull_link_and_not_of_a_stall() {
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        arrive(&mut delay, 0, 10_000);
        assert_eq!(delay.slope(), None);
        // Sent every millisecond, taken every two.
        for n in 0..20 {
            arrive(&mut delay, 1_000 * n, 10_000 + 2_000 * n);
        }
        assert!((0.45..0.55).contains(&delay.slope().unwrap()));
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        for n in 0..20 {
            arrive(&mut delay, 1_000 * n, (10_000 + 1_000 * n).max(25_000 + 100 * n));
        }
        assert!(delay.slope().is_none_or(|slope| slope < 0.0), "{:?}", delay.slope());
    }

    #[test]
    fn any_times_are_taken() {
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        for n in 0..5_000 {
            arrive(&mut delay, 0, 10_000 - n);
        }
        assert!(delay.samples.len() <= SAMPLES_MAX + 1);
        for (sent, received) in [(0, u64::MAX), (u64::MAX, 0), (0, 0), (u64::MAX, u64::MAX), (1 << 50, 5)] {
            arrive(&mut delay, sent, received);
            delay.slope();
        }
    }
}
