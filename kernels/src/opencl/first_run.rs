//! The first frame of each pipeline runs alone.
//!
//! PoCL (seen with 3.1) loads a kernel when a queue first runs it, without keeping others out: two queues that do so
//! at the same time enter it twice into its list, and the use counts that follow abort the process. So the channels
//! of a first frame run one after another, and no two first frames of a process at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// Whether kernels of a kind `T` have run.
#[derive(Debug)]
pub(super) struct FirstRun<T = ()>(Option<T>);

impl<T> Default for FirstRun<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> FirstRun<T> {
    /// A guard to hold while a frame runs if kernels of this `kind` have not run yet; the channels must then run one
    /// after another.
    pub(super) fn begin(&self, kind: &T) -> Option<MutexGuard<'static, ()>> {
        (self.0.as_ref() != Some(kind)).then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The frame has run.
    pub(super) fn done(&mut self, kind: T) {
        self.0 = Some(kind);
    }
}
