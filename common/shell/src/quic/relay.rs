//! The seam to a relay, and the addresses that QUIC has for peers behind it.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

/// This machine's relay: what is sent through it goes to its server, and what it passes on comes from there.
pub(crate) trait Carrier: fmt::Debug + Send + Sync {
    fn server(&self) -> SocketAddr;

    /// Appends to `out` the packet by which the server passes `datagram` on to `to`; false if it does not yet. If `lasting`,
    /// more will follow.
    fn wrap(&self, to: SocketAddr, datagram: &[u8], lasting: bool, out: &mut Vec<u8>) -> bool;

    /// Takes a packet of the server.
    fn unwrap(&self, packet: &[u8]) -> Unwrapped;
}

/// A packet of a relay's server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unwrapped {
    /// Somebody's datagram.
    From(SocketAddr, Vec<u8>),
    /// Between this machine and the server.
    Handled,
    /// Not about the relay.
    Other,
}

/// Peers reached through the relay, and the addresses that QUIC has for them: `240.0.0.N`, which nobody has (RFC 1112).
/// The oldest makes room.
#[derive(Debug, Default)]
pub(super) struct Relayed {
    peers: Vec<SocketAddr>,
    next: usize,
}

/// Most of them.
const RELAYED_MAX: usize = 64;
/// The port of such addresses.
const RELAYED_PORT: u16 = 1;

impl Relayed {
    pub(super) fn let_in(&mut self, peer: SocketAddr) -> SocketAddr {
        if let Some(known) = self.address_of(peer) {
            return known;
        }
        let at = self.next;
        self.next = (at + 1) % RELAYED_MAX;
        match self.peers.get_mut(at) {
            Some(oldest) => *oldest = peer,
            None => self.peers.push(peer),
        }
        Self::address(at)
    }

    fn address(at: usize) -> SocketAddr {
        (Ipv4Addr::new(240, 0, 0, at as u8), RELAYED_PORT).into()
    }

    pub(super) fn address_of(&self, peer: SocketAddr) -> Option<SocketAddr> {
        self.peers.iter().position(|known| *known == peer).map(Self::address)
    }

    pub(super) fn of(&self, address: SocketAddr) -> Option<SocketAddr> {
        match address {
            SocketAddr::V4(address) => match address.ip().octets() {
                [240, 0, 0, at] => self.peers.get(usize::from(at)).copied(),
                _ => None,
            },
            SocketAddr::V6(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_peers_take_few_places() {
        let mut relayed = Relayed::default();
        for port in 0..=255 {
            let _ = relayed.let_in(([203, 0, 113, 5], port).into());
        }
        assert_eq!(relayed.peers.len(), RELAYED_MAX);
    }
}
