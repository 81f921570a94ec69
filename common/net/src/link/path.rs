//! The way that packets take to the other side, and its changes.

use std::ops::RangeInclusive;

use common::config::{LinkMode, candidate_of};
use common::path::ways::{Kind, Pair};

use super::LinkState;

/// Names by which the ends of ways are told apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// True if both sides have looked for each other.
    found: bool,
    /// Ports of relays, if there are any.
    relay_ports: Option<RangeInclusive<u16>>,
}

impl Ways {
    /// Those of connections that are made so.
    pub(crate) fn of(mode: &LinkMode) -> Self {
        let LinkMode::Meet(meet) = mode else { return Self::default() };
        let relay_ports = (!meet.turn.servers.is_empty()).then(|| meet.turn.ports.clone());
        Self { found: true, relay_ports }
    }

    /// Returns how packets get to the end of `pair`. Where both sides have looked for each other, an address outside
    /// is a router's; one that somebody has typed or that has called is as direct as anybody knows.
    pub(crate) fn kind_of(&self, pair: Pair) -> Kind {
        let is_place = |ports: &RangeInclusive<u16>| ports.contains(&pair.to.port());
        match candidate_of(pair.to).map(|candidate| candidate.kind) {
            _ if pair.is_relayed() => Kind::Relayed,
            Some(Kind::ServerReflexive) if self.relay_ports.as_ref().is_some_and(is_place) => Kind::Relayed,
            Some(Kind::ServerReflexive) if !self.found => Kind::Host,
            Some(kind) => kind,
            None => Kind::PeerReflexive,
        }
    }
}

/// The way in use, and how often it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathInUse {
    now: Option<Kind>,
    last: Option<Kind>,
    changes: u64,
}

impl PathInUse {
    /// Takes the state of the connection, if there is one.
    pub fn look(&mut self, state: Option<LinkState>) {
        self.now = state.map(|state| state.path);
        if let Some(kind) = self.now {
            self.changes += u64::from(self.last.replace(kind).is_some_and(|last| last.name() != kind.name()));
        }
    }

    /// Returns the way in words; none without a connection.
    pub fn name(&self) -> Option<&'static str> {
        self.now.map(Kind::name)
    }

    /// Returns how often the way has changed, also from one connection to the next.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use common::path::ways::Base;

    use super::*;

    #[test]
    fn the_way_is_told_by_the_address_and_by_how_it_was_found() {
        let (met, relays) = (Ways { found: true, relay_ports: None }, Some(49_152..=49_215));
        let relayed = Ways { relay_ports: relays, ..met.clone() };
        for (address, ways, called) in [
            ("203.0.113.5:4820", &met, "through the routers"),
            ("203.0.113.5:4820", &Ways::default(), "directly"),
            ("192.168.1.7:4820", &met, "directly"),
            ("[2001:db8::1]:4820", &met, "directly over IPv6"),
            ("[::ffff:192.168.1.7]:4820", &met, "directly"),
            ("203.0.113.5:49160", &met, "through the routers"),
            ("203.0.113.5:49160", &relayed, "through a relay"),
        ] {
            let to: SocketAddr = address.parse().unwrap();
            assert_eq!(ways.kind_of(Pair { to, base: Base::Port }).name(), called, "{address}");
            assert_eq!(ways.kind_of(Pair { to, base: Base::Relay }), Kind::Relayed);
        }
    }

    #[test]
    fn changes_are_counted_over_outages() {
        let on = |path| Some(LinkState { rtt: Duration::ZERO, black_holes: 0, path });
        let mut path = PathInUse::default();
        let seen = [
            on(Kind::Host),
            on(Kind::Host),
            None,
            on(Kind::ServerReflexive),
            on(Kind::PeerReflexive),
            None,
            on(Kind::Host),
        ];
        let counts = seen.map(|state| {
            path.look(state);
            (path.name().is_some(), path.changes())
        });
        assert_eq!(counts, [(true, 0), (true, 0), (false, 0), (true, 1), (true, 1), (false, 1), (true, 2)]);
    }
}
