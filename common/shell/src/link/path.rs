//! The way that packets take to the other side, and its changes.

use std::net::SocketAddr;

use common::config::candidate_of;
use common::reach::Kind;

use super::LinkState;

/// Returns how packets get to `address`. Where both sides have looked for each other, an address outside is a router's; one
/// that somebody has typed or that has called is as direct as anybody knows.
pub(super) fn kind_of(address: SocketAddr, found: bool) -> Kind {
    match candidate_of(address).map(|candidate| candidate.kind) {
        Some(Kind::Seen) if !found => Kind::Local,
        Some(kind) => kind,
        None => Kind::Learned,
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
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::time::Duration;

    use super::*;

    #[test]
    fn the_way_is_told_by_the_address_and_by_how_it_was_found() {
        for (address, found, called) in [
            ("203.0.113.5:4820", true, "through the routers"),
            ("203.0.113.5:4820", false, "directly"),
            ("192.168.1.7:4820", true, "directly"),
            ("[2001:db8::1]:4820", true, "directly over IPv6"),
            ("[::ffff:192.168.1.7]:4820", true, "directly"),
        ] {
            assert_eq!(kind_of(address.parse().unwrap(), found).name(), called, "{address}");
        }
    }

    #[test]
    fn changes_are_counted_over_outages() {
        let on = |path| Some(LinkState { rtt: Duration::ZERO, max_datagram: 1_200, black_holes: 0, path });
        let mut path = PathInUse::default();
        let seen = [on(Kind::Local), on(Kind::Local), None, on(Kind::Seen), on(Kind::Learned), None, on(Kind::Local)];
        let counts = seen.map(|state| {
            path.look(state);
            (path.name().is_some(), path.changes())
        });
        assert_eq!(counts, [(true, 0), (true, 0), (false, 0), (true, 1), (true, 1), (false, 1), (true, 2)]);
    }
}
