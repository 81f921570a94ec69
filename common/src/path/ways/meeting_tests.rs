#[path = "meeting_relay_tests.rs"]
mod relay;

use super::super::allowance::TIMES;
use super::super::candidate::ADDRESSES_MAX;
use super::super::checklist::{LEARNED_MAX, TOLD_MAX};
use super::*;

fn candidate(kind: Kind, text: &str) -> Candidate {
    Candidate::new(kind, text.parse().unwrap()).unwrap()
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_us(1_000_000 + 1_000 * ms)
}

/// A search with an allowance of its own. Whoever knocks at it has heard it there.
#[derive(Clone)]
struct Tested {
    meeting: Meeting,
    allowance: Allowance,
}

impl std::ops::Deref for Tested {
    type Target = Meeting;

    fn deref(&self) -> &Meeting {
        &self.meeting
    }
}

impl std::ops::DerefMut for Tested {
    fn deref_mut(&mut self) -> &mut Meeting {
        &mut self.meeting
    }
}

impl Tested {
    fn new(role: Role, told: &[Candidate], now: Timestamp) -> Self {
        Self { meeting: Meeting::new(role, told, now), allowance: Allowance::default() }
    }

    fn set_relay(&mut self, relay: &str, ports: RangeInclusive<u16>) {
        let relay = relay.parse().unwrap();
        self.meeting.seek_at(relay, ports, at(0));
        self.meeting.open_base(Base::Relay, Some(relay), at(0));
    }

    /// Takes a knock that returns `echo`.
    fn hear(&mut self, from: Pair, echo: u64, is_new: bool, now: Timestamp) {
        let knock = Knock { made_ms: 0, nonce: 7, echo, is_idle: false };
        self.meeting.on_knock(from, &knock, is_new, &mut self.allowance, now);
    }

    fn on_knock(&mut self, from: Pair, now: Timestamp) {
        self.hear(from, 0, true, now);
        let Some(check) = self.meeting.checks.get_mut(from) else { return };
        check.own.nonce = check.own.nonce.max(1);
        let echo = check.own.nonce;
        self.hear(from, echo, true, now);
    }

    fn poll(&mut self, now: Timestamp, random: u64) -> Option<Step> {
        self.meeting.poll(now, u128::from(random) << 64 | u128::from(random), &mut self.allowance)
    }

    fn timeout(&self, now: Timestamp) -> Option<Timestamp> {
        self.meeting.poll_timeout(now, &self.allowance)
    }
}

/// Returns everything to do until `end`, milliseconds, with its time.
fn steps(meeting: &mut Tested, from: u64, end: u64) -> Vec<(u64, Step)> {
    let mut all = Vec::new();
    for ms in from..end {
        while let Some(step) = meeting.poll(at(ms), ms.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) {
            all.push((ms, step));
        }
    }
    all
}

#[test]
fn it_knocks_often_at_first_and_then_once_a_second_and_dials_nobody_unheard() {
    let address = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Dials, &[address], at(0));
    let first = steps(&mut meeting, 0, 30_000);
    assert!((150..3_000).contains(&first.len()), "{}", first.len());
    let later = steps(&mut meeting, 30_000, 130_000);
    assert!((100..=201).contains(&later.len()), "{}", later.len());
    assert!(first.iter().chain(&later).all(|(_, step)| *step == Step::Knock(address.address.into())));
}

#[test]
fn a_knock_through_a_relay_that_has_not_given_a_place_yet_is_not_taken_for_a_direct_one() {
    let [told, relayed, direct] = ["203.0.113.5:20000", "198.51.100.9:49171", "203.0.113.5:999"]
        .map(|text| candidate(Kind::ServerReflexive, text));
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    meeting.expect_relays(49_152..=49_215);
    meeting.on_knock(relayed.address.into(), at(10));
    let dials = |steps: Vec<(u64, Step)>| -> Vec<_> {
        steps.into_iter().filter(|(_, step)| matches!(step, Step::Dial(_))).collect()
    };
    assert!(dials(steps(&mut meeting.clone(), 10, 1_000)).is_empty());
    assert_eq!(dials(steps(&mut meeting.clone(), 10, 1_100)), [(1_010, Step::Dial(relayed.address.into()))]);
    meeting.on_knock(direct.address.into(), at(60));
    assert_eq!(dials(steps(&mut meeting, 60, 200)), [(100, Step::Dial(direct.address.into()))]);
}

