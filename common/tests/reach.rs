//! Two machines find each other through simulated routers, for thousands of seeds (`make reach-seeds`).
//!
//! Held for each: where a path exists there is a connection within ten seconds, also after the routers have forgotten
//! everything; one side dials, where what it sent was returned, and one handshake at a time; what is remembered is bounded, and
//! so is what goes to addresses that have not answered. Where both have a place at a relay
//! there is always a path; some routers open a port on request. Homes have IPv4, IPv6 behind a firewall, or both. Some routers
//! spoil the port from which a machine knocks first, so that only another one leads anywhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use common::netsim::Random;
use common::netsim::router::{Filtering, RouterKind, SimulatedFirewall, SimulatedRouter, Spoilt};
use common::path::ways::{
    ADDRESSES_MAX, Allowance, Base, Candidate, KNOCK_BYTES, Kind, Knock, Meeting, Origin, Pair, Role, Rounds, Step,
    TIMES, merge,
};
use common::units::Timestamp;

const MS: Duration = Duration::from_millis(1);
/// A server outside that tells who asks under which address it is seen, for each family.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9)), 3478);
const SERVER_V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1)), 3478);

/// A relay, its address for those that have IPv6 only, and the ports that it gives out, all of IPv4.
const RELAY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), 3478);
const RELAY_V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2)), 3478);
const PORTS: RangeInclusive<u16> = 49_152..=49_215;

/// The port from which a machine knocks first, and the first of its others.
const PORT: u16 = 20_000;
const OTHER_PORT: u16 = 30_000;

/// A host's place at the relay.
#[derive(Clone, Debug)]
struct Allocation {
    port: u16,
    /// Address at which the relay sees the host: the place belongs to that.
    seen: SocketAddr,
    allowed: BTreeSet<IpAddr>,
}

/// The network inside a router, or the internet.
type Network = Option<usize>;

#[derive(Clone, Copy, Debug)]
struct Packet {
    sender: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Knock(Knock),
    Initial(u64),
    Accept(u64),
    Alive(u64),
}

struct Host {
    v4: Option<Ipv4Addr>,
    v6: Option<Ipv6Addr>,
    network: Network,
    other_port: Option<u16>,
    starts: Timestamp,
    meeting: Option<Meeting>,
    allowance: Allowance,
    rounds: Rounds,
    /// Candidates told to the other, and the time at which it learns them.
    told: Vec<Candidate>,
    /// Those that a mailbox server has, and the time at which it passes them on.
    note: Vec<Candidate>,
    note_at: Option<Timestamp>,
    dialling: Option<(u64, Pair, Timestamp, Timestamp)>,
    connection: Option<(u64, Pair, Timestamp)>,
    has_relay: bool,
    place: Option<Allocation>,
    /// True if its router opens a port for it.
    opens: bool,
    alive_at: Timestamp,
    refresh_at: Timestamp,
    knocks: u64,
    ends: BTreeMap<SocketAddr, Answers>,
}

/// Bytes that went to an address and came from it.
#[derive(Clone, Debug, Default)]
struct Answers {
    nonces: BTreeSet<u64>,
    /// Time at which one of these was last returned.
    returned: Option<Timestamp>,
    /// Bytes that came, and that went there while none was returned for longer than half a minute.
    came: u64,
    unproved: u64,
}

impl Host {
    fn address(&self, via: Base, v6: bool) -> Option<SocketAddr> {
        let port = if via == Base::OtherPort { self.other_port? } else { PORT };
        let ip: IpAddr = if v6 { self.v6?.into() } else { self.v4?.into() };
        Some(SocketAddr::new(ip, port))
    }

    /// Returns the port of this host that has the address.
    fn port_at(&self, to: SocketAddr) -> Option<Base> {
        [Base::Port, Base::OtherPort].into_iter().find(|via| self.address(*via, to.is_ipv6()) == Some(to))
    }
}

struct World {
    random: Random,
    routers: Vec<(SimulatedRouter, Network)>,
    /// Before the IPv6 of each home; none where both are in one house.
    firewalls: [Option<SimulatedFirewall>; 2],
    hosts: [Host; 2],
    /// True if notes pass between the two.
    has_mailbox: bool,
    /// True if no machine opens another port.
    one_port: bool,
    delay: Duration,
    loss: f64,
    under_way: Vec<(Timestamp, usize, Pair, Packet)>,
    connections: u64,
}

