//! Quotas of bytes that fill again.

use std::time::Duration;

use crate::units::Timestamp;

const HOUR_US: u128 = 3_600_000_000;

/// A quota that fills again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Most bytes at once.
    pub burst: u64,
    /// Bytes that come back in an hour; at least 1.
    pub per_hour: u64,
}

impl Quota {
    pub(super) const fn per_s(bytes: u64, burst: u64) -> Self {
        Self { burst, per_hour: 3_600 * bytes }
    }

    /// Returns the time in which so many bytes come back, rounded up, and down.
    fn earns(self, bytes: u64) -> [Duration; 2] {
        let (us, per_hour) = (u128::from(bytes) * HOUR_US, u128::from(self.per_hour));
        [us.div_ceil(per_hour), us / per_hour].map(|us| Duration::from_micros(us.try_into().unwrap_or(u64::MAX)))
    }

    /// Returns the most bytes that may go within `span`.
    pub fn within(self, span: Duration) -> u64 {
        let earned = span.as_micros() * u128::from(self.per_hour) / HOUR_US;
        self.burst.saturating_add(earned.try_into().unwrap_or(u64::MAX))
    }
}

/// The rest of a quota, as the time at which all that was taken has come back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent(Timestamp);

impl Spent {
    /// Returns the time from which on so many bytes may be taken; none: they are more than ever at once.
    pub(super) fn opens_at(self, quota: Quota, bytes: u64) -> Option<Timestamp> {
        let [_, earned] = quota.earns(quota.burst.checked_sub(bytes)?);
        Some(Timestamp::from_us(self.0.as_us().saturating_sub(earned.as_micros().try_into().unwrap_or(u64::MAX))))
    }

    pub(super) fn take(&mut self, quota: Quota, bytes: u64, now: Timestamp) {
        let [earned, _] = quota.earns(bytes);
        self.0 = self.0.max(now) + earned;
    }

    /// Returns the time at which all has come back.
    pub(super) fn ends(self) -> Timestamp {
        self.0
    }
}
