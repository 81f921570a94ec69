use std::collections::BTreeMap;

use super::super::bencode::{bytes, entry, put_bytes};
use super::super::lookup::REQUESTS_MAX;
use super::*;
use crate::netsim::Random;

/// Conduct of a node of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conduct {
    Right,
    Dead,
    /// It keeps what it was given first, and gives that for ever.
    Old,
    /// It gives values of its own.
    Liar,
    /// It names nodes that are not there, always other ones, always nearer.
    Flood,
}

struct Kept {
    id: Id,
    conduct: Conduct,
    values: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A network of nodes in virtual time. Each knows all others.
struct World {
    nodes: BTreeMap<SocketAddrV4, Kept>,
    random: Random,
    now: Timestamp,
    /// Datagrams on their way: arrival, from, to the client's number, bytes.
    air: Vec<(Timestamp, SocketAddrV4, usize, Vec<u8>)>,
    /// Requests to addresses at which nobody is.
    strays: BTreeMap<SocketAddrV4, usize>,
    requests: usize,
    /// True if a flooding node is at every address.
    endless: bool,
}

fn id(random: &mut Random) -> Id {
    Id(std::array::from_fn(|_| random.bits() as u8))
}

impl World {
    fn new(seed: u64, conducts: &[(usize, Conduct)]) -> Self {
        let mut random = Random::new(seed);
        let all = conducts.iter().flat_map(|(count, conduct)| std::iter::repeat_n(*conduct, *count));
        let node = |(n, conduct): (usize, Conduct)| {
            let address = SocketAddrV4::new([198, 51, n as u8, 1].into(), 6881);
            (address, Kept { id: id(&mut random), conduct, values: BTreeMap::new() })
        };
        let nodes = all.enumerate().map(node).collect();
        let now = Timestamp::from_us(1_000_000);
        Self { nodes, random, now, air: Vec::new(), strays: BTreeMap::new(), requests: 0, endless: false }
    }

    fn client(&mut self) -> Client {
        let mut client = Client::new(false);
        let right = self.nodes.iter().filter(|(_, node)| node.conduct == Conduct::Right);
        client.set_entrances(right.map(|(address, _)| *address).take(2).collect());
        client
    }

    /// Returns what a node says to a request.
    fn answer(&mut self, to: SocketAddrV4, request: &[u8]) -> Option<Vec<u8>> {
        self.requests += 1;
        let ids: Vec<_> = self.nodes.iter().map(|(address, node)| (node.id, *address)).collect();
        if self.endless {
            let id = id(&mut self.random);
            self.nodes.entry(to).or_insert(Kept { id, conduct: Conduct::Flood, values: BTreeMap::new() });
        }
        let Some(node) = self.nodes.get_mut(&to) else {
            *self.strays.entry(to).or_default() += 1;
            return None;
        };
        if node.conduct == Conduct::Dead {
            return None;
        }
        let said = entry(request, b"a").unwrap();
        let mut out = b"d1:rd2:id".to_vec();
        let nodes = |target: Id| {
            let mut nearest = ids.clone();
            nearest.sort_by_key(|(id, _)| id.distance(&target));
            nearest.truncate(20);
            nearest
        };
        match entry(request, b"q").and_then(bytes).unwrap() {
            b"get" => {
                let target = Id(entry(said, b"target").and_then(bytes).unwrap().try_into().unwrap());
                let named = match node.conduct {
                    Conduct::Flood => {
                        let random = &mut self.random;
                        let ip = |random: &mut Random| [random.below(100) as u8 + 1, random.bits() as u8, 7, 7].into();
                        (0..32).map(|_| (target, SocketAddrV4::new(ip(random), 6881))).collect()
                    }
                    _ => nodes(target),
                };
                put_bytes(&if node.conduct == Conduct::Flood { target } else { node.id }.0, &mut out);
                out.extend(b"5:nodes");
                let compact = named.iter().flat_map(|(id, address)| {
                    [id.0.as_slice(), &address.ip().octets(), &address.port().to_be_bytes()].concat()
                });
                put_bytes(&compact.collect::<Vec<_>>(), &mut out);
                out.extend(b"5:token4:tokn");
                let lie = (node.conduct == Conduct::Liar).then(|| self.random.bits().to_be_bytes().to_vec());
                let kept: Option<Vec<u8>> = node.values.get(target.0.as_slice()).cloned();
                if let Some(value) = lie.or(kept) {
                    out.extend(b"1:v");
                    put_bytes(&value, &mut out);
                }
            }
            b"put" => {
                assert_eq!(entry(said, b"token").and_then(bytes), Some(b"tokn".as_slice()));
                let key = entry(said, b"k").and_then(bytes).unwrap()[..20].to_vec();
                let value = entry(said, b"v").and_then(bytes).unwrap().to_vec();
                match node.conduct {
                    Conduct::Old => drop(node.values.entry(key).or_insert(value)),
                    _ => drop(node.values.insert(key, value)),
                }
                put_bytes(&node.id.0, &mut out);
            }
            other => panic!("{other:?}"),
        }
        out.push(b'e');
        out.extend(b"1:t");
        put_bytes(entry(request, b"t").and_then(bytes).unwrap(), &mut out);
        out.extend(b"1:y1:re");
        Some(out)
    }