/// The end of a packet's way: a port of a host, or a server.
type End = Option<(usize, Base)>;

impl World {
    /// Returns where a packet ends, and the address from which it seems to come.
    fn route(&mut self, host: usize, via: Base, to: SocketAddr, now: Timestamp) -> Option<(End, SocketAddr)> {
        let mut from = self.hosts[host].address(via, to.is_ipv6())?;
        if to.is_ipv6() {
            return self.route_v6(host, from, to, now);
        }
        let (mut network, mut to) = (self.hosts[host].network, to);
        let mut rises = true;
        for _ in 0..8 {
            if network.is_none() && (to == SERVER || to.ip() == RELAY.ip()) {
                return Some((None, from));
            }
            if let Some(end) = self.host_at(network, to) {
                return Some((Some(end), from));
            }
            let below =
                |(router, parent): &(SimulatedRouter, Network)| *parent == network && router.outside() == to.ip();
            if let Some(down) = self.routers.iter().position(below) {
                to = self.routers[down].0.back(from, to, now)?;
                (network, rises) = (Some(down), false);
                continue;
            }
            let (router, parent) = network.filter(|_| rises).map(|up| &mut self.routers[up])?;
            from = router.out(from, to, now)?;
            if router.outside() == to.ip() {
                to = router.back(from, to, now).filter(|_| router.kind().hairpin)?;
                rises = false;
            } else {
                network = *parent;
            }
        }
        None
    }

    /// The same over IPv6: nothing is translated.
    fn route_v6(&mut self, host: usize, from: SocketAddr, to: SocketAddr, now: Timestamp) -> Option<(End, SocketAddr)> {
        if let Some(firewall) = &mut self.firewalls[host] {
            firewall.out(from, to, now);
        }
        if to == SERVER_V6 || to == RELAY_V6 {
            return Some((None, from));
        }
        let (at, via) = self.hosts.iter().enumerate().find_map(|(at, host)| Some((at, host.port_at(to)?)))?;
        let gets_in = at == host || self.firewalls[at].as_ref().is_none_or(|wall| wall.lets_in(from, to, now));
        gets_in.then_some((Some((at, via)), from))
    }

    fn host_at(&self, network: Network, to: SocketAddr) -> End {
        let is_there = |(_, host): &(usize, &Host)| host.network == network;
        self.hosts.iter().enumerate().filter(is_there).find_map(|(at, host)| Some((at, host.port_at(to)?)))
    }

    /// The host that gets a packet from the internet.
    fn down(&mut self, from: SocketAddr, mut to: SocketAddr, now: Timestamp) -> End {
        let mut network = None;
        for _ in 0..8 {
            if let Some(end) = self.host_at(network, to) {
                return Some(end);
            }
            let below =
                |(router, parent): &(SimulatedRouter, Network)| *parent == network && router.outside() == to.ip();
            let down = self.routers.iter().position(below)?;
            to = self.routers[down].0.back(from, to, now)?;
            network = Some(down);
        }
        None
    }

    /// The host that gets a packet which comes to an address of the relay's.
    fn relay(&mut self, from: SocketAddr, to: SocketAddr, now: Timestamp) -> Option<(usize, Pair)> {
        let of = |host: &Host| host.place.clone().filter(|place| place.port == to.port());
        let place = self.hosts.iter().find_map(of).filter(|place| place.allowed.contains(&from.ip()))?;
        let at = if place.seen.is_ipv6() {
            let at = self.hosts.iter().position(|host| host.port_at(place.seen).is_some())?;
            let wall = self.firewalls[at].as_ref();
            wall.is_none_or(|wall| wall.lets_in(RELAY_V6, place.seen, now)).then_some(at)?
        } else {
            self.down(RELAY, place.seen, now)?.0
        };
        Some((at, Pair { to: from, base: Base::Relay }))
    }

    /// The host as the relay sees it.
    fn seen_by_relay(&mut self, host: usize, now: Timestamp) -> Option<SocketAddr> {
        let relay = if self.hosts[host].v4.is_some() { RELAY } else { RELAY_V6 };
        self.route(host, Base::Port, relay, now).map(|(_, seen)| seen)
    }

