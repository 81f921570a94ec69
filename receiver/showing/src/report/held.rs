//! Delays of pictures by their cause.

use std::time::Duration;

use common::units::Timestamp;

use crate::handover::Passed;

/// Longest delay of pictures beyond those before them, by its cause: the line, this computer, or the sender's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) line: Duration,
    pub(super) here: Duration,
    pub(super) there: Duration,
}

impl Held {
    /// Returns the delay of a picture beyond the one before, by its cause. Each has its way, the time at which it was shown
    /// and that for which the sender's program had stood still by then.
    pub(super) fn between(
        (before, shown, stalled_there_before): &(Passed, Timestamp, Duration),
        (passed, presented, stalled_there): &(Passed, Timestamp, Duration),
    ) -> Self {
        let longer = |now: Duration, then: Duration| now.saturating_sub(then);
        let stalled = passed.stalled.saturating_sub(before.stalled);
        let apart = passed.received.since(before.received);
        let stalled_there = longer(*stalled_there, *stalled_there_before);
        let line = longer(apart, passed.sent.since(before.sent)).saturating_sub(stalled).saturating_sub(stalled_there);
        let here = longer(presented.since(passed.received), shown.since(before.received));
        let there = longer(passed.sent.since(passed.capture), before.sent.since(before.capture));
        // A stall is at most as long as the time between the two pictures.
        Self { line, here: stalled.min(apart) + here, there: there.max(stalled_there.min(apart)) }
    }

    /// Returns the longest of each cause.
    pub(super) fn longest(self, other: Self) -> Self {
        Self { line: self.line.max(other.line), here: self.here.max(other.here), there: self.there.max(other.there) }
    }
}
