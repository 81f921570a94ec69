//! The sender's beliefs of the receiver's states, against a model of the receiver, over many seeds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use common::stream::video::prediction::{Held, REPLAYS_MAX, References, SentFrame, StatesOutcome, states_of};
use common::units::{FrameId, Timestamp};
use common::wire::states::{Fate, StatesReport};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::FrameRate;
use picture::gaps::Gaps;
use picture::params::STATES_MAX;
use picture::replay::Replay;

/// Blocks of a frame.
const BLOCKS: usize = 40;
const INTERVAL: Duration = Duration::from_millis(33);

/// xorshift64*.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.bits() >> 11) % end
    }

    fn chance(&mut self, share: f64) -> bool {
        (self.bits() >> 11) as f64 / ((1_u64 << 53) as f64) < share
    }
}

/// A frame and the state that it was coded from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    id: u32,
    age: u8,
    from: Option<u64>,
}

impl SentFrame for Sent {
    fn block_count(&self) -> usize {
        BLOCKS
    }
}

/// Decodes to a state that is a number which tells all that it was made of.
fn decode(frame: &Sent, gaps: &Gaps, reference: Option<&u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (frame.id, gaps, reference).hash(&mut hasher);
    hasher.finish()
}

struct Decoder;

impl Replay<Sent, u64> for Decoder {
    type Error = std::convert::Infallible;

    fn replay(&mut self, frame: &Sent, gaps: &Gaps, reference: Option<&u64>) -> Result<u64, Self::Error> {
        assert_eq!(frame.age > 0, reference.is_some());
        Ok(decode(frame, gaps, reference))
    }

    fn hash(&self, state: &u64) -> u32 {
        *state as u32
    }
}

/// Impairments of a stream by the network.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// A frame loses some blocks, a frame all, a report.
    losses: [f64; 3],
    /// Frames from one blackout to the next, if there are any, and of one.
    blackouts: Option<(u64, u64)>,
    /// Delay of one way, frames.
    delay: u64,
    /// Further delay of some frames, frames.
    jitter: u64,
    /// The encoder finds that prediction costs more.
    alone: f64,
    /// The decoder has no time.
    skipped: f64,
}

impl Line {
    fn any(random: &mut Random) -> Self {
        let one_of = |random: &mut Random, values: &[f64]| values[random.below(values.len() as u64) as usize];
        Self {
            losses: [
                one_of(random, &[0.0, 0.1, 0.6, 1.0]),
                one_of(random, &[0.0, 0.05, 0.3]),
                one_of(random, &[0.0, 0.05, 0.5]),
            ],
            blackouts: random.chance(0.3).then(|| (40 + random.below(60), 1 + random.below(30))),
            delay: random.below(6),
            jitter: random.below(4),
            alone: one_of(random, &[0.0, 0.0, 0.05, 0.5]),
            skipped: one_of(random, &[0.0, 0.0, 0.1]),
        }
    }
}

fn gaps(random: &mut Random) -> Gaps {
    let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
    let mut frame = ReceivedFrame::from(&CodedFrame::from_blocks(header, &vec![vec![]; BLOCKS]));
    for _ in 0..=random.below(3) {
        let start = random.below(BLOCKS as u64) as usize;
        frame.forget(start..(start + 1 + random.below(8) as usize).min(BLOCKS));
    }
    Gaps::of(&mut frame)
}

fn at(step: u64) -> Timestamp {
    Timestamp::from_us(1_000_000) + INTERVAL * step as u32
}

/// A sender and a receiver with a line between them.
struct World {
    window: u8,
    sender: References<Sent, u64>,
    receiver: Held<u64>,
    /// The receiver's state of each frame, with the gaps it was decoded with.
    truth: BTreeMap<u32, Option<u64>>,
    /// Frames decoded from the state that they were coded from, and others.
    decoded: [u64; 2],
    checked: u64,
}

impl World {
    fn new(window: u8) -> Self {
        let sender = References::new(window, INTERVAL);
        Self { window, sender, receiver: Held::new(window), truth: BTreeMap::new(), decoded: [0; 2], checked: 0 }
    }