    /// Looks whether the relay still sees the host where its place is, and asks for a new place if not.
    fn keep_place(&mut self, host: usize, now: Timestamp) {
        if !self.hosts[host].has_relay {
            return;
        }
        let Some(seen) = self.seen_by_relay(host, now) else { return };
        if self.hosts[host].place.as_ref().is_some_and(|place| place.seen == seen) {
            return;
        }
        let taken: Vec<_> = self.hosts.iter().filter_map(|host| host.place.as_ref()).map(|place| place.port).collect();
        let free = (0..).map(|_| PORTS.start() + self.random.below(64) as u16).find(|port| !taken.contains(port));
        self.hosts[host].place = free.map(|port| Allocation { port, seen, allowed: BTreeSet::new() });
        let meeting = self.hosts[host].meeting.as_mut().unwrap();
        meeting.close_base(Base::Relay);
        meeting.seek_at(RELAY.ip(), PORTS, now);
        meeting.open_base(Base::Relay, Some(RELAY.ip()), now);
    }

    fn arrival(&mut self, host: usize, route: Pair, now: Timestamp) -> Option<(usize, Pair)> {
        if !route.is_relayed() {
            let (at, from) = self.route(host, route.base, route.to, now)?;
            return match at {
                Some((at, via)) => Some((at, Pair { to: from, base: via })),
                None => self.relay(from, route.to, now),
            };
        }
        let seen = self.seen_by_relay(host, now)?;
        let place = self.hosts[host].place.as_mut().filter(|place| place.seen == seen && route.to.is_ipv4())?;
        place.allowed.insert(route.to.ip());
        let from = SocketAddr::new(RELAY.ip(), place.port);
        if route.to.ip() == RELAY.ip() {
            return self.relay(from, route.to, now);
        }
        let (at, via) = self.down(from, route.to, now)?;
        Some((at, Pair { to: from, base: via }))
    }

    fn send(&mut self, host: usize, to: Pair, what: What, now: Timestamp) {
        let packet = Packet { sender: host, what };
        let Some((at, from)) = self.arrival(host, to, now) else { return };
        if !self.random.chance(self.loss) {
            let jitter = MS.mul_f64(3.0 * self.random.unit());
            self.under_way.push((now + self.delay + jitter, at, from, packet));
        }
    }

    /// Returns the candidates that a host finds of itself.
    fn candidates(&mut self, host: usize, now: Timestamp) -> Vec<Candidate> {
        let mut all = Vec::new();
        for via in [Base::Port, Base::OtherPort] {
            for server in [SERVER, SERVER_V6] {
                let seen = self.route(host, via, server, now).map(|(_, seen)| seen);
                all.extend(seen.and_then(|seen| Candidate::new(Kind::ServerReflexive, seen)));
            }
        }
        for (v6, kind) in [(false, Kind::Host), (true, Kind::HostIpv6)] {
            let own = self.hosts[host].address(Base::Port, v6);
            all.extend(own.and_then(|own| Candidate::new(kind, own)));
        }
        let place = self.hosts[host].place.as_ref().map(|place| SocketAddr::new(RELAY.ip(), place.port));
        all.extend(place.and_then(|place| Candidate::new(Kind::Relayed, place)));
        all.extend(self.open_port(host).and_then(|open| Candidate::new(Kind::Mapped, open)));
        merge(&[&all])
    }

    /// The address that the host's router opens; one behind another router opens none.
    fn open_port(&mut self, host: usize) -> Option<SocketAddr> {
        let Host { network, opens, .. } = self.hosts[host];
        let address = self.hosts[host].address(Base::Port, false)?;
        let (router, _) = network.filter(|_| opens).map(|at| &mut self.routers[at]).filter(|(_, up)| up.is_none())?;
        router.open(address)
    }

