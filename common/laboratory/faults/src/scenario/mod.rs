//! The scenarios of `make faults`: what each is, one run of it, and what was measured.

pub(crate) mod case;
pub(crate) mod cases;
mod checks;
mod device_faults;
pub(crate) mod fault;
pub(crate) mod measured;
pub(crate) mod run;
pub(crate) mod soak;
pub(crate) mod table;
