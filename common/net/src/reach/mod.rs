//! Finding the other machine: what this one's addresses are, knocks, introductions by ticket or by words, calls by name,
//! and how such calls find a home whose address has changed.
//!
//! The decisions are those of [`common::path::ways`] and [`common::reach`]; here they meet sockets, a clock and files.

mod addresses;
mod course;
mod dht;
mod house;
mod introduce;
mod learning;
mod locked_file;
mod mailbox;
mod mapping;
mod other_port;
mod pair;
mod peers;
pub mod presence;
mod proof;
mod relaying;
mod search;
mod stun;
mod turn;

use std::net::{Ipv6Addr, SocketAddr};

use crate::quic::{Beside, BindError, Endpoint, EndpointOptions, Takes};

pub(crate) use self::addresses::{has_network, own as own_addresses};
pub(crate) use self::dht::{Dht, Does, ItemKeys};
pub(crate) use self::house::{House, HouseNames};
pub use self::introduce::{Person, dht_answers, invite, join, outside, pair, relay_takes_the_example};
pub use self::learning::Learning;
pub use self::locked_file::{Change, LockedFile};
pub(crate) use self::mailbox::{Notes, PairSeal};
pub use self::mailbox::{PairError, Words, WordsError};
pub use self::peers::{PeersFile, known_peers};
pub(crate) use self::proof::KnockKey;
pub use self::proof::Seals;
pub(crate) use self::search::{Asks, Found, Search};
pub use self::stun::stun_answer;

/// Opens a socket at `port` for both families of addresses, or for IPv4 where the machine has no IPv6.
pub(crate) fn open(options: &EndpointOptions, port: u16, takes: Takes) -> Result<(Endpoint, Beside), BindError> {
    Endpoint::bind_beside(options, (Ipv6Addr::UNSPECIFIED, port).into(), takes)
}

/// Returns the port of an endpoint.
pub(crate) fn port_of(endpoint: &Endpoint) -> Result<u16, BindError> {
    let address = endpoint.local_addr().map_err(|error| BindError::Other(error.to_string()));
    address.map(|address: SocketAddr| address.port())
}
