//! The configuration of both daemons: one table of keys, one file, checked values.
//!
//! [`read()`] reads a file's text by the [`table`] of keys, defaults filled in; flags are laid over the result; then
//! [`resolve_sender`] and [`resolve_receiver`] check every value once.

mod choice;
mod error;
mod hint;
mod read;
mod resolve;
mod resolved;
pub mod table;

pub use crate::public_key::{InvalidPublicKey, PublicKey, is_same_key, looks_like_key};
pub use error::ConfigError;
pub use read::{parse_peers, parse_receiver, parse_sender, read};
pub use resolve::{
    DEFAULT_PORT, LATENCY_MS_MAX, candidate_of, parse_frame_rate, parse_size, resolve_receiver, resolve_sender,
    with_port,
};
pub use resolved::{
    Controller, LinkMode, Meet, Password, Peer, Prediction, PublishConfig, ReceiverConfig, SenderConfig, SharedConfig,
    SnapshotFile, SoundCoding, SoundConfig, Sync, Turn, WindowBackend,
};
pub use table::{ConfigFile, PeerSection, Program};
