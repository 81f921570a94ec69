//! The window that a TCP Cubic flow (RFC 9438) would have, for a share like its own of a queue that it keeps full.

use std::time::Duration;

use crate::units::Timestamp;

/// Segment that the window is counted in, bytes.
const SEGMENT: f64 = 1_250.0;
/// RFC 9438's C, segments a second cubed.
const C: f64 = 0.4;
/// RFC 9438's beta: what is left after a loss.
const BETA: f64 = 0.7;

/// A congestion window in segments.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    max: f64,
    window: f64,
    /// Time of the window's last cut, and its size after it.
    cut: (Timestamp, f64),
}

impl Cubic {
    /// Creates a flow that had `bps` over a round trip of `rtt` when it lost something just now.
    pub(super) fn new(bps: f64, rtt: Duration, now: Timestamp) -> Self {
        let max = (bps * rtt.as_secs_f64() / 8.0 / SEGMENT).max(4.0);
        Self { max, window: BETA * max, cut: (now, BETA * max) }
    }

    /// Takes the first loss in a round trip.
    pub(super) fn on_loss(&mut self, now: Timestamp) {
        // Fast convergence, section 4.7.
        self.max = if self.window < self.max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (BETA * self.window).max(2.0);
        self.cut = (now, self.window);
    }

    /// Returns the rate at `now`, bits a second, at most `most`: a flow that has nothing more to send does not grow.
    pub(super) fn rate(&mut self, rtt: Duration, most: f64, now: Timestamp) -> f64 {
        let rtt = rtt.as_secs_f64().max(1e-3);
        let since = now.since(self.cut.0).as_secs_f64();
        let k = ((self.max - self.cut.1).max(0.0) / C).cbrt();
        let cubic = C * (since - k).powi(3) + self.max;
        // As fast as Reno at least, section 4.3.
        let reno = self.cut.1 + 3.0 * (1.0 - BETA) / (1.0 + BETA) * since / rtt;
        self.window = cubic.max(reno).clamp(self.cut.1, (most * rtt / 8.0 / SEGMENT).max(self.cut.1));
        (8.0 * SEGMENT * self.window / rtt).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_falls_by_three_tenths_and_comes_back_in_k_seconds() {
        let at = |seconds: f64| Timestamp::from_us((seconds * 1e6) as u64);
        let rtt = Duration::from_millis(100);
        // 125 segments: K = cbrt(37.5 / 0.4) = 4.54 s.
        let mut cubic = Cubic::new(12.5e6, rtt, at(0.0));
        assert!((8.7e6..8.8e6).contains(&cubic.rate(rtt, 1e9, at(0.0))));
        assert!((12.4e6..12.6e6).contains(&cubic.rate(rtt, 1e9, at(4.54))));
        assert!(cubic.rate(rtt, 1e9, at(8.0)) > 14e6);
        assert_eq!(cubic.rate(rtt, 13e6, at(8.0)), 13e6);
        cubic.on_loss(at(8.0));
        assert!((9.0e6..9.2e6).contains(&cubic.rate(rtt, 1e9, at(8.0))));
        (0..100).for_each(|_| cubic.on_loss(at(8.0)));
        assert!(cubic.rate(Duration::ZERO, 1e9, at(8.0)) > 0.0);
    }
}
