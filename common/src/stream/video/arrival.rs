//! Expected arrival of a frame.

use std::time::Duration;

use crate::path::pacing::pacing_span;
use crate::stream::video::reassemble::AssembledFrame;
use crate::units::Timestamp;

/// Share of the difference by which the estimate rises with each frame: it forgets within about 64 frames.
const RISE: i64 = 64;

/// The time from a frame's capture (sender's clock) to its last datagram (our clock) when nothing goes wrong.
///
/// The two clocks' difference is part of it, so the clocks need not be known. Complete frames pull the estimate down
/// at once and up slowly, which keeps it near the shortest times and follows drifting clocks and longer routes.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedArrival {
    span_us: Option<i64>,
}

impl ExpectedArrival {
    /// Takes the arrival of a frame captured at `capture`, complete at `received`.
    pub(super) fn on_complete(&mut self, capture: Timestamp, received: Timestamp) {
        let sample = span_us(capture, received);
        match &mut self.span_us {
            Some(span) if sample > *span => *span += (sample - *span) / RISE,
            span => *span = Some(sample),
        }
    }

    /// Takes the arrival of a part of a frame. Earlier parts say nothing: the rest may be lost.
    pub(super) fn on_part(&mut self, capture: Timestamp, received: Timestamp) {
        let sample = span_us(capture, received);
        if self.span_us.is_none_or(|span| sample > span) {
            self.on_complete(capture, received);
        }
    }

    /// Returns the delay, beyond the expected one, of a frame captured at `capture` that comes at `now`.
    pub(super) fn lateness(&self, capture: Timestamp, now: Timestamp) -> Duration {
        let late = self.span_us.map_or(0, |span| span_us(capture, now) - span);
        Duration::from_micros(u64::try_from(late).unwrap_or(0))
    }

    /// Returns the time until which the missing part of `frame` is waited for: `latency_max` after its expected end. So
    /// a frame that begins late, because it was coded slowly or the route has grown longer, still gets `latency_max`.
    pub(super) fn deadline(&self, frame: &AssembledFrame, interval: Duration, latency_max: Duration) -> Timestamp {
        self.expected(frame, interval) + latency_max
    }

    /// Returns the time at which all of `frame` is expected: from its first datagram to the pacing span after that,
    /// whatever the time stamps claim.
    pub(super) fn expected(&self, frame: &AssembledFrame, interval: Duration) -> Timestamp {
        let latest = frame.first_received + pacing_span(interval);
        let Some(span) = self.span_us else { return latest };
        let expected = i128::from(frame.capture.as_us()) + i128::from(span);
        let expected = Timestamp::from_us(u64::try_from(expected.max(0)).unwrap_or(u64::MAX));
        expected.clamp(frame.first_received, latest)
    }
}

/// Returns the difference, bounded so that no difference of two spans overflows.
fn span_us(capture: Timestamp, received: Timestamp) -> i64 {
    let span = i128::from(received.as_us()) - i128::from(capture.as_us());
    span.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
}

#[cfg(test)]
mod tests {
    use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};

    use super::*;
    use crate::units::FrameId;

    const INTERVAL: Duration = Duration::from_micros(33_000);
    const LATENCY_MAX: Duration = Duration::from_micros(5_000);

    fn deadline(arrival: &ExpectedArrival, capture: u64, first_received: u64) -> u64 {
        let received = Timestamp::from_us(first_received);
        let frame = AssembledFrame {
            id: FrameId(0),
            reference: 0,
            frame: ReceivedFrame::empty(FrameHeader { step: StepIndex::MIN, fine_blocks: 0 }, 1),
            capture: Timestamp::from_us(capture),
            sent: Timestamp::from_us(capture),
            first_received: received,
            last_received: received,
        };
        arrival.deadline(&frame, INTERVAL, LATENCY_MAX).as_us()
    }

    #[test]
    fn short_times_count_at_once_and_long_ones_slowly() {
        let t = Timestamp::from_us;
        let mut arrival = ExpectedArrival::default();
        assert_eq!(deadline(&arrival, 0, 10_000), 10_000 + 24_750 + 5_000);
        arrival.on_complete(t(0), t(30_000));
        arrival.on_complete(t(33_000), t(53_000));
        assert_eq!(deadline(&arrival, 66_000, 70_000), 66_000 + 20_000 + 5_000);
        arrival.on_complete(t(66_000), t(66_000 + 26_400));
        assert_eq!(deadline(&arrival, 99_000, 100_000), 99_000 + 20_100 + 5_000);
        arrival.on_part(t(99_000), t(99_001));
        assert_eq!(deadline(&arrival, 99_000, 100_000), 99_000 + 20_100 + 5_000);
    }

    #[test]
    fn a_longer_route_is_learned_from_late_parts_alone() {
        let t = Timestamp::from_us;
        let mut arrival = ExpectedArrival::default();
        arrival.on_complete(t(0), t(20_000));
        for _ in 0..500 {
            arrival.on_part(t(0), t(70_000));
        }
        assert!((69_000..=70_000).contains(&arrival.span_us.unwrap_or(0)));
    }

    #[test]
    fn no_time_stamp_moves_a_deadline_out_of_its_bounds() {
        let far = u64::MAX;
        for (capture, received) in [(0, far), ((1 << 48) - 1, 0), (0, 0)] {
            let mut arrival = ExpectedArrival::default();
            arrival.on_complete(Timestamp::from_us(capture), Timestamp::from_us(received));
            for frame in [0, (1 << 48) - 1] {
                let at = deadline(&arrival, frame, 1_000);
                assert!((6_000..=6_000 + 24_750).contains(&at), "{capture} {received} {frame}: {at}");
            }
        }
    }
}
