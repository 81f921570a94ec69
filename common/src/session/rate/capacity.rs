//! How fast the link can send, from how close together it delivers the datagrams of a burst (packet-train dispersion:
//! Dovrolis, Ramanathan and Moore, What do packet dispersion techniques measure?, INFOCOM 2001).
//!
//! A frame leaves as one burst, faster than the target; what arrives more slowly than it left has met the narrowest
//! line. A burst shows no more than the speed at which it left, so bursts leave somewhat faster than the estimate,
//! which so finds the line's speed within a few frames.

use std::collections::VecDeque;

use super::super::sent::Arrival;

/// Datagrams sent further apart belong to two bursts.
const BURST_GAP_US: u64 = 3_000;
/// Shorter bursts show nothing.
const BURST_DATAGRAMS: usize = 6;
/// Of a long burst so many are measured together.
const BURST_DATAGRAMS_MAX: usize = 40;
/// Estimates are the largest of this and the last span.
const MEMORY_US: u64 = 1_000_000;
/// What the rate of arrivals is taken over.
const THROUGHPUT_US: u64 = 100_000;
/// Arrivals kept at most, whatever times a peer reports: 100 ms of 200 Mbit/s.
const RECENT_MAX: usize = 2_048;

#[derive(Clone, Copy, Debug)]
struct Burst {
    first: Arrival,
    last: Arrival,
    datagrams: usize,
    /// Without the first one's.
    bytes: usize,
}

/// What the link and the path have shown of their speed.
#[derive(Clone, Debug, Default)]
pub(super) struct Capacity {
    burst: Option<Burst>,
    /// Largest of this span of memory and of the one before, bits a second.
    largest: [Option<f64>; 2],
    since_us: u64,
    /// Arrival and bytes of the last datagrams.
    recent: VecDeque<(u64, usize)>,
}

impl Capacity {
    /// Takes an arrival; they come in the order of sending.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival) {
        let at = arrival.received.as_us();
        self.recent.push_back((at, arrival.bytes));
        let is_old = |first: &(u64, usize)| at.saturating_sub(first.0) > THROUGHPUT_US;
        while self.recent.len() > RECENT_MAX || self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        let continues = |burst: &&mut Burst| {
            arrival.sent.since(burst.last.sent).as_micros() <= u128::from(BURST_GAP_US)
                && burst.datagrams < BURST_DATAGRAMS_MAX
        };
        match self.burst.as_mut().filter(continues) {
            Some(burst) => {
                burst.datagrams += 1;
                burst.bytes += arrival.bytes;
                burst.last = *arrival;
            }
            None => {
                if let Some(burst) = self.burst.take() {
                    self.on_burst(&burst);
                }
                self.burst = Some(Burst { first: *arrival, last: *arrival, datagrams: 1, bytes: 0 });
            }
        }
    }

    /// The largest speed that bursts of the last seconds have shown, bits a second.
    pub(super) fn estimate(&self) -> Option<f64> {
        self.largest.into_iter().flatten().reduce(f64::max)
    }

    /// The line has turned out to be no faster than `bps`.
    pub(super) fn limit(&mut self, bps: f64) {
        self.largest = [self.estimate().map(|estimate| estimate.min(bps)), None];
    }

    /// Bits a second that arrived within the last `window_us` (at most 100 ms) of arrivals: the speed of a link that
    /// has had something to send all the time. None if hardly anything came.
    pub(super) fn throughput(&self, window_us: u64) -> Option<f64> {
        let last = self.recent.back()?.0;
        let within = || self.recent.iter().rev().take_while(|recent| last.saturating_sub(recent.0) <= window_us);
        let first = within().last()?;
        let span = last.saturating_sub(first.0);
        let bytes = within().map(|recent| recent.1).sum::<usize>() - first.1;
        (within().count() >= BURST_DATAGRAMS && span > 0).then(|| 8e6 * bytes as f64 / span as f64)
    }

    fn on_burst(&mut self, burst: &Burst) {
        if burst.datagrams < BURST_DATAGRAMS {
            return;
        }
        let received = burst.last.received.since(burst.first.received);
        // Slower of leaving and coming: what comes closer together than it left was held up on the way.
        let span = received.max(burst.last.sent.since(burst.first.sent)).as_micros().max(50);
        let bps = 8e6 * burst.bytes as f64 / span as f64;
        let now = burst.last.received.as_us();
        if now.saturating_sub(self.since_us) > MEMORY_US || now < self.since_us {
            self.largest = [None, self.largest[0]];
            self.since_us = now;
        }
        self.largest[0] = Some(self.largest[0].map_or(bps, |largest| largest.max(bps)));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    /// A burst of 10 datagrams of 1250 bytes that leave every `sent` us and come every `received` us.
    fn burst(capacity: &mut Capacity, start: u64, sent: u64, received: u64) {
        for n in 0..10 {
            let (sent, received) = (start + n * sent, start + 20_000 + n * received);
            let [sent, received] = [sent, received].map(Timestamp::from_us);
            capacity.on_arrival(&Arrival { sent, received, bytes: 1_250 });
        }
    }

    #[test]
    fn the_slower_of_leaving_and_coming_counts_and_the_largest_of_late() {
        let mut capacity = Capacity::default();
        burst(&mut capacity, 0, 100, 1_000);
        burst(&mut capacity, 20_000, 500, 100);
        assert_eq!(capacity.estimate().map(f64::round), Some(10e6));
        burst(&mut capacity, 40_000, 100, 1_000);
        assert_eq!(capacity.estimate().map(f64::round), Some(20e6));
        capacity.limit(12e6);
        assert_eq!(capacity.estimate(), Some(12e6));
        for second in 1..6 {
            burst(&mut capacity, second * 1_000_000, 100, 2_000);
        }
        assert_eq!(capacity.estimate().map(f64::round), Some(5e6));
    }

    #[test]
    fn throughput_is_what_arrives() {
        let mut capacity = Capacity::default();
        assert_eq!(capacity.throughput(50_000), None);
        burst(&mut capacity, 0, 100, 1_000);
        burst(&mut capacity, 10_000, 100, 1_000);
        assert_eq!(capacity.throughput(15_000).map(f64::round), Some(10e6));
    }
}
