//! The card that plays, as others see and steer it.

use std::sync::{Arc, Mutex};

use net::lock::lock;
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
