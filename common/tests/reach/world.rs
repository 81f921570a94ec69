//! Two hosts behind simulated routers, a server and a relay, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use common::netsim::Random;
use common::netsim::router::{SimulatedFirewall, SimulatedRouter};
use common::path::ways::{
    ADDRESSES_MAX, Allowance, Base, Candidate, KNOCK_BYTES, Kind, Knock, Meeting, Origin, Pair, Role, Rounds, Step,
    merge,
};
use common::units::Timestamp;

pub(crate) const MS: Duration = Duration::from_millis(1);
/// A server outside that tells who asks under which address it is seen, for each family.
pub(crate) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9)), 3478);
pub(crate) const SERVER_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1)), 3478);

/// A relay, its address for those that have IPv6 only, and the ports that it gives out, all of IPv4.
pub(crate) const RELAY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), 3478);
pub(crate) const RELAY_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2)), 3478);
pub(crate) const PORTS: RangeInclusive<u16> = 49_152..=49_215;

/// The port from which a machine knocks first, and the first of its others.
pub(crate) const PORT: u16 = 20_000;
pub(crate) const OTHER_PORT: u16 = 30_000;

/// Most ways that one machine may remember of another: addresses told by ticket and by note, each from two ports and through
/// the relay, and some that were learned.
pub(crate) const PATHS_MAX: usize = 14 * ADDRESSES_MAX;

/// A host's place at the relay.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) port: u16,
    /// Address at which the relay sees the host: the place belongs to that.
    pub(crate) seen: SocketAddr,
    pub(crate) allowed: BTreeSet<IpAddr>,
}

/// The network inside a router, or the internet.
pub(crate) type Network = Option<usize>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) sender: usize,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Knock(Knock),
    Initial(u64),
    Accept(u64),
    Alive(u64),
}

pub(crate) struct Host {
    pub(crate) v4: Option<Ipv4Addr>,
    pub(crate) v6: Option<Ipv6Addr>,
    pub(crate) network: Network,
    pub(crate) other_port: Option<u16>,
    pub(crate) starts: Timestamp,
    pub(crate) meeting: Option<Meeting>,
    pub(crate) allowance: Allowance,
    pub(crate) rounds: Rounds,
    /// Candidates told to the other, and the time at which it learns them.
    pub(crate) told: Vec<Candidate>,
    /// Those that a mailbox server has, and the time at which it passes them on.
    pub(crate) note: Vec<Candidate>,
    pub(crate) note_at: Option<Timestamp>,
    pub(crate) dialling: Option<(u64, Pair, Timestamp, Timestamp)>,
    pub(crate) connection: Option<(u64, Pair, Timestamp)>,
    pub(crate) has_relay: bool,
    pub(crate) place: Option<Allocation>,
    /// True if its router opens a port for it.
    pub(crate) opens: bool,
    pub(crate) alive_at: Timestamp,
    pub(crate) refresh_at: Timestamp,
    pub(crate) knocks: u64,
    pub(crate) ends: BTreeMap<SocketAddr, Answers>,
}

/// Bytes that went to an address and came from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) nonces: BTreeSet<u64>,
    /// Time at which one of these was last returned.
    pub(crate) returned: Option<Timestamp>,
    /// Bytes that came, and that went there while none was returned for longer than half a minute.
    pub(crate) came: u64,
    pub(crate) unproved: u64,
}

impl Host {
    pub(crate) fn address(&self, via: Base, v6: bool) -> Option<SocketAddr> {
        let port = if via == Base::OtherPort { self.other_port? } else { PORT };
        let ip: IpAddr = if v6 { self.v6?.into() } else { self.v4?.into() };
        Some(SocketAddr::new(ip, port))
    }

    /// Returns the port of this host that has the address.
    pub(crate) fn port_at(&self, to: SocketAddr) -> Option<Base> {
        [Base::Port, Base::OtherPort].into_iter().find(|via| self.address(*via, to.is_ipv6()) == Some(to))
    }
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) routers: Vec<(SimulatedRouter, Network)>,
    /// Before the IPv6 of each home; none where both are in one house.
    pub(crate) firewalls: [Option<SimulatedFirewall>; 2],
    pub(crate) hosts: [Host; 2],
    /// True if notes pass between the two.
    pub(crate) has_mailbox: bool,
    /// True if no machine opens another port.
    pub(crate) one_port: bool,
    pub(crate) delay: Duration,
    pub(crate) loss: f64,
    pub(crate) under_way: Vec<(Timestamp, usize, Pair, Packet)>,
    pub(crate) connections: u64,
}

