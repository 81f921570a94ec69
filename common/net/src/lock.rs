//! Locks that outlive a thread that broke down while it held them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. What it guards here is whole after every statement, so nothing is wrong with what such a thread left.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
