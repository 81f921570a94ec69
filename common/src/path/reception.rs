//! Feedback reports: the arrivals that the receiver tells the sender.

use std::collections::VecDeque;
use std::time::Duration;

use super::sequence::SequenceTracker;
use super::watch::STALL_MIN;
use crate::units::{SequenceNumber, Timestamp};
use crate::wire::feedback::{AGES_MAX, FeedbackHeader, REORDER_DATAGRAMS};

/// Time between feedback reports while pictures arrive.
const INTERVAL: Duration = Duration::from_millis(10);
/// Interval once a queue grows, which the sender must know soon.
const INTERVAL_URGENT: Duration = Duration::from_millis(5);
/// Growth of the one-way delay between recent datagrams that shows a growing queue, microseconds.
const URGENT_WAIT_US: i64 = 4_000;
/// Time between feedback reports without news: nothing came, or nothing but sound, whose packets come one by one and need no rate.
const INTERVAL_IDLE: Duration = Duration::from_millis(20);
/// Number of feedback reports with each arrival, so that no arrival is unknown if one report is lost.
const REPEATS: usize = 2;
/// Most numbers that a feedback report is the first to cover. So many are reported at once when they have come, since a
/// fast line delivers a large frame between two reports.
const NEW_MAX: usize = (AGES_MAX - REORDER_DATAGRAMS) / REPEATS;
/// Arrivals remembered until they are reported: those of a frame of 2.5 MB.
const REMEMBERED: usize = 8 * NEW_MAX;

/// Duration after a stall in which datagrams that came meanwhile are still being noted.
const CATCHING_UP: Duration = Duration::from_millis(5);

/// The last arrivals by sequence number, and the feedbacks made of them.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    tracker: SequenceTracker,
    /// Arrivals of consecutive numbers up to the highest that came.
    arrivals: VecDeque<Option<Timestamp>>,
    /// The highest numbers of the last feedbacks, the latest last.
    reported: [SequenceNumber; REPEATS],
    number: u16,
    last: Timestamp,
    next: Timestamp,
    /// True if anything came since the last feedback report that is to be told soon.
    has_news: bool,
    /// Shortest time on the way (of two clocks) since the last feedback and since the one before, microseconds.
    shortest_us: [i64; 2],
    /// The last time in which this program should have run and did not, and how long that was in all.
    stall: Option<(Timestamp, Timestamp)>,
    stalled: Duration,
}

impl Reception {
    /// Creates a state in which nothing has come. Feedback reports begin at once.
    pub(super) fn new(now: Timestamp) -> Self {
        let tracker = SequenceTracker::new();
        let reported = [tracker.highest(); REPEATS];
        Self {
            tracker,
            arrivals: VecDeque::with_capacity(REMEMBERED),
            reported,
            number: 0,
            last: now,
            next: now,
            has_news: false,
            shortest_us: [i64::MAX; 2],
            stall: None,
            stalled: Duration::ZERO,
        }
    }

    /// Begins feedback reports.
    pub(super) fn begin(&mut self, now: Timestamp) {
        (self.last, self.next) = (now, now);
    }

    /// Notes a stall, if a deadline shows one; to be called whenever the program runs.
    fn note_stall(&mut self, now: Timestamp) {
        let due = self.next_at();
        if now.since(due) < STALL_MIN {
            return;
        }
        let before = self.stall.filter(|stall| stall.0 == due).map_or(due, |stall| stall.1);
        self.stalled += now.since(before);
        self.stall = Some((due, now));
    }

    /// Returns the total duration of stalls of this program.
    pub(super) fn stalled(&self) -> Duration {
        self.stalled
    }

    /// Returns the number of datagrams before the last that have not come.
    pub(super) fn missing(&self) -> u64 {
        self.tracker.lost().into()
    }

