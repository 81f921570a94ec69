//! The two ends of a call move its packets between ways that come and go, for hundreds of seeds (`SEEDS=0..10000`).
//!
//! Held for each: an end that has sent on a dead way for two seconds, while another that it knows has worked all that time,
//! is on one that works; a direct way that has worked long enough is in use, whatever was before; a way that comes and goes
//! is not followed each time. All the time somebody answers, in the name of an address that both
//! were told and that never answers, with all that goes over the ways that there are: no packet of the call is sent there, nothing
//! long, and no more than the allowance.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use common::netsim::Random;
use common::path::ways::{Act, Allowance, Candidate, Kind, Origin, Pair, Steering};
use common::units::Timestamp;

/// Time between two looks at everything, milliseconds.
const STEP: usize = 5;
const MS: Duration = Duration::from_millis(1);
/// Time within which a dead way is left.
const LEFT: Duration = Duration::from_millis(2_000);
/// Time for which another must have worked, so that both ends know.
const KNOWN: Duration = Duration::from_millis(7_000);
/// Time within which a better way that works is in use, if it has not died before.
const FOUND: Duration = Duration::from_millis(10_000);

/// An address that both ends are told, at which nobody answers, and a question's bytes.
const VICTIM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 66)), 53);
const QUESTION_BYTES: u64 = common::path::ways::QUESTION_BYTES as u64;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_us(1_000_000 + 1_000 * ms)
}

/// A way between the two ends.
struct Line {
    /// Address of each end on it, as the other sees it.
    ends: [SocketAddr; 2],
    is_relay: bool,
    delay: Duration,
    loss: f64,
    /// Times at which it dies and comes back, by turns, milliseconds; it lives first.
    turns: Vec<u64>,
}

impl Line {
    fn works(&self, ms: u64) -> bool {
        self.turns.iter().filter(|turn| **turn <= ms).count().is_multiple_of(2)
    }

    /// Returns true if it has worked, or has not, from one time to another.
    fn has_been(&self, works: bool, from: u64, to: u64) -> bool {
        self.works(from) == works && self.turns.iter().all(|turn| *turn <= from || *turn > to)
    }

    fn pair_of(&self, end: usize) -> Pair {
        self.ends[1 - end].into()
    }
}

#[derive(Clone, Copy)]
enum Message {
    /// Its number and nonce.
    Question(u64, u64),
    /// The nonce that it returns.
    Answer(u64),
}

struct World {
    random: Random,
    lines: Vec<Line>,
    ends: [Steering; 2],
    allowances: [Allowance; 2],
    /// The ways on which an answer has come to each end, and that on which the call began.
    proved: [Vec<Pair>; 2],
    /// Bytes to the address at which nobody answers.
    to_victim: [u64; 2],
    moves: [Vec<u64>; 2],
    /// Arrival, line, receiver.
    under_way: Vec<(Timestamp, usize, usize, Message)>,
    questions: u64,
}

impl World {
    fn send(&mut self, line: usize, from: usize, message: Message, ms: u64) {
        let Line { delay, loss, .. } = self.lines[line];
        if self.lines[line].works(ms) && !self.random.chance(loss) {
            let jitter = (3_000.0 * self.random.unit()) as u64;
            let arrival = at(ms) + delay + Duration::from_micros(jitter);
            self.under_way.push((arrival, line, 1 - from, message));
        }
    }

    fn step(&mut self, ms: u64) {
        let (due, later) = self.under_way.drain(..).partition(|(arrival, ..)| *arrival <= at(ms));
        self.under_way = later;
        for (_, line, end, message) in due {
            let pair = self.lines[line].pair_of(end);
            match message {
                Message::Question(number, nonce) => {
                    let allowance = &mut self.allowances[end];
                    if self.ends[end].on_question(pair, number, QUESTION_BYTES as usize, allowance, at(ms)) {
                        self.send(line, end, Message::Answer(nonce), ms);
                    }
                    // Whoever hears it answers in another's name, too.
                    for guess in [nonce, number, number + 1] {
                        assert!(!self.ends[1 - end].on_answer(VICTIM.into(), guess, at(ms)));
                    }
                }
                Message::Answer(nonce) => {
                    if self.ends[end].on_answer(pair, nonce, at(ms)) {
                        self.proved[end].push(pair);
                    }
                }
            }
        }
        for end in [0, 1] {
            while let Some(act) = self.ends[end].poll(at(ms), self.random.bits(), &mut self.allowances[end]) {
                match act {
                    Act::Take(pair) => {
                        assert!(self.proved[end].contains(&pair), "video goes to {pair:?}, which has not answered");
                        self.moves[end].push(ms);
                    }
                    Act::Ask { pair, number, nonce, is_full } => {
                        self.questions += 1;
                        assert!(!is_full || self.proved[end].contains(&pair), "something long goes to {pair:?}");
                        self.to_victim[end] += if pair.to == VICTIM { QUESTION_BYTES } else { 0 };
                        if let Some(line) = self.lines.iter().position(|line| line.pair_of(end) == pair) {
                            self.send(line, end, Message::Question(number, nonce), ms);
                        }
                    }
                }
            }
            let next = self.ends[end].poll_timeout(at(ms), &self.allowances[end]);
            assert!(next.is_some_and(|next| next > at(ms)));
            assert_eq!(self.ends[end].pairs(), self.lines.len() + 1);
            let most = Origin::Call.of_each().unwrap().within(Duration::from_millis(ms));
            assert!((1..=most).contains(&self.to_victim[end]), "{} bytes of {most}", self.to_victim[end]);
        }
    }

