//! The user's wish to stop: what is begun is taken away, and the process ends as if nobody had taken the signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, raise};

/// The signals that ask to stop.
#[derive(Clone, Debug)]
pub(super) struct Cancelled {
    signals: SigSet,
    came: Arc<AtomicI32>,
}

impl Cancelled {
    /// Takes the signals of a terminal and of a service manager over, in this thread and those that it starts from now on.
    pub(super) fn take_over() -> Result<Self> {
        let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        signals.thread_block().context("signals cannot be blocked")?;
        let came = Arc::<AtomicI32>::default();
        let (waited, tells) = (signals, Arc::clone(&came));
        let thread = thread::Builder::new().name("signals".to_owned());
        let wait = move || {
            if let Ok(signal) = waited.wait() {
                tells.store(signal as i32, Ordering::Relaxed);
            }
        };
        thread.spawn(wait).context("no thread can be started")?;
        Ok(Self { signals, came })
    }

    /// Returns true once a signal has come.
    pub(super) fn is_asked(&self) -> bool {
        self.came.load(Ordering::Relaxed) != 0
    }

    /// Ends the process by the signal that came, so that its parent sees which it was.
    pub(super) fn end(&self) {
        let Ok(signal) = Signal::try_from(self.came.load(Ordering::Relaxed)) else { return };
        let _ = self.signals.thread_unblock();
        let _ = raise(signal);
    }
}
