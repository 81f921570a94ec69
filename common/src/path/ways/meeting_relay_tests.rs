use super::*;

const RELAY: &str = "198.51.100.9";

fn with_relay(told: &[Candidate]) -> Tested {
    let mut meeting = Tested::new(Role::Dials, told, at(0));
    meeting.set_relay(RELAY, 49_152..=49_155);
    meeting
}

#[test]
fn a_relay_is_dialled_after_a_second_and_only_if_nothing_else_works() {
    let seen = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let relayed = Pair { to: seen.address, base: Base::Relay };
    for direct in [false, true] {
        let mut meeting = with_relay(&[seen]);
        meeting.on_knock(relayed, at(10));
        assert_eq!(meeting.kind_of(relayed), Some(Kind::Relayed));
        let early = steps(&mut meeting, 10, 900);
        assert!(!early.iter().any(|(_, step)| matches!(step, Step::Dial(_))), "{early:?}");
        assert!(early.iter().any(|(_, step)| *step == Step::Knock(relayed)));
        meeting.on_knock(relayed, at(900));
        if direct {
            meeting.on_knock(seen.address.into(), at(950));
        }
        let dialled = steps(&mut meeting, 950, 1_100).into_iter().find(|(_, step)| matches!(step, Step::Dial(_)));
        let wanted = if direct { (950, Step::Dial(seen.address.into())) } else { (1_010, Step::Dial(relayed)) };
        assert_eq!(dialled, Some(wanted));
    }
}

#[test]
fn the_other_is_sought_at_every_place_of_the_relay_until_something_works() {
    let local = candidate(Kind::Host, "192.168.1.7:20000");
    let mut meeting = with_relay(&[local]);
    let places = |all: &[(u64, Step)]| {
        let mut places: Vec<_> = all
            .iter()
            .filter_map(|(_, step)| match step {
                Step::Knock(pair) if pair.to.ip() == RELAY.parse::<IpAddr>().unwrap() => Some(*pair),
                _ => None,
            })
            .map(|pair| (pair.to.port(), pair.is_relayed()))
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    assert!(places(&steps(&mut meeting, 0, 499)).is_empty(), "a direct way comes first");
    let all = (49_152..=49_155).flat_map(|port| [(port, false), (port, true)]).collect::<Vec<_>>();
    assert_eq!(places(&steps(&mut meeting, 500, 600)), all);
    // Whoever answers from there is at a relay.
    let there = Pair::from(SocketAddr::new(RELAY.parse().unwrap(), 49_154));
    meeting.on_knock(there, at(600));
    assert_eq!(meeting.kind_of(there), Some(Kind::Relayed));
    assert_eq!(places(&steps(&mut meeting, 600, 1_500)), [(49_154, false)]);
    // Later not as often, and during a call not at all.
    let mut meeting = with_relay(&[local]);
    let _ = steps(&mut meeting, 0, 60_000);
    let later = steps(&mut meeting, 60_000, 61_000).len();
    assert!((4..30).contains(&later), "{later}: one a second at each place");
    meeting.set_quiet(true);
    assert!(places(&steps(&mut meeting, 61_000, 70_000)).is_empty());
}

#[test]
fn without_the_relay_its_ways_are_forgotten_and_the_house_is_never_asked_for_through_it() {
    let (local, six) = (candidate(Kind::Host, "192.168.1.7:20000"), candidate(Kind::HostIpv6, "[2001:db8::1]:20000"));
    let told = candidate(Kind::Relayed, "198.51.100.9:49160");
    let mut meeting = with_relay(&[local, six, told]);
    assert_eq!(meeting.pairs(), 4);
    assert_eq!(meeting.kind_of(Pair { to: told.address, base: Base::Relay }), Some(Kind::Relayed));
    meeting.close_base(Base::Relay);
    assert_eq!(meeting.pairs(), 3);
    let many: Vec<_> = (1..100).map(|n| candidate(Kind::ServerReflexive, &format!("203.0.113.{n}:1"))).collect();
    let mut meeting = with_relay(&many);
    meeting.add(&many, at(0));
    for port in 1..1_000 {
        let to = SocketAddr::from(([198, 51, 100, 9], port));
        let via = if port % 2 == 0 { Base::Relay } else { Base::Port };
        meeting.on_knock(Pair { to, base: via }, at(u64::from(port)));
    }
    assert_eq!(meeting.pairs(), 2 * TOLD_MAX + LEARNED_MAX);
}

#[test]
fn a_relay_that_comes_late_leaves_room_for_whoever_knocks_next() {
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    let from = |n: usize| -> Pair { format!("203.0.113.5:{}", 20_000 + n).parse::<SocketAddr>().unwrap().into() };
    (0..LEARNED_MAX).for_each(|n| meeting.on_knock(from(n), at(10 + n as u64)));
    meeting.set_relay("198.51.100.9", 49_152..=49_215);
    let learned = |meeting: &Tested| meeting.checks.iter().filter(|check| check.is_learned()).count();
    assert_eq!(learned(&meeting), LEARNED_MAX);
    steps(&mut meeting, 30, 29_000);
    // What was proved gives way to nothing that is not; the others make room.
    meeting.checks.iter().for_each(|check| assert!(check.is_learned()));
    let next = from(100);
    meeting.hear(next, 0, true, at(60_000));
    assert!(meeting.checks.get(next).is_some());
    assert!(learned(&meeting) <= LEARNED_MAX);
}
