//! A rate that changes while others read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::units::Bitrate;

/// A rate that its owner changes while others read it.
#[derive(Clone, Debug)]
pub struct LiveRate(Arc<AtomicU64>);

impl LiveRate {
    /// Starts at `rate`.
    pub fn new(rate: Bitrate) -> Self {
        Self(Arc::new(AtomicU64::new(rate.as_bps())))
    }

    /// Changes it for everyone.
    pub fn set(&self, rate: Bitrate) {
        self.0.store(rate.as_bps(), Ordering::Relaxed);
    }

    /// Returns the rate as it is now.
    pub fn get(&self) -> Bitrate {
        Bitrate::from_bps(self.0.load(Ordering::Relaxed))
    }
}
