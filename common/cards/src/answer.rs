//! Calls of a library that may never return.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

/// The thread of a kind of calls: one at a time, so that calls that never return do not pile up.
pub(crate) struct Calls {
    /// A call has not returned yet.
    is_under_way: AtomicBool,
}

impl Calls {
    /// Returns calls of which none is under way.
    pub(crate) const fn new() -> Self {
        Self { is_under_way: AtomicBool::new(false) }
    }

    /// Calls `call` on a thread of its own and returns its answer, or none after `limit`, or at once while an earlier call has not
    /// returned. An answer that comes later is dropped there.
    pub(crate) fn answer<T: Send + 'static>(
        &'static self,
        limit: Duration,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_under_way.swap(true, Ordering::AcqRel) {
            return None;
        }
        let (give, answer) = sync_channel(0);
        let run = move || {
            let answer = call();
            self.is_under_way.store(false, Ordering::Release);
            // Nobody waits any more.
            let _ = give.send(answer);
        };
        if thread::Builder::new().name("card opens".into()).spawn(run).is_err() {
            self.is_under_way.store(false, Ordering::Release);
            return None;
        }
        answer.recv_timeout(limit).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Longer than any test takes: a wait for it would be seen as a test that hangs.
    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_call_that_never_returns_is_left_behind_and_no_second_is_made() {
        static CALLS: Calls = Calls::new();
        assert_eq!(CALLS.answer(LONG, || 1), Some(1));
        let (release, held) = channel::<()>();
        let (returned, returns) = channel::<()>();
        let call = move || {
            let _ = held.recv();
            returned
        };
        assert!(CALLS.answer(Duration::ZERO, call).is_none());
        assert_eq!(CALLS.answer(LONG, || 3), None, "a second call beside one that hangs");
        drop(release);
        // The answer that nobody waits for is dropped, and with it this channel.
        assert!(returns.recv().is_err());
        assert_eq!(CALLS.answer(LONG, || 2), Some(2));
    }
}
