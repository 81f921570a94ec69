//! The latency limit as it may be changed during the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::control::Setting;
use common::config::LATENCY_MS_MAX;

/// Stands for the usual limit.
const USUAL: u64 = u64::MAX;

/// Limits that a key steps through, milliseconds.
const STEPS_MS: [u64; 4] = [10, 20, 40, 80];

/// Time for which missing parts of a frame are waited for; clones share it.
#[derive(Clone, Debug)]
pub struct LatencyLimit(Arc<AtomicU64>);

impl LatencyLimit {
    /// Creates it with the limit of the configuration.
    pub fn new(latency_max: Option<Duration>) -> Self {
        Self(Arc::new(AtomicU64::new(latency_max.map_or(USUAL, |limit| limit.as_millis() as u64))))
    }

    /// Returns the limit; none: the usual one.
    pub fn get(&self) -> Option<Duration> {
        let ms = self.0.load(Ordering::Relaxed);
        (ms != USUAL).then(|| Duration::from_millis(ms))
    }

    /// Sets the limit; none: the usual one.
    pub fn set(&self, limit: Option<Duration>) {
        self.0.store(limit.map_or(USUAL, |limit| limit.as_millis() as u64), Ordering::Relaxed);
    }

    /// Sets the next longer of a few limits, or after the longest the usual one; returns it as [`Self::get`] does.
    pub fn step(&self) -> Option<Duration> {
        let now = self.0.load(Ordering::Relaxed);
        let next = if now == USUAL { STEPS_MS.first() } else { STEPS_MS.iter().find(|&&ms| ms > now) };
        self.0.store(next.copied().unwrap_or(USUAL), Ordering::Relaxed);
        self.get()
    }

    /// Returns the setting that changes it.
    pub fn setting(&self) -> Setting {
        let own = self.clone();
        let set = move |value: &str| {
            if value == "usual" {
                own.0.store(USUAL, Ordering::Relaxed);
                return Some("missing parts are waited for as usual, three quarters of a frame interval".to_owned());
            }
            let ms = value.parse().ok().filter(|ms| *ms <= LATENCY_MS_MAX)?;
            own.0.store(ms, Ordering::Relaxed);
            Some(format!("missing parts are waited for {ms} ms at most"))
        };
        Setting { key: "latency_max_ms", takes: format!("0 to {LATENCY_MS_MAX} or usual"), set: Box::new(set) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_steps_through_all_limits_and_back_to_the_usual_one() {
        let latency_limit = LatencyLimit::new(None);
        let steps = [(); 6].map(|()| latency_limit.step().map(|limit| limit.as_millis()));
        assert_eq!(steps, [Some(10), Some(20), Some(40), Some(80), None, Some(10)]);
        let between = LatencyLimit::new(Some(Duration::from_millis(25)));
        assert_eq!(between.step(), Some(Duration::from_millis(40)));
    }

    #[test]
    fn the_limit_takes_what_the_configuration_takes() {
        let latency_limit = LatencyLimit::new(Some(Duration::from_millis(40)));
        let setting = latency_limit.setting();
        assert_eq!(latency_limit.get(), Some(Duration::from_millis(40)));
        assert!((setting.set)("1001").is_none() && (setting.set)("-1").is_none() && (setting.set)("").is_none());
        assert!((setting.set)("1000").is_some() && latency_limit.get() == Some(Duration::from_secs(1)));
        assert!((setting.set)("usual").is_some() && latency_limit.get().is_none());
    }
}
