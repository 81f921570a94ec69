//! Routers that translate addresses, in virtual time, for tests of how machines find each other.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::units::Timestamp;

/// Packets from outside that a router lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// Lets in all that come to a mapping: a full cone.
    Open,
    /// Lets in packets from an address to which something went.
    Address,
    /// Lets in packets from an address and port to which something went.
    AddressAndPort,
}

/// Translation and filtering of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterKind {
    /// True if each destination sees another port: a symmetric router.
    pub per_destination: bool,
    /// Filter of packets from outside.
    pub filter: Filtering,
    /// True if machines inside reach each other by their outer addresses.
    pub hairpin: bool,
    /// Lifetime of a mapping without a packet from inside.
    pub lasts: Duration,
}

/// Treatment of a port that a router does not treat like others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoilt {
    /// It is another machine's: packets from that port inside leave from another port for each destination.
    Kept,
    /// Packets from that port inside do not leave.
    Blocked,
}

/// A router, with one address outside.
#[derive(Clone, Debug)]
pub struct SimulatedRouter {
    outside: IpAddr,
    kind: RouterKind,
    mappings: Vec<Mapping>,
    opened: BTreeMap<u16, OpenPort>,
    spoilt: BTreeMap<u16, Spoilt>,
    next_port: u16,
}

/// A port that was opened on request.
#[derive(Clone, Debug)]
struct OpenPort {
    inside: SocketAddr,
    /// Senders to it: answers leave from that port.
    heard: BTreeSet<SocketAddr>,
}

#[derive(Clone, Debug)]
struct Mapping {
    inside: SocketAddr,
    /// The only destination, at a symmetric router.
    destination: Option<SocketAddr>,
    port: u16,
    used: Timestamp,
    contacted: BTreeMap<SocketAddr, Timestamp>,
}

impl SimulatedRouter {
    /// Creates a router without mappings.
    pub fn new(outside: IpAddr, kind: RouterKind) -> Self {
        Self {
            outside,
            kind,
            mappings: Vec::new(),
            opened: BTreeMap::new(),
            spoilt: BTreeMap::new(),
            next_port: 40_000,
        }
    }

    /// Returns its address outside.
    pub fn outside(&self) -> IpAddr {
        self.outside
    }

    /// Returns its translation and filter.
    pub fn kind(&self) -> RouterKind {
        self.kind
    }

    /// Spoils a port for ever.
    pub fn spoil(&mut self, port: u16, spoilt: Spoilt) {
        self.spoilt.insert(port, spoilt);
    }

    /// Forgets all mappings, as a router does that starts anew.
    pub fn forget(&mut self) {
        self.mappings.clear();
        self.opened.clear();
    }

    /// Opens a port for a machine inside, as routers with UPnP or PCP do on request; returns its address outside.
    pub fn open(&mut self, inside: SocketAddr) -> Option<SocketAddr> {
        if self.spoilt.get(&inside.port()) == Some(&Spoilt::Kept) {
            return None;
        }
        let opened = self.opened.entry(inside.port()).or_insert(OpenPort { inside, heard: BTreeSet::new() });
        (opened.inside == inside).then(|| SocketAddr::new(self.outside, inside.port()))
    }

    /// Sends a packet out; returns its source as seen outside, if it leaves.
    pub fn out(&mut self, from: SocketAddr, to: SocketAddr, now: Timestamp) -> Option<SocketAddr> {
        let answers = |opened: &OpenPort| opened.inside == from && opened.heard.contains(&to);
        if let Some((port, _)) = self.opened.iter().find(|(_, opened)| answers(opened)) {
            return Some(SocketAddr::new(self.outside, *port));
        }
        let spoilt = self.spoilt.get(&from.port());
        if spoilt == Some(&Spoilt::Blocked) {
            return None;
        }
        let per_destination = self.kind.per_destination || spoilt == Some(&Spoilt::Kept);
        self.mappings.retain(|mapping| now.since(mapping.used) < self.kind.lasts);
        let destination = per_destination.then_some(to);
        let known = |mapping: &Mapping| mapping.inside == from && mapping.destination == destination;
        let at = self.mappings.iter().position(known).unwrap_or_else(|| {
            let port = self.free_port(from.port());
            self.mappings.push(Mapping { inside: from, destination, port, used: now, contacted: BTreeMap::new() });
            self.mappings.len() - 1
        });
        let mapping = &mut self.mappings[at];
        mapping.used = now;
        mapping.contacted.insert(to, now);
        Some(SocketAddr::new(self.outside, mapping.port))
    }

