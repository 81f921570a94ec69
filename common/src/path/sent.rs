//! Datagrams that have left, and their fate.

use std::collections::VecDeque;
use std::time::Duration;

use super::loss::LossMeter;
use crate::units::{SequenceNumber, Timestamp};
use crate::wire::feedback::FeedbackError;
use crate::wire::feedback::{Ages, FeedbackHeader, REORDER_DATAGRAMS};

/// Datagrams remembered: half a second of 400 Mbit/s.
const REMEMBERED: usize = 1 << 14;

/// Number of feedback reports whose shortest one-way delay is remembered; twice as many at most: 20 s.
const FEEDBACKS_REMEMBERED: u32 = 2_000;

/// A datagram that has arrived, from a feedback report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Time of handing it to the socket, own clock.
    pub(super) sent: Timestamp,
    /// Time of arrival, receiver's clock.
    pub(super) received: Timestamp,
    /// Bytes on the wire.
    pub(super) bytes: usize,
    /// True if this program stood still when it left: it may have left later than it says.
    pub(super) is_unsure: bool,
    /// True if it is a packet of sound.
    pub(super) is_sound: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Timestamp,
    bytes: usize,
    arrived: bool,
    is_unsure: bool,
    is_sound: bool,
}

/// The datagrams of one connection whose fate is open, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct SentLog {
    /// Number of the first one in `open`.
    first: SequenceNumber,
    open: VecDeque<Sent>,
    /// Number of entries of `open` at or below the highest number reported.
    reported: usize,
    in_flight_bytes: usize,
    last_feedback: Option<u16>,
    /// Shortest one-way delay of a feedback report (of two clocks), of these last ones and of those before,
    /// microseconds.
    feedback_us: [Option<i64>; 2],
    feedbacks: u32,
}

impl SentLog {
    /// Takes the datagram after the last one that left; the first one has the number 0.
    pub(super) fn on_sent(&mut self, bytes: usize, is_sound: bool, now: Timestamp) {
        if self.open.len() == REMEMBERED {
            self.forget_first();
        }
        self.open.push_back(Sent { at: now, bytes, arrived: false, is_unsure: false, is_sound });
        self.in_flight_bytes += bytes;
    }

    /// Appends the arrivals that `ages` report for the first time to `arrivals`, in the order of sending, and counts in
    /// `loss` the datagrams whose fate is now certain. Returns the number of these and how many of them were lost;
    /// none: the feedback report is out of date. An error says why it cannot be one of this stream.
    pub(super) fn on_feedback(
        &mut self,
        header: &FeedbackHeader,
        ages: &Ages<'_>,
        arrivals: &mut Vec<Arrival>,
        loss: &mut LossMeter,
    ) -> Result<Option<(u32, u32)>, FeedbackError> {
        let is_old = |last: u16| header.number.wrapping_sub(last) as i16 <= 0;
        if self.last_feedback.is_some_and(is_old) {
            return Ok(None);
        }
        let base = i64::from(header.base.ahead_of(self.first));
        let end = base + ages.len() as i64;
        if !ages.is_empty() && end > self.open.len() as i64 {
            return Err(FeedbackError::NeverSent);
        }
        self.last_feedback = Some(header.number);
        for ((_, arrival), place) in ages.arrivals().zip(base..) {
            let sent = usize::try_from(place).ok().and_then(|place| self.open.get_mut(place));
            if let (Some(sent), Some(received)) = (sent, arrival)
                && !std::mem::replace(&mut sent.arrived, true)
            {
                let Sent { at, bytes, is_unsure, is_sound, .. } = *sent;
                arrivals.push(Arrival { sent: at, received, bytes, is_unsure, is_sound });
            }
        }
        let end = usize::try_from(end).unwrap_or(0);
        if end > self.reported && !ages.is_empty() {
            let passed: usize = self.open.range(self.reported..end).map(|sent| sent.bytes).sum();
            self.in_flight_bytes -= passed;
            self.reported = end;
        }
        let mut fates = (0, 0);
        while self.reported > REORDER_DATAGRAMS {
            let is_lost = self.open.front().is_some_and(|sent| !sent.arrived);
            loss.on_fate(is_lost);
            fates = (fates.0 + 1, fates.1 + u32::from(is_lost));
            self.forget_first();
        }
        Ok(Some(fates))
    }

    /// Takes notice that this program stood still after `from`: what was to leave then may have left later.
    pub(super) fn on_stall(&mut self, from: Timestamp) {
        self.open.iter_mut().rev().take_while(|sent| sent.at >= from).for_each(|sent| sent.is_unsure = true);
    }

    /// Returns the bytes that have left and of which nothing has been heard.
    pub(super) fn in_flight_bytes(&self) -> usize {
        self.in_flight_bytes
    }

