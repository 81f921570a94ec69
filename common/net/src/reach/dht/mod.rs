//! BitTorrent's Mainline DHT: two machines leave their addresses of now at an existing network and find each other's there, so that
//! a changed address parts nobody, without a server. It is beside all other ways and nobody waits for it.
//!
//! This machine is a client only: it answers nobody and stores nothing for others. The decisions are those of [`common::dht`];
//! here they meet a socket, a clock and secrets ([`ItemKeys`]).

mod at_work;
mod keys;
mod running;
mod socket;

pub(crate) use self::at_work::Does;
pub(crate) use self::keys::ItemKeys;
pub(crate) use self::running::Dht;
pub(super) use self::socket::answers;

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