/// The end of a packet's way: a port of a host, or a server.
pub(crate) type End = Option<(usize, Base)>;

impl World {
    /// Returns where a packet ends, and the address from which it seems to come.
    pub(crate) fn route(
        &mut self,
        host: usize,
        via: Base,
        to: SocketAddr,
        now: Timestamp,
    ) -> Option<(End, SocketAddr)> {
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
    pub(crate) fn route_v6(
        &mut self,
        host: usize,
        from: SocketAddr,
        to: SocketAddr,
        now: Timestamp,
    ) -> Option<(End, SocketAddr)> {
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

    pub(crate) fn host_at(&self, network: Network, to: SocketAddr) -> End {
        let is_there = |(_, host): &(usize, &Host)| host.network == network;
        self.hosts.iter().enumerate().filter(is_there).find_map(|(at, host)| Some((at, host.port_at(to)?)))
    }

    /// The host that gets a packet from the internet.
    pub(crate) fn down(&mut self, from: SocketAddr, mut to: SocketAddr, now: Timestamp) -> End {
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
    pub(crate) fn relay(&mut self, from: SocketAddr, to: SocketAddr, now: Timestamp) -> Option<(usize, Pair)> {
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
    pub(crate) fn seen_by_relay(&mut self, host: usize, now: Timestamp) -> Option<SocketAddr> {
        let relay = if self.hosts[host].v4.is_some() { RELAY } else { RELAY_V6 };
        self.route(host, Base::Port, relay, now).map(|(_, seen)| seen)
    }

    /// Looks whether the relay still sees the host where its place is, and asks for a new place if not.
    pub(crate) fn keep_place(&mut self, host: usize, now: Timestamp) {
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

    pub(crate) fn arrival(&mut self, host: usize, route: Pair, now: Timestamp) -> Option<(usize, Pair)> {
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

    pub(crate) fn send(&mut self, host: usize, to: Pair, what: What, now: Timestamp) {
        let packet = Packet { sender: host, what };
        let Some((at, from)) = self.arrival(host, to, now) else { return };
        if !self.random.chance(self.loss) {
            let jitter = MS.mul_f64(3.0 * self.random.unit());
            self.under_way.push((now + self.delay + jitter, at, from, packet));
        }
    }

    /// Returns the candidates that a host finds of itself.
    pub(crate) fn candidates(&mut self, host: usize, now: Timestamp) -> Vec<Candidate> {
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
    pub(crate) fn open_port(&mut self, host: usize) -> Option<SocketAddr> {
        let Host { network, opens, .. } = self.hosts[host];
        let address = self.hosts[host].address(Base::Port, false)?;
        let (router, _) = network.filter(|_| opens).map(|at| &mut self.routers[at]).filter(|(_, up)| up.is_none())?;
        router.open(address)
    }

    pub(crate) fn receive(&mut self, at: usize, from: Pair, packet: Packet, now: Timestamp) {
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
    pub(crate) fn go_on_from_another_port(&mut self, at: usize, now: Timestamp) {
        let host = &mut self.hosts[at];
        let meeting = host.meeting.as_mut().unwrap();
        if !self.one_port && host.rounds.poll(meeting.pairs() > 0, meeting.is_near(now), now) {
            host.other_port = Some(host.other_port.map_or(OTHER_PORT, |port| port + 1));
            meeting.open_base(Base::OtherPort, None, now);
        }
    }

    /// Leaves a note where this host's addresses have changed, and takes the other's.
    pub(crate) fn exchange_notes(&mut self, at: usize, now: Timestamp) {
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

    pub(crate) fn act(&mut self, at: usize, now: Timestamp) {
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
                    self.send(at, to, What::Knock(Knock { made_ms: 0, nonce, echo, is_idle: false }), now);
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

    pub(crate) fn step(&mut self, now: Timestamp) {
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
    pub(crate) fn connected(&self) -> bool {
        let id = |at: usize| self.hosts[at].connection.map(|(id, ..)| id);
        id(0).is_some() && id(0) == id(1)
    }
}
