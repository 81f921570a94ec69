//! Messages between the network thread and the stages before it: whether pictures are wanted, how large they may be,
//! whether there are any.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use common::path::uplink::Uplink;
use common::stream::video::prediction::PredictionCounters;
use common::units::Bitrate;
use common::wire::control::SourceState;
use net::lock::lock;

use crate::predict::Told;
use crate::source::health::Health;

/// Most reports of states that wait for the encoder: each repeats those before it.
const TOLD_MAX: usize = 16;

/// Those who want pictures.
#[derive(Debug)]
struct State {
    is_open: Vec<bool>,
    has_ended: bool,
}

impl State {
    fn is_shut(&self) -> bool {
        !self.has_ended && !self.is_open.contains(&true)
    }
}

/// The facts that the encoder has of a receiver.
#[derive(Debug, Default)]
struct Outlet {
    budget_bytes: AtomicUsize,
    /// Frames that were coded for it alone.
    apart: AtomicU64,
    /// Messages for an encoder that predicts.
    told: Mutex<Vec<Told>>,
}

/// Shared by all threads of the sender.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    outlets: Vec<Outlet>,
    uplink: Mutex<Uplink>,
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
    /// Creates a gate that is shut for so many receivers.
    pub(crate) fn new(receivers: usize) -> Self {
        Self {
            state: Mutex::new(State { is_open: vec![false; receivers], has_ended: false }),
            changed: Condvar::new(),
            outlets: std::iter::repeat_with(Outlet::default).take(receivers).collect(),
            uplink: Mutex::new(Uplink::new(receivers)),
            prediction: Mutex::default(),
            source_stands: AtomicBool::new(false),
            source_health: Arc::default(),
            captured: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            unwanted: AtomicU64::new(0),
        }
    }

    /// Opens or shuts it for a receiver; an ended gate stays so.
    pub(crate) fn set_open(&self, receiver: usize, open: bool) {
        let mut state = lock(&self.state);
        state.is_open[receiver] = open;
        self.changed.notify_all();
    }

    /// Ends all waits, for good.
    pub(crate) fn end(&self) {
        lock(&self.state).has_ended = true;
        self.changed.notify_all();
        self.source_health.end();
    }

    /// Waits until it is open for somebody; false once it has ended.
    pub(crate) fn wait(&self) -> bool {
        let shut = self.changed.wait_while(lock(&self.state), |state| state.is_shut());
        !shut.unwrap_or_else(PoisonError::into_inner).has_ended
    }

    /// Returns true if it is open now for somebody.
    pub(crate) fn is_open(&self) -> bool {
        let state = lock(&self.state);
        !state.has_ended && !state.is_shut()
    }

    /// Returns true if it is open now for this receiver.
    pub(crate) fn is_open_for(&self, receiver: usize) -> bool {
        let state = lock(&self.state);
        !state.has_ended && state.is_open[receiver]
    }

    /// Takes the target of a receiver's path, none while it gets nothing; returns what may leave there, if that is `all` in all.
    pub(crate) fn share(&self, receiver: usize, target: Option<Bitrate>, all: Bitrate) -> Bitrate {
        lock(&self.uplink).share(receiver, target, all)
    }

    /// Returns what may leave to each receiver at first.
    pub(crate) fn first_share(&self, all: Bitrate) -> Bitrate {
        Uplink::even(all, self.outlets.len())
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

    /// Tells an encoder that predicts about a receiver. Nothing that was told before a restart counts after it.
    pub(crate) fn tell(&self, receiver: usize, news: Told) {
        let mut told = lock(&self.outlets[receiver].told);
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

    /// Takes what has been told of a receiver since the last call.
    pub(crate) fn take_told(&self, receiver: usize) -> Vec<Told> {
        std::mem::take(&mut lock(&self.outlets[receiver].told))
    }

    /// Sets what an encoder that predicts has counted.
    pub(crate) fn set_prediction(&self, counters: PredictionCounters) {
        *lock(&self.prediction) = counters;
    }

    /// Counts of an encoder that predicts.
    pub(crate) fn prediction(&self) -> PredictionCounters {
        *lock(&self.prediction)
    }

    /// Counts a frame that was coded for a receiver alone.
    pub(crate) fn count_apart(&self, receiver: usize) {
        self.outlets[receiver].apart.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many were.
    pub(crate) fn apart(&self, receiver: usize) -> u64 {
        self.outlets[receiver].apart.load(Ordering::Relaxed)
    }

    /// Sets what the next frame for a receiver may have.
    pub(crate) fn set_budget_bytes(&self, receiver: usize, bytes: usize) {
        self.outlets[receiver].budget_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that the next frame for a receiver may have.
    pub(crate) fn budget_bytes(&self, receiver: usize) -> usize {
        self.outlets[receiver].budget_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_wanted_while_one_receiver_wants_them() {
        let gate = Gate::new(3);
        assert!(!gate.is_open());
        gate.set_open(1, true);
        gate.set_open(2, true);
        gate.set_open(1, false);
        assert!(gate.wait() && gate.is_open() && gate.is_open_for(2) && !gate.is_open_for(1));
        gate.set_open(2, false);
        assert!(!gate.is_open());
        gate.end();
        gate.set_open(0, true);
        assert!(!gate.wait() && !gate.is_open() && !gate.is_open_for(0));
    }

    #[test]
    fn a_source_that_gives_nothing_has_a_reason() {
        let gate = Gate::new(1);
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