    /// Takes the datagram `sequence`, which left at `sent` (sender's clock). Returns the time since the first of those
    /// that have overtaken it came, zero if none has; none if it is not new, as far as known.
    pub(super) fn on_datagram(
        &mut self,
        sequence: SequenceNumber,
        sent: Timestamp,
        is_sound: bool,
        now: Timestamp,
    ) -> Option<Duration> {
        self.note_stall(now);
        let ahead = sequence.ahead_of(self.tracker.highest());
        let is_new = self.tracker.on_datagram(sequence);
        let mut late = Duration::ZERO;
        if is_new {
            let travel_us = (now.as_us().min(1 << 50) as i64) - (sent.as_us().min(1 << 50) as i64);
            let is_urgent = travel_us - self.shortest_us[0].min(self.shortest_us[1]).min(travel_us) > URGENT_WAIT_US;
            if (is_urgent || !is_sound) && !std::mem::replace(&mut self.has_news, true) {
                self.next = self.next.max(now);
            }
            if is_urgent {
                self.next = self.next.min(now.max(self.last + INTERVAL_URGENT));
            }
            self.shortest_us[1] = self.shortest_us[1].min(travel_us);
            // Beyond what is remembered only the place of the newest matters.
            let ahead_by = usize::try_from(ahead).unwrap_or(0).min(REMEMBERED);
            self.arrivals.drain(..(self.arrivals.len() + ahead_by).saturating_sub(REMEMBERED).min(self.arrivals.len()));
            self.arrivals.extend(std::iter::repeat_n(None, ahead_by));
            let back = usize::try_from(-i64::from(ahead).min(0)).unwrap_or(usize::MAX);
            let place = self.arrivals.len().checked_sub(1 + back);
            if let Some(arrival) = place.and_then(|place| self.arrivals.get_mut(place)) {
                *arrival = Some(now);
            }
            if let Some(place) = place.filter(|_| back > 0) {
                let first = self.arrivals.range(place + 1..).flatten().min();
                late = first.map_or(Duration::ZERO, |&first| now.since(first));
            }
            if self.beyond(self.reported[REPEATS - 1]) >= NEW_MAX {
                (self.next, self.has_news) = (self.next.min(now), true);
            }
        }
        is_new.then_some(late)
    }

    /// Returns how many of the numbers remembered are higher than `number`.
    fn beyond(&self, number: SequenceNumber) -> usize {
        let ahead = self.tracker.highest().ahead_of(number);
        usize::try_from(ahead).map_or(self.arrivals.len(), |ahead| ahead.min(self.arrivals.len()))
    }

    /// Returns the time at which [`Self::poll`] has something next.
    pub(super) fn next_at(&self) -> Timestamp {
        if self.has_news { self.next } else { self.next + (INTERVAL_IDLE - INTERVAL) }
    }

