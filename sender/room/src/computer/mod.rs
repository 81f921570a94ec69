//! This computer: its sound card on trial, and faults that can be mended.

pub(crate) mod mend;
pub(crate) mod trial;
