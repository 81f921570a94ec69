//! Messages between the network thread and the stages before it: whether pictures are wanted, how large they may be,
//! whether there are any.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use common::stream::video::prediction::PredictionCounters;
use common::wire::control::SourceState;
use net::lock::lock;

use crate::predict::Told;
use crate::source::health::Health;

/// Most reports of states that wait for the encoder: each repeats those before it.
const TOLD_MAX: usize = 16;

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
    /// Messages for an encoder that predicts.
    told: Mutex<Vec<Told>>,
    prediction: Mutex<PredictionCounters>,
    /// True if the source is wanted and gives no pictures.
    pub(crate) source_stands: AtomicBool,
    /// State of the source, as it tells it.
    pub(crate) source_health: Arc<Health>,
    /// Pictures taken from the source.
    pub(crate) captured: AtomicU64,
    /// Pictures that the source could not use.
    pub(crate) skipped: AtomicU64,
    /// Pictures taken while no receiver wanted them, or that this machine has no time for.
    pub(crate) unwanted: AtomicU64,
}

impl Gate {
    /// Creates a shut gate.
    pub(crate) fn new(budget_bytes: usize) -> Self {
        Self {
            state: Mutex::new(State::Shut),
            changed: Condvar::new(),
            budget_bytes: AtomicUsize::new(budget_bytes),
            told: Mutex::default(),
            prediction: Mutex::default(),
            source_stands: AtomicBool::new(false),
            source_health: Arc::default(),
            captured: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            unwanted: AtomicU64::new(0),
        }
    }

    /// Opens or shuts it; an ended gate stays so.
    pub(crate) fn set_open(&self, open: bool) {
        let mut state = lock(&self.state);
        if *state != State::Ended {
            *state = if open { State::Open } else { State::Shut };
            self.changed.notify_all();
        }
    }

    /// Ends all waits, for good.
    pub(crate) fn end(&self) {
        *lock(&self.state) = State::Ended;
        self.changed.notify_all();
    }

    /// Waits until it is open; false once it has ended.
    pub(crate) fn wait(&self) -> bool {
        let state = lock(&self.state);
        let shut = self.changed.wait_while(state, |state| *state == State::Shut);
        *shut.unwrap_or_else(PoisonError::into_inner) == State::Open
    }

    /// Returns true if it is open now.
    pub(crate) fn is_open(&self) -> bool {
        *lock(&self.state) == State::Open
    }

    /// Returns how the source is. One that gives pictures is not lost, whatever its thread thinks.
    pub(crate) fn source(&self) -> SourceState {
        let health = &self.source_health;
        match self.source_stands.load(Ordering::Relaxed) {
            false => SourceState::Gives,
            true if health.is_withheld() => SourceState::Withheld,
            true if health.is_lost() => SourceState::Lost,
            true if health.trouble().is_some() => SourceState::Unusable,
            true => SourceState::Stalled,
        }
    }

    /// Tells an encoder that predicts about the receiver. Nothing that was told before a restart counts after it.
    pub(crate) fn tell(&self, news: Told) {
        let mut told = lock(&self.told);
        match news {
            Told::Restart => told.clear(),
            Told::Report(..) if told.len() == TOLD_MAX => {
                let oldest = usize::from(told[0] == Told::Restart);
                told.remove(oldest);
            }
            Told::Report(..) | Told::Withdrawn(_) => {}
        }
        told.push(news);
    }

    /// Takes what has been told since the last call.
    pub(crate) fn take_told(&self) -> Vec<Told> {
        std::mem::take(&mut lock(&self.told))
    }

    /// Sets what an encoder that predicts has counted.
    pub(crate) fn set_prediction(&self, counters: PredictionCounters) {
        *lock(&self.prediction) = counters;
    }

    /// Counts of an encoder that predicts.
    pub(crate) fn prediction(&self) -> PredictionCounters {
        *lock(&self.prediction)
    }

    /// Sets what the next frame may have.
    pub(crate) fn set_budget_bytes(&self, bytes: usize) {
        self.budget_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that the next frame may have.
    pub(crate) fn budget_bytes(&self) -> usize {
        self.budget_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_gives_nothing_has_a_reason() {
        let gate = Gate::new(0);
        let stands = |stands| gate.source_stands.store(stands, Ordering::Relaxed);
        gate.source_health.set_lost(true);
        assert_eq!(gate.source(), SourceState::Gives, "whatever its thread thinks");
        stands(true);
        assert_eq!(gate.source(), SourceState::Lost);
        gate.source_health.set_lost(false);
        assert_eq!(gate.source(), SourceState::Stalled);
        gate.source_health.set_trouble(Some("damaged".to_owned()));
        assert_eq!(gate.source(), SourceState::Unusable);
        gate.source_health.set_withheld(true);
        assert_eq!(gate.source(), SourceState::Withheld);
        stands(false);
        assert_eq!(gate.source(), SourceState::Gives);
    }
}
