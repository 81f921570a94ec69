//! The latency limit as it may be changed during the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::config::LATENCY_MS_MAX;
use shell::control::Setting;

/// Stands for the usual limit.
const USUAL: u64 = u64::MAX;

/// How long missing parts of a frame are waited for; clones share it.
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
    fn the_limit_takes_what_the_configuration_takes() {
        let latency_limit = LatencyLimit::new(Some(Duration::from_millis(40)));
        let setting = latency_limit.setting();
        assert_eq!(latency_limit.get(), Some(Duration::from_millis(40)));
        assert!((setting.set)("1001").is_none() && (setting.set)("-1").is_none() && (setting.set)("").is_none());
        assert!((setting.set)("1000").is_some() && latency_limit.get() == Some(Duration::from_secs(1)));
        assert!((setting.set)("usual").is_some() && latency_limit.get().is_none());
    }
}
