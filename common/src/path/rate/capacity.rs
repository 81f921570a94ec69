//! Capacity estimate of the line, from the distances at which it delivers the datagrams of a burst (packet-train
//! dispersion: Dovrolis, Ramanathan and Moore, What do packet dispersion techniques measure?, INFOCOM 2001).
//!
//! A frame leaves as one burst, faster than the target. A burst that arrives more slowly than it left shows the
//! capacity of the narrowest line; it cannot show more than the speed at which it left. So bursts leave somewhat faster
//! than the capacity estimate, and much faster if the last ones arrived as fast as they left: the capacity is found
//! within a few round trips, however small the target is. Small frames are measured together; a few datagrams that
//! arrive together show only that they took less than [`RESOLUTION_US`].

use std::collections::VecDeque;

use super::super::sent::Arrival;
use super::delay::Wait;

/// Datagrams sent further apart belong to two bursts.
const BURST_GAP_US: u64 = 3_000;
/// Least number of distances between datagrams for a measurement.
const DISTANCES: usize = 4;
/// Datagrams of a long burst that are measured together; more, up to [`BURST_DATAGRAMS_MAX`], if they arrive fast.
const BURST_DATAGRAMS: usize = 6;
const BURST_DATAGRAMS_MAX: usize = 400;
/// Number of bursts whose median is the capacity estimate.
const BURSTS: usize = 5;
/// Age from which a burst does not count if there is a newer one, microseconds.
const MEMORY_US: u64 = 1_000_000;
/// Ratio of a burst's time of arriving to that of leaving, up to which it arrived as fast as it left.
const AS_FAST: f64 = 1.1;
/// Time that timers and radios cannot resolve, microseconds: they deliver closer datagrams together.
const RESOLUTION_US: u64 = 1_000;
/// Length of a burst, in [`RESOLUTION_US`], from which on this falsifies nothing.
const RESOLUTIONS: u64 = 5;
/// Ratio up to which bursts agree.
const AGREED: f64 = 1.2;
/// Longest span over which the rate of arrivals is taken, microseconds.
const THROUGHPUT_US: u64 = 100_000;
/// Least number of arrivals that have a rate.
const THROUGHPUT_DATAGRAMS: usize = 6;
/// Arrivals kept at most, whatever times a peer reports: 100 ms of 200 Mbit/s.
const RECENT_MAX: usize = 2_048;

/// Bursts measured together.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    bursts: u64,
    distances: usize,
    /// Bytes without the first datagram of each burst.
    bytes: usize,
    /// Times in which they left and arrived, microseconds.
    sent_us: u64,
    received_us: u64,
}

/// Measurement of a train.
#[derive(Clone, Copy, Debug)]
struct Shown {
    at_us: u64,
    bps: f64,
    /// True if it arrived as fast as it left: the line may be faster.
    as_fast: bool,
}

/// A datagram that has arrived lately.
#[derive(Clone, Copy, Debug)]
struct Recent {
    at_us: u64,
    bytes: usize,
    is_held: bool,
}

/// Capacity estimate of the line, and throughput of the path.
#[derive(Clone, Debug)]
pub(super) struct Capacity {
    /// Highest capacity worth knowing, bits a second.
    most: f64,
    /// First and last datagram of the burst that goes on, and how many there were.
    burst: Option<(Arrival, Arrival, usize)>,
    burst_bytes: usize,
    /// The bursts before, which were too short.
    train: Train,
    shown: VecDeque<Shown>,
    /// The last datagrams, held ones too.
    recent: VecDeque<Recent>,
}

impl Capacity {
    /// Creates an estimate of up to `most` bits a second.
    pub(super) fn new(most: f64) -> Self {
        Self {
            most,
            burst: None,
            burst_bytes: 0,
            train: Train::default(),
            shown: VecDeque::new(),
            recent: VecDeque::new(),
        }
    }

    /// Changes what is worth knowing.
    pub(super) fn set_most(&mut self, most: f64) {
        self.most = most;
    }