    fn code(&mut self, step: u64, alone: bool) -> Sent {
        let before = self.sender.counters();
        let reference = self.sender.next(at(step), &mut Decoder).unwrap();
        let counters = self.sender.counters();
        assert!(counters.replays - before.replays <= 2 * REPLAYS_MAX as u64);
        assert_eq!(counters.mismatches, before.mismatches, "both ends decode alike");
        assert!(self.sender.kept() <= usize::from(self.window));
        let id = self.sender.next_frame().0;
        let reference = reference.filter(|_| !alone);
        let (age, from) = reference.map_or((0, None), |(age, state)| (age, Some(state)));
        assert!(age <= self.window);
        let frame = Sent { id, age, from };
        // The state of a frame that refers to none can wait until it is wanted.
        let state = (age > 0 || id.is_multiple_of(2)).then(|| decode(&frame, &Gaps::default(), from.as_ref()));
        self.sender.on_coded(age, frame.clone(), state, at(step));
        frame
    }

    /// Checks that the beliefs of reported frames are true; returns their number.
    fn check(&self) -> u64 {
        let mut checked = 0;
        for back in 0..=u32::from(self.window) {
            let id = FrameId(self.sender.next_frame().0.wrapping_sub(back));
            if let Some(Some(&state)) = self.sender.reported_state(id) {
                assert_eq!(self.truth.get(&id.0), Some(&Some(state)), "frame {} is not what is believed", id.0);
                checked += 1;
            }
        }
        checked
    }

    /// Gives a frame to the receiver's decoder.
    fn decode(&mut self, frame: &Sent, gaps: Gaps, random: &mut Random) {
        let (id, before) = (FrameId(frame.id), self.receiver.newest().copied());
        for lost in self.truth.len() as u32..frame.id {
            self.truth.insert(lost, before);
        }
        let reference = self.receiver.reference(id, frame.age).copied();
        if frame.age > 0 && reference.is_none() {
            self.receiver.on_lacking(id);
            self.truth.insert(frame.id, before);
        } else {
            self.decoded[usize::from(reference != frame.from)] += 1;
            let state = decode(frame, &gaps, reference.as_ref());
            let hash = random.chance(0.2).then_some(state as u32);
            self.receiver.on_used(id, gaps, state, hash);
            self.truth.insert(frame.id, Some(state));
        }
    }
}

fn run(seed: u64, line: Line, steps: u64) -> World {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let window = 1 + random.below(STATES_MAX.into()) as u8;
    let mut world = World::new(window.max(2 * (line.delay + line.jitter) as u8 + 3));
    let mut frames: BTreeMap<(u64, u32), (Sent, Gaps)> = BTreeMap::new();
    let mut reports: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut newest = None;
    let idle = [0.0, 0.5, 1.0][seed as usize % 3];
    for step in 0..steps {
        let is_dark = line.blackouts.is_some_and(|(every, long)| step % every < long && step >= every);
        for (_, report) in reports.extract_if(.., |report| report.0 <= step) {
            let outcome = world.sender.on_report(StatesReport::parse(&report).unwrap(), at(step));
            assert!(matches!(outcome, StatesOutcome::News | StatesOutcome::Known), "{outcome:?}");
        }
        // Some encoders have time between two frames, for a part of what there is to do or for all.
        while random.chance(idle) && world.sender.prepare(at(step), REPLAYS_MAX, &mut Decoder).unwrap() {}
        let mut frame = world.code(step, random.chance(line.alone));
        if random.chance(0.05) {
            // It has not left when the next picture comes.
            world.sender.withdraw(FrameId(frame.id));
            frame = world.code(step, random.chance(line.alone));
        }
        world.checked += world.check();
        if !random.chance(line.losses[1]) && !is_dark {
            let has_gaps = frame.age > 0 && random.chance(line.losses[0]);
            let gaps = if has_gaps { gaps(&mut random) } else { Gaps::default() };
            let due = step + line.delay + random.below(line.jitter + 1);
            frames.insert((due, frame.id), (frame, gaps));
        }
        while let Some(due) = frames.first_key_value().map(|due| *due.0).filter(|due| due.0 <= step) {
            let (frame, gaps) = frames.remove(&due).unwrap();
            // The session gives no frame after a newer one.
            if newest.is_some_and(|newest| frame.id <= newest) || random.chance(line.skipped) {
                continue;
            }
            newest = Some(frame.id);
            world.decode(&frame, gaps, &mut random);
            let report = world.receiver.report().unwrap().to_bytes(0);
            for _ in 0..1 + random.below(2) {
                if !random.chance(line.losses[2]) && !is_dark {
                    reports.push((step + line.delay + random.below(line.jitter + 1), report.clone()));
                }
            }
        }
    }
    world
}

