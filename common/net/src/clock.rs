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

/// Returns a time that a device has told on `CLOCK_MONOTONIC`, microseconds, on the clock of [`now`]; zero for one before its origin.
pub fn of_monotonic(us: u64) -> Timestamp {
    Timestamp::from_us(us.saturating_sub(origin_us()))
}

/// Returns the time on `CLOCK_MONOTONIC`, microseconds: the inverse of [`of_monotonic`]. One that a peer makes up may be any.
pub fn to_monotonic(time: Timestamp) -> u64 {
    time.as_us().saturating_add(origin_us())
}

/// Returns the origin of [`now`] on `CLOCK_MONOTONIC`, microseconds.
fn origin_us() -> u64 {
    static ORIGIN_US: OnceLock<u64> = OnceLock::new();
    *ORIGIN_US.get_or_init(|| {
        let monotonic = nix::time::ClockId::CLOCK_MONOTONIC.now().map_or(Duration::ZERO, Duration::from);
        (monotonic.as_micros() as u64).saturating_sub(now().as_us())
    })
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