    /// Takes a packet to the outer address; returns the machine inside that gets it.
    pub fn back(&mut self, from: SocketAddr, to: SocketAddr, now: Timestamp) -> Option<SocketAddr> {
        if let Some(opened) = self.opened.get_mut(&to.port()) {
            opened.heard.insert(from);
            return Some(opened.inside);
        }
        let RouterKind { filter, lasts, .. } = self.kind;
        let lives = |since: Timestamp| now.since(since) < lasts;
        let mapping = self.mappings.iter().find(|mapping| mapping.port == to.port() && lives(mapping.used))?;
        let mut contacted = mapping.contacted.iter().filter(|(_, at)| lives(**at)).map(|(address, _)| *address);
        let lets_in = match filter {
            Filtering::Open => true,
            Filtering::Address => contacted.any(|known| known.ip() == from.ip()),
            Filtering::AddressAndPort => contacted.any(|known| known == from),
        };
        lets_in.then_some(mapping.inside)
    }

    /// Returns the port that was asked for, or another if the router is symmetric or another machine has it.
    fn free_port(&mut self, wanted: u16) -> u16 {
        let is_free = |port: u16| {
            let is_taken = self.opened.contains_key(&port) || self.spoilt.get(&port) == Some(&Spoilt::Kept);
            !is_taken && self.mappings.iter().all(|mapping| mapping.port != port)
        };
        if !self.kind.per_destination && is_free(wanted) {
            return wanted;
        }
        let mut port = self.next_port;
        while !is_free(port) {
            port = port.checked_add(1).unwrap_or(40_000);
        }
        self.next_port = port.checked_add(7).unwrap_or(40_000);
        port
    }
}

/// A firewall before addresses that are known outside, as homes have it for IPv6: it lets in answers and translates nothing.
#[derive(Clone, Debug)]
pub struct SimulatedFirewall {
    filter: Filtering,
    lasts: Duration,
    /// Time of the last packet from inside to outside.
    contacted: BTreeMap<(SocketAddr, SocketAddr), Timestamp>,
}

impl SimulatedFirewall {
    /// Creates one that has let nothing through yet, and forgets a packet from inside after the time `lasts`.
    pub fn new(filter: Filtering, lasts: Duration) -> Self {
        Self { filter, lasts, contacted: BTreeMap::new() }
    }

    /// Lets a packet out.
    pub fn out(&mut self, from: SocketAddr, to: SocketAddr, now: Timestamp) {
        self.contacted.insert((from, to), now);
    }

    /// Returns true if a packet from outside gets in.
    pub fn lets_in(&self, from: SocketAddr, to: SocketAddr, now: Timestamp) -> bool {
        let is_answer = |((inside, outside), at): (&(SocketAddr, SocketAddr), &Timestamp)| {
            let is_known = if self.filter == Filtering::Address { outside.ip() == from.ip() } else { *outside == from };
            *inside == to && is_known && now.since(*at) < self.lasts
        };
        self.filter == Filtering::Open || self.contacted.iter().any(is_answer)
    }

