//! The card that plays, as others see and steer it.

use std::sync::{Arc, Mutex};

use net::clock;
use net::lock::lock;
use sound::RATE_HZ;
use sound::observed::{Controls, Observed};

/// View of what a card plays, and wishes for it.
#[derive(Clone, Debug)]
pub struct Ear {
    /// State of what is heard.
    pub observed: Observed,
    /// Wishes for it.
    pub controls: Controls,
    /// From the callback to the air, frames.
    pub output_latency_frames: u32,
}

impl Ear {
    /// Returns the time of this machine at which something comes into the air here, less the sender's time at which it came to the
    /// microphone there, us. None: nothing is heard.
    pub(super) fn between_us(&self) -> Option<i64> {
        let heard = self.observed.heard()?;
        let local_us = clock::of_monotonic(heard.local_us).as_us() as i64;
        let out_us = i64::from(self.output_latency_frames) * 1_000_000 / i64::from(RATE_HZ);
        Some(local_us.saturating_sub(heard.capture_us as i64).saturating_add(out_us))
    }

    /// Returns the time from the microphone there to the air here, us. `offset_us`: the sender's clock less this one's. None: nothing is
    /// heard.
    pub(super) fn delay_us(&self, offset_us: i64) -> Option<i64> {
        Some(self.between_us()?.saturating_add(offset_us))
    }
}

/// The ear of the card that is open now, if one is; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Hearing(Arc<Mutex<Option<Ear>>>);

impl Hearing {
    /// Returns the ear of the card that is open.
    pub fn ear(&self) -> Option<Ear> {
        lock(&self.0).clone()
    }

    /// Forgets the ear of a card that has gone.
    pub(super) fn clear(&self) {
        *lock(&self.0) = None;
    }

    /// Takes the ear of a card that has been opened.
    pub(super) fn set(&self, ear: Ear) {
        *lock(&self.0) = Some(ear);
    }
}