    fn receive(&mut self, at: usize, from: Pair, packet: Packet, now: Timestamp) {
        // A knock or a handshake of somebody else shows no valid key.
        let host = &mut self.hosts[at];
        if packet.sender == at || now < host.starts {
            return;
        }
        let Some(meeting) = &mut host.meeting else { return };
        match packet.what {
            What::Knock(knock) if host.connection.is_none() => {
                let end = host.ends.entry(from.to).or_default();
                end.came += KNOCK_BYTES as u64;
                if end.nonces.contains(&knock.echo) {
                    end.returned = Some(now);
                }
                meeting.on_knock(from, &knock, true, &mut host.allowance, now);
            }
            What::Knock(_) => {}
            What::Initial(id) => self.send(at, from, What::Accept(id), now),
            What::Accept(id) => {
                let is_answer =
                    |(dialled, to, ..): &mut (u64, Pair, Timestamp, Timestamp)| *dialled == id && to.to == from.to;
                if let Some((_, address, ..)) = host.dialling.take_if(is_answer) {
                    assert!(host.connection.is_none(), "two connections");
                    host.connection = Some((id, address, now));
                }
            }
            // The end of the client's handshake.
            What::Alive(id) if at == 1 && host.connection.is_none_or(|(known, ..)| known < id) => {
                host.connection = Some((id, from, now));
            }
            What::Alive(id) => {
                // The server follows a client that comes from elsewhere; a client takes packets only from where it has dialled
                // (RFC 9000, section 9.6).
                let is_from_peer = |(known, address, _): &&mut (u64, Pair, Timestamp)| {
                    *known == id && (at == 1 || address.to == from.to)
                };
                if let Some((_, address, heard)) = host.connection.as_mut().filter(is_from_peer) {
                    (*address, *heard) = (from, now);
                }
            }
        }
    }

    /// Opens another port where a round has failed.
    fn go_on_from_another_port(&mut self, at: usize, now: Timestamp) {
        let host = &mut self.hosts[at];
        let meeting = host.meeting.as_mut().unwrap();
        if !self.one_port && host.rounds.poll(meeting.pairs() > 0, meeting.is_near(now), now) {
            host.other_port = Some(host.other_port.map_or(OTHER_PORT, |port| port + 1));
            meeting.open_base(Base::OtherPort, None, now);
        }
    }

    /// Leaves a note where this host's addresses have changed, and takes the other's.
    fn exchange_notes(&mut self, at: usize, now: Timestamp) {
        if !self.has_mailbox {
            return;
        }
        let own = self.candidates(at, now);
        if own != self.hosts[at].note {
            self.hosts[at].note = own;
            self.hosts[at].note_at = Some(now + (50 + self.random.below(200) as u32) * MS);
        }
        let [one, other] = &mut self.hosts;
        let (host, friend) = if at == 0 { (one, other) } else { (other, one) };
        if friend.note_at.take_if(|due| *due <= now).is_some() {
            host.meeting.as_mut().unwrap().set_news(Origin::Note, &friend.note, now);
            host.rounds.on_news(now);
        }
    }

