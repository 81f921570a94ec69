//! The seam between the codec, which decodes a sent frame again, and the sender's session, which decides when.

use crate::gaps::Gaps;

/// The decoder that the receiver has, at the sender.
pub trait Replay<F, S> {
    /// The failure of a decoder.
    type Error;

    /// Decodes `frame` without `gaps` from the state that it refers to.
    fn replay(&mut self, frame: &F, gaps: &Gaps, reference: Option<&S>) -> Result<S, Self::Error>;

    /// Returns the hash of a state, as the receiver makes it.
    fn hash(&self, state: &S) -> u32;
}