#[test]
fn what_is_believed_of_reported_frames_is_what_the_receiver_has() {
    let [mut decoded, mut checked] = [0; 2];
    for seed in 0..4_000 {
        let mut random = Random(seed + 77);
        let world = run(seed, Line::any(&mut random), 150);
        decoded += world.decoded[0];
        checked += world.checked;
    }
    assert!(decoded > 100_000 && checked > 1_000_000, "{decoded} {checked}");
}

#[test]
fn a_line_that_loses_nothing_needs_one_frame_alone_and_no_replay() {
    for delay in 0..5 {
        let line = Line { losses: [0.0; 3], blackouts: None, delay, jitter: 0, alone: 0.0, skipped: 0.0 };
        let world = run(delay + 1, line, 300);
        let counters = world.sender.counters();
        assert_eq!((counters.predicted, counters.replays, world.decoded[1]), (299, 0, 0), "delay {delay}");
        assert!(counters.matches > 20);
    }
}

#[test]
fn a_loss_is_gone_after_its_report() {
    let line = Line { losses: [0.0; 3], blackouts: None, delay: 2, jitter: 0, alone: 0.0, skipped: 0.0 };
    let lossy = Line { losses: [0.2, 0.05, 0.05], ..line };
    for seed in 0..300 {
        let world = run(seed, lossy, 300);
        let counters = world.sender.counters();
        // Broken are those that were coded before the loss was known: four frames a loss.
        assert!(world.decoded[0] > 60, "seed {seed}: {:?}", world.decoded);
        assert!(counters.frames - counters.predicted < 12, "seed {seed}: {counters:?}");
    }
}

#[test]
fn after_a_blackout_the_first_frame_is_right() {
    for long in [3, 6, 12, 40] {
        let line =
            Line { losses: [0.0; 3], blackouts: Some((100, long)), delay: 1, jitter: 0, alone: 0.0, skipped: 0.0 };
        for seed in 0..50 {
            let world = run(seed, line, 400);
            // Those on their way when it began may be.
            assert!(world.decoded[1] <= 3 * 4, "{long} frames, seed {seed}: {:?}", world.decoded);
        }
    }
}

/// Returns a sender that has coded some frames, nothing of which has been reported.
fn sender(frames: u64) -> World {
    let mut world = World::new(15);
    for step in 0..frames {
        world.code(step, false);
    }
    world
}

#[expect(clippy::single_range_in_vec_init, reason = "one gap")]
fn report(newest: u32, fates: &[Option<(u32, u32)>]) -> StatesReport {
    let fate = |gap: &Option<(u32, u32)>| match *gap {
        None => Fate::Used(Gaps::default()),
        Some((0, 0)) => Fate::NotUsed,
        Some((start, end)) => Fate::Used(Gaps::new(vec![start..end]).unwrap()),
    };
    StatesReport { newest: FrameId(newest), hash: None, fates: fates.iter().map(fate).collect() }
}

#[test]
fn reports_that_cannot_be_are_counted() {
    let mut world = sender(10);
    let malformed = |outcome| matches!(outcome, StatesOutcome::Malformed(_));
    assert!(malformed(world.sender.on_report(report(10, &[None]), at(10))), "never coded");
    assert!(malformed(world.sender.on_report(report(9, &[Some((39, 41))]), at(10))), "no such block");
    assert_eq!(world.sender.on_report(report(9, &[None, Some((1, 2))]), at(10)), StatesOutcome::News);
    assert_eq!(world.sender.on_report(report(9, &[None, Some((1, 2))]), at(10)), StatesOutcome::Known);
    assert_eq!(world.sender.on_report(report(9, &[None, None]), at(10)), StatesOutcome::Contradiction);
    assert_eq!(world.sender.on_report(report(9, &[Some((0, 0))]), at(10)), StatesOutcome::Contradiction);
    // Nothing else that such a report says is believed.
    let more = report(9, &[None, None, Some((3, 4))]);
    assert_eq!(world.sender.on_report(more, at(10)), StatesOutcome::Contradiction);
    assert_eq!(world.sender.on_report(report(9, &[None, Some((1, 2)), None]), at(10)), StatesOutcome::News);
    let counters = world.sender.counters();
    assert_eq!((counters.malformed, counters.contradictions), (2, 3));
    // What has left the window is of no use to anybody.
    let mut world = sender(40);
    assert_eq!(world.sender.on_report(report(10, &[None; 8]), at(40)), StatesOutcome::Known);
    assert!(malformed(World::new(3).sender.on_report(report(0, &[None]), at(0))), "nothing was coded");
}

