//! The rules of prediction of a frame from another, which all voices keep: the vectors of its parts, the overlap of their
//! windows, and what a voice does. How vectors are found and coded is [`crate::coder`]'s.

pub(crate) mod contexts;
pub(crate) mod dering;
pub(crate) mod field;
pub(crate) mod overlap;
pub(crate) mod predictor;
pub(crate) mod search;

/// Side of the squares whose flatness decides if coding a frame alone is worth trying, samples of luma.
pub(crate) const ACTIVITY_SIDE: usize = 8;