#[test]
fn a_knock_is_answered_at_once_and_dialled() {
    let [told, learned] = ["203.0.113.5:20000", "203.0.113.5:999"].map(|text| candidate(Kind::ServerReflexive, text));
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    let _ = steps(&mut meeting, 0, 50);
    meeting.on_knock(learned.address.into(), at(50));
    assert_eq!(meeting.timeout(at(50)), Some(at(50)));
    let next = steps(&mut meeting, 50, 51);
    assert!(next.contains(&(50, Step::Knock(learned.address.into()))), "{next:?}");
    let next = steps(&mut meeting, 51, 100);
    assert!(next.contains(&(90, Step::Dial(learned.address.into()))), "after waiting for what was told: {next:?}");
    assert_eq!(meeting.kind_of(learned.address.into()), Some(Kind::PeerReflexive));
    // One at a time; after a failure again.
    meeting.on_knock(told.address.into(), at(100));
    assert!(!steps(&mut meeting, 100, 1_000).iter().any(|(_, step)| matches!(step, Step::Dial(_))));
    meeting.on_dial_failed(learned.address.into(), at(1_000));
    let next = steps(&mut meeting, 1_000, 1_010);
    assert!(next.contains(&(1_000, Step::Dial(told.address.into()))), "{next:?}");
}

#[test]
fn a_new_note_takes_the_place_of_the_one_before_and_of_nothing_else() {
    let [told, one, other] = [5, 6, 7].map(|n| candidate(Kind::ServerReflexive, &format!("203.0.113.{n}:20000")));
    let mut meeting = Tested::new(Role::Waits, &[told], at(0));
    meeting.set_relay("198.51.100.9", 49_152..=49_215);
    let knows = |meeting: &Tested, candidate: Candidate| {
        let [direct, relayed] = [Base::Port, Base::Relay].map(|via| Pair { to: candidate.address, base: via });
        assert_eq!(meeting.kind_of(direct).is_some(), meeting.kind_of(relayed).is_some());
        meeting.kind_of(direct).is_some()
    };
    meeting.set_news(Origin::Note, &[one, told], at(10));
    assert!(knows(&meeting, told) && knows(&meeting, one));
    meeting.restart(at(20));
    meeting.set_news(Origin::Note, &[other], at(30));
    assert!(knows(&meeting, one) && !knows(&meeting, other), "one in two seconds");
    let _ = steps(&mut meeting, 2_010, 2_011);
    assert!(knows(&meeting, told) && knows(&meeting, other) && !knows(&meeting, one));
    // One that works is kept.
    meeting.on_knock(other.address.into(), at(4_000));
    meeting.set_news(Origin::Note, &[one], at(4_050));
    assert!(meeting.kind_of(other.address.into()).is_some() && knows(&meeting, one));
    let knocks = steps(&mut meeting, 4_050, 4_051);
    assert!(knocks.contains(&(4_050, Step::Knock(one.address.into()))), "{knocks:?}");
    // Whatever notes say, in whatever order: bounded.
    for n in 0..1_000_u64 {
        let many: Vec<_> =
            (1..20).map(|m| candidate(Kind::ServerReflexive, &format!("203.0.{}.{m}:9", n % 250))).collect();
        meeting.set_news(Origin::Note, &many, at(10_000 + 2_000 * n));
        meeting.on_knock(many[0].address.into(), at(10_000 + 2_000 * n));
    }
    assert!(meeting.pairs() <= 8 * ADDRESSES_MAX, "{}", meeting.pairs());
    assert!(knows(&meeting, told));
}

#[test]
fn news_from_the_house_and_notes_leave_each_other_alone_and_stay_bounded() {
    let note = candidate(Kind::ServerReflexive, "203.0.113.6:20000");
    let [here, other] = [7, 8].map(|n| candidate(Kind::Host, &format!("192.168.1.{n}:20000")));
    let six = candidate(Kind::HostIpv6, "[2001:db8::1]:20000");
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    meeting.set_relay("2001:db8::9", 49_152..=49_155);
    meeting.set_news(Origin::Note, &[note], at(10));
    meeting.set_news(Origin::House, &[here, six], at(20));
    assert_eq!(meeting.pairs(), 3, "nothing in the house is asked for through a relay");
    meeting.set_news(Origin::House, &[other], at(2_020));
    let knows = [note, here, six, other].map(|candidate| meeting.kind_of(candidate.address.into()).is_some());
    assert_eq!(knows, [true, false, false, true]);
    for n in 0..1_000_u64 {
        let lies: Vec<_> = (1..20).map(|m| candidate(Kind::Host, &format!("10.0.{}.{m}:9", n % 250))).collect();
        meeting.set_news(Origin::House, &lies, at(10_000 + 2_000 * n));
    }
    assert_eq!(meeting.pairs(), 1 + ADDRESSES_MAX);
    assert_eq!(meeting.kind_of(note.address.into()), Some(Kind::ServerReflexive));
}

