//! Predicted frames: the prediction of a channel from states in device memory, and the decoder that adds what was coded
//! besides (`cl/motion`).

pub(crate) mod channel;
pub(crate) mod decoder;
pub(crate) mod params;
mod states;
#[cfg(test)]
mod tests;
