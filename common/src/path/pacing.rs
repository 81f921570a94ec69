//! The datagrams of one frame, spread over time.

use std::collections::VecDeque;
use std::time::Duration;

use crate::units::Timestamp;
use crate::wire::on_wire;

/// Shortest time between two bursts: timers are no finer.
pub(crate) const BURST_INTERVAL: Duration = Duration::from_millis(1);

/// Lateness of a timer that is made up for.
const LATE_MAX: Duration = Duration::from_micros(2_500);

/// Returns the longest time that a frame's datagrams are spread over: three quarters of the frame interval.
pub(crate) fn pacing_span(interval: Duration) -> Duration {
    interval * 3 / 4
}

/// Returns the same beside sound, which bears no bursts: nearly all of the interval.
pub(crate) fn pacing_span_beside(interval: Duration) -> Duration {
    interval * 19 / 20
}

/// A datagram that waits to leave.
pub(crate) trait Paced {
    /// Returns its length, bytes.
    fn bytes(&self) -> usize;
    /// Returns true if the frame is whole without it.
    fn is_parity(&self) -> bool;
}

#[derive(Debug)]
struct Scheduled<P> {
    at: Timestamp,
    packet: P,
}

/// Datagrams with the time at which each may leave.
#[derive(Debug)]
pub(crate) struct Pacer<P> {
    queue: VecDeque<Scheduled<P>>,
    /// True if what leaves late shifts all that follows.
    keeps_pace: bool,
}

impl<P> Default for Pacer<P> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), keeps_pace: false }
    }
}

/// Datagrams that were thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Datagrams, parity included.
    pub(crate) datagrams: usize,
    /// True if some are not parity.
    pub(crate) cuts_frame: bool,
}

impl<P: Paced> Pacer<P> {
    /// Replaces all that is queued by `packets`, of which the first burst may leave at `now` and the others evenly
    /// within `span`.
    pub(crate) fn start(&mut self, packets: Vec<P>, now: Timestamp, span: Duration) -> Dropped {
        let dropped = self.clear();
        self.keeps_pace = false;
        let total = packets.len();
        let bursts_max = (span.as_micros() / BURST_INTERVAL.as_micros()) as usize;
        let burst_len = total.div_ceil(bursts_max.clamp(1, total.max(1))).max(1);
        let bursts = total.div_ceil(burst_len).max(1);
        for (place, packet) in packets.into_iter().enumerate() {
            let burst = place / burst_len;
            let at = now + span.mul_f64(burst as f64 / bursts as f64);
            self.queue.push_back(Scheduled { at, packet });
        }
        dropped
    }

    /// Replaces all that is queued by `packets`, each of which leaves when those before it have taken their part of `span`, by their
    /// bytes; only what is less than [`BURST_INTERVAL`] apart leaves together, and the first `burst_bytes` of it, two at least. A
    /// program that has stood still does not make up for it: all that follows is later.
    pub(crate) fn spread(
        &mut self,
        packets: Vec<P>,
        now: Timestamp,
        span: Duration,
        burst_bytes: Option<usize>,
    ) -> Dropped {
        let dropped = self.clear();
        self.keeps_pace = true;
        let total: usize = packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let (mut before, mut group) = (0, Duration::ZERO);
        for (place, packet) in packets.into_iter().enumerate() {
            let at = span.mul_f64(before as f64 / total.max(1) as f64);
            before += on_wire(packet.bytes());
            let is_of_burst = burst_bytes.is_some_and(|bytes| before <= bytes || place < 2);
            if !is_of_burst && at.saturating_sub(group) >= BURST_INTERVAL {
                group = at;
            }
            self.queue.push_back(Scheduled { at: now + group, packet });
        }
        dropped
    }