    /// Runs until each client has ended a lookup, or for so long; returns the events of each with their times.
    fn run(&mut self, clients: &mut [&mut Client], limit: Duration) -> Vec<Vec<(Timestamp, Event)>> {
        let end = self.now + limit;
        let mut events = vec![Vec::new(); clients.len()];
        loop {
            for (n, client) in clients.iter_mut().enumerate() {
                loop {
                    let mut random = std::mem::replace(&mut self.random, Random::new(0));
                    let out = client.poll_transmit(|| random.bits() as u32, self.now);
                    self.random = random;
                    let Some((to, request)) = out else { break };
                    let trip = Duration::from_millis(20 + self.random.below(180));
                    if let Some(answer) = self.answer(to, &request) {
                        self.air.push((self.now + trip, to, n, answer));
                    }
                }
                while let Some(event) = client.poll_event() {
                    events[n].push((self.now, event));
                }
            }
            let is_done =
                |all: &Vec<(Timestamp, Event)>| all.iter().any(|(_, event)| matches!(event, Event::Done { .. }));
            if self.now >= end || events.iter().all(is_done) {
                return events;
            }
            let next = self.air.iter().map(|(at, ..)| *at);
            let next = next.chain(clients.iter().filter_map(|client| client.poll_timeout(self.now))).min();
            self.now = next.unwrap_or(end).min(end).max(self.now + Duration::from_micros(1));
            let (due, rest) = std::mem::take(&mut self.air).into_iter().partition(|(at, ..)| *at <= self.now);
            self.air = rest;
            let due: Vec<(_, _, usize, _)> = due;
            for (_, from, n, answer) in due {
                clients[n].on_datagram(from, &answer, self.now);
            }
        }
    }
}

fn item(last: u8, value: &[u8]) -> Item {
    let mut key = [7; 32];
    key[0] = last;
    let target = Id(key[..20].try_into().unwrap());
    Item { target, key, number: 1, value: value.to_vec(), signature: [0; 64] }
}

fn end(events: &[(Timestamp, Event)]) -> (usize, Option<usize>) {
    let last = events.iter().find_map(|(_, event)| match event {
        Event::Done { answers, stored, .. } => Some((*answers, *stored)),
        Event::Value { .. } => None,
    });
    last.expect("an end")
}

fn values(events: &[(Timestamp, Event)]) -> Vec<&[u8]> {
    let value = |event: &'_ Event| matches!(event, Event::Value { .. });
    events.iter().filter(|(_, event)| value(event)).map(|(_, event)| value_of(event)).collect()
}

fn value_of(event: &Event) -> &[u8] {
    match event {
        Event::Value { value, .. } => value,
        Event::Done { .. } => &[],
    }
}

const OWN: Id = Id([1; 20]);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn what_one_stores_another_finds_among_dead_lying_and_flooding_nodes() {
    for seed in 0..100 {
        let conducts =
            [(26, Conduct::Right), (10, Conduct::Dead), (5, Conduct::Old), (5, Conduct::Liar), (4, Conduct::Flood)];
        let mut world = World::new(seed, &conducts);
        let (mut one, mut other) = (world.client(), world.client());
        for value in [b"old value".as_slice(), b"new value"] {
            assert!(one.start(OWN, item(3, value).target, Some(item(3, value)), world.now));
            assert!(!one.start(OWN, item(3, value).target, None, world.now), "twice");
            let stored = end(&world.run(&mut [&mut one], LONG)[0]).1.unwrap();
            assert!(stored >= 8, "seed {seed}: {stored}");
            // Four nodes flood, and of those that each names a few are asked.
            assert!(world.strays.values().sum::<usize>() <= 2 * 4 * 8, "seed {seed}: {:?}", world.strays.len());
        }
        let begun = world.now;
        assert!(other.start(OWN, item(3, b"").target, None, world.now));
        let events = &world.run(&mut [&mut other], LONG)[0];
        let found =
            events.iter().find(|(_, event)| matches!(event, Event::Value { value, .. } if value == b"new value"));
        let (at, _) = found.unwrap_or_else(|| panic!("seed {seed}"));
        assert!(at.since(begun) < Duration::from_secs(6), "seed {seed}: {:?}", at.since(begun));
        assert!(end(events).1.is_none());
        // Nodes change: half of those that were there are gone.
        let gone = world.nodes.values_mut().step_by(2).filter(|node| node.conduct == Conduct::Right);
        gone.for_each(|node| node.conduct = Conduct::Dead);
        other.start(OWN, item(3, b"").target, None, world.now);
        assert!(values(&world.run(&mut [&mut other], LONG)[0]).contains(&b"new value".as_slice()), "seed {seed}");
    }
}

#[test]
fn nodes_that_name_others_cost_a_bounded_number_of_packets() {
    let mut world = World::new(1, &[(2, Conduct::Right), (40, Conduct::Flood)]);
    let mut client = world.client();
    for looks in 1..=8 {
        let begun = world.now;
        client.start(OWN, item(3, b"").target, None, world.now);
        let events = world.run(&mut [&mut client], LONG);
        assert!(end(&events[0]).0 > 0);
        assert!(world.requests <= looks * REQUESTS_MAX, "{}", world.requests);
        assert!(world.now.since(begun) < Duration::from_secs(20));
    }
    let most = world.strays.values().max().unwrap();
    assert_eq!(*most, 1, "who is silent is left alone");
    assert!(client.known.len() <= KNOWN_MAX && client.silent.len() <= SILENT_MAX && client.jobs.is_empty());
}

#[test]
fn nodes_that_are_everywhere_and_name_always_others_end_at_a_bound() {
    let mut world = World::new(1, &[(2, Conduct::Right), (20, Conduct::Flood)]);
    world.endless = true;
    let mut client = world.client();
    client.start(OWN, item(3, b"").target, None, world.now);
    assert!(end(&world.run(&mut [&mut client], LONG)[0]).0 > 20);
    assert!(world.requests <= REQUESTS_MAX, "{}", world.requests);
}

#[test]
fn addresses_of_this_house_and_of_other_services_are_never_asked() {
    let mut client = Client::new(false);
    let entrance: SocketAddrV4 = "198.51.100.1:6881".parse().unwrap();
    client.set_entrances(vec![entrance]);
    let now = Timestamp::from_us(1);
    client.start(OWN, Id([9; 20]), None, now);
    let (to, request) = client.poll_transmit(|| 7, now).unwrap();
    assert_eq!(to, entrance);
    let mut out = b"d1:rd2:id".to_vec();
    put_bytes(&[3; 20], &mut out);
    out.extend(b"5:nodes");
    let named = [
        "127.0.0.1:6881",
        "192.168.1.1:6881",
        "224.0.0.1:6881",
        "255.255.255.255:6881",
        "0.0.0.0:6881",
        "8.8.8.8:53",
        "9.9.9.9:0",
    ];
    let compact = named.iter().enumerate().flat_map(|(n, text)| {
        let address: SocketAddrV4 = text.parse().unwrap();
        [[n as u8; 20].as_slice(), &address.ip().octets(), &address.port().to_be_bytes()].concat()
    });
    put_bytes(&compact.collect::<Vec<_>>(), &mut out);
    out.extend(b"e1:t4:\0\0\0\x071:y1:re");
    // From another address it is nobody's.
    assert!(!client.on_datagram("198.51.100.2:6881".parse().unwrap(), &out, now) && !client.knows_nodes());
    assert!(client.on_datagram(to, &out, now) && client.knows_nodes());
    assert!(!client.on_datagram(to, &out, now), "a second time");
    assert_eq!(client.poll_transmit(|| 8, now), None, "{:?}", entry(&request, b"q"));
    assert!(matches!(client.poll_event(), Some(Event::Done { answers: 1, .. })));
}

#[test]
fn where_nobody_answers_a_lookup_ends() {
    let mut world = World::new(1, &[(5, Conduct::Right)]);
    let mut client = world.client();
    world.nodes.values_mut().for_each(|node| node.conduct = Conduct::Dead);
    client.start(OWN, item(3, b"").target, Some(item(3, b"x")), world.now);
    let begun = world.now;
    assert_eq!(end(&world.run(&mut [&mut client], LONG)[0]), (0, Some(0)));
    assert!(world.now.since(begun) < Duration::from_secs(4) && world.requests == 2);
    // Nor where there is no entrance.
    client.set_entrances(Vec::new());
    client.start(OWN, item(3, b"").target, None, world.now);
    assert_eq!(end(&world.run(&mut [&mut client], LONG)[0]), (0, None));
}

/// Returns the addresses that are asked at once after the entrance has named these nodes.
fn asked(named: &[(Id, &str)]) -> Vec<String> {
    let mut client = Client::new(false);
    client.set_entrances(vec!["198.51.100.1:6881".parse().unwrap()]);
    let now = Timestamp::from_us(1);
    client.start(OWN, Id([0; 20]), None, now);
    let (to, _) = client.poll_transmit(|| 7, now).unwrap();
    let compact = named.iter().flat_map(|(id, text)| {
        let address: SocketAddrV4 = text.parse().unwrap();
        [id.0.as_slice(), &address.ip().octets(), &address.port().to_be_bytes()].concat()
    });
    let mut out = b"d1:rd2:id".to_vec();
    put_bytes(&[3; 20], &mut out);
    out.extend(b"5:nodes");
    put_bytes(&compact.collect::<Vec<_>>(), &mut out);
    out.extend(b"e1:t4:\0\0\0\x071:y1:re");
    client.on_datagram(to, &out, now);
    std::iter::from_fn(|| client.poll_transmit(|| 8, now)).map(|(to, _)| to.to_string()).collect()
}

#[test]
fn a_node_that_names_many_of_one_network_has_one_of_them_asked() {
    let near = |n: u8| Id(std::array::from_fn(|at| if at == 19 { n } else { 0 }));
    let rented: Vec<_> = (1..=18).map(|n| (near(n), format!("203.0.113.{n}:6881"))).collect();
    let ports: Vec<_> = (1..=18).map(|n| (near(n), format!("203.0.113.9:{}", 7000 + u16::from(n)))).collect();
    for named in [rented, ports] {
        let honest = (near(200), "192.0.2.1:6881");
        let named: Vec<_> = named.iter().map(|(id, text)| (*id, text.as_str())).chain([honest]).collect();
        assert_eq!(asked(&named), [named[0].1, "192.0.2.1:6881"]);
    }
}
