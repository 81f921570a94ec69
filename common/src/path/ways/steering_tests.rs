use super::super::checklist::{LEARNED_MAX, TOLD_MAX};
use super::*;
use crate::netsim::Random;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_us(1_000_000 + 1_000 * ms)
}

fn pair(text: &str, relayed: bool) -> Pair {
    Pair { to: text.parse().unwrap(), base: if relayed { Base::Relay } else { Base::Port } }
}

fn candidate(kind: Kind, text: &str) -> Candidate {
    Candidate::new(kind, text.parse().unwrap()).unwrap()
}

/// An end whose questions are answered after a round trip, on the ways that work then.
struct End {
    steering: Steering,
    allowance: Allowance,
    random: Random,
    answers: Vec<(u64, Pair, u64)>,
    asked: Vec<(u64, Pair, bool)>,
    taken: Vec<(u64, Pair)>,
}

impl End {
    fn new(base: Pair, kind: Kind) -> Self {
        let steering = Steering::new(base, kind, at(0));
        Self {
            steering,
            allowance: Allowance::default(),
            random: Random::new(1),
            answers: Vec::new(),
            asked: Vec::new(),
            taken: Vec::new(),
        }
    }

    fn poll(&mut self, now: Timestamp) -> Option<Act> {
        self.steering.poll(now, self.random.bits(), &mut self.allowance)
    }

    fn on_question(&mut self, from: Pair, number: u64, now: Timestamp) -> bool {
        self.steering.on_question(from, number, QUESTION_BYTES, &mut self.allowance, now)
    }

    /// Lives from one time to another; `works`: the round trip of ways, milliseconds.
    fn live(&mut self, from: u64, end: u64, works: impl Fn(Pair, bool) -> Option<u64>) {
        for ms in from..end {
            let (due, later) = self.answers.drain(..).partition(|(at, ..)| *at <= ms);
            self.answers = later;
            for (_, pair, nonce) in due {
                let _ = self.steering.on_answer(pair, nonce, at(ms));
            }
            while let Some(act) = self.poll(at(ms)) {
                match act {
                    Act::Take(pair) => self.taken.push((ms, pair)),
                    Act::Ask { pair, nonce, is_full, .. } => {
                        self.asked.push((ms, pair, is_full));
                        if let Some(round_trip) = works(pair, is_full) {
                            self.answers.push((ms + round_trip, pair, nonce));
                        }
                    }
                }
            }
            assert!(self.steering.poll_timeout(at(ms), &self.allowance).is_some_and(|next| next > at(ms)));
        }
    }
}

const RELAY: &str = "198.51.100.9:49160";
const HOME: &str = "203.0.113.5:20000";

/// A call that began at the other's place at a relay and knows the other's home.
fn relayed() -> (End, Pair, Pair) {
    let (relay, home) = (pair(RELAY, false), pair(HOME, false));
    let mut end = End::new(relay, Kind::Relayed);
    end.steering.set_told(&[candidate(Kind::Relayed, RELAY), candidate(Kind::ServerReflexive, HOME)], at(0));
    (end, relay, home)
}

#[test]
fn a_better_way_takes_over_once_it_is_proved_with_long_packets() {
    let (mut end, relay, home) = relayed();
    end.live(0, 3_000, |way, _| (way == relay).then_some(40));
    assert!(end.taken.is_empty());
    assert!(end.asked.iter().all(|(_, way, is_full)| *way == relay || !is_full), "nothing long to nobody");
    end.live(3_000, 6_000, |_, _| Some(20));
    assert_eq!(end.taken.len(), 1);
    let (taken, way) = end.taken[0];
    assert_eq!(way, home);
    assert!((3_700..4_500).contains(&taken), "{taken}");
    assert_eq!(end.steering.used(), home);
    // It carries no long packets: never taken.
    let (mut end, ..) = relayed();
    end.live(0, 60_000, |way, is_full| (way == relay || !is_full).then_some(20));
    assert!(end.taken.is_empty());
    // It loses every fourth.
    let (mut end, ..) = relayed();
    let lost = std::cell::Cell::new(0_u32);
    end.live(0, 60_000, |way, _| {
        lost.set(lost.get() + u32::from(way != relay));
        (way == relay || !lost.get().is_multiple_of(4)).then_some(20)
    });
    assert!(end.taken.is_empty());
}

#[test]
fn a_slower_way_is_not_better_and_one_as_direct_neither() {
    let (mut end, relay, _) = relayed();
    end.live(0, 20_000, |way, _| Some(if way == relay { 20 } else { 60 }));
    assert!(end.taken.is_empty());
    let mut end = End::new(pair(HOME, false), Kind::ServerReflexive);
    end.steering.set_told(&[candidate(Kind::ServerReflexive, HOME), candidate(Kind::Host, "192.168.1.7:20000")], at(0));
    end.live(0, 20_000, |_, _| Some(5));
    assert!(end.taken.is_empty());
}

