//! Limit on the rate of an act that a peer causes.

use std::time::Duration;

use crate::units::Timestamp;

/// Allows `at_once` acts together, and one more each time that `each` has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActLimit {
    each: Duration,
    at_once: u32,
    /// Time at which all of them will be there again.
    full_at: Timestamp,
}

impl ActLimit {
    /// Creates a limit of `at_once` at `now`; what is taken comes back one by one, `each` later.
    pub(crate) fn new(at_once: u32, each: Duration, now: Timestamp) -> Self {
        Self { each, at_once, full_at: now }
    }

    /// Takes one; whether there was one.
    pub(crate) fn take(&mut self, now: Timestamp) -> bool {
        let full_at = self.full_at.max(now) + self.each;
        let is_there = full_at.since(now) <= self.each * self.at_once;
        if is_there {
            self.full_at = full_at;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_allowed_and_a_flood_is_not() {
        let at = |ms: u64| Timestamp::from_us(1_000 * ms);
        let mut limit = ActLimit::new(64, Duration::from_millis(50), at(0));
        assert!((0..64).all(|_| limit.take(at(0))));
        assert!(!limit.take(at(0)) && !limit.take(at(49)));
        // Twenty a second go on for ever.
        assert!((1..100_000).all(|number| limit.take(at(50 * number))));
        assert!(!limit.take(at(50 * 99_999)));
    }
}
