//! Prediction with vectors: pictures between samples, windows of them, and how far they are from a source.

pub(crate) mod compensate;
pub(crate) mod dering;
pub(crate) mod nearest;
pub(crate) mod overlap;
pub(crate) mod planes;
pub(crate) mod square;
