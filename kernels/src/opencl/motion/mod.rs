//! Predicted frames: the prediction of a channel from states in device memory, the decoder that adds what was coded besides, the filter of both,
//! and the encoder that codes what the prediction leaves (`cl/motion`).

pub(crate) mod channel;
pub(crate) mod decoder;
mod dering;
pub(crate) mod encoder;
#[cfg(test)]
mod encoder_tests;
pub(crate) mod params;
mod residual;
mod search;
#[cfg(test)]
mod search_tests;
mod states;
#[cfg(test)]
mod tests;
