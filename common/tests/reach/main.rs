//! Two machines find each other through simulated routers, for thousands of seeds (`make reach-seeds`).
//!
//! Held for each: where a path exists there is a connection within ten seconds, also after the routers have forgotten
//! everything; one side dials, where what it sent was returned, and one handshake at a time; what is remembered is bounded, and
//! so is what goes to addresses that have not answered. Where both have a place at a relay
//! there is always a path; some routers open a port on request. Homes have IPv4, IPv6 behind a firewall, or both. Some routers
//! spoil the port from which a machine knocks first, so that only another one leads anywhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod expected;
mod world;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use common::netsim::Random;
use common::netsim::router::{Filtering, SimulatedFirewall, SimulatedRouter, Spoilt};
use common::path::ways::{Allowance, Base, Origin, Rounds, TIMES};
use common::units::Timestamp;

use self::expected::{Before, kind, ports, punches};
use self::world::{Host, MS, Network, PATHS_MAX, PORT, World};

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
