//! What the network thread tells the stages before it: whether pictures are wanted, and how large they may be.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shut,
    Open,
    Ended,
}

/// Shared by all threads of the sender.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    budget_bytes: AtomicUsize,
    /// Pictures taken from the source.
    pub(crate) captured: AtomicU64,
    /// Pictures that the source could not use.
    pub(crate) skipped: AtomicU64,
    /// Pictures taken while nobody wanted them.
    pub(crate) unwanted: AtomicU64,
}

impl Gate {
    /// A shut gate.
    pub(crate) fn new(budget_bytes: usize) -> Self {
        Self {
            state: Mutex::new(State::Shut),
            changed: Condvar::new(),
            budget_bytes: AtomicUsize::new(budget_bytes),
            captured: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            unwanted: AtomicU64::new(0),
        }
    }

    /// Opens or shuts it; an ended gate stays so.
    pub(crate) fn set_open(&self, open: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != State::Ended {
            *state = if open { State::Open } else { State::Shut };
            self.changed.notify_all();
        }
    }

    /// Lets everyone who waits go, for good.
    pub(crate) fn end(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Ended;
        self.changed.notify_all();
    }

    /// Waits until it is open; false once it has ended.
    pub(crate) fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let shut = self.changed.wait_while(state, |state| *state == State::Shut);
        *shut.unwrap_or_else(PoisonError::into_inner) == State::Open
    }

    /// Whether it is open now.
    pub(crate) fn is_open(&self) -> bool {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) == State::Open
    }

    /// Sets what the next frame may have.
    pub(crate) fn set_budget_bytes(&self, bytes: usize) {
        self.budget_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that the next frame may have.
    pub(crate) fn budget_bytes(&self) -> usize {
        self.budget_bytes.load(Ordering::Relaxed)
    }
}
