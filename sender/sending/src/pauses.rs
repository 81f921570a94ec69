//! Pauses before what a computer was too slow for is tried again: the longer, the more often it has failed.

use std::time::Duration;

use common::units::Timestamp;

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(320);
/// A trial that has gone well for so long has not failed.
const WELL: Duration = Duration::from_secs(60);

/// The lengths of the pauses.
#[derive(Debug)]
pub(crate) struct Pauses {
    first: Duration,
    pause: Duration,
    /// Time of the last trial.
    tried: Option<Timestamp>,
}

impl Pauses {
    /// Creates the pauses of what has not been tried, of which the first is so long.
    pub(crate) const fn new(first: Duration) -> Self {
        Self { first, pause: first, tried: None }
    }

    /// Notes that it fails; returns the pause until the next trial: twice the one before it if that trial has failed.
    pub(crate) fn on_failure(&mut self, now: Timestamp) -> Duration {
        let has_failed = self.tried.is_some_and(|tried| now.since(tried) < WELL);
        self.pause = if has_failed { (2 * self.pause).min(LONGEST) } else { self.first };
        self.pause
    }

    /// Notes that it is tried again at `now`, or will be.
    pub(crate) fn on_trial(&mut self, now: Timestamp) {
        self.tried = Some(now);
    }

    /// Returns the last pause.
    pub(crate) fn last(&self) -> Duration {
        self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_trials_that_fail_and_begin_anew_after_one_that_went_well() {
        let (mut pauses, mut now) = (Pauses::new(Duration::from_secs(10)), Timestamp::from_us(1_000_000));
        let mut after = |well: u64| {
            let pause = pauses.on_failure(now);
            now = now + pause;
            pauses.on_trial(now);
            now = now + Duration::from_secs(well);
            assert_eq!(pauses.last(), pause);
            pause.as_secs()
        };
        assert_eq!([1, 1, 59, 1, 1, 1, 61, 1, 60].map(&mut after), [10, 20, 40, 80, 160, 320, 320, 10, 20]);
        assert_eq!(after(1), 10);
    }
}
