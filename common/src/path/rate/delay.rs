//! Queueing delay of the datagrams in the network, and its trendline.
//!
//! The two clocks differ by a constant, so one-way delays are known up to a constant too; the shortest of the last
//! seconds is that of an empty queue, and what a datagram takes beyond it is its queueing delay, in short its wait.
//!
//! A wait is caused by a queue or by a hold. A radio that pauses, a relay or a program that stalls holds the datagrams
//! and then releases them together: the wait leaps from one datagram to the next, and the following ones arrive faster
//! than any line delivers, so that each wait is shorter by as much as its datagram was sent later. Held datagrams tell
//! nothing of the queue, unless they arrive in so little time that there can be none. A queue, even that of a line
//! which has become much slower, keeps datagrams apart: after the leap of one long datagram the next one arrives a
//! datagram's time later. A radio that always sends in batches holds again and again: then the last datagram of each
//! batch shows the queue.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::sent::Arrival;

/// Queueing delay below which it is jitter and no queue, microseconds.
pub(super) const WAIT_NONE_US: i64 = 8_000;
/// Time for which a shortest delay is remembered, microseconds; twice as long at most. Two clocks drift apart by less
/// than 2 ms in that time, and every queue that we alone have filled has been emptied several times.
const BASE_MEMORY_US: i64 = 10_000_000;
/// Time likewise, microseconds, while other traffic keeps the queue from emptying: it is empty in our tests only.
const BASE_MEMORY_CROWDED_US: i64 = 120_000_000;
/// Samples kept at most, whatever times a peer reports: 50 ms of 200 Mbit/s.
const SAMPLES_MAX: usize = 1_024;
/// Span of the trendline, microseconds.
const SLOPE_WINDOW_US: i64 = 30_000;
/// Least number and span of datagrams that have a slope.
const SLOPE_DATAGRAMS: usize = 8;
const SLOPE_SPAN_US: i64 = 8_000;
/// Growth of the wait from one datagram to the next that may show a hold, microseconds.
const LEAP_US: i64 = 12_000;
/// Time within which held datagrams arrive, microseconds, besides a quarter of the time in which they were sent.
const AT_ONCE_US: i64 = 1_500;
/// Longest time of holds in a row, microseconds; longer ones count as a queue.
const BLIND_MAX_US: i64 = 500_000;

/// Queueing delay of one connection.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    /// Shortest delays of this span of memory and of the one before, microseconds.
    base_us: [Option<i64>; 2],
    base_since_us: i64,
    /// Arrival and wait of the last datagrams, by arrival.
    samples: VecDeque<(i64, i64)>,
    window_us: i64,
    memory_us: i64,
    /// Sending and arrival of the last datagram in the order of sending.
    last: Option<(i64, i64)>,
    hold: Hold,
    /// Holds that have followed directly one upon another.
    in_a_row: u32,
    /// Arrival of the last datagram that was known not to be held.
    seen_us: i64,
}

/// Holds in a row, each directly after the one before, from which on they are how the line delivers: the last datagram
/// of each shows the queue.
const BATCHES: u32 = 3;

/// State of a hold; sending and arrival are those of the first datagram held.
#[derive(Clone, Copy, Debug)]
enum Hold {
    None,
    /// The wait has leapt; the next datagram shows whether it is a hold.
    Maybe {
        sent: i64,
        received: i64,
        wait: i64,
    },
    Holds {
        sent: i64,
        received: i64,
    },
}

/// A datagram's wait: its queueing delay, or the time of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Microseconds.
    pub(super) us: i64,
    /// True if something has held it, or may have: its distance to its neighbours says nothing about the line.
    pub(super) is_held: bool,
}

impl QueueDelay {
    /// Creates the estimate for frames every `interval`: in a little more than one interval some datagram was the first
    /// of its frame, and such a one has a wait only if a queue stands.
    pub(super) fn new(interval: Duration) -> Self {
        let window_us = (interval.as_micros() as i64 * 5 / 4).max(SLOPE_WINDOW_US);
        Self {
            base_us: [None; 2],
            base_since_us: 0,
            samples: VecDeque::new(),
            window_us,
            memory_us: BASE_MEMORY_US,
            last: None,
            hold: Hold::None,
            in_a_row: 0,
            seen_us: 0,
        }
    }

