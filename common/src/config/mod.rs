//! The configuration of both daemons: text to raw structs to checked values.
//!
//! [`parse_sender`] and [`parse_receiver`] read a file's text; flags are laid over the result; then
//! [`resolve_sender`] and [`resolve_receiver`] fill in defaults and check every value once.

mod error;
mod hint;
mod parse;
pub mod raw;
mod resolve;
mod resolved;

pub use crate::public_key::{InvalidPublicKey, PublicKey, is_same_key, looks_like_key};
pub use error::ConfigError;
pub use parse::{parse_peers, parse_receiver, parse_sender};
pub use resolve::{
    DEFAULT_PORT, LATENCY_MS_MAX, candidate_of, parse_frame_rate, parse_size, resolve_receiver, resolve_sender,
    with_port,
};
pub use resolved::{
    Controller, LinkMode, Meet, Password, Peer, Prediction, ReceiverConfig, SenderConfig, SharedConfig, Turn,
    WindowBackend,
};