#[test]
fn the_better_of_two_paths_is_dialled() {
    let seen = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let local = candidate(Kind::Host, "192.168.1.7:20000");
    let mut meeting = Tested::new(Role::Dials, &[seen, local], at(0));
    meeting.on_knock(seen.address.into(), at(10));
    meeting.on_knock(local.address.into(), at(30));
    let next = steps(&mut meeting, 30, 31);
    assert!(next.contains(&(30, Step::Dial(local.address.into()))), "{next:?}");
}

#[test]
fn who_waits_never_dials() {
    let seen = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    assert_eq!(meeting.timeout(at(0)), None);
    meeting.on_knock(seen.address.into(), at(10));
    let all = steps(&mut meeting, 10, 1_000);
    assert!(all.len() > 4 && all.iter().all(|(_, step)| *step == Step::Knock(seen.address.into())), "{all:?}");
}

#[test]
fn knocks_from_everywhere_take_no_more_than_a_few_places() {
    let told = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    for port in 1..10_000 {
        meeting.on_knock(SocketAddr::from(([198, 51, 100, 1], port)).into(), at(u64::from(port)));
        let _ = meeting.poll(at(u64::from(port)), 1);
    }
    let many: Vec<_> = (1..100).map(|n| candidate(Kind::ServerReflexive, &format!("203.0.113.{n}:1"))).collect();
    meeting.add(&many, at(10_000));
    assert_eq!(meeting.pairs(), LEARNED_MAX + TOLD_MAX);
    assert_eq!(meeting.kind_of(told.address.into()), Some(Kind::ServerReflexive));
}

#[test]
fn ways_from_there_to_here_only_do_not_keep_the_relay_from_being_dialled() {
    let ways = [5, 6].map(|n| Pair::from(SocketAddr::from(([203, 0, 113, n], 20_000))));
    let relayed = Pair { to: ways[0].to, base: Base::Relay };
    let mut meeting = Tested::new(Role::Dials, &[], at(0));
    let mut dialled = Vec::new();
    for ms in 0..10_000 {
        if ms % 100 == 0 {
            ways.iter().chain([&relayed]).for_each(|way| meeting.on_knock(*way, at(ms)));
        }
        // Each attempt takes two seconds.
        if let Some((pair, _)) = dialled.last().filter(|(_, began)| ms == began + 2_000) {
            meeting.on_dial_failed(*pair, at(ms));
        }
        while let Some(step) = meeting.poll(at(ms), 1) {
            if let Step::Dial(pair) = step {
                dialled.push((pair, ms));
            }
        }
    }
    let pairs: Vec<_> = dialled.iter().map(|(pair, _)| *pair).collect();
    assert_eq!(pairs[..4], [ways[0], ways[1], relayed, ways[0]], "{dialled:?}");
}

#[test]
fn a_router_that_shows_each_dial_another_port_does_not_keep_the_relay_from_being_dialled() {
    let mut meeting = Tested::new(Role::Dials, &[], at(0));
    let relayed = Pair { to: SocketAddr::from(([203, 0, 113, 5], 20_000)), base: Base::Relay };
    let (mut port, mut dialled) = (20_000, Vec::new());
    for ms in 0..5_000 {
        if ms % 100 == 0 {
            meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], port)).into(), at(ms));
            meeting.on_knock(relayed, at(ms));
        }
        if let Some((pair, _)) = dialled.last().filter(|(_, began)| ms == began + 2_000) {
            meeting.on_dial_failed(*pair, at(ms));
        }
        while let Some(step) = meeting.poll(at(ms), 1) {
            if let Step::Dial(pair) = step {
                dialled.push((pair, ms));
                port += 1;
            }
        }
    }
    let pairs: Vec<_> = dialled.iter().map(|(pair, _)| *pair).collect();
    assert_eq!(pairs[1], relayed, "{dialled:?}");
}