    /// Sets whether other traffic keeps the queue full.
    pub(super) fn set_crowded(&mut self, is_crowded: bool) {
        self.memory_us = if is_crowded { BASE_MEMORY_CROWDED_US } else { BASE_MEMORY_US };
    }

    /// Takes an arrival and returns its wait. If the receiver is not sure of the time of arrival, it counts as held.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, is_unsure: bool) -> Wait {
        let (sent, received) = (clamped(arrival.sent.as_us()), clamped(arrival.received.as_us()));
        let delay = received - sent;
        if received.saturating_sub(self.base_since_us) > self.memory_us || received < self.base_since_us {
            self.base_us = [None, self.base_us[0]];
            self.base_since_us = received;
        }
        self.base_us[0] = Some(self.base_us[0].map_or(delay, |base| base.min(delay)));
        let base = self.base_us.into_iter().flatten().min().unwrap_or(delay);
        let us = delay - base;
        let is_held = self.is_held(sent, received, us) || is_unsure;
        if !is_held || us < WAIT_NONE_US {
            self.in_a_row = 0;
        }
        let are_batches = self.in_a_row >= BATCHES;
        if !is_held || us < WAIT_NONE_US || are_batches || received - self.seen_us > BLIND_MAX_US {
            if !is_held || us < WAIT_NONE_US || are_batches {
                self.seen_us = received;
            }
            self.push(received, us);
        }
        Wait { us, is_held }
    }

    fn is_held(&mut self, sent: i64, received: i64, wait: i64) -> bool {
        // One that was overtaken tells nothing.
        if self.last.is_some_and(|last| sent < last.0) {
            return !matches!(self.hold, Hold::None);
        }
        let last = self.last.replace((sent, received));
        let came_at_once = |first: i64, at: i64| received - at <= AT_ONCE_US + (sent - first) / 4;
        match self.hold {
            Hold::Holds { sent: first, received: at } if came_at_once(first, at) && wait >= WAIT_NONE_US => {
                return true;
            }
            Hold::Maybe { sent: first, received: at, .. } if came_at_once(first, at) => {
                self.hold = Hold::Holds { sent: first, received: at };
                return true;
            }
            // It was a long datagram on a slow line, and so is this one.
            Hold::Maybe { received: at, wait: leapt, .. } => {
                self.push(at, leapt);
                self.hold = Hold::None;
                return false;
            }
            // What was seen before belongs to another time.
            Hold::Holds { .. } => {
                self.in_a_row += 1;
                if self.in_a_row < BATCHES {
                    self.samples.clear();
                }
            }
            Hold::None => {}
        }
        let leaps = last.is_some_and(|last| (received - last.1) - (sent - last.0) > LEAP_US);
        self.hold = if leaps { Hold::Maybe { sent, received, wait } } else { Hold::None };
        leaps
    }

    fn push(&mut self, received: i64, wait: i64) {
        self.samples.push_back((received, wait));
        let is_old = |first: &(i64, i64)| received - first.0 > self.window_us;
        while self.samples.len() > SAMPLES_MAX || self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
    }

    /// Returns true if nothing is known of the queue now, because the last datagrams were held.
    pub(super) fn is_unknown(&self) -> bool {
        self.last.is_some_and(|(_, at)| self.seen_us < at && at - self.seen_us <= BLIND_MAX_US)
    }

    /// Returns the standing queueing delay, microseconds: the shortest of the last frame interval.
    pub(super) fn standing_us(&self) -> i64 {
        self.samples.iter().map(|sample| sample.1).min().unwrap_or(0)
    }

    /// Returns the last datagram's wait, microseconds.
    pub(super) fn last_us(&self) -> i64 {
        self.samples.back().map_or(0, |sample| sample.1)
    }

    /// Returns the slope of the trendline, the least-squares line through the waits of the last 30 ms, if there are
    /// enough datagrams. It lies between 0 and 1 when more is sent than the line's capacity (1 - capacity / sent), and
    /// below 0 after a stall, when held datagrams arrive together.
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