    fn act(&mut self, at: usize, now: Timestamp) {
        if now < self.hosts[at].starts {
            return;
        }
        if self.hosts[at].meeting.is_none() {
            // The one that dials is number 0.
            let role = if at == 0 { Role::Dials } else { Role::Waits };
            self.hosts[at].meeting = Some(Meeting::new(role, &[], now));
            self.keep_place(at, now);
        }
        if now >= self.hosts[at].refresh_at {
            // As the one that invites does: the router must not forget what the ticket says.
            for (via, server) in
                [(Base::Port, SERVER), (Base::Port, SERVER_V6), (Base::OtherPort, SERVER), (Base::OtherPort, SERVER_V6)]
            {
                let _ = self.route(at, via, server, now);
            }
            self.keep_place(at, now);
            self.hosts[at].refresh_at = now + 10_000 * MS;
        }
        let silent = |(_, _, heard): &mut (u64, Pair, Timestamp)| now.since(*heard) > 5_000 * MS;
        if self.hosts[at].connection.take_if(silent).is_some() {
            self.hosts[at].meeting.as_mut().unwrap().restart(now);
            self.hosts[at].rounds.restart(now);
            self.keep_place(at, now);
            self.open_port(at);
        }
        if now.as_us().is_multiple_of(20_000) {
            self.exchange_notes(at, now);
        }
        if let Some((id, address, _)) = self.hosts[at].connection {
            if now >= self.hosts[at].alive_at {
                self.hosts[at].alive_at = now + 500 * MS;
                self.send(at, address, What::Alive(id), now);
            }
            return;
        }
        if let Some((id, address, began, again)) = self.hosts[at].dialling {
            if now.since(began) > 2_000 * MS {
                self.hosts[at].dialling = None;
                self.hosts[at].meeting.as_mut().unwrap().on_dial_failed(address, now);
            } else if now >= again {
                self.hosts[at].dialling = Some((id, address, began, now + 300 * MS));
                self.send(at, address, What::Initial(id), now);
            }
        }
        self.go_on_from_another_port(at, now);
        loop {
            let random = u128::from(self.random.bits()) << 64 | u128::from(self.random.bits());
            let host = &mut self.hosts[at];
            let meeting = host.meeting.as_mut().unwrap();
            assert!(meeting.pairs() <= PATHS_MAX, "{} addresses", meeting.pairs());
            match meeting.poll(now, random, &mut host.allowance) {
                None => {
                    let next = meeting.poll_timeout(now, &host.allowance);
                    break assert!(next.is_none_or(|next| next > now || at == 0));
                }
                Some(Step::Knock(to)) => {
                    host.knocks += 1;
                    let [nonce, echo] = meeting.nonces(to);
                    let end = host.ends.entry(to.to).or_default();
                    if nonce != 0 {
                        end.nonces.insert(nonce);
                    }
                    if end.returned.is_none_or(|at| now.since(at) >= 30_000 * MS) {
                        end.unproved += KNOCK_BYTES as u64;
                    }
                    self.send(at, to, What::Knock(Knock { made_ms: 0, nonce, echo }), now);
                }
                Some(Step::Dial(to)) => {
                    let returned = host.ends.get(&to.to).and_then(|end| end.returned);
                    assert!(returned.is_some_and(|at| now.since(at) < 2_500 * MS), "dialled at a guess: {to:?}");
                    assert!(at == 0 && host.dialling.is_none(), "who waits dials, or one dials twice");
                    self.connections += 1;
                    host.dialling = Some((self.connections, to, now, now + 300 * MS));
                    self.send(at, to, What::Initial(self.connections), now);
                }
            }
        }
    }

    fn step(&mut self, now: Timestamp) {
        let (due, later) = self.under_way.drain(..).partition(|(arrival, ..)| *arrival <= now);
        self.under_way = later;
        for (_, at, from, packet) in due {
            self.receive(at, from, packet, now);
        }
        for at in [0, 1] {
            self.act(at, now);
        }
    }

    /// Returns true if both are in the same connection.
    fn connected(&self) -> bool {
        let id = |at: usize| self.hosts[at].connection.map(|(id, ..)| id);
        id(0).is_some() && id(0) == id(1)
    }
}

/// Most ways that one machine may remember of another: addresses told by ticket and by note, each from two ports and through
/// the relay, and some that were learned.
const PATHS_MAX: usize = 14 * ADDRESSES_MAX;

/// Returns a router as homes have them.
fn kind(random: &mut Random) -> RouterKind {
    let (per_destination, filter) = match random.below(4) {
        0 => (false, Filtering::Open),
        1 => (false, Filtering::Address),
        2 => (false, Filtering::AddressAndPort),
        _ => (true, Filtering::AddressAndPort),
    };
    RouterKind { per_destination, filter, hairpin: random.chance(0.5), lasts: Duration::from_secs(30) }
}

/// The routers before one port of a machine, as far as they matter to others outside.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// True if each destination sees another port.
    is_symmetric: bool,
    /// True if only answers get in; else all from machines that were sent to do.
    is_strict: bool,
    /// True if everything gets in.
    is_open: bool,
    /// True if the other machine is told where the port is.
    is_told: bool,
}

/// Returns true if packets get through both ways between two ports.
fn punches(one: Before, other: Before) -> bool {
    // A port that nobody can know beforehand is no matter only to who lets every port in.
    let is_found = |one: Before, other: Before| !one.is_symmetric || !other.is_strict;
    // Where both show each destination another port, each answer comes from a port that was not asked: nobody takes it.
    if one.is_symmetric && other.is_symmetric {
        return false;
    }
    match (one.is_told, other.is_told) {
        (true, true) => is_found(one, other) && is_found(other, one),
        // Of whom nothing was told, that one must knock first, at a port that lets it in; the port that was told of a router that
        // shows each destination another one leads in for a server only, unless it lets in all.
        (false, true) => !other.is_strict && (!other.is_symmetric || other.is_open) && is_found(other, one),
        (true, false) => !one.is_strict && (!one.is_symmetric || one.is_open) && is_found(one, other),
        (false, false) => false,
    }
}