#[test]
fn ways_that_are_new_with_each_knock_are_not_near_for_ever() {
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    for ms in 0..2_500 {
        meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 20_000 + ms as u16 / 1_000)).into(), at(ms));
        meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 20_000)).into(), at(ms));
        assert!(meeting.is_near(at(ms)));
    }
    meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 30_000)).into(), at(2_501));
    assert!(!meeting.is_near(at(2_501)));
    meeting.on_knock(Pair { to: SocketAddr::from(([203, 0, 113, 5], 30_000)), base: Base::OtherPort }, at(2_502));
    assert!(meeting.is_near(at(2_502)), "from another port of this machine it is new");
}

#[test]
fn another_port_knocks_wherever_the_first_one_does_and_a_further_one_takes_its_place() {
    let [told, note] = ["203.0.113.5:20000", "203.0.113.6:20000"].map(|text| candidate(Kind::ServerReflexive, text));
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    meeting.open_base(Base::OtherPort, None, at(0));
    meeting.set_news(Origin::Note, &[note], at(0));
    let there = |candidate: Candidate| Pair { to: candidate.address, base: Base::OtherPort };
    let all: Vec<_> = steps(&mut meeting, 0, 1).into_iter().map(|(_, step)| step).collect();
    let wanted = [told.address.into(), there(told), note.address.into(), there(note)].map(Step::Knock);
    assert!(all.len() == 4 && wanted.iter().all(|step| all.contains(step)), "{all:?}");
    // What was heard there was heard at a port that is closed now.
    meeting.on_knock(there(told), at(10));
    assert!(meeting.is_near(at(10)));
    assert_eq!(meeting.poll(at(60), 1), Some(Step::Dial(there(told))));
    meeting.open_base(Base::OtherPort, None, at(70));
    assert!(!meeting.is_near(at(70)) && meeting.pairs() == 4);
    meeting.on_knock(told.address.into(), at(80));
    assert!(steps(&mut meeting, 80, 130).contains(&(80, Step::Dial(told.address.into()))), "nobody dials now");
    // Of two ports at which the other is heard the first one.
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    meeting.open_base(Base::OtherPort, None, at(0));
    meeting.on_knock(there(told), at(10));
    meeting.on_knock(told.address.into(), at(20));
    let dialled = steps(&mut meeting, 20, 100).into_iter().find(|(_, step)| matches!(step, Step::Dial(_)));
    assert_eq!(dialled, Some((20, Step::Dial(told.address.into()))));
    // Bounded, whatever is told.
    for n in 0..1_000_u64 {
        let many: Vec<_> =
            (1..40).map(|m| candidate(Kind::ServerReflexive, &format!("203.0.{}.{m}:9", n % 250))).collect();
        meeting.add(&many, at(100 + n));
        meeting.set_news(Origin::Note, &many, at(100 + 2_000 * n));
    }
    assert!(meeting.pairs() <= 2 * (TOLD_MAX + TOLD_MAX), "{}", meeting.pairs());
}

#[test]
fn a_way_is_dialled_once_the_other_has_returned_what_was_sent_there() {
    let [told, forged] = ["203.0.113.5:20000", "203.0.113.66:9"].map(|text| candidate(Kind::ServerReflexive, text));
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    let _ = steps(&mut meeting, 0, 50);
    let [nonce, _] = meeting.nonces(told.address.into());
    assert_ne!(nonce, 0);
    // Knocks that the other has made come from elsewhere, or from where nothing was heard.
    for (ms, from, echo) in [(50, told, 0), (60, told, nonce ^ 1), (70, forged, nonce), (80, forged, 0)] {
        meeting.hear(from.address.into(), echo, true, at(ms));
    }
    let all = steps(&mut meeting, 80, 1_000);
    assert!(all.iter().all(|(_, step)| matches!(step, Step::Knock(_))), "{all:?}");
    assert_eq!(meeting.nonces(told.address.into()), [nonce, 7], "the other's is returned");
    meeting.hear(told.address.into(), nonce, true, at(1_000));
    assert!(steps(&mut meeting, 1_000, 1_050).contains(&(1_000, Step::Dial(told.address.into()))));
}

#[test]
fn a_forged_source_gets_three_times_what_came_and_is_forgotten() {
    for role in [Role::Dials, Role::Waits] {
        let victim = Pair::from(SocketAddr::from(([198, 51, 100, 66], 53)));
        let mut meeting = Tested::new(role, &[], at(0));
        meeting.hear(victim, 0, true, at(0));
        let all = steps(&mut meeting, 0, 120_000);
        assert_eq!(all.len() as u64, TIMES, "{role:?} {all:?}");
        assert!(all.iter().all(|(_, step)| *step == Step::Knock(victim)));
        assert_eq!((meeting.pairs(), meeting.timeout(at(120_000))), (0, None));
        // One that has come before shows nothing, and one that goes on coming is as good as three.
        meeting.hear(victim, 0, false, at(200_000));
        assert!(meeting.pairs() == 0);
    }
}

