//! Jitter of a stream's arrivals.

use std::time::Duration;

use crate::percentiles::TimeHistogram;
use crate::units::Timestamp;

/// Difference beyond which a clock has been set: no network causes it.
const DIFFERENCE_MAX_US: i64 = 1_000_000;

/// Interarrival jitter of the datagrams and lateness of the frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Jitter {
    /// Arrival minus sending of the last datagram; the clocks' difference is in it and cancels.
    transit_us: Option<i64>,
    jitter_us: f64,
    lateness: TimeHistogram,
}

impl Jitter {
    /// Takes a datagram that left at `sent` (sender's clock) and came at `received`.
    ///
    /// RFC 3550, section 6.4.1: `J += (|D| - J) / 16`, D the difference of two successive datagrams' times of transit.
    pub(super) fn on_datagram(&mut self, sent: Timestamp, received: Timestamp) {
        let transit_us = received.as_us().wrapping_sub(sent.as_us()) as i64;
        if let Some(last) = self.transit_us.replace(transit_us) {
            let difference = transit_us.saturating_sub(last).saturating_abs();
            if difference <= DIFFERENCE_MAX_US {
                self.jitter_us += (difference as f64 - self.jitter_us) / 16.0;
            }
        }
    }

    /// Takes the lateness of the last useful datagram of a frame.
    pub(super) fn on_frame(&mut self, late: Duration) {
        self.lateness.record(late);
    }

    /// Returns the interarrival jitter, microseconds.
    pub(super) fn jitter_us(&self) -> u64 {
        self.jitter_us as u64
    }

    /// Returns the 95th percentile of the lateness, microseconds.
    pub(super) fn lateness_us_p95(&self) -> u64 {
        self.lateness.percentiles().p95
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_converges_to_the_mean_difference_whatever_the_clocks() {
        for offset in [0, 1 << 60] {
            let mut jitter = Jitter::default();
            for number in 0..200 {
                // Every second datagram takes 800 us longer.
                let sent = Timestamp::from_us(5_000 + 1_000 * number);
                jitter.on_datagram(sent, Timestamp::from_us(offset + 1_000 * number + 800 * (number % 2)));
            }
            assert!((795..=800).contains(&jitter.jitter_us()), "{}", jitter.jitter_us());
            jitter.on_datagram(Timestamp::from_us(0), Timestamp::from_us(u64::MAX / 2));
            assert!(jitter.jitter_us() <= 800, "a clock that jumps is no jitter");
        }
    }

    #[test]
    fn an_even_stream_has_no_jitter_and_is_not_late() {
        let mut jitter = Jitter::default();
        for number in 0..100 {
            jitter.on_datagram(Timestamp::from_us(number * 100), Timestamp::from_us(7_000 + number * 100));
            jitter.on_frame(Duration::ZERO);
        }
        assert_eq!((jitter.jitter_us(), jitter.lateness_us_p95()), (0, 0));
        (0..10).for_each(|_| jitter.on_frame(Duration::from_millis(3)));
        assert!((2_990..3_010).contains(&jitter.lateness_us_p95()));
    }
}
