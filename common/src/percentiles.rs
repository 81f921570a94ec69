//! Distributions of times.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Percentiles of a time, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the values are at most this.
    pub p50: u64,
    /// 95 of 100 are.
    pub p95: u64,
    /// 99 of 100 are.
    pub p99: u64,
    /// Number of values; not in the statistics file.
    #[serde(skip)]
    pub count: u64,
    /// All of them together; not in the statistics file.
    #[serde(skip)]
    pub sum: u64,
}

/// Distribution of a time, 1 us to 60 s, to three digits.
#[derive(Clone, Debug)]
pub struct TimeHistogram {
    values: hdrhistogram::Histogram<u64>,
    sum_us: u64,
}

impl TimeHistogram {
    const MAX_US: u64 = 60_000_000;

    /// Creates a store without values.
    #[expect(clippy::expect_used, reason = "constant bounds that the library accepts")]
    pub fn new() -> Self {
        let values = hdrhistogram::Histogram::new_with_bounds(1, Self::MAX_US, 3).expect("valid bounds");
        Self { values, sum_us: 0 }
    }

    /// Adds a value; beyond 60 s it counts as 60 s.
    pub fn record(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let us = us.min(Self::MAX_US);
        self.values.saturating_record(us);
        self.sum_us = self.sum_us.saturating_add(us);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.values.len()
    }

    /// Returns the percentiles; all zero if there are no values.
    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.values.value_at_quantile(quantile);
        Percentiles { p50: at(0.50), p95: at(0.95), p99: at(0.99), count: self.count(), sum: self.sum_us }
    }
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::new()
    }
}
