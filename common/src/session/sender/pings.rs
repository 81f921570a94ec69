//! How often a receiver may ask for the time.

use std::time::Duration;

use crate::units::Timestamp;

/// Pings a second that are answered for long: as many as a receiver sends in its first moments.
const PER_SECOND: u64 = 20;
/// Pings that may come at once: those of a line that was dead as long as QUIC lets one be, and as many again.
const AT_ONCE: u64 = 64;
/// What the peer is told that sends more.
pub(super) const TOO_MANY: &str = "more than 64 pings at once or 20 a second";

/// The pings that are still allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PingAllowance {
    /// When all of them will be allowed again.
    full_at: Timestamp,
}

impl PingAllowance {
    /// All are allowed.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { full_at: now }
    }

    /// Whether a ping may be answered.
    pub(super) fn take(&mut self, now: Timestamp) -> bool {
        let each = Duration::from_secs(1) / PER_SECOND as u32;
        let full_at = self.full_at.max(now) + each;
        let is_allowed = full_at.since(now) <= each * AT_ONCE as u32;
        if is_allowed {
            self.full_at = full_at;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_answered_and_a_flood_is_not() {
        let at = |ms: u64| Timestamp::from_us(1_000 * ms);
        let mut allowance = PingAllowance::new(at(0));
        assert!((0..AT_ONCE).all(|_| allowance.take(at(0))));
        assert!(!allowance.take(at(0)) && !allowance.take(at(49)));
        // Twenty a second go on for ever.
        assert!((1..100_000).all(|number| allowance.take(at(50 * number))));
        assert!(!allowance.take(at(50 * 99_999)));
    }
}
