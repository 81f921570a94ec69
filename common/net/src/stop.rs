//! Requests to stop, for the loop that turns a link.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// True if somebody has begun to wait for requests.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Number of requests to stop.
static REQUESTS: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// Asks all who wait to stop.
pub fn ask() {
    REQUESTS.send_modify(|requests| *requests += 1);
}

/// Returns true if somebody has begun to wait for requests, even if nobody does any more.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// Returns true if somebody waits for requests.
pub fn is_waited_for() -> bool {
    REQUESTS.receiver_count() > 0
}

/// Wait for requests to stop that come from here on.
pub(crate) struct Requests(watch::Receiver<u64>);

impl Requests {
    pub(crate) fn new() -> Self {
        let requests = Self(REQUESTS.subscribe());
        BEGUN.store(true, Ordering::Relaxed);
        requests
    }

    /// Returns the next request; several that come at once are one.
    pub(crate) async fn next(&mut self) {
        // The sender lives as long as the process.
        let _ = self.0.changed().await;
    }
}