/// Returns what stands before the ports from which a machine behind these routers gets out; the first router spoils one.
/// `has_ticket`: whether what was told by a ticket is true still.
fn ports(chain: &[RouterKind], spoilt: Option<Spoilt>, has_mailbox: bool, has_ticket: bool) -> Vec<Before> {
    let is_strict = chain.iter().any(|kind| kind.filter == Filtering::AddressAndPort);
    let is_symmetric = chain.iter().any(|kind| kind.per_destination);
    let is_open = chain.iter().all(|kind| kind.filter == Filtering::Open);
    let other = Before { is_symmetric, is_strict, is_open, is_told: has_mailbox };
    // A router that shows each destination another port shows another one when it starts anew.
    let is_symmetric = is_symmetric || spoilt.is_some();
    let first = Before { is_symmetric, is_told: has_mailbox || has_ticket || !is_symmetric, ..other };
    match spoilt {
        None => vec![first],
        Some(Spoilt::Kept) => vec![first, other],
        Some(Spoilt::Blocked) => vec![other],
    }
}

/// The outcome of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    found: bool,
    /// Both have IPv6, nothing is lost on the way, and nothing keeps the first packet from getting in over IPv6: so that a
    /// way over IPv4 is never there sooner.
    six: bool,
    over_six: bool,
    from_another_port: bool,
    /// Time from which both know of each other to the connection; none: there was one before, or there is none.
    took: Option<Duration>,
}

