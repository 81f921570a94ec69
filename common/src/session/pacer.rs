//! The datagrams of one frame, spread over time.

use std::collections::VecDeque;
use std::time::Duration;

use crate::units::Timestamp;

/// Shortest time between two bursts: timers are no finer.
const BURST_INTERVAL: Duration = Duration::from_millis(1);

/// The longest that a frame's datagrams are spread over: three quarters of the frame interval.
pub(super) fn pacing_span(interval: Duration) -> Duration {
    interval * 3 / 4
}

#[derive(Debug)]
struct Scheduled {
    at: Timestamp,
    datagram: Vec<u8>,
    is_repeat: bool,
}

/// Datagrams with the time at which each may leave.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    queue: VecDeque<Scheduled>,
}

/// What was thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Datagrams, repeats included.
    pub(super) datagrams: usize,
    /// Whether some would have left for the first time.
    pub(super) cuts_frame: bool,
}

impl Pacer {
    /// Replaces all that is queued by `datagrams`, of which the first burst may leave at `now` and the others evenly
    /// within `span`. The first `repeats` datagrams leave a second time with the second burst.
    pub(super) fn start(&mut self, datagrams: Vec<Vec<u8>>, repeats: usize, now: Timestamp, span: Duration) -> Dropped {
        let dropped = self.clear();
        let total = datagrams.len() + repeats;
        let bursts_max = (span.as_micros() / BURST_INTERVAL.as_micros()) as usize;
        let burst_len = total.div_ceil(bursts_max.clamp(1, total.max(1))).max(1);
        let bursts = total.div_ceil(burst_len).max(1);
        let copies: Vec<_> = datagrams.iter().take(repeats).cloned().collect();
        let first_burst = burst_len.min(datagrams.len());
        let mut once = datagrams.into_iter().map(|datagram| (datagram, false));
        let mut order: Vec<_> = once.by_ref().take(first_burst).collect();
        order.extend(copies.into_iter().map(|datagram| (datagram, true)));
        order.extend(once);
        for (place, (datagram, is_repeat)) in order.into_iter().enumerate() {
            let burst = place / burst_len;
            let at = now + span.mul_f64(burst as f64 / bursts as f64);
            self.queue.push_back(Scheduled { at, datagram, is_repeat });
        }
        dropped
    }

    /// The next datagram that may leave by `now`, and whether it is a repeat.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<(Vec<u8>, bool)> {
        let scheduled = self.queue.pop_front_if(|scheduled| scheduled.at <= now)?;
        Some((scheduled.datagram, scheduled.is_repeat))
    }

    /// When the next datagram may leave.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.queue.front().map(|scheduled| scheduled.at)
    }

    /// Datagrams that have not left for the first time.
    pub(super) fn unsent(&self) -> usize {
        self.queue.iter().filter(|scheduled| !scheduled.is_repeat).count()
    }

    /// Throws everything away.
    pub(super) fn clear(&mut self) -> Dropped {
        let dropped = Dropped { datagrams: self.queue.len(), cuts_frame: self.unsent() > 0 };
        self.queue.clear();
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (time in us, datagram, whether a repeat) in the order of leaving.
    fn schedule(datagrams: u8, repeats: usize, span_us: u64) -> Vec<(u64, u8, bool)> {
        let mut pacer = Pacer::default();
        let datagrams = (0..datagrams).map(|number| vec![number]).collect();
        pacer.start(datagrams, repeats, Timestamp::from_us(100), Duration::from_micros(span_us));
        let mut seen = Vec::new();
        while let Some(at) = pacer.next_at() {
            assert_eq!(pacer.poll(Timestamp::from_us(at.as_us() - 1)), None);
            seen.extend(pacer.poll(at).map(|(datagram, is_repeat)| (at.as_us(), datagram[0], is_repeat)));
        }
        seen
    }

    #[test]
    fn bursts_are_even_and_repeats_come_one_burst_later() {
        let [first, second, third] = [100, 1_100, 2_100];
        assert_eq!(
            schedule(5, 1, 3_000),
            [
                (first, 0, false),
                (first, 1, false),
                (second, 0, true),
                (second, 2, false),
                (third, 3, false),
                (third, 4, false)
            ]
        );
    }

    #[test]
    fn all_leave_at_once_if_there_is_no_time() {
        assert_eq!(schedule(2, 1, 900), [(100, 0, false), (100, 1, false), (100, 0, true)]);
        assert_eq!(schedule(1, 1, 0), [(100, 0, false), (100, 0, true)]);
        assert_eq!(schedule(0, 0, 5_000), []);
    }

    #[test]
    fn bursts_keep_their_distance_and_the_span() {
        for (count, repeats, span) in [(200u8, 3, 25_000), (7, 2, 25_000), (26, 1, 24_999), (255, 0, 1_999)] {
            let seen = schedule(count, repeats, span);
            assert_eq!(seen.len(), usize::from(count) + repeats);
            let first = seen.iter().filter(|seen| !seen.2).map(|seen| seen.1);
            assert!(first.eq(0..count));
            for pair in seen.windows(2) {
                let gap = pair[1].0 - pair[0].0;
                assert!(gap == 0 || gap >= 999, "{gap}");
            }
            assert!(seen.last().is_some_and(|last| last.0 < 100 + span));
        }
    }

    #[test]
    fn dropping_only_repeats_cuts_no_frame() {
        let mut pacer = Pacer::default();
        let span = Duration::from_millis(5);
        pacer.start(vec![vec![0]], 1, Timestamp::default(), span);
        pacer.poll(Timestamp::default());
        let dropped = pacer.start(vec![vec![1], vec![2]], 0, Timestamp::default(), span);
        assert_eq!(dropped, Dropped { datagrams: 1, cuts_frame: false });
        assert_eq!(pacer.clear(), Dropped { datagrams: 2, cuts_frame: true });
    }
}
