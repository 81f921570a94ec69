//! Bytes that cross the network.
//!
//! Frequent messages ([`media`], [`run`](picture::run), [`feedback`], [`states`], [`sound`]) are laid out by hand; rare ones
//! ([`control`]) are length-prefixed and derived. Every decoder here is total: any bytes give a value or the reason why
//! they are none.

pub mod control;
mod error;
pub mod feedback;
pub mod media;
pub mod probe;
pub mod sound;
pub mod states;

pub use self::error::ReportError;

/// Version of everything in this module; both ends must have the same.
pub const PROTOCOL_VERSION: u16 = 13;

/// Longest control message, without its length prefix.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest feedback and report of states: fits every path that QUIC takes.
pub const FEEDBACK_BYTES_MAX: usize = 1150;

/// Cost of a datagram below us, bytes: IPv4 20, UDP 8, QUIC header 11 and tag 16, DATAGRAM frame 3, and 2 to spare; about
/// 4 % of a full one. IPv6 takes 20 more.
pub const LOWER_LAYERS_BYTES: usize = 60;

/// Returns what a datagram of `bytes` takes on the wire.
pub const fn on_wire(bytes: usize) -> usize {
    bytes + LOWER_LAYERS_BYTES
}