/// Runs one seed. `one_port`: no machine opens another port; then nothing is expected.
fn run(seed: u64, one_port: bool) -> Outcome {
    let mut random = Random::new(seed);
    let origin = Timestamp::from_us(1_000_000);
    let mut routers: Vec<(SimulatedRouter, Network)> = Vec::new();
    let mut chains = [Vec::new(), Vec::new()];
    let mut networks = [None, None];
    let same_house = random.chance(0.1);
    let has_mailbox = random.chance(0.5);
    let mut spoilt = [None, None];
    for side in 0..2 {
        let mut network = None;
        for layer in 0..random.below(3) {
            let kind = kind(&mut random);
            // Carriers use one range; homes all use another, the same one.
            let outside = match network {
                None => Ipv4Addr::new(203, 0, 113, 10 + side as u8),
                Some(_) => Ipv4Addr::new(100, 64, layer as u8, 10),
            };
            routers.push((SimulatedRouter::new(outside.into(), kind), network));
            network = Some(routers.len() - 1);
            chains[side].push(kind);
        }
        networks[side] = network;
    }
    let in_one = same_house && networks[0].is_some();
    if in_one {
        networks[1] = networks[0];
    }
    // Both families, IPv4 alone, or IPv6 alone.
    let families = [(); 2].map(|()| (!random.chance(0.15), random.chance(0.4)));
    let has_v6 = families.map(|(v4, v6)| v6 || !v4);
    let has_v4 = families.map(|(v4, _)| v4 || in_one);
    for side in 0..2 {
        let first = networks[side].filter(|_| !in_one && has_v4[side] && random.chance(0.15));
        if let Some(first) = first {
            let how = if random.chance(0.5) { Spoilt::Kept } else { Spoilt::Blocked };
            routers[first].0.spoil(PORT, how);
            spoilt[side] = Some(how);
        }
    }
    let local = |side: usize| match networks[side] {
        None => Ipv4Addr::new(198, 51, 100, 1 + side as u8),
        // Often both homes have the same addresses.
        Some(_) if !in_one && seed.is_multiple_of(2) => Ipv4Addr::new(192, 168, 1, 2),
        Some(_) => Ipv4Addr::new(192, 168, 1, 2 + side as u8),
    };
    let filters = [(); 2].map(|()| match random.below(3) {
        0 => Filtering::Open,
        1 => Filtering::Address,
        _ => Filtering::AddressAndPort,
    });
    let firewalls = filters.map(|filter| (!in_one).then(|| SimulatedFirewall::new(filter, Duration::from_secs(30))));
    let late = random.below(10_000) as u32 * MS;
    let first = random.below(2) as usize;
    let has_relay = [(); 2].map(|()| random.chance(0.4));
    let opens = [(); 2].map(|()| random.chance(0.15));
    let host = |side: usize| Host {
        v4: has_v4[side].then(|| local(side)),
        v6: has_v6[side].then(|| Ipv6Addr::new(0x2001, 0xdb8, 1 + side as u16, 0, 0, 0, 0, 2)),
        network: networks[side],
        other_port: None,
        starts: if side == first { origin } else { origin + late },
        meeting: None,
        allowance: Allowance::default(),
        rounds: Rounds::default(),
        told: Vec::new(),
        note: Vec::new(),
        note_at: None,
        dialling: None,
        connection: None,
        alive_at: origin,
        refresh_at: origin,
        knocks: 0,
        ends: BTreeMap::new(),
        has_relay: has_relay[side],
        place: None,
        opens: opens[side],
    };
    let hosts = [host(0), host(1)];
    let delay = (1 + random.below(60) as u32) * MS;
    let loss = if random.chance(0.5) { 0.0 } else { 0.05 * random.unit() };
    let (under_way, connections) = (Vec::new(), 0);
    let mut world =
        World { random, routers, firewalls, hosts, has_mailbox, one_port, delay, loss, under_way, connections };

    let is_open = |side: usize| {
        opens[side] && has_v4[side] && chains[side].len() == 1 && !in_one && spoilt[side] != Some(Spoilt::Kept)
    };
    let both_v4 = has_v4 == [true, true];
    let over_v6 = has_v6 == [true, true];
    // The place belongs to the first port.
    let has_place = [0, 1].map(|side| has_relay[side] && spoilt[side] != Some(Spoilt::Blocked));
    // Whether there is a direct way, and any at all, if machines are told of other ports, or if not.
    let ways = |is_told: bool, has_ticket: bool| {
        // A machine of which nothing was told is let in by no one who lets in whom it has sent to.
        let is_known = |side: usize| spoilt[side] != Some(Spoilt::Blocked) || is_told || is_open(side);
        let before = [0, 1].map(|side| ports(&chains[side], spoilt[side], is_told, has_ticket));
        let pair = |one: &Before, other: &Before| {
            let is_stranger = |side: usize, one: &Before| !one.is_told && !is_known(side);
            let is_out = is_stranger(0, one) && !other.is_open || is_stranger(1, other) && !one.is_open;
            punches(*one, *other) && !is_out
        };
        let punched = before[0].iter().any(|one| before[1].iter().any(|other| pair(one, other)));
        let direct = over_v6 || both_v4 && (in_one || punched || is_open(0) || is_open(1));
        let by_relay = |side: usize| has_place[side] && (has_place[1 - side] || has_v4[1 - side] && is_known(1 - side));
        (direct, direct || by_relay(0) || by_relay(1))
    };
    // A ticket may tell of another port, if that was opened before.
    let ((_, reachable), (_, may_be_reachable)) = (ways(has_mailbox, true), ways(true, true));
    // Whoever has no relay does not look for the other's new place there.
    let lasting = ways(has_mailbox, false).0 || has_place[0] && has_place[1];
    // Who comes second has a ticket of the first; the first may get an answer some seconds later.
    let second = 1 - first;
    let (second_knows, first_knows) =
        (world.hosts[second].starts, world.hosts[second].starts + world.random.below(5_000) as u32 * MS);
    let (mut now, mut found): (Timestamp, Option<Timestamp>) = (origin, None);
    let deadline = first_knows + 10_000 * MS;
    let restart_at = deadline + 1_000 * MS;
    let end = restart_at + 30_000 * MS;
    let mut back = None;
    let mut outcome = Outcome {
        found: false,
        six: over_v6 && loss == 0.0 && (in_one || filters[first] == Filtering::Open),
        over_six: false,
        from_another_port: false,
        took: None,
    };
    while now < end {
        world.step(now);
        if now == second_knows {
            for side in [first, second] {
                world.hosts[side].told = world.candidates(side, now);
            }
            let told = world.hosts[first].told.clone();
            world.hosts[second].meeting.as_mut().unwrap().add(&told, now);
        }
        if now == first_knows {
            let told = world.hosts[second].told.clone();
            world.hosts[first].meeting.as_mut().unwrap().add(&told, now);
        }
        if world.connected() && found.is_none() {
            found = Some(now);
            outcome.took = (now >= first_knows).then(|| now.since(first_knows));
            let routes = [0, 1].map(|at| world.hosts[at].connection.unwrap().1);
            outcome.over_six = routes[0].to.is_ipv6() && !routes[0].is_relayed();
            outcome.from_another_port = routes.iter().any(|route| route.base == Base::OtherPort);
        }
        if now == restart_at {
            if !lasting || one_port {
                break;
            }
            for (router, _) in &mut world.routers {
                router.forget();
            }
            for firewall in world.firewalls.iter_mut().flatten() {
                firewall.forget();
            }
        }
        // Silence is noticed after 5 s; then ten more.
        if now == restart_at + 16_000 * MS {
            back = world.connected().then_some(now);
            break;
        }
        now = now + MS;
    }
    outcome.found = found.is_some();
    if one_port {
        return outcome;
    }
    let home = format!(
        "{chains:?}, spoilt: {spoilt:?}, in one: {in_one}, v4: {has_v4:?}, v6: {has_v6:?}, relay: {has_relay:?}, opens: {opens:?}, mailbox: {has_mailbox}"
    );
    // What nobody can know, nobody finds: else the expectation above is wrong.
    assert!(found.is_none() || may_be_reachable, "seed {seed}: {home}");
    if reachable {
        let found = found.unwrap_or_else(|| panic!("seed {seed}: no connection through {home}"));
        assert!(found <= deadline, "seed {seed}: {:?} after both knew", found.since(first_knows));
        assert!(back.is_some() || !lasting, "seed {seed}: no connection after the routers have started anew: {home}");
    }
    let seconds = now.since(origin).as_secs() + 1;
    for host in &world.hosts {
        assert!(host.knocks < (10 * PATHS_MAX as u64 + 250) * seconds, "{} knocks in {seconds} s", host.knocks);
        let span = Duration::from_secs(seconds);
        let all: u64 = host.ends.values().map(|end| end.unproved).sum();
        let most: u64 = Origin::ALL.iter().map(|origin| origin.quota().within(span)).sum();
        assert!(all <= most, "{all} bytes in {span:?} to addresses that have not answered");
        for (address, end) in &host.ends {
            let told: u64 =
                Origin::ALL.iter().filter_map(|origin| origin.of_each()).map(|each| each.within(span)).sum();
            assert!(end.unproved <= told + TIMES * end.came, "{} bytes to {address}", end.unproved);
        }
    }
    outcome
}

