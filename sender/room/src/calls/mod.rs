//! The window's part of a call: its pictures, and its pages over them.

pub(crate) mod in_call;
pub(crate) mod relay;
