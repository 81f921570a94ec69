//! Concealment of what is missing.

/// Computes beside the callback what concealment needs.
#[derive(Debug)]
pub struct Concealer {}

impl Concealer {
    /// Computes anew where there is new sound. To be called each few milliseconds by a thread that may wait.
    pub fn work(&mut self) {}
}
