//! Sound cards: JACK, PipeWire's JACK and ALSA behind one interface. A program [`open`]s one [`Card`] with the two halves that its
//! callback serves, or has it [`kept`](keep::Kept) open: when the card or its server goes, it comes back by itself.

mod alsa_streams;
mod answer;
mod card;
mod error;
mod guard;
mod halves;
mod info;
mod jack_client;
mod jack_server;
pub mod keep;
mod listed;
mod period;
pub mod priority;
mod server_clock;
mod smoothed;
mod spec;

pub use card::{Card, Change, list, open};
pub use error::CardError;
pub use halves::{Capture, Halves, Playback, Wanted};
pub use info::{Backend, CardInfo};
pub use listed::{Listed, Offer};
pub use spec::{CardSpec, FORMS, UnknownCard};
