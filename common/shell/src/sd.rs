//! What the service manager is told: ready, alive, stopping. Does nothing outside systemd.

use std::time::Duration;

use common::units::Timestamp;
use sd_notify::NotifyState;

/// Tells systemd that the daemon works.
///
/// Call [`Watchdog::alive`] for frames really sent or shown and, while there is no stream, when the link has
/// been served; never from a timer of its own.
#[derive(Debug)]
pub struct Watchdog {
    interval: Option<Duration>,
    last: Option<Timestamp>,
}

impl Watchdog {
    /// Reads `WATCHDOG_USEC`; tells systemd that start-up is over.
    pub fn ready() -> Self {
        tell(NotifyState::Ready);
        Self { interval: sd_notify::watchdog_enabled().map(|limit| limit / 4), last: None }
    }

    /// Something that must go on did; systemd is told at most four times in its limit.
    pub fn alive(&mut self, now: Timestamp) {
        let Some(interval) = self.interval else { return };
        if self.last.is_none_or(|last| now.since(last) >= interval) {
            self.last = Some(now);
            tell(NotifyState::Watchdog);
        }
    }

    /// The daemon ends on purpose.
    pub fn stopping(&mut self) {
        tell(NotifyState::Stopping);
    }
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "the service manager was not told");
    }
}
