//! The coder of predicted frames: how vectors are found, how they and what is left are coded, and the states.
//!
//! It stands on the voices, of which each predicts in its own way by the rules of [`crate::motion`]; the search and the code
//! of the vectors are the same Rust for all of them.

mod cost;
mod decoder;
mod dering;
mod encoder;
mod group;
#[cfg(test)]
mod hostile_tests;
mod pool;
pub(crate) mod proven;
mod search;
mod slice;
#[cfg(test)]
pub(crate) mod tests;
mod voice;

#[cfg(test)]
pub(crate) use cost::Costs;
pub use decoder::State;
pub(crate) use decoder::{StateDecoder, on_the_processor as decoder_on_the_processor, open_state_decoder};
#[cfg(test)]
pub(crate) use encoder::open_with as open_encoder_with;
pub(crate) use encoder::{PredictedEncoder, encoder_on_the_processor, open_predicted_encoder};
pub use group::Groups;
pub use search::Effort;
#[cfg(test)]
pub(crate) use search::{Overlapped, Search};
#[cfg(test)]
pub(crate) use slice::tests::any_field;