#[test]
fn through_a_relay_a_forged_source_gets_no_more() {
    let victim = Pair::from(SocketAddr::from(([198, 51, 100, 66], 53)));
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    meeting.hear(victim, 0, true, at(0));
    meeting.set_relay("198.51.100.9", 49_152..=49_155);
    let all = steps(&mut meeting, 0, 120_000);
    let to_victim = all.iter().filter(|(_, step)| matches!(step, Step::Knock(pair) if pair.to == victim.to)).count();
    assert_eq!(to_victim as u64, TIMES);
}

#[test]
fn where_clocks_differ_ways_are_proved_by_what_is_returned() {
    let told = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Dials, &[told], at(0));
    let _ = steps(&mut meeting, 0, 50);
    let [nonce, echo] = meeting.nonces(told.address.into());
    assert_eq!(echo, 0);
    // Its time is not believed, and no knock leaves for it.
    let next = |meeting: &Tested| meeting.checks.get(told.address.into()).map(Check::wanted);
    let before = next(&meeting);
    meeting.hear(told.address.into(), 0, false, at(50));
    assert_eq!((meeting.nonces(told.address.into()), next(&meeting)), ([nonce, 7], before));
    assert!(!meeting.is_near(at(50)));
    meeting.hear(told.address.into(), nonce, false, at(300));
    assert!(steps(&mut meeting, 300, 400).iter().any(|(_, step)| *step == Step::Dial(told.address.into())));
}

#[test]
fn what_was_proved_gives_way_to_no_forged_knock() {
    let friend = Pair::from(SocketAddr::from(([203, 0, 113, 5], 20_000)));
    let mut meeting = Tested::new(Role::Waits, &[], at(0));
    meeting.on_knock(friend, at(0));
    for port in 1..10_000 {
        meeting.hear(SocketAddr::from(([198, 51, 100, 1], port)).into(), 0, true, at(u64::from(port)));
    }
    let newest = SocketAddr::from(([198, 51, 100, 1], 9_999));
    assert!(meeting.kind_of(newest.into()).is_some(), "those that are not give way to each other");
    assert!(meeting.kind_of(friend).is_some());
    assert_eq!(meeting.pairs(), LEARNED_MAX);
}

