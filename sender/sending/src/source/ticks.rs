//! The times at which a source that makes its own pictures does so.

use std::time::Duration;

use common::units::Timestamp;
use net::clock;

/// A tick each interval; those that nobody had time for are left out.
#[derive(Debug)]
pub(super) struct Ticks {
    interval: Duration,
    next: Option<Timestamp>,
}

impl Ticks {
    /// Creates ticks that begin with the first wait.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, next: None }
    }

    /// Waits for the next tick and returns the time then.
    pub(super) fn wait(&mut self) -> Timestamp {
        let now = clock::now();
        let due = self.next.map_or(now, |next| if now.since(next) > self.interval { now } else { next });
        self.next = Some(due + self.interval);
        clock::sleep_until(due);
        clock::now()
    }
}
