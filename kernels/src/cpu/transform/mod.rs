//! The wavelet transform: of one plane level by level, and of whole pictures.

pub(crate) mod compact;
mod filter;
mod level;
mod lift;
mod line;
mod merge_level;
mod output;
pub(super) mod pyramid;
mod row;
pub(super) mod row_source;
mod short;
mod split_level;
pub(crate) mod whole;
mod window;