    /// Returns the feedback report that is due; there may be another one.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if now < self.next_at() {
            return None;
        }
        self.note_stall(now);
        let noted_late = self.stall.filter(|stall| self.last < stall.1 + CATCHING_UP);
        // What this one does not reach is for the next.
        let rest = self.beyond(self.reported[REPEATS - 1]).saturating_sub(NEW_MAX);
        let end = self.arrivals.len() - rest;
        // Numbers that jump half way round twice seem to be behind one report and ahead of the other.
        let begin = self.arrivals.len().saturating_sub(self.beyond(self.reported[0]) + REORDER_DATAGRAMS).min(end);
        let after = self.tracker.highest().0.wrapping_add(1).wrapping_sub(rest as u32);
        let header = FeedbackHeader {
            number: self.number,
            received: self.tracker.received(),
            missing: self.tracker.lost(),
            base: SequenceNumber(after.wrapping_sub((end - begin) as u32)),
            time: now,
            unsure: noted_late.map_or(Duration::ZERO, |stall| now.since(stall.0)),
        };
        let feedback = header.encode(self.arrivals.range(begin..end).copied());
        self.number = self.number.wrapping_add(1);
        self.reported.rotate_left(1);
        self.reported[REPEATS - 1] = SequenceNumber(after.wrapping_sub(1));
        (self.last, self.has_news) = (now, rest > 0);
        self.next = if rest > 0 { now } else { now + INTERVAL };
        self.shortest_us = [self.shortest_us[1], i64::MAX];
        Some(feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(us: u64) -> Timestamp {
        Timestamp::from_us(us)
    }

    /// Returns the covered numbers of the feedback report due at `now`, with their arrivals in us.
    fn poll(reception: &mut Reception, now: u64) -> Vec<(u32, Option<u64>)> {
        let feedback = reception.poll(t(now)).unwrap();
        let (header, ages) = FeedbackHeader::parse(&feedback).unwrap();
        assert_eq!((header.time, header.received), (t(now), reception.tracker.received()));
        ages.arrivals().map(|(sequence, arrival)| (sequence.0, arrival.map(Timestamp::as_us))).collect()
    }

    #[test]
    fn every_arrival_is_reported_twice() {
        let mut reception = Reception::new(t(0));
        for number in [0, 1, 3] {
            reception.on_datagram(SequenceNumber(number), t(8_000), false, t(8_000));
        }
        let first = [(0, Some(8_000)), (1, Some(8_000)), (2, None), (3, Some(8_000))];
        assert_eq!(poll(&mut reception, 10_000), first);
        assert_eq!(poll(&mut reception, 30_000)[..4], first);
        // From now on numbers of more than 32 below what is due are left out.
        for number in 4..100 {
            reception.on_datagram(SequenceNumber(number), t(32_000), false, t(32_000));
        }
        let covered = [40_000, 60_000, 80_000].map(|now| poll(&mut reception, now).len());
        assert_eq!(covered, [100, 100, 32]);
    }

    #[test]
    fn one_that_was_overtaken_is_reported_after_all() {
        let mut reception = Reception::new(t(0));
        for number in [0, 2, 3] {
            reception.on_datagram(SequenceNumber(number), t(8_000), false, t(8_000));
        }
        poll(&mut reception, 10_000);
        let late = Some(Duration::from_millis(8));
        assert_eq!(reception.on_datagram(SequenceNumber(1), t(16_000), false, t(16_000)), late);
        assert_eq!(reception.on_datagram(SequenceNumber(1), t(16_000), false, t(16_000)), None);
        assert_eq!(poll(&mut reception, 20_000)[1], (1, Some(16_000)));
    }

    #[test]
    fn a_program_that_did_not_run_says_so() {
        let mut reception = Reception::new(t(0));
        let unsure = |reception: &mut Reception, now: u64| {
            let feedback = reception.poll(t(now)).unwrap();
            FeedbackHeader::parse(&feedback).unwrap().0.unsure
        };
        assert_eq!((unsure(&mut reception, 10_000), reception.stalled()), (Duration::ZERO, Duration::ZERO));
        // Due at 30 ms, 80 ms late.
        for number in 0..3 {
            reception.on_datagram(SequenceNumber(number), t(20_000), false, t(110_000 + u64::from(number)));
        }
        assert_eq!(reception.stalled(), Duration::from_millis(80));
        assert_eq!(unsure(&mut reception, 110_003), Duration::from_millis(80));
        // What came meanwhile may still be read after a feedback.
        assert_eq!(unsure(&mut reception, 130_003), Duration::from_millis(100));
        assert_eq!((unsure(&mut reception, 150_003), reception.stalled()), (Duration::ZERO, Duration::from_millis(80)));
    }

    #[test]
    fn feedback_is_denser_while_media_comes() {
        let mut reception = Reception::new(t(0));
        assert_eq!((reception.poll(t(9_999)), reception.next_at()), (None, t(10_000)));
        assert!(poll(&mut reception, 10_000).is_empty());
        assert_eq!(reception.next_at(), t(30_000));
        reception.on_datagram(SequenceNumber(0), t(15_000), false, t(15_000));
        assert_eq!(reception.next_at(), t(20_000));
    }

    #[test]
    fn sound_alone_is_told_more_rarely_but_for_a_queue() {
        let mut reception = Reception::new(t(0));
        poll(&mut reception, 10_000);
        let mut sound = |number, sent, now| {
            reception.on_datagram(SequenceNumber(number), t(sent), true, t(now));
            reception.next_at()
        };
        assert_eq!(sound(0, 10_000, 12_000), t(30_000));
        assert_eq!(sound(1, 11_000, 13_000), t(30_000));
        assert_eq!(sound(2, 12_000, 18_500), t(18_500), "it waited");
        poll(&mut reception, 18_500);
        reception.on_datagram(SequenceNumber(3), t(24_000), true, t(26_000));
        assert_eq!(reception.next_at(), t(38_500));
        reception.on_datagram(SequenceNumber(4), t(26_000), false, t(28_000));
        assert_eq!(reception.next_at(), t(28_500), "a picture");
    }

    #[test]
    fn a_growing_queue_is_told_sooner() {
        let mut reception = Reception::new(t(0));
        reception.on_datagram(SequenceNumber(0), t(0), false, t(9_000));
        poll(&mut reception, 10_000);
        reception.on_datagram(SequenceNumber(1), t(1_000), false, t(13_500));
        assert_eq!(reception.next_at(), t(20_000), "a little later than the other one");
        reception.on_datagram(SequenceNumber(2), t(1_000), false, t(14_500));
        assert_eq!(reception.next_at(), t(15_000));
        poll(&mut reception, 15_000);
        // Compared with those of the last feedback only: a longer route is urgent once.
        poll(&mut reception, 45_000);
        reception.on_datagram(SequenceNumber(3), t(36_000), false, t(50_000));
        assert_eq!(reception.next_at(), t(55_000));
    }

    #[test]
    fn a_large_burst_is_reported_at_once_and_wholly_and_twice() {
        let mut reception = Reception::new(t(0));
        poll(&mut reception, 20_000);
        let mut reports = vec![0; 1_500];
        for number in 0..1_500 {
            reception.on_datagram(SequenceNumber(number), t(1_000), false, t(21_000));
        }
        for now in [21_000, 60_000] {
            while let Some(feedback) = reception.poll(t(now)) {
                let (_, ages) = FeedbackHeader::parse(&feedback).unwrap();
                for (number, arrival) in ages.arrivals() {
                    assert_eq!(arrival, Some(t(21_000)));
                    reports[number.0 as usize] += 1;
                }
            }
            assert!(reports.iter().all(|&times| times > usize::from(now == 60_000)), "at {now}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_at_the_old_end_and_any_number_is_taken() {
        let mut reception = Reception::new(t(0));
        let count = REMEMBERED as u32 + 100;
        for number in 0..count {
            reception.on_datagram(SequenceNumber(number), t(1_000), false, t(2_000));
        }
        assert_eq!(poll(&mut reception, 10_000)[0], (100, Some(2_000)));
        let mut covered = Vec::new();
        while let Some(feedback) = reception.poll(t(10_000)) {
            covered.push(FeedbackHeader::parse(&feedback).unwrap().1.len());
            assert!(covered.len() < 8);
        }
        assert_eq!((covered[0], &covered[1..]), (AGES_MAX - REORDER_DATAGRAMS, &[AGES_MAX; 6][..]));
        for (at, number) in (1..).zip([u32::MAX / 2, u32::MAX, 5, 0x8000_0000, 1 << 20]) {
            reception.on_datagram(SequenceNumber(number), t(20_000), false, t(20_000));
            assert!(reception.arrivals.len() <= REMEMBERED);
            poll(&mut reception, at * 40_000);
        }
        let mut reception = Reception::new(t(0));
        reception.on_datagram(SequenceNumber(9), t(1_000), false, t(1_000));
        poll(&mut reception, 10_000);
        for number in [1 << 31 | 8, 7] {
            reception.on_datagram(SequenceNumber(number), t(20_000), false, t(20_000));
        }
        while reception.poll(t(30_000)).is_some() {}
    }
}
