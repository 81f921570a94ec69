//! Faults of OpenCL calls, for tests.

#[cfg(not(test))]
pub(crate) use off::check;
#[cfg(test)]
pub(crate) use on::{Fault, check, inject};

#[cfg(not(test))]
mod off {
    use crate::opencl::device::Result;

    /// Never fails.
    #[inline]
    pub(crate) fn check(_call: &'static str) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod on {
    use std::cell::Cell;

    use crate::DeviceError;
    use crate::opencl::device::Result;

    /// Calls of this thread that fail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
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
    pub(crate) fn inject(fault: Fault) -> bool {
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
