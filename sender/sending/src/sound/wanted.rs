//! The coding that is wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sound::format::Coding;

/// The coding that is wanted: set by the link, which knows what the line bears, and followed by the coder.
#[derive(Clone, Debug)]
pub(super) struct Wanted(Arc<AtomicU8>);

impl Wanted {
    pub(super) fn new(coding: Coding) -> Self {
        Self(Arc::new(AtomicU8::new(coding as u8)))
    }

    pub(super) fn set(&self, coding: Coding) {
        self.0.store(coding as u8, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Coding {
        match self.0.load(Ordering::Relaxed) {
            code if code == Coding::Pcm24 as u8 => Coding::Pcm24,
            code if code == Coding::Opus as u8 => Coding::Opus,
            _ => Coding::Pcm16,
        }
    }
}
