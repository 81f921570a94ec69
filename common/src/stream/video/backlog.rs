//! Frames that come late together after a silence: a machine that stood still, a cable that was out.

use std::time::Duration;

use crate::units::Timestamp;

/// Silence from which on datagrams that come after it may have waited.
const SILENCE: Duration = Duration::from_millis(250);
/// Duration after a silence in which old frames may come.
const CATCHING_UP: Duration = Duration::from_millis(250);
/// Lateness up to which a frame is shown meanwhile.
const STALE: Duration = Duration::from_millis(100);

/// Detects frames that have waited through a silence. Other late frames are shown: the route may have grown longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    last_heard: Timestamp,
    until: Timestamp,
}

impl Backlog {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { last_heard: now, until: now }
    }

    /// Takes the arrival of a datagram of the stream.
    pub(super) fn on_datagram(&mut self, now: Timestamp) {
        if now.since(self.last_heard) > SILENCE {
            self.until = now + CATCHING_UP;
        }
        self.last_heard = now;
    }

    /// Returns true if a frame that is later than expected by `lateness` is better not shown.
    pub(super) fn is_stale(&self, lateness: Duration, now: Timestamp) -> bool {
        lateness > STALE && (now < self.until || now.since(self.last_heard) > SILENCE)
    }
}