    /// Takes an arrival; they come in the order of sending.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, wait: Wait) {
        let at = arrival.received.as_us();
        self.recent.push_back(Recent { at_us: at, bytes: arrival.bytes, is_held: wait.is_held });
        let is_old = |first: &Recent| at.saturating_sub(first.at_us) > THROUGHPUT_US;
        while self.recent.len() > RECENT_MAX || self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        if wait.is_held {
            self.burst = None;
            return;
        }
        let goes_on = |last: &Arrival| arrival.sent.since(last.sent).as_micros() <= u128::from(BURST_GAP_US);
        let is_measured = |(first, last, datagrams): &(Arrival, Arrival, usize)| {
            let span_us = last.received.since(first.received).as_micros();
            *datagrams >= BURST_DATAGRAMS
                && (*datagrams >= BURST_DATAGRAMS_MAX || span_us >= u128::from(RESOLUTIONS * RESOLUTION_US))
        };
        if let Some(last) = self.burst.filter(is_measured).map(|burst| burst.1).filter(goes_on) {
            self.end_burst();
            self.burst = Some((last, last, 1));
        }
        match &mut self.burst {
            Some((_, last, datagrams)) if goes_on(last) => {
                *last = *arrival;
                *datagrams += 1;
                self.burst_bytes += arrival.bytes;
            }
            _ => {
                self.end_burst();
                self.burst = Some((*arrival, *arrival, 1));
            }
        }
    }

    /// Returns the capacity estimate from the last bursts, bits a second.
    pub(super) fn shown(&self) -> Option<f64> {
        let mut shown: Vec<_> = self.shown.iter().map(|shown| shown.bps).collect();
        shown.sort_unstable_by(f64::total_cmp);
        shown.get(shown.len() / 2).copied()
    }

    /// Returns the capacity that the last burst alone has shown, bits a second.
    pub(super) fn last_shown(&self) -> Option<f64> {
        self.shown.back().map(|shown| shown.bps)
    }

    /// Returns true if most of these bursts came as fast as they left.
    pub(super) fn may_be_faster(&self) -> bool {
        2 * self.shown.iter().filter(|shown| shown.as_fast).count() > self.shown.len()
    }

    /// Returns true if the last bursts agree.
    pub(super) fn is_certain(&self) -> bool {
        let of = |better: fn(f64, f64) -> f64| self.shown.iter().map(|shown| shown.bps).reduce(better).unwrap_or(0.0);
        self.shown.len() == BURSTS && of(f64::max) < AGREED * of(f64::min)
    }

    /// Limits the estimate: the line has turned out to be no faster than `bps`.
    pub(super) fn limit(&mut self, bps: f64) {
        for shown in &mut self.shown {
            shown.bps = shown.bps.min(bps);
        }
    }

    /// Returns the bits a second that arrived within the last `window_us` of arrivals, or somewhat more if these were
    /// few, but at most within 100 ms: the speed of a line that has had something to send all the time. None if hardly
    /// anything came.
    pub(super) fn throughput(&self, window_us: u64) -> Option<f64> {
        self.throughput_within(window_us).map(|(bps, _)| bps)
    }

    /// Returns the throughput if it was seen for half of the window: what a radio sends together is no throughput.
    pub(super) fn sure_throughput(&self, window_us: u64) -> Option<f64> {
        self.throughput_within(window_us).filter(|(_, span)| 2 * span >= window_us).map(|(bps, _)| bps)
    }

    /// Returns the throughput, and the microseconds over which it was seen.
    fn throughput_within(&self, window_us: u64) -> Option<(f64, u64)> {
        let last = self.recent.back()?.at_us;
        let is_before = |recent: &Recent| last.saturating_sub(recent.at_us) > window_us;
        let mut first =
            self.recent.partition_point(is_before).min(self.recent.len().saturating_sub(THROUGHPUT_DATAGRAMS));
        // Those that were held until the same time came in the time before it.
        let together =
            |pair: [&Recent; 2]| pair[1].is_held && pair[1].at_us.saturating_sub(pair[0].at_us) < RESOLUTION_US;
        while let (Some(one), Some(next)) = (self.recent.get(first), self.recent.get(first + 1))
            && together([one, next])
        {
            first += 1;
        }
        let span = last.saturating_sub(self.recent.get(first)?.at_us);
        let bytes: usize = self.recent.range(first + 1..).map(|recent| recent.bytes).sum();
        (self.recent.len() - first >= THROUGHPUT_DATAGRAMS && span > 0)
            .then(|| (8e6 * bytes as f64 / span as f64, span))
    }

    fn end_burst(&mut self) {
        let bytes = std::mem::take(&mut self.burst_bytes);
        let Some((first, last, datagrams)) = self.burst.take() else { return };
        let us = |span: std::time::Duration| span.as_micros().min(1 << 40) as u64;
        let (sent, received) = (us(last.sent.since(first.sent)), us(last.received.since(first.received)));
        self.train.bursts += u64::from(datagrams > 1);
        self.train.distances += datagrams - 1;
        self.train.bytes += bytes;
        self.train.sent_us += sent;
        // Slower of leaving and coming: what comes closer together than it left was held up on the way.
        self.train.received_us += received.max(sent);
        if self.train.distances < DISTANCES {
            return;
        }
        let train = std::mem::take(&mut self.train);
        let at_us = last.received.as_us();
        let unknown_us = (train.bursts * RESOLUTION_US).saturating_sub(train.received_us / RESOLUTIONS);
        let bps = (8e6 * train.bytes as f64 / (train.received_us + unknown_us) as f64).min(self.most);
        let as_fast = train.received_us as f64 <= AS_FAST * train.sent_us as f64 + 100.0;
        self.shown.push_back(Shown { at_us, bps, as_fast });
        let is_old = |first: &Shown| at_us.saturating_sub(first.at_us) > MEMORY_US;
        while self.shown.len() > BURSTS || self.shown.front().is_some_and(is_old) {
            self.shown.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    /// Takes a burst of 10 datagrams of 1250 bytes that leave every `sent` us and come every `received` us.
    fn burst(capacity: &mut Capacity, start: u64, sent: u64, received: u64, is_held: bool) {
        for n in 0..10 {
            let (sent, received) = (start + n * sent, start + 20_000 + n * received);
            let [sent, received] = [sent, received].map(Timestamp::from_us);
            capacity.on_arrival(
                &Arrival { sent, received, bytes: 1_250, is_unsure: false, is_sound: false },
                Wait { us: 0, is_held },
            );
        }
    }

    fn shown(capacity: &Capacity) -> Option<f64> {
        capacity.shown().map(|bps| (bps / 1e6).round())
    }

    #[test]
    fn the_slower_of_leaving_and_coming_counts_and_the_median_of_late() {
        let mut capacity = Capacity::new(1e9);
        assert_eq!(shown(&capacity), None);
        burst(&mut capacity, 0, 100, 1_000, false);
        burst(&mut capacity, 20_000, 500, 100, false);
        assert_eq!((shown(&capacity), capacity.may_be_faster()), (Some(10.0), false));
        [40_000, 60_000, 80_000].into_iter().for_each(|start| burst(&mut capacity, start, 500, 510, false));
        assert_eq!((shown(&capacity), capacity.may_be_faster()), (Some(19.0), true));
        capacity.limit(12e6);
        assert_eq!(shown(&capacity), Some(12.0));
        for burst_number in 5..11 {
            burst(&mut capacity, burst_number * 20_000, 100, 2_000, false);
        }
        assert_eq!((shown(&capacity), capacity.is_certain()), (Some(5.0), true));
        let mut limited = Capacity::new(4e6);
        [0, 20_000].into_iter().for_each(|start| burst(&mut limited, start, 100, 1_000, false));
        assert_eq!(shown(&limited), Some(4.0));
    }

    #[test]
    fn a_long_burst_is_several_measurements() {
        let mut capacity = Capacity::new(1e9);
        // The line becomes faster within it.
        for n in 0_u64..27 {
            let received = 20_000 + 2_000 * n.min(10) + 1_000 * n.saturating_sub(10);
            let [sent, received] = [100 * n, received].map(Timestamp::from_us);
            capacity.on_arrival(
                &Arrival { sent, received, bytes: 1_250, is_unsure: false, is_sound: false },
                Wait { us: 0, is_held: false },
            );
        }
        let bps: Vec<_> = capacity.shown.iter().map(|shown| (shown.bps / 1e6).round()).collect();
        assert_eq!(bps, [5.0, 5.0, 10.0, 10.0, 10.0]);
    }

    #[test]
    fn small_frames_show_the_line_together() {
        let mut capacity = Capacity::new(1e9);
        for frame in 0..6 {
            for datagram in 0..2 {
                let (sent, received) = (frame * 16_000 + datagram * 100, frame * 16_000 + datagram * 5_000);
                let [sent, received] = [sent, received].map(Timestamp::from_us);
                capacity.on_arrival(
                    &Arrival { sent, received, bytes: 1_250, is_unsure: false, is_sound: false },
                    Wait { us: 0, is_held: false },
                );
            }
        }
        assert_eq!(shown(&capacity), Some(2.0));
    }

    #[test]
    fn a_few_that_come_at_one_time_show_no_fast_line() {
        // Timers deliver both of a frame's small datagrams at one time: on a line of 6 Mbit/s they are 0.4 ms apart.
        let mut capacity = Capacity::new(1e9);
        for frame in 0..6 {
            let [sent, received] = [frame * 16_000, frame * 16_000 + 20_000].map(Timestamp::from_us);
            for _ in 0..2 {
                capacity.on_arrival(
                    &Arrival { sent, received, bytes: 300, is_unsure: false, is_sound: false },
                    Wait { us: 0, is_held: false },
                );
            }
        }
        assert_eq!(shown(&capacity), Some(2.0));
    }

    #[test]
    fn what_was_held_is_throughput_with_the_time_of_the_hold() {
        let mut capacity = Capacity::new(1e9);
        burst(&mut capacity, 0, 100, 0, true);
        assert_eq!((shown(&capacity), capacity.throughput(50_000)), (None, None));
        [20_000, 40_000].into_iter().for_each(|start| burst(&mut capacity, start, 100, 0, true));
        assert_eq!((shown(&capacity), capacity.throughput(50_000)), (None, Some(5e6)));
    }

    #[test]
    fn throughput_is_what_arrives() {
        let mut capacity = Capacity::new(1e9);
        assert_eq!(capacity.throughput(50_000), None);
        burst(&mut capacity, 0, 100, 1_000, false);
        burst(&mut capacity, 10_000, 100, 1_000, false);
        assert_eq!(capacity.throughput(15_000).map(f64::round), Some(10e6));
        assert_eq!(capacity.throughput(2_000).map(f64::round), Some(10e6), "a few at least");
    }
}
