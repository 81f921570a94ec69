//! Plain Rust, one function per stage: the specification of what this crate adds.

pub(crate) mod bits;
pub(crate) mod convolution;
