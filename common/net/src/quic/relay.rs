//! The seam to a relay, and the addresses that QUIC has for peers behind it and for those that another port reaches.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use common::path::ways::{Base, Pair};

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

/// Ways that do not begin at the port that QUIC knows, and the addresses that QUIC has for the peers at their ends:
/// `240.0.0.N`, which nobody has (RFC 1112). The oldest makes room.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    ways: Vec<Pair>,
    next: usize,
}

/// Most of them.
const ALIASES_MAX: usize = 64;
/// The port of such addresses.
const ALIAS_PORT: u16 = 1;

impl Aliases {
    /// Returns the address of the peer at the end of `way`.
    pub(super) fn let_in(&mut self, way: Pair) -> SocketAddr {
        if way.base == Base::Port {
            return way.to;
        }
        if let Some(known) = self.address_of(way) {
            return known;
        }
        let at = self.next;
        self.next = (at + 1) % ALIASES_MAX;
        match self.ways.get_mut(at) {
            Some(oldest) => *oldest = way,
            None => self.ways.push(way),
        }
        Self::address(at)
    }

    fn address(at: usize) -> SocketAddr {
        (Ipv4Addr::new(240, 0, 0, at as u8), ALIAS_PORT).into()
    }

    /// Returns the address likewise; none if nobody was let in there.
    pub(super) fn address_of(&self, way: Pair) -> Option<SocketAddr> {
        self.ways.iter().position(|known| *known == way).map(Self::address)
    }

    /// Returns the way to an address that QUIC has; none: it is that of a packet.
    pub(super) fn of(&self, address: SocketAddr) -> Option<Pair> {
        match address {
            SocketAddr::V4(address) => match address.ip().octets() {
                [240, 0, 0, at] => self.ways.get(usize::from(at)).copied(),
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
        let mut aliases = Aliases::default();
        for port in 0..=255 {
            for via in [Base::Port, Base::OtherPort, Base::Relay] {
                let way = Pair { to: ([203, 0, 113, 5], port).into(), base: via };
                let address = aliases.let_in(way);
                assert_eq!(address == way.to, via == Base::Port);
                assert_eq!(aliases.of(address), Some(way).filter(|_| via != Base::Port));
            }
        }
        assert_eq!(aliases.ways.len(), ALIASES_MAX);
    }
}