    /// Returns the line on which an end sends.
    fn used(&self, end: usize) -> &Line {
        let used = self.ends[end].used();
        self.lines.iter().find(|line| line.pair_of(end) == used).unwrap()
    }
}

fn line(random: &mut Random, number: usize, is_relay: bool, turns: Vec<u64>) -> Line {
    let address = |end: usize| SocketAddr::from(([203, 0, 113, 2 * number as u8 + end as u8 + 1], 20_000));
    let relay_delay = if is_relay { 15 * MS } else { Duration::ZERO };
    let delay = relay_delay + (1 + random.below(30) as u32) * MS;
    let loss = if random.chance(0.5) { 0.0 } else { 0.03 * random.unit() };
    Line { ends: [address(0), address(1)], is_relay, delay, loss, turns }
}

fn world(seed: u64, lines: impl FnOnce(&mut Random) -> Vec<Line>) -> World {
    let mut random = Random::new(seed);
    let lines = lines(&mut random);
    let told = |end: usize| -> Vec<Candidate> {
        let kind = |line: &Line| if line.is_relay { Kind::Relayed } else { Kind::ServerReflexive };
        let lines = lines.iter().map(|line| (kind(line), line.ends[1 - end]));
        lines.chain([(Kind::ServerReflexive, VICTIM)]).filter_map(|(kind, to)| Candidate::new(kind, to)).collect()
    };
    let begin = |end: usize| {
        let kind = if lines[0].is_relay { Kind::Relayed } else { Kind::ServerReflexive };
        let mut steering = Steering::new(lines[0].pair_of(end), kind, at(0));
        steering.set_told(&told(end), at(0));
        steering
    };
    let ends = [begin(0), begin(1)];
    World {
        random,
        allowances: [Allowance::default(), Allowance::default()],
        proved: [0, 1].map(|end| vec![lines[0].pair_of(end)]),
        to_victim: [0; 2],
        lines,
        ends,
        moves: [Vec::new(), Vec::new()],
        under_way: Vec::new(),
        questions: 0,
    }
}

fn seeds() -> std::ops::Range<u64> {
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| "0..60".to_owned());
    let (from, to) = seeds.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn ways_that_come_and_go_are_left_and_taken() {
    const END: u64 = 120_000;
    for seed in seeds() {
        let mut world = world(seed, |random| {
            let count = 2 + random.below(3) as usize;
            (0..count)
                .map(|number| {
                    // Each dies some times, never for less than ten seconds, and lives as long in between.
                    let (mut turns, mut ms) = (Vec::new(), random.below(40_000));
                    while ms < END && turns.len() < 6 {
                        turns.push(ms);
                        ms += 10_000 + random.below(40_000);
                    }
                    // One may be dead at first; not the one on which the call begins.
                    if number > 0 && random.chance(0.3) {
                        turns.insert(0, 0);
                    }
                    let is_relay = number == 0 || random.chance(0.3);
                    line(random, number, is_relay, turns)
                })
                .collect()
        });
        for ms in (0..END).step_by(STEP) {
            world.step(ms);
            for end in [0, 1] {
                let used = world.used(end);
                let Some(before) = ms.checked_sub(KNOWN.as_millis() as u64) else { continue };
                let other = world.lines.iter().any(|line| line.has_been(true, before, ms));
                assert!(
                    !(other && used.has_been(false, ms - LEFT.as_millis() as u64, ms)),
                    "seed {seed}, end {end} at {ms} ms is on a dead way, moves {:?}",
                    world.moves
                );
            }
        }
        assert!(world.questions < 2 * 60 * END / 1_000 + 2_000, "seed {seed}: {} questions", world.questions);
    }
}

#[test]
fn a_better_way_that_appears_is_in_use_soon_and_stays() {
    for seed in seeds() {
        let mut appears = 0;
        let mut world = world(seed, |random| {
            appears = random.below(60_000);
            let mut direct = line(random, 1, false, vec![0, appears]);
            direct.loss *= 0.5;
            let dead = line(random, 2, false, vec![0]);
            vec![line(random, 0, true, Vec::new()), direct, dead]
        });
        // Better is what is not slower.
        world.lines[1].delay = world.lines[1].delay.min(world.lines[0].delay);
        for ms in (0..appears + FOUND.as_millis() as u64 + 20_000).step_by(STEP) {
            world.step(ms);
            let should = ms > appears + FOUND.as_millis() as u64;
            for end in [0, 1] {
                let is_direct = !world.used(end).is_relay;
                assert!(!is_direct || ms >= appears, "seed {seed}");
                assert!(is_direct || !should, "seed {seed}, end {end} at {ms} ms, {appears} ms: {:?}", world.moves);
            }
        }
    }
}

#[test]
fn a_way_that_comes_and_goes_is_followed_less_and_less_and_one_that_stays_is_never_left() {
    for seed in seeds() {
        let mut world = world(seed, |random| {
            let every = 1_500 + random.below(4_000);
            let turns = (0..300_000 / every).map(|n| n * every).collect();
            vec![line(random, 0, true, Vec::new()), line(random, 1, false, turns)]
        });
        for ms in (0..300_000).step_by(STEP) {
            world.step(ms);
        }
        assert!(world.moves.iter().all(|moves| moves.len() <= 24), "seed {seed}: {:?}", world.moves);
        let mut world = self::world(seed, |random| vec![line(random, 0, false, vec![]), line(random, 1, true, vec![])]);
        for ms in (0..60_000).step_by(STEP) {
            world.step(ms);
        }
        assert!(world.moves.iter().all(Vec::is_empty), "seed {seed}: {:?}", world.moves);
    }
}
