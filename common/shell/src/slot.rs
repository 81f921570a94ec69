//! A place for one item between two threads.
//!
//! Live stages [`replace`](Slot::replace) what is still there: the newest wins, the loss is counted. Stages that
//! must not lose [`put_wait`](Slot::put_wait), or have a slot of some [depth](Slot::with_depth).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::lock::lock;

/// One end of a slot; clones share it.
#[derive(Debug)]
pub struct Slot<T> {
    shared: Arc<SharedSlot<T>>,
}

#[derive(Debug)]
struct SharedSlot<T> {
    state: Mutex<SlotState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct SlotState<T> {
    items: VecDeque<T>,
    depth: usize,
    closed: bool,
    /// True if who waits for an item is to stop waiting.
    woken: bool,
    dropped: u64,
}

/// The outcome of a wait for an item.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<T> {
    /// An item.
    Item(T),
    /// None came in time.
    Timeout,
    /// None is there and none will come.
    Closed,
}

/// The outcome of a wait for room; an item that was not put in comes back.
#[derive(Debug, PartialEq, Eq)]
pub enum Put<T> {
    /// The item is in.
    Done,
    /// No room in time.
    Timeout(T),
    /// The slot takes no further items.
    Closed(T),
}

/// Closes its slot when it is dropped: as the thread that holds it ends, however it ends.
#[derive(Debug)]
#[must_use = "it closes the slot as soon as it is dropped"]
pub struct Closing<'a, T>(&'a Slot<T>);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<T> SlotState<T> {
    fn is_full(&self) -> bool {
        self.items.len() >= self.depth
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    /// Creates an empty, open slot for one item.
    pub fn new() -> Self {
        Self::with_depth(1)
    }

    /// Creates an empty, open slot for `depth` items, at least one: for a stage that nobody watches and that must get
    /// over a pause of its reader without loss.
    pub fn with_depth(depth: usize) -> Self {
        let depth = depth.max(1);
        let state = SlotState { items: VecDeque::with_capacity(depth), depth, closed: false, woken: false, dropped: 0 };
        Self { shared: Arc::new(SharedSlot { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Puts `item` in; if the slot is full, in place of its oldest. Gives back what it replaced (counted as
    /// dropped), or `item` itself if the slot is closed.
    pub fn replace(&self, item: T) -> Option<T> {
        let mut state = self.lock();
        if state.closed {
            return Some(item);
        }
        let old = if state.is_full() { state.items.pop_front() } else { None };
        state.items.push_back(item);
        state.dropped += u64::from(old.is_some());
        self.shared.changed.notify_all();
        old
    }

    /// Waits until the slot has room and puts `item` in; gives it back if the slot is closed.
    pub fn put_wait(&self, item: T) -> Result<(), T> {
        match self.put_timeout(item, Duration::MAX) {
            Put::Done => Ok(()),
            Put::Timeout(item) | Put::Closed(item) => Err(item),
        }
    }

    /// Waits at most `timeout` until the slot has room and puts `item` in.
    pub fn put_timeout(&self, item: T, timeout: Duration) -> Put<T> {
        let mut state = self.wait_while(timeout, |state| state.is_full() && !state.closed);
        if state.closed {
            return Put::Closed(item);
        }
        if state.is_full() {
            return Put::Timeout(item);
        }
        state.items.push_back(item);
        self.shared.changed.notify_all();
        Put::Done
    }

    /// Returns the number of items that wait.
    pub fn waiting(&self) -> usize {
        self.lock().items.len()
    }

    /// Takes the oldest item if there is one.
    pub fn try_take(&self) -> Option<T> {
        self.take(&mut self.lock())
    }

    /// Waits at most `timeout` until everything was taken; returns the oldest item if it was not.
    pub fn take_left(&self, timeout: Duration) -> Option<T> {
        self.take(&mut self.wait_while(timeout, |state| !state.items.is_empty() && !state.closed))
    }

    /// Ends a wait for an item, the one under way or the next one, before its time.
    pub fn wake(&self) {
        self.lock().woken = true;
        self.shared.changed.notify_all();
    }

    /// Waits at most `timeout`, or until it is [woken](Self::wake), for an item. A closed slot still gives the item left in it.
    pub fn take_timeout(&self, timeout: Duration) -> Taken<T> {
        let mut state = self.wait_while(timeout, |state| state.items.is_empty() && !state.closed && !state.woken);
        match self.take(&mut state) {
            Some(item) => Taken::Item(item),
            None if state.closed => Taken::Closed,
            None => {
                // Without a wait there was none to end.
                state.woken &= timeout.is_zero();
                Taken::Timeout
            }
        }
    }

    /// Ends the slot: both ends wake up, and it takes no further items.
    pub fn close(&self) {
        self.lock().closed = true;
        self.shared.changed.notify_all();
    }

    /// Closes it when what is returned is dropped.
    pub fn closing(&self) -> Closing<'_, T> {
        Closing(self)
    }

    /// Returns true if [`Slot::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Returns the number of items replaced before anyone took them.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, SlotState<T>> {
        lock(&self.shared.state)
    }

    /// Waits at most `timeout` for as long as `holds`.
    fn wait_while(&self, timeout: Duration, holds: impl Fn(&SlotState<T>) -> bool) -> MutexGuard<'_, SlotState<T>> {
        let waited = self.shared.changed.wait_timeout_while(self.lock(), timeout, |state| holds(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn take(&self, state: &mut SlotState<T>) -> Option<T> {
        let item = state.items.pop_front();
        if item.is_some() {
            self.shared.changed.notify_all();
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anything but a hang takes.
    const SOON: Duration = Duration::from_secs(90);

    #[test]
    fn the_newest_wins_and_losses_are_counted() {
        let slot = Slot::new();
        assert_eq!((slot.replace(1), slot.replace(2), slot.replace(3)), (None, Some(1), Some(2)));
        assert_eq!((slot.dropped(), slot.try_take(), slot.try_take()), (2, Some(3), None));
        assert_eq!(slot.take_timeout(Duration::ZERO), Taken::Timeout);
    }

    #[test]
    fn a_deep_slot_keeps_order_and_loses_its_oldest() {
        let slot = Slot::with_depth(2);
        assert_eq!((slot.replace(1), slot.replace(2), slot.replace(3)), (None, None, Some(1)));
        assert_eq!((slot.try_take(), slot.try_take(), slot.try_take(), slot.dropped()), (Some(2), Some(3), None, 1));
    }

    #[test]
    fn a_closed_slot_gives_what_it_holds_and_takes_no_more() {
        let slot = Slot::new();
        slot.put_wait(1).unwrap();
        assert_eq!(slot.put_timeout(2, Duration::ZERO), Put::Timeout(2));
        slot.close();
        assert_eq!((slot.put_wait(2), slot.replace(3)), (Err(2), Some(3)));
        assert_eq!(slot.put_timeout(2, SOON), Put::Closed(2));
        assert_eq!((slot.take_timeout(SOON), slot.take_timeout(SOON)), (Taken::Item(1), Taken::Closed));
    }

    #[test]
    fn what_is_taken_in_time_is_not_left() {
        let slot = Slot::new();
        slot.replace(1);
        assert_eq!((slot.take_left(Duration::ZERO), slot.take_left(SOON)), (Some(1), None));
        slot.replace(2);
        let other = slot.clone();
        let thread = std::thread::spawn(move || other.take_timeout(SOON));
        assert_eq!((slot.take_left(SOON), thread.join().unwrap()), (None, Taken::Item(2)));
    }

    #[test]
    fn a_wait_ends_early_once_for_each_time_it_is_woken() {
        let slot = Slot::<u8>::new();
        slot.wake();
        assert_eq!((slot.take_timeout(SOON), slot.take_timeout(Duration::ZERO)), (Taken::Timeout, Taken::Timeout));
        let other = slot.clone();
        let thread = std::thread::spawn(move || other.take_timeout(SOON));
        slot.wake();
        assert_eq!(thread.join().unwrap(), Taken::Timeout);
        // An item goes before.
        slot.wake();
        slot.replace(1);
        assert_eq!(slot.take_timeout(SOON), Taken::Item(1));
    }

    #[test]
    fn a_waiting_source_loses_nothing() {
        let slot = Slot::new();
        let source = slot.clone();
        let thread = std::thread::spawn(move || {
            for item in 0..100 {
                source.put_wait(item).unwrap();
            }
            source.close();
        });
        let mut items = Vec::new();
        while let Taken::Item(item) = slot.take_timeout(SOON) {
            items.push(item);
        }
        thread.join().unwrap();
        assert!(items.into_iter().eq(0..100) && slot.dropped() == 0);
    }
}
