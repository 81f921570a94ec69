//! Memory that each thread of the pool has for itself.

use std::sync::{Mutex, PoisonError};

/// A `T` for each thread of the pool.
#[derive(Debug)]
pub(crate) struct PerThread<T>(Vec<Mutex<Box<T>>>);

impl<T> PerThread<T> {
    /// Makes as many as the pool of the calling thread has threads.
    pub(crate) fn new(make: impl Fn() -> Box<T>) -> Self {
        Self((0..rayon::current_num_threads().max(1)).map(|_| Mutex::new(make())).collect())
    }

    /// Lends the calling thread its own to `work`, which must not wait for other tasks: this thread may then begin a task
    /// that wants the same.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let index = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        work(&mut self.0[index].lock().unwrap_or_else(PoisonError::into_inner))
    }
}
