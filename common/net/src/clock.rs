//! The one place where the daemons read time.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::units::Timestamp;

static ORIGIN: OnceLock<Instant> = OnceLock::new();

fn origin() -> Instant {
    *ORIGIN.get_or_init(Instant::now)
}

/// Returns the time since this process first asked, on the machine's monotonic clock.
pub fn now() -> Timestamp {
    let origin = origin();
    Timestamp::from_us(Instant::now().duration_since(origin).as_micros().try_into().unwrap_or(u64::MAX))
}

/// Returns the wall clock, milliseconds since 1970-01-01 UTC; for people and graphs, never to measure with.
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().try_into().unwrap_or(u64::MAX)
}

/// Returns the time until `when`; zero if it is past.
pub fn until(when: Timestamp) -> Duration {
    when.since(now())
}

/// Puts this thread to sleep until `when`.
pub fn sleep_until(when: Timestamp) {
    std::thread::sleep(until(when));
}

/// Returns `when` on the clock that tokio's timers use.
pub(crate) fn to_tokio(when: Timestamp) -> tokio::time::Instant {
    tokio::time::Instant::from_std(origin() + Duration::from_micros(when.as_us()))
}