#[test]
fn a_way_that_dies_is_left_within_half_a_second_for_one_that_lives_and_shunned() {
    let (mut end, relay, home) = relayed();
    end.live(0, 5_000, |_, _| Some(20));
    end.live(5_000, 10_000, |way, _| (way == relay).then_some(20));
    let [(_, first), (left, second)] = end.taken[..] else { panic!("{:?}", end.taken) };
    assert_eq!((first, second), (home, relay));
    assert!((5_000..5_500).contains(&left), "{left}");
    end.live(10_000, 20_000, |_, _| Some(20));
    assert_eq!((end.taken.len(), end.steering.used()), (3, home), "when it works again");
}

#[test]
fn a_way_that_dies_soon_each_time_is_tried_less_and_less() {
    let (mut end, relay, home) = relayed();
    let mut ms = 0;
    while ms < 600_000 {
        // As long as it is not in use it works, and then it does not.
        let is_used = end.steering.used() == home;
        end.live(ms, ms + 50, |way, _| (way == relay || !is_used).then_some(20));
        ms += 50;
    }
    assert!((10..40).contains(&end.taken.len()), "{:?}", end.taken);
}

#[test]
fn silence_on_all_ways_and_a_stall_change_nothing() {
    let (mut end, _, home) = relayed();
    end.live(0, 5_000, |_, _| Some(20));
    end.live(5_000, 60_000, |_, _| None);
    assert_eq!(end.taken.len(), 1, "{:?}", end.taken);
    // Answers wait while this program stands still.
    let (mut end, ..) = relayed();
    end.live(0, 5_000, |_, _| Some(20));
    end.answers.iter_mut().for_each(|answer| answer.0 += 3_000);
    end.live(8_000, 20_000, |_, _| Some(20));
    assert_eq!((end.taken.len(), end.steering.used()), (1, home));
}

#[test]
fn a_question_shows_a_way_and_opens_it_at_once() {
    let (mut end, relay, home) = relayed();
    end.live(0, 30_000, |way, _| (way == relay).then_some(20));
    let before = end.asked.len();
    assert!(end.on_question(home, 1, at(30_000)));
    end.live(30_000, 30_001, |_, _| Some(20));
    assert!(end.asked[before..].iter().any(|(_, way, _)| *way == home));
    // From where nobody was told to be; once, not again when somebody repeats it.
    let [new, replayed] = ["203.0.113.9:5", "203.0.113.66:5"].map(|text| pair(text, false));
    assert!(end.on_question(new, 2, at(30_100)));
    assert!(!end.on_question(replayed, 2, at(30_200)), "not to be answered");
    assert_eq!((end.steering.kind_of(new), end.steering.kind_of(replayed)), (Some(Kind::PeerReflexive), None));
    for port in 1..1_000_u16 {
        let _ = end.on_question(pair(&format!("203.0.113.9:{port}"), false), u64::from(port) + 2, at(31_000));
    }
    let many: Vec<_> = (1..100).map(|n| candidate(Kind::ServerReflexive, &format!("203.0.113.{n}:1"))).collect();
    end.steering.set_told(&many, at(32_000));
    end.steering.open_base(Base::Relay, Some("198.51.100.9".parse().unwrap()), at(32_000));
    assert!(end.steering.pairs() <= 3 * TOLD_MAX + LEARNED_MAX, "{}", end.steering.pairs());
    assert_eq!(end.steering.used(), relay);
}

#[test]
fn who_answers_for_a_way_on_which_it_heard_nothing_moves_nothing() {
    let (mut end, relay, home) = relayed();
    // It sees the numbers and the nonces of its own way, and answers with them for the other one, whose source it forges.
    let mut seen = Vec::new();
    for ms in 0..120_000 {
        while let Some(act) = end.poll(at(ms)) {
            match act {
                Act::Take(pair) => panic!("{pair:?} at {ms} ms"),
                Act::Ask { pair, number, nonce, is_full } if pair == relay => {
                    seen.extend([number, nonce]);
                    // Then it is silent on its own way.
                    let is_heard = ms < 60_000 && end.steering.on_answer(relay, nonce, at(ms));
                    assert!(is_heard || ms >= 60_000);
                    assert!(!is_full);
                }
                Act::Ask { is_full, .. } => assert!(!is_full, "nothing long to nobody"),
            }
        }
        for &guess in seen.iter().rev().take(4) {
            for guess in [guess.wrapping_sub(1), guess, guess.wrapping_add(1)] {
                assert!(!end.steering.on_answer(home, guess, at(ms)), "{guess} at {ms} ms");
            }
        }
        assert!(!end.steering.is_proved(home, at(ms)));
    }
    assert_eq!((end.steering.used(), end.steering.is_proved(relay, at(120_000))), (relay, false));
}

