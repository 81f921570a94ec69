//! Lossless streams of the profile `quad`.

pub(crate) mod channel;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod ends;
