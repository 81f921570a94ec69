//! Faults of OpenCL calls, in builds with debug assertions, for tests.

#[cfg(not(debug_assertions))]
pub(crate) use off::check;
#[cfg(debug_assertions)]
pub(crate) use on::check;
#[cfg(debug_assertions)]
pub use on::{Fault, inject};

#[cfg(not(debug_assertions))]
mod off {
    use crate::Result;

    /// Never fails.
    #[inline]
    pub(crate) fn check(_call: &'static str) -> Result<()> {
        Ok(())
    }
}

#[cfg(debug_assertions)]
mod on {
    use std::cell::Cell;

    use crate::DeviceError;
    use crate::Result;

    /// Calls of this thread that fail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// None.
        Never,
        /// The n-th from now on, counted from 0, and no other.
        Once(usize),
        /// The n-th from now on and all after it: the device is lost.
        From(usize),
    }

    thread_local! {
        static FAULT: Cell<Fault> = const { Cell::new(Fault::Never) };
        static STRUCK: Cell<bool> = const { Cell::new(false) };
    }

    /// Makes calls of this thread fail; returns whether any did since the last time.
    pub fn inject(fault: Fault) -> bool {
        FAULT.set(fault);
        STRUCK.replace(false)
    }

    /// Fails when it is this call's turn.
    pub(crate) fn check(call: &'static str) -> Result<()> {
        let (next, fails) = match FAULT.get() {
            Fault::Never => (Fault::Never, false),
            Fault::Once(0) => (Fault::Never, true),
            Fault::Once(n) => (Fault::Once(n - 1), false),
            Fault::From(0) => (Fault::From(0), true),
            Fault::From(n) => (Fault::From(n - 1), false),
        };
        FAULT.set(next);
        STRUCK.set(STRUCK.get() || fails);
        if fails { Err(DeviceError::Failed { call, reason: "injected by a test".to_owned() }) } else { Ok(()) }
    }
}