#[test]
fn floods_of_told_addresses_get_no_more_than_the_allowance() {
    let (mut end, relay, _) = relayed();
    let (mut asked, mut answered) = (0, Vec::new());
    for ms in 0..60_000_u64 {
        // Nine a millisecond, each new.
        let lies: Vec<_> = (0..8)
            .map(|n| {
                candidate(Kind::ServerReflexive, &format!("198.{}.{}.{}:9", 100 + n, ms / 250 % 250, 1 + ms % 250))
            })
            .collect();
        end.steering.set_told(&lies, at(ms));
        while let Some(act) = end.poll(at(ms)) {
            let Act::Ask { pair, nonce, .. } = act else { panic!("{act:?}") };
            if pair == relay { answered.push(nonce) } else { asked += 1 }
        }
        for nonce in answered.drain(..) {
            assert!(end.steering.on_answer(relay, nonce, at(ms)));
        }
    }
    let most = Origin::Call.quota().within(Duration::from_secs(60)) / QUESTION_BYTES as u64;
    assert!((60..=most).contains(&asked), "{asked} of {most}");
}

#[test]
fn new_addresses_are_taken_once_in_two_seconds() {
    let mut end = End::new(pair(HOME, false), Kind::ServerReflexive);
    let one = |ms: u64| candidate(Kind::ServerReflexive, &format!("198.51.{}.{}:9", ms / 250, 1 + ms % 250));
    let mut taken = Vec::new();
    for ms in 0..5_000 {
        end.steering.set_told(&[one(ms)], at(ms));
        taken.extend(end.steering.kind_of(one(ms).address.into()).map(|_| ms));
    }
    assert_eq!(taken, [0, 2_000, 4_000]);
    // The newest waits.
    end.live(5_000, 6_001, |_, _| None);
    assert!(end.steering.kind_of(one(4_999).address.into()).is_some());
}

#[test]
fn addresses_in_this_house_are_taken_of_whoever_is_in_it() {
    let told = ["127.0.0.1:9", "192.168.1.7:9", "169.254.1.1:9", "[fd00::7]:9", "203.0.113.6:9"];
    let told = told.map(|text| candidate(Kind::Host, text));
    for (base, kind, taken) in [
        (HOME, Kind::ServerReflexive, [false, false, false, false, true]),
        (RELAY, Kind::Relayed, [false, false, false, false, true]),
        ("192.168.1.5:20000", Kind::Host, [false, true, true, true, true]),
        ("127.0.0.1:20000", Kind::Host, [true; 5]),
    ] {
        let mut end = End::new(pair(base, false), kind);
        end.steering.set_told(&told, at(0));
        assert_eq!(told.map(|one| end.steering.kind_of(one.address.into()).is_some()), taken, "{base}");
    }
    // At the other end of this machine's relay, whatever its address is; and then one that the user has given.
    let mut end = End::new(pair("192.168.1.5:20000", true), Kind::Relayed);
    end.steering.set_given(vec![told[2].address]);
    end.steering.set_told(&told, at(0));
    let taken = [1, 2].map(|n: usize| end.steering.kind_of(told[n].address.into()).is_some());
    assert_eq!(taken, [false, true]);
}

#[test]
fn a_forged_source_of_a_question_gets_three_times_what_came_and_is_forgotten() {
    let (mut end, relay, _) = relayed();
    let victim = pair("203.0.113.66:53", false);
    assert!(end.on_question(victim, 1, at(0)), "an answer");
    let mut sent = ANSWER_BYTES;
    for ms in 0..120_000 {
        while let Some(act) = end.poll(at(ms)) {
            match act {
                Act::Ask { pair, nonce, .. } if pair == relay => {
                    assert!(end.steering.on_answer(relay, nonce, at(ms)));
                }
                Act::Ask { pair, .. } => sent += if pair == victim { QUESTION_BYTES } else { 0 },
                Act::Take(pair) => panic!("{pair:?}"),
            }
        }
    }
    assert!(sent <= 3 * QUESTION_BYTES && sent > ANSWER_BYTES, "{sent}");
    assert_eq!(end.steering.kind_of(victim), None);
}

#[test]
fn a_question_is_new_once_whatever_has_overtaken_it() {
    let mut heard = Heard::default();
    let mut is_new = |number| heard.is_new(number);
    assert_eq!([1, 3, 2, 3, 2, 1, 0].map(&mut is_new), [true, true, true, false, false, false, false]);
    assert_eq!([66, 3, 4, 4, 65, 2].map(&mut is_new), [true, false, true, false, true, false]);
    assert_eq!(
        [500, 499, 436, 437, 66, u64::MAX, u64::MAX].map(&mut is_new),
        [true, true, false, true, false, true, false]
    );
}

#[test]
fn without_another_way_little_is_asked() {
    let mut end = End::new(pair(HOME, false), Kind::ServerReflexive);
    end.live(0, 60_000, |_, _| Some(20));
    assert!(end.asked.len() < 60, "{}", end.asked.len());
}

#[test]
fn where_the_relay_sends_to_is_tried_without_it() {
    let base = pair(HOME, true);
    let mut end = End::new(base, Kind::Relayed);
    end.live(0, 5_000, |way, _| Some(if way.is_relayed() { 40 } else { 20 }));
    assert_eq!(end.steering.used(), pair(HOME, false));
    // And the other way round, when that dies.
    end.live(5_000, 10_000, |way, _| way.is_relayed().then_some(40));
    assert_eq!(end.steering.used(), base);
}
