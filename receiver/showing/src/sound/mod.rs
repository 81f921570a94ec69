//! Sound that comes: the link gives packets to the card's callback, which owns all that follows until they are heard.
//!
//! `link` (network's thread) -> ring -> `speaker` (card's callback); `step` compares the ear with the eye

mod ear;
mod echoes;
mod link;
mod speaker;
mod step;

pub use self::ear::{Ear, Hearing};
pub use self::echoes::Echoes;
pub use self::link::HearingLink;
pub use self::speaker::{Speaker, Worker};
pub use self::step::{Audible, Delays, Step};