/// Returns a time cut so that no sum or difference overflows, whatever a peer says.
fn clamped(us: u64) -> i64 {
    us.min(1 << 50) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    fn arrive(delay: &mut QueueDelay, sent: u64, received: u64) -> i64 {
        let (sent, received) = (Timestamp::from_us(sent), Timestamp::from_us(received));
        delay.on_arrival(&Arrival { sent, received, bytes: 1_000, is_unsure: false, is_sound: false }, false).us
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

    /// Sends a datagram each millisecond that comes as `received` says; which of them were held.
    fn held(received: impl Fn(u64) -> u64) -> (QueueDelay, Vec<u64>) {
        let mut delay = QueueDelay::new(Duration::from_millis(16));
        let mut held = vec![];
        for n in 0..200 {
            let [sent, received] = [1_000 * n, received(n)].map(Timestamp::from_us);
            if delay
                .on_arrival(&Arrival { sent, received, bytes: 1_000, is_unsure: false, is_sound: false }, false)
                .is_held
            {
                held.push(n);
            }
        }
        (delay, held)
    }

    #[test]
    fn what_comes_at_once_after_a_pause_was_held() {
        // Nothing comes from 60 to 140 ms.
        let (delay, which) = held(|n| if (50..130).contains(&n) { 140_000 + n } else { 10_000 + 1_000 * n });
        assert!(which.iter().eq(&(50..123).collect::<Vec<_>>()), "{which:?}");
        assert_eq!((delay.standing_us(), delay.is_unknown()), (0, false));
        let (delay, _) = held(|n| if n >= 150 { 240_000 } else { 10_000 + 1_000 * n });
        assert!(delay.is_unknown() && delay.standing_us() == 0, "nothing is known until something comes on its own");
    }

    #[test]
    fn a_queue_keeps_its_distances() {
        // A line that becomes so slow that a datagram takes 15 ms.
        let (delay, which) = held(|n| if n < 50 { 10_000 + 1_000 * n } else { 60_000 + 15_000 * (n - 49) });
        assert!(which.len() <= 150 && !delay.is_unknown(), "{which:?}");
        assert!(delay.standing_us() > 1_900_000, "{}", delay.standing_us());
        // Another's burst of 20 ms before us, and the line is full: we wait and go on waiting.
        let (delay, which) = held(|n| if n < 50 { 10_000 } else { 30_000 } + 1_000 * n);
        assert!(which.len() < 4 && delay.standing_us() == 20_000, "{which:?} {}", delay.standing_us());
    }

    #[test]
    fn nobody_is_blind_for_ever() {
        // Someone lets all go at once every 100 ms, and nothing ever comes in less than 30.
        let (delay, which) = held(|n| 10_000 + if n == 0 { 0 } else { (1_000 * n / 100_000) * 100_000 + 130_000 });
        assert!(which.len() > 150, "{which:?}");
        let mut delay = delay;
        for n in 200..2_000 {
            arrive(&mut delay, 1_000 * n, 10_000 + (1_000 * n / 100_000) * 100_000 + 130_000);
        }
        assert!(!delay.is_unknown() && delay.standing_us() >= 30_000);
    }

    #[test]
    fn the_last_of_each_batch_shows_the_queue() {
        // A radio lets all go at once every 20 ms; a queue of 25 ms stands before it from 50 ms on.
        let came = |n: u64| (1_000 * n + if n < 50 { 0 } else { 25_000 }).next_multiple_of(20_000);
        let (mut delay, mut known) = (QueueDelay::new(Duration::from_millis(16)), None);
        for n in 0..200 {
            arrive(&mut delay, 1_000 * n, 10_000 + came(n));
            if delay.standing_us() >= 20_000 {
                known = known.or(Some(n));
            }
        }
        assert!(known.is_some_and(|n| n < 150), "{known:?}");
        assert!(!delay.is_unknown() && (20_000..35_000).contains(&delay.standing_us()), "{}", delay.standing_us());
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