#[test]
fn what_a_note_says_of_this_machine_or_house_is_left_out() {
    let all: Vec<_> = ["127.0.0.1:9", "192.168.1.7:9", "[fd00::7]:9", "203.0.113.5:9"]
        .map(|text| candidate(Kind::ServerReflexive, text))
        .to_vec();
    let known = |news| {
        let mut meeting = Tested::new(Role::Waits, &[], at(0));
        meeting.set_news(news, &all, at(0));
        all.iter().map(|one| meeting.kind_of(one.address.into()).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(known(Origin::Note), [false, false, false, true]);
    assert_eq!(known(Origin::Dht), [false, false, false, true]);
    assert_eq!(known(Origin::House), [false, true, true, true]);
}

#[test]
fn lies_in_the_dht_take_no_place_and_no_packet_from_what_is_given_or_noted() {
    let [given, noted, found] =
        ["203.0.113.4:9", "203.0.113.5:9", "203.0.113.6:9"].map(|text| candidate(Kind::ServerReflexive, text));
    // Knocks at each of the three in thirty seconds, in which the DHT has other lies each second, or has none.
    let knocks = |lies: u64| {
        let mut meeting = Tested::new(Role::Waits, &[given], at(0));
        meeting.set_news(Origin::Note, &[noted], at(10));
        meeting.set_news(Origin::Dht, &[found], at(20));
        let mut done = steps(&mut meeting, 20, 10_000);
        for n in 0..30 {
            if n < lies {
                let lie = |m| candidate(Kind::ServerReflexive, &format!("198.51.{n}.{m}:9"));
                meeting.set_news(Origin::Dht, &(0..8).map(lie).collect::<Vec<_>>(), at(10_000 + 1_000 * n));
            }
            done.extend(steps(&mut meeting, 10_000 + 1_000 * n, 11_000 + 1_000 * n));
        }
        let knocked = |to: Candidate| done.iter().filter(|(_, step)| *step == Step::Knock(to.address.into())).count();
        [given, noted, found].map(knocked)
    };
    let ([given, noted, found], lied) = (knocks(0), knocks(30));
    assert!(given > 10 && noted > 10 && found > 10);
    assert!(lied[0] >= given && lied[1] >= noted, "not one fewer: {lied:?}, {given} and {noted} without lies");
}

/// As where BitTorrent's network is forbidden: its client sends, nothing comes back, and the search for the other machine is the
/// same packet for packet.
#[test]
fn a_dht_that_nobody_reaches_changes_no_knock_and_no_time() {
    use crate::dht::{Client, Due, Event, Id, Posting};
    let all = ["[2001:db8::1]:9", "203.0.113.5:20000", "198.51.100.7:4820"]
        .map(|text| candidate(Kind::ServerReflexive, text));
    let search = |uses_dht: bool| {
        let mut meeting = Tested::new(Role::Dials, &all, at(0));
        let (mut client, mut posting) = (Client::new(false), Posting::new(true, at(0)));
        client.set_entrances(vec!["198.51.100.1:6881".parse().unwrap(), "198.51.100.2:6881".parse().unwrap()]);
        posting.set_own(&[candidate(Kind::ServerReflexive, "203.0.113.9:9")], at(0));
        let (mut done, mut sent, mut under_way) = (Vec::new(), 0, Vec::new());
        for ms in 0..90_000 {
            while let Some(due) = posting.poll(20_000, at(ms)).filter(|_| uses_dht) {
                let target = Id([if due == Due::Look { 2 } else { 3 }; 20]);
                assert!(client.start(Id([1; 20]), target, None, at(ms)));
                under_way.push((target, due));
            }
            while let Some((_, datagram)) = client.poll_transmit(|| ms as u32, at(ms)) {
                sent += datagram.len();
            }
            while let Some(Event::Done { target, answers, .. }) = client.poll_event() {
                let (_, due) = under_way.remove(under_way.iter().position(|(of, _)| *of == target).unwrap());
                posting.on_end(due, answers, 0, at(ms));
            }
            if ms == 40_000 {
                meeting.on_knock(all[1].address.into(), at(ms));
            }
            done.extend(steps(&mut meeting, ms, ms + 1));
        }
        (done, sent)
    };
    let (with, without) = (search(true), search(false));
    assert!(without.0.iter().any(|(_, step)| matches!(step, Step::Dial(_))));
    assert_eq!(with.0, without.0);
    assert!(with.1 > 0 && with.1 < 2_000, "and is left alone: {} bytes", with.1);
}

#[test]
fn in_a_call_it_answers_and_does_no_more() {
    let seen = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Waits, &[seen], at(0));
    meeting.set_quiet(true);
    assert_eq!(steps(&mut meeting, 0, 10_000).len(), 1);
    meeting.on_knock(seen.address.into(), at(10_000));
    assert_eq!(steps(&mut meeting, 10_000, 20_000), [(10_000, Step::Knock(seen.address.into()))]);
    meeting.set_quiet(false);
    meeting.restart(at(20_000));
    assert!(steps(&mut meeting, 20_000, 21_000).len() > 4);
}

#[test]
fn it_starts_anew_after_a_connection() {
    let seen = candidate(Kind::ServerReflexive, "203.0.113.5:20000");
    let mut meeting = Tested::new(Role::Dials, &[seen], at(0));
    meeting.on_knock(seen.address.into(), at(0));
    assert_eq!(meeting.poll(at(0), 1), Some(Step::Dial(seen.address.into())));
    meeting.restart(at(100_000));
    assert_eq!(meeting.poll(at(100_000), 1), Some(Step::Knock(seen.address.into())), "what was heard is long ago");
    meeting.on_knock(seen.address.into(), at(100_001));
    assert_eq!(meeting.poll(at(100_001), 1), Some(Step::Dial(seen.address.into())));
}

#[test]
fn an_address_that_was_heard_first_and_told_then_stays() {
    let [told, heard] = ["203.0.113.5:20000", "203.0.113.5:999"].map(|text| candidate(Kind::ServerReflexive, text));
    for is_told in [false, true] {
        let mut meeting = Tested::new(Role::Waits, &[told], at(0));
        meeting.on_knock(heard.address.into(), at(10));
        if is_told {
            meeting.checks.add(Origin::User, &[heard], at(20));
        }
        steps(&mut meeting, 20, 120_000);
        assert_eq!(meeting.checks.kind_of(heard.address.into()).is_some(), is_told);
    }
}
