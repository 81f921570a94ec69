//! The search for the highest rate that passes.

use crate::units::Bitrate;

/// Rates tried, from the lowest on.
pub(super) const RATE_MIN: Bitrate = Bitrate::from_bps(250_000);
/// No higher rate is tried: pictures do not get better there.
pub(super) const RATE_MAX: Bitrate = Bitrate::from_bps(200_000_000);
/// The search ends when the lowest rate that failed is at most this many percent of the highest that passed.
const CLOSE_PERCENT: u64 = 110;

/// Up by half until a rate fails, then the interval is halved, as ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    passed: u64,
    failed: Option<u64>,
    next: u64,
}

impl Search {
    /// Begins at `rate`.
    pub(super) fn new(rate: Bitrate) -> Self {
        Self { passed: 0, failed: None, next: rate.clamp(RATE_MIN, RATE_MAX).as_bps() }
    }

    /// Returns the rate to try; none: the search is over.
    pub(super) fn rate(&self) -> Option<Bitrate> {
        (self.next > 0).then_some(Bitrate::from_bps(self.next))
    }

    /// Takes the result of the rate tried.
    pub(super) fn on_result(&mut self, passed: bool) {
        if passed {
            self.passed = self.next
        } else {
            self.failed = Some(self.next)
        };
        self.next = match (self.passed, self.failed) {
            (passed, None) if passed >= RATE_MAX.as_bps() => 0,
            (passed, None) => (passed + passed / 2).min(RATE_MAX.as_bps()),
            (0, Some(failed)) if failed <= RATE_MIN.as_bps() => 0,
            (0, Some(failed)) => (failed / 2).max(RATE_MIN.as_bps()),
            (passed, Some(failed)) if failed * 100 <= passed * CLOSE_PERCENT => 0,
            (passed, Some(failed)) => ((passed as f64 * failed as f64).sqrt()) as u64,
        };
    }

    /// Returns the highest rate that passed; zero if none did.
    pub(super) fn best(&self) -> Bitrate {
        Bitrate::from_bps(self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rate found and the number of steps, where all rates up to `capacity` pass.
    fn found(start: u64, capacity: u64) -> (u64, usize) {
        let mut search = Search::new(Bitrate::from_bps(start));
        for steps in 0..100 {
            match search.rate() {
                Some(rate) => search.on_result(rate.as_bps() <= capacity),
                None => return (search.best().as_bps(), steps),
            }
        }
        (u64::MAX, 100)
    }

    #[test]
    fn the_capacity_is_found_from_any_start() {
        for start in [0, 1_000_000, 20_000_000, u64::MAX] {
            for capacity in [300_000, 1_000_000, 5_000_000, 48_000_000, 199_000_000] {
                let (rate, steps) = found(start, capacity);
                assert!(rate <= capacity && rate * 100 >= capacity * 85, "{start} {capacity}: {rate}");
                assert!(steps < 25, "{start} {capacity}: {steps} steps");
            }
            assert_eq!(found(start, 0).0, 0);
            assert_eq!(found(start, u64::MAX).0, RATE_MAX.as_bps());
        }
    }
}