    /// Forgets all packets.
    pub fn forget(&mut self) {
        self.contacted.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn router(per_destination: bool, filter: Filtering) -> SimulatedRouter {
        let kind = RouterKind { per_destination, filter, hairpin: false, lasts: Duration::from_secs(30) };
        SimulatedRouter::new("203.0.113.1".parse().unwrap(), kind)
    }

    #[test]
    fn each_kind_lets_in_what_its_name_says() {
        let (inside, friend) = (address("192.168.1.2:500"), address("198.51.100.1:7"));
        let strangers = [address("198.51.100.1:8"), address("198.51.100.2:7")];
        for (filter, lets_in) in [
            (Filtering::Open, [true, true]),
            (Filtering::Address, [true, false]),
            (Filtering::AddressAndPort, [false, false]),
        ] {
            let mut router = router(false, filter);
            let seen = router.out(inside, friend, Timestamp::default()).unwrap();
            assert_eq!(seen, address("203.0.113.1:500"));
            assert_eq!(router.back(friend, seen, Timestamp::default()), Some(inside));
            for (stranger, lets_in) in strangers.into_iter().zip(lets_in) {
                assert_eq!(
                    router.back(stranger, seen, Timestamp::default()).is_some(),
                    lets_in,
                    "{filter:?} {stranger}"
                );
            }
            assert_eq!(
                router.out(inside, strangers[0], Timestamp::default()),
                Some(seen),
                "one port for all destinations"
            );
            let late = Timestamp::from_us(30_000_000);
            assert_eq!(router.back(friend, seen, late), None, "forgotten");
        }
    }

    #[test]
    fn a_symmetric_router_shows_each_destination_another_port() {
        let mut router = router(true, Filtering::AddressAndPort);
        let inside = address("192.168.1.2:500");
        let (one, other) = (address("198.51.100.1:7"), address("198.51.100.2:7"));
        let seen = router.out(inside, one, Timestamp::default()).unwrap();
        assert_ne!(router.out(inside, other, Timestamp::default()), Some(seen));
        assert_eq!(router.out(inside, one, Timestamp::default()), Some(seen));
        assert_eq!(router.back(other, seen, Timestamp::default()), None);
        router.forget();
        assert_eq!(router.back(one, seen, Timestamp::default()), None);
    }

    #[test]
    fn an_opened_port_lets_everybody_in_and_answers_leave_from_it() {
        let mut router = router(true, Filtering::AddressAndPort);
        let (inside, stranger) = (address("192.168.1.2:500"), address("198.51.100.1:7"));
        let open = router.open(inside).unwrap();
        assert_eq!(open, address("203.0.113.1:500"));
        assert_eq!(router.open(address("192.168.1.3:500")), None, "another machine has it");
        assert_ne!(router.out(inside, stranger, Timestamp::default()), Some(open));
        assert_eq!(router.back(stranger, open, Timestamp::default()), Some(inside));
        assert_eq!(router.out(inside, stranger, Timestamp::default()), Some(open));
        router.forget();
        assert_eq!(router.back(stranger, open, Timestamp::default()), None);
    }

    #[test]
    fn two_machines_behind_a_router_have_two_ports() {
        let mut router = router(false, Filtering::Open);
        let to = address("198.51.100.1:7");
        let one = router.out(address("192.168.1.2:500"), to, Timestamp::default()).unwrap();
        let other = router.out(address("192.168.1.3:500"), to, Timestamp::default()).unwrap();
        assert_ne!(one, other);
        assert_eq!(router.back(to, other, Timestamp::default()), Some(address("192.168.1.3:500")));
    }

    #[test]
    fn a_spoilt_port_leads_nowhere_and_its_neighbour_does() {
        let (friend, other) = (address("198.51.100.1:7"), address("198.51.100.1:8"));
        let mut router = router(false, Filtering::AddressAndPort);
        router.spoil(500, Spoilt::Kept);
        router.spoil(501, Spoilt::Blocked);
        let [kept, blocked, good] = [500, 501, 502].map(|port| SocketAddr::from(([192, 168, 1, 2], port)));
        let seen = [friend, other].map(|to| router.out(kept, to, Timestamp::default()).unwrap());
        assert!(seen[0] != seen[1] && seen.iter().all(|seen| seen.port() != 500), "{seen:?}");
        assert_eq!((router.open(kept), router.out(blocked, friend, Timestamp::default())), (None, None));
        for to in [friend, other] {
            assert_eq!(router.out(good, to, Timestamp::default()), Some(address("203.0.113.1:502")));
        }
    }

    #[test]
    fn a_firewall_lets_answers_in() {
        let (inside, friend) = (address("[2001:db8::1]:500"), address("[2001:db8:1::1]:7"));
        let (port, stranger) = (address("[2001:db8:1::1]:8"), address("[2001:db8:2::1]:7"));
        let lasts = Duration::from_secs(30);
        for (filter, lets_in) in [
            (Filtering::Open, [true, true, true]),
            (Filtering::Address, [true, true, false]),
            (Filtering::AddressAndPort, [true, false, false]),
        ] {
            let mut firewall = SimulatedFirewall::new(filter, lasts);
            let now = Timestamp::default();
            assert_eq!(firewall.lets_in(friend, inside, now), filter == Filtering::Open);
            firewall.out(inside, friend, now);
            assert_eq!([friend, port, stranger].map(|from| firewall.lets_in(from, inside, now)), lets_in, "{filter:?}");
            assert_eq!(firewall.lets_in(friend, inside, now + lasts), filter == Filtering::Open, "forgotten");
            firewall.forget();
            assert_eq!(firewall.lets_in(friend, inside, now), filter == Filtering::Open);
        }
    }
}
