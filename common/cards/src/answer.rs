//! Calls of a library that may never return.

use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Calls `call` on a thread of its own and returns its answer. None: it has not returned within `limit`; its answer is dropped when it
/// comes.
pub(crate) fn answer<T: Send + 'static>(limit: Duration, call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, answer) = sync_channel(0);
    // Where nobody waits any more, the answer is dropped.
    let run = move || drop(give.send(call()));
    thread::Builder::new().name("card".into()).spawn(run).ok()?;
    answer.recv_timeout(limit).ok()
}

/// Calls of a kind, one at a time, so that those that never return do not pile up.
pub(crate) struct Calls {
    is_under_way: Mutex<bool>,
    ended: Condvar,
}

impl Calls {
    /// Returns calls of which none is under way.
    pub(crate) const fn new() -> Self {
        Self { is_under_way: Mutex::new(false), ended: Condvar::new() }
    }

    /// Calls as [`answer`] does. None also: the call before has not returned within `limit`.
    pub(crate) fn answer<T: Send + 'static>(
        &'static self,
        limit: Duration,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turn = self.turn(limit)?;
        let run = move || {
            let answer = call();
            drop(turn);
            answer
        };
        answer(limit, run)
    }

    /// Waits until no call is under way.
    fn turn(&'static self, limit: Duration) -> Option<Turn> {
        let is_under_way = self.is_under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.wait_timeout_while(is_under_way, limit, |is_under_way| *is_under_way);
        let (mut is_under_way, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!std::mem::replace(&mut *is_under_way, true)).then(|| Turn(self))
    }
}

/// A call that is under way, until this is dropped: also where it panics, or no thread can be had.
struct Turn(&'static Calls);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.is_under_way.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.ended.notify_one();
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
        let (made, was_made) = channel::<()>();
        assert_eq!(CALLS.answer(Duration::ZERO, move || made.send(()).is_ok()), None, "beside one that hangs");
        assert!(was_made.recv().is_err(), "a second call beside one that hangs");
        drop(release);
        // The answer that nobody waits for is dropped, and with it this channel.
        assert!(returns.recv().is_err());
        assert_eq!(CALLS.answer(LONG, || 2), Some(2));
    }

    #[test]
    fn a_call_beside_another_waits_for_its_turn() {
        static CALLS: Calls = Calls::new();
        let (begun, begins) = channel();
        let (release, held) = channel::<()>();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                CALLS.answer(LONG, move || {
                    begun.send(()).unwrap();
                    held.recv().is_err()
                })
            });
            begins.recv().unwrap();
            let second = scope.spawn(|| CALLS.answer(LONG, || 2));
            drop(release);
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (Some(true), Some(2)));
        });
    }

    #[test]
    fn a_call_that_panics_has_no_answer_and_holds_nobody_up() {
        static CALLS: Calls = Calls::new();
        assert_eq!(CALLS.answer(LONG, || panic!("meant")), None::<()>);
        assert_eq!(CALLS.answer(LONG, || 2), Some(2));
    }
}
