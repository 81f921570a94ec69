//! The times in which the sender's program should have run and did not.

use std::time::Duration;

use crate::units::Timestamp;

/// Longest time between two looks at the clock while the program runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Lateness beyond which a look shows that the program has not run; timers are no more than a millisecond late.
pub(super) const STALL_MIN: Duration = Duration::from_millis(3);

/// Notes stalls of the program that turns a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    last: Timestamp,
}

impl Watch {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { last: now }
    }

    /// Returns the time by which to call [`Self::look`] again.
    pub(super) fn next_at(&self) -> Timestamp {
        self.last + LOOK_INTERVAL
    }

    /// Notes that the program runs. If it comes late, returns the time at which it ran last, and how late it is.
    pub(super) fn look(&mut self, now: Timestamp) -> Option<(Timestamp, Duration)> {
        let late = now.since(self.next_at());
        let before = self.last;
        self.last = before.max(now);
        (late >= STALL_MIN).then_some((before, late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_late_is_a_stall() {
        let t = Timestamp::from_us;
        let mut watch = Watch::new(t(0));
        assert_eq!((watch.next_at(), watch.look(t(7_999))), (t(5_000), None));
        assert_eq!(watch.look(t(92_999)), Some((t(7_999), Duration::from_millis(80))));
        assert_eq!((watch.look(t(93_000)), watch.look(t(50_000)), watch.next_at()), (None, None, t(98_000)));
    }
}
