//! The profile `pcwt`.

pub(crate) mod decode;
pub(crate) mod encode;