    /// Returns the delay of this feedback report, which came at `now`, beyond the shortest of the last thousands.
    pub(super) fn feedback_late(&mut self, header: &FeedbackHeader, now: Timestamp) -> Duration {
        let took = now.as_us().min(1 << 50) as i64 - header.time.as_us().min(1 << 50) as i64;
        if self.feedbacks.is_multiple_of(FEEDBACKS_REMEMBERED) {
            self.feedback_us = [None, self.feedback_us[0]];
        }
        self.feedbacks = self.feedbacks.wrapping_add(1);
        self.feedback_us[0] = Some(self.feedback_us[0].map_or(took, |least| least.min(took)));
        let least = self.feedback_us.into_iter().flatten().min().unwrap_or(took);
        Duration::from_micros((took - least).unsigned_abs())
    }

    fn forget_first(&mut self) {
        let Some(first) = self.open.pop_front() else { return };
        self.first = self.first.next();
        match self.reported.checked_sub(1) {
            Some(reported) => self.reported = reported,
            None => self.in_flight_bytes -= first.bytes,
        }
    }
}

/// Returns the round trip that a feedback report shows, without the time it waited at the receiver.
pub(super) fn round_trip(header: &FeedbackHeader, newest: &Arrival, now: Timestamp) -> Duration {
    now.since(newest.sent).saturating_sub(header.time.since(newest.received))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(us: u64) -> Timestamp {
        Timestamp::from_us(us)
    }

    fn feedback(
        log: &mut SentLog,
        number: u16,
        base: u32,
        ages: &[Option<u64>],
    ) -> Result<Vec<Arrival>, FeedbackError> {
        let header =
            FeedbackHeader { number, base: SequenceNumber(base), time: t(80_000), ..FeedbackHeader::default() };
        let bytes = header.encode(ages.iter().map(|arrival| arrival.map(t)));
        let (header, ages) = FeedbackHeader::parse(&bytes).unwrap();
        let (mut arrivals, mut loss) = (Vec::new(), LossMeter::default());
        log.on_feedback(&header, &ages, &mut arrivals, &mut loss).map(|_| arrivals)
    }

    #[test]
    fn each_arrival_counts_once_and_what_is_not_reported_is_in_flight() {
        let mut log = SentLog::default();
        for at in 0..5 {
            log.on_sent(100, false, t(at * 10));
        }
        assert_eq!(log.in_flight_bytes(), 500);
        let seen = feedback(&mut log, 0, 0, &[Some(8_000), None, Some(16_000)]).unwrap();
        assert_eq!(
            seen,
            [(0, 8_000), (20, 16_000)].map(|(sent, at)| Arrival {
                sent: t(sent),
                received: t(at),
                bytes: 100,
                is_unsure: false,
                is_sound: false
            })
        );
        assert_eq!(log.in_flight_bytes(), 200);
        let again = feedback(&mut log, 1, 0, &[Some(8_000), Some(16_000), Some(16_000), Some(24_000)]).unwrap();
        assert_eq!(again.iter().map(|arrival| arrival.sent).collect::<Vec<_>>(), [t(10), t(30)]);
        assert_eq!(feedback(&mut log, 1, 0, &[Some(8_000); 5]), Ok(vec![]), "out of date");
        assert_eq!(log.in_flight_bytes(), 100);
        assert!(feedback(&mut log, 2, 0, &[None; 6]).is_err());
        assert!(feedback(&mut log, 2, u32::MAX, &[None; 2]).is_ok());
    }

    #[test]
    fn what_was_to_leave_in_a_stall_is_unsure() {
        let mut log = SentLog::default();
        [10, 20].into_iter().for_each(|at| log.on_sent(100, false, t(at)));
        log.on_stall(t(20));
        log.on_sent(100, false, t(90));
        let seen = feedback(&mut log, 0, 0, &[Some(8_000); 3]).unwrap();
        assert_eq!(seen.iter().map(|arrival| arrival.is_unsure).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn a_silent_receiver_fills_no_memory_and_lies_are_taken() {
        let mut log = SentLog::default();
        for at in 0..100_000 {
            log.on_sent(1_000, false, t(at));
        }
        assert_eq!((log.open.len(), log.in_flight_bytes()), (REMEMBERED, REMEMBERED * 1_000));
        for (number, base) in [0, 1 << 31, u32::MAX, 99_999, 99_998, 90_000].into_iter().enumerate() {
            drop(feedback(&mut log, number as u16 + 1, base, &[Some(0), None]));
        }
        log.on_sent(1_000, false, t(0));
        assert!(log.open.len() <= REMEMBERED);
    }

    #[test]
    fn the_receivers_wait_is_no_part_of_the_round_trip() {
        let header = FeedbackHeader { time: t(70_000), ..FeedbackHeader::default() };
        let newest = Arrival { sent: t(1_000), received: t(62_000), bytes: 1, is_unsure: false, is_sound: false };
        assert_eq!(round_trip(&header, &newest, t(31_000)), Duration::from_millis(22));
    }
}
