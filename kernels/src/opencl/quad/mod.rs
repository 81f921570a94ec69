//! The block coder of the profile `quad`, lossy streams.

pub(crate) mod block_coder;
pub(crate) mod block_decoder;
pub(crate) mod blocks;
pub(crate) mod channel_coder;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod gather;
#[cfg(test)]
#[cfg(feature = "lossless")]
mod lanes_tests;
pub(crate) mod restorer;