#[test]
fn machines_find_each_other_wherever_there_is_a_path() {
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| "0..300".to_owned());
    let (from, to) = seeds.split_once("..").unwrap();
    let outcomes: Vec<_> =
        (from.parse::<u64>().unwrap()..to.parse().unwrap()).map(|seed| (seed, run(seed, false))).collect();
    let mut took: Vec<_> = outcomes.iter().filter_map(|(_, outcome)| outcome.took).collect();
    took.sort_unstable();
    let part = |hundredths: usize| took.get(took.len() * hundredths / 100).copied().unwrap_or_default();
    println!("{} met after both knew: half within {:?}, nine of ten within {:?}", took.len(), part(50), part(90));
    let count = |is: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| is(outcome)).count();
    let (six, over_six) = (count(&|outcome| outcome.six), count(&|outcome| outcome.six && outcome.over_six));
    assert!(10 * over_six >= 9 * six, "of {six} pairs with IPv6 {over_six} use it");
    // Another port is no ornament: without it these find nobody.
    let others: Vec<_> =
        outcomes.iter().filter(|(_, outcome)| outcome.from_another_port).map(|(seed, _)| *seed).collect();
    let lost = others.iter().filter(|seed| !run(**seed, true).found).count();
    println!(
        "{} pairs, {six} with IPv6, of which {over_six} use it; {} from another port, {lost} only so",
        outcomes.len(),
        others.len()
    );
    assert!(50 * lost >= outcomes.len(), "{lost} of {}", outcomes.len());
}