#[test]
fn what_is_decoded_between_frames_is_not_decoded_for_them() {
    let mut world = sender(10);
    assert_eq!(world.sender.prepare(at(10), REPLAYS_MAX, &mut Decoder), Ok(false));
    // Frames 5 to 9 are made of the one with a gap.
    world.sender.on_report(report(5, &[Some((1, 2)), None, None, None, None, None]), at(10));
    let mut decoded = 0;
    while world.sender.prepare(at(10), REPLAYS_MAX, &mut Decoder).unwrap() {
        decoded += 1;
        assert_eq!(world.sender.counters().replays, decoded);
    }
    assert_eq!(decoded, 5);
    let mut twin = sender(10);
    twin.sender.on_report(report(5, &[Some((1, 2)), None, None, None, None, None]), at(10));
    let next = world.sender.next(at(10), &mut Decoder).unwrap();
    assert_eq!(next, twin.sender.next(at(10), &mut Decoder).unwrap());
    assert_eq!((world.sender.counters().replays, twin.sender.counters().replays), (5, 5));
}

#[test]
fn a_wrong_hash_is_counted_and_answered_by_a_frame_without_a_reference() {
    let mut world = sender(10);
    let wrong = StatesReport { hash: Some((1, 12_345)), ..report(9, &[None; 10]) };
    assert_eq!(world.sender.on_report(wrong, at(11)), StatesOutcome::News);
    assert_eq!(world.sender.next(at(11), &mut Decoder).unwrap(), None);
    assert_eq!(world.sender.counters().mismatches, 1);
    let frame = world.code(11, false);
    assert_eq!((frame.age, world.code(12, false).age), (0, 1));
}

#[test]
fn a_receiver_that_lacks_a_reference_gets_a_frame_without_one() {
    let mut world = sender(10);
    let mut lacking = report(7, &[None; 8]);
    lacking.fates[0] = Fate::LacksReference;
    assert_eq!(world.sender.on_report(lacking, at(10)), StatesOutcome::News);
    assert_eq!((world.code(10, false).age, world.code(11, false).age), (0, 1));
    // Those on their way lacked theirs, too, which changes nothing.
    let mut lacking = report(9, &[None; 10]);
    lacking.fates[..3].fill(Fate::LacksReference);
    world.sender.on_report(lacking, at(12));
    assert_eq!((world.code(12, false).age, world.sender.counters().lacking), (1, 3));
}

#[test]
fn a_peer_that_reports_a_gap_in_every_frame_as_late_as_it_can_makes_few_replays() {
    let mut world = sender(0);
    for step in 0..300_u64 {
        let before = world.sender.counters().replays;
        world.code(step, false);
        assert!(world.sender.counters().replays - before <= 2 * REPLAYS_MAX as u64);
        if let Some(old) = step.checked_sub(12) {
            world.sender.on_report(report(old as u32, &[Some((3, 9))]), at(step));
        }
    }
}

#[test]
fn a_state_is_certain_only_with_all_that_it_was_made_of() {
    let mut world = sender(6);
    world.sender.on_report(report(5, &[None; 3]), at(6));
    assert_eq!(world.sender.reported_state(FrameId(5)), None, "nobody has told of frames 0 to 2");
    world.sender.on_report(report(2, &[None; 3]), at(6));
    assert!(matches!(world.sender.reported_state(FrameId(5)), Some(Some(_))));
}

#[test]
fn when_reports_stay_away_the_newest_reported_frame_is_the_reference() {
    let mut world = sender(0);
    for step in 0..20_u64 {
        world.code(step, false);
        if let Some(old) = step.checked_sub(2) {
            world.sender.on_report(report(old as u32, &[None]), at(step));
        }
    }
    // Frame 17 is the newest one reported.
    let ages: Vec<_> = (20..30).map(|step| world.code(step, false).age).collect();
    let overdue = ages.iter().position(|&age| age > 1).expect("reports are overdue");
    assert!((1..8).contains(&overdue), "{ages:?}");
    let to_17: Vec<u8> = (3..13).collect();
    assert_eq!(ages[overdue..], to_17[overdue..], "{ages:?}");
}

#[test]
fn half_a_second_of_states() {
    let of = |numerator, denominator| states_of(FrameRate::new(numerator, denominator).unwrap());
    assert_eq!([of(30, 1), of(60, 1), of(25, 1), of(1, 1), of(1000, 1)], [15, 30, 13, 1, 32]);
}