    /// Returns the next datagram that may leave by `now`.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<P> {
        let scheduled = self.queue.pop_front_if(|scheduled| scheduled.at <= now)?;
        let late = now.since(scheduled.at);
        if self.keeps_pace && late > LATE_MAX {
            self.queue.iter_mut().for_each(|scheduled| scheduled.at = scheduled.at + (late - LATE_MAX));
        }
        Some(scheduled.packet)
    }

    /// Returns the time at which the next datagram may leave.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.queue.front().map(|scheduled| scheduled.at)
    }

    /// Returns the time at which the last datagram may leave.
    pub(crate) fn last_at(&self) -> Option<Timestamp> {
        self.queue.back().map(|scheduled| scheduled.at)
    }

    /// Returns the number of datagrams that have not left.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of datagrams that have not left, parity not counted.
    pub(crate) fn unsent(&self) -> usize {
        self.queue.iter().filter(|scheduled| !scheduled.packet.is_parity()).count()
    }

    /// Throws away what `is_needed` does not name beyond the first `bytes` on the wire, but leaves `least` datagrams.
    /// Returns the number of those thrown away that are not parity.
    pub(crate) fn leave_out(&mut self, bytes: usize, least: usize, is_needed: impl Fn(&P) -> bool) -> usize {
        let before = self.unsent();
        let (mut left, mut kept) = (bytes, 0);
        self.queue.retain(|Scheduled { packet, .. }| {
            let wire_bytes = on_wire(packet.bytes());
            let keeps = kept < least || wire_bytes <= left || is_needed(packet);
            left = if keeps { left.saturating_sub(wire_bytes) } else { 0 };
            kept += usize::from(keeps);
            keeps
        });
        before - self.unsent()
    }

    /// Throws everything away.
    pub(crate) fn clear(&mut self) -> Dropped {
        let dropped = Dropped { datagrams: self.queue.len(), cuts_frame: self.unsent() > 0 };
        self.queue.clear();
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Packet {
        number: u8,
        is_parity: bool,
    }

    impl Paced for Packet {
        fn bytes(&self) -> usize {
            31
        }
        fn is_parity(&self) -> bool {
            self.is_parity
        }
    }

    fn packet(number: u8, is_parity: bool) -> Packet {
        Packet { number, is_parity }
    }

    /// Returns (time in us, datagram) in the order of leaving.
    fn schedule(datagrams: u8, span_us: u64) -> Vec<(u64, u8)> {
        let mut pacer = Pacer::default();
        let datagrams = (0..datagrams).map(|number| packet(number, false)).collect();
        pacer.start(datagrams, Timestamp::from_us(100), Duration::from_micros(span_us));
        let mut seen = Vec::new();
        while let Some(at) = pacer.next_at() {
            assert_eq!(pacer.poll(Timestamp::from_us(at.as_us() - 1)), None);
            seen.extend(pacer.poll(at).map(|packet| (at.as_us(), packet.number)));
        }
        seen
    }

    #[test]
    fn bursts_are_even() {
        let [first, second, third] = [100, 1_100, 2_100];
        assert_eq!(schedule(6, 3_000), [(first, 0), (first, 1), (second, 2), (second, 3), (third, 4), (third, 5)]);
    }

    #[test]
    fn all_leave_at_once_if_there_is_no_time() {
        assert_eq!(schedule(3, 900), [(100, 0), (100, 1), (100, 2)]);
        assert_eq!(schedule(1, 0), [(100, 0)]);
        assert_eq!(schedule(0, 5_000), []);
    }

    #[test]
    fn bursts_keep_their_distance_and_the_span() {
        for (count, span) in [(200u8, 25_000), (7, 25_000), (26, 24_999), (255, 1_999)] {
            let seen = schedule(count, span);
            assert!(seen.iter().map(|seen| seen.1).eq(0..count));
            for pair in seen.windows(2) {
                let gap = pair[1].0 - pair[0].0;
                assert!(gap == 0 || gap >= 999, "{gap}");
            }
            assert!(seen.last().is_some_and(|last| last.0 < 100 + span));
        }
    }

    #[test]
    fn what_is_spread_keeps_its_pace_after_a_stall() {
        let leaves = |burst_bytes, stall_us: u64| {
            let mut pacer = Pacer::default();
            let packets = (0..8).map(|number| packet(number, false)).collect();
            pacer.spread(packets, Timestamp::default(), Duration::from_millis(16), burst_bytes);
            let (mut now, mut seen) = (0, vec![]);
            while let Some(at) = pacer.next_at() {
                now = at.as_us().max(now).max(if seen.len() == 4 { stall_us } else { 0 });
                seen.extend(pacer.poll(Timestamp::from_us(now)).map(|_| now / 1_000));
            }
            seen
        };
        assert_eq!(leaves(None, 0), [0, 2, 4, 6, 8, 10, 12, 14]);
        let three = 3 * on_wire(packet(0, false).bytes());
        assert_eq!(leaves(Some(three), 0), [0, 0, 0, 6, 8, 10, 12, 14]);
        // 12 ms late: a timer's lateness is made up for, the rest of it shifts what follows.
        assert_eq!(leaves(None, 20_000), [0, 2, 4, 6, 20, 20, 21, 23]);
    }

    #[test]
    fn what_is_left_out_is_the_end_of_the_frame_and_never_what_is_needed() {
        let left = |bytes: usize, least: usize| {
            let mut pacer = Pacer::default();
            let packets = (0..6).map(|number| packet(number, number == 4)).collect();
            pacer.start(packets, Timestamp::default(), Duration::ZERO);
            let left_out = pacer.leave_out(bytes, least, |packet| packet.number == 5);
            let left: Vec<_> = std::iter::from_fn(|| pacer.poll(Timestamp::default())).collect();
            (left.iter().map(|packet| packet.number).collect::<Vec<_>>(), left_out)
        };
        let two = 2 * on_wire(packet(0, false).bytes());
        assert_eq!(left(usize::MAX, 0), (vec![0, 1, 2, 3, 4, 5], 0));
        assert_eq!(left(two, 0), (vec![0, 1, 5], 2));
        assert_eq!(left(two - 1, 0), (vec![0, 5], 3));
        assert_eq!(left(0, 3), (vec![0, 1, 2, 5], 1));
        assert_eq!(left(0, 0), (vec![5], 4));
    }

    #[test]
    fn dropping_only_parity_cuts_no_frame() {
        let mut pacer = Pacer::default();
        let span = Duration::from_millis(5);
        pacer.start(vec![packet(0, false), packet(1, true)], Timestamp::default(), span);
        pacer.poll(Timestamp::default());
        let dropped = pacer.start(vec![packet(1, false), packet(2, false)], Timestamp::default(), span);
        assert_eq!(dropped, Dropped { datagrams: 1, cuts_frame: false });
        assert_eq!(pacer.clear(), Dropped { datagrams: 2, cuts_frame: true });
    }
}
