//! QUIC: the only module that names quinn.
//!
//! An [`Endpoint`] makes [`Connection`]s, each with its control stream open, to peers whose keys the handshake has
//! checked. Early data is never used, so nothing is sent before the peer has proved its key.

mod beside;
mod congestion;
mod connection;
mod dscp;
mod endpoint;
mod error;
mod incoming;
mod introducing;
mod path_size;
mod probing;
mod relay;
mod socket;
mod steered;
mod unproved;

pub(crate) use self::beside::{Aside, Beside, KNOCK, PROBE, Sending};
pub(crate) use self::connection::{Connection, End, InCall, Input, SEAL_BYTES};
pub(crate) use self::endpoint::{CloseCode, Endpoint, EndpointOptions, Takes};
pub use self::endpoint::{can_listen, can_meet};
pub(crate) use self::error::{BindError, QuicError};
pub(crate) use self::incoming::Accepted;
pub(crate) use self::introducing::{Introducing, SHARED_BYTES};
pub(crate) use self::probing::Probing;
pub(crate) use self::relay::{Carrier, Unwrapped};
pub(crate) use self::socket::Claim;
pub use self::socket::buffer_sizes;

#[cfg(test)]
pub(crate) mod tests;
