//! SIGINT and SIGTERM, which ask a daemon to stop.
//!
//! OpenCL drivers may handle them as well: NVIDIA's ends the process, whoever else has a handler. Both signals are therefore
//! blocked in every thread, so that no handler runs, and one thread takes them.

use std::sync::LazyLock;
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};
use tokio::sync::watch;

use crate::exit::Failure;

/// How often the daemon was asked to stop.
static REQUESTS: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// Takes both signals over, in this thread and all that it starts from now on: to be called before there are others. Until
/// someone waits for them, and after that, they end the process as if nobody had.
///
/// Errors: the system does not let this thread block signals or start another one.
pub fn take_over() -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::network(format!("signals cannot be received: {error}"));
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    // A file that may not grow is an error of that file, not the end of the process.
    let too_large: SigSet = std::iter::once(Signal::SIGXFSZ).collect();
    too_large.thread_block().map_err(|error| failed(&error))?;
    signals.thread_block().map_err(|error| failed(&error))?;
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || take(signals)).map_err(|error| failed(&error))?;
    Ok(())
}

fn take(signals: SigSet) {
    while let Ok(signal) = signals.wait() {
        if REQUESTS.receiver_count() == 0 {
            // As the system would: the parent sees which signal it was.
            let _ = signals.thread_unblock();
            let _ = raise(signal);
        }
        REQUESTS.send_modify(|requests| *requests += 1);
    }
}

/// What waits for requests to stop that come from here on.
pub(crate) struct Requests(watch::Receiver<u64>);

impl Requests {
    pub(crate) fn new() -> Self {
        Self(REQUESTS.subscribe())
    }

    /// The next request; several that come at once are one.
    pub(crate) async fn next(&mut self) {
        // The sender lives as long as the process.
        let _ = self.0.changed().await;
    }
}
