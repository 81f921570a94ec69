//! One encoder for several receivers, each with losses and reports of its own.

use std::collections::VecDeque;

use common::stream::video::prediction::Held;
use common::wire::states::Fate;
use kernels::{BackendChoice, Decoder, Picture};
use picture::coded::{BlockState, ReceivedFrame};
use picture::gaps::Gaps;
use picture::pyramid::BlockLayout;

use super::tests::params;
use super::*;
use crate::source::pattern::Pattern;

/// A receiver, and the line to it.
struct Receiver {
    id: ReceiverId,
    decoder: Decoder,
    held: Held<State>,
    /// Reports under way, and the steps at which they come.
    reports: VecDeque<(u64, StatesReport)>,
    /// Of 100 frames: those that do not come, and those that come with gaps.
    loses: [u64; 2],
    delay: u64,
    /// It says of each frame that it has not used it.
    denies: bool,
    /// Its hashes are wrong.
    lies: bool,
    random: u64,
}

impl Receiver {
    fn new(id: u32, loses: [u64; 2], delay: u64) -> Self {
        let decoder = Decoder::open(&params(), BackendChoice::Cpu).unwrap();
        let (held, random) = (Held::new(15), u64::from(id));
        Self {
            id: ReceiverId(id),
            decoder,
            held,
            reports: VecDeque::new(),
            loses,
            delay,
            denies: false,
            lies: false,
            random,
        }
    }

    fn chance(&mut self, of: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % of
    }

    /// Decodes what comes of a frame; returns the picture's hash.
    fn take(&mut self, id: FrameId, frame: &CodedFrame, step: u64) -> Option<u32> {
        let [lost, broken] = self.loses;
        if self.chance(100) < lost {
            return None;
        }
        let mut received = ReceivedFrame::from(frame);
        if self.chance(100) < broken {
            let start = self.chance(received.block_count() as u64) as usize;
            received.forget(start..(start + 5).min(received.block_count()));
        }
        let gaps = Gaps::of(&mut received);
        let reference = self.held.reference(id, frame.reference);
        let coarse = BlockLayout::new(&params()).coarse_blocks();
        let mut hash = None;
        if frame.reference > 0 && reference.is_none() {
            self.held.on_lacking(id);
        } else if frame.reference == 0 && (0..coarse).any(|at| received.block(at) == BlockState::Missing) {
            self.held.on_not_used(id);
        } else {
            let mut out = Picture::decoded_from(&params());
            let state = self.decoder.decode(&received, reference, &mut out).unwrap();
            hash = Some(out.hash());
            self.held.on_used(id, gaps, state, hash);
        }
        let denied = |report: StatesReport| match self.denies {
            true => StatesReport { fates: vec![Fate::NotUsed; report.fates.len()], hash: None, ..report },
            false if self.lies => StatesReport { hash: report.hash.map(|(back, hash)| (back, !hash)), ..report },
            false => report,
        };
        self.reports.extend(self.held.report().map(|report| (step + self.delay, denied(report))));
        hash
    }
}

/// A sender and its receivers, in steps of a frame.
struct Room {
    sender: StreamEncoder,
    receivers: Vec<Receiver>,
    step: u64,
}

impl Room {
    fn new(receivers: Vec<Receiver>) -> Self {
        let mut sender = StreamEncoder::open(&params(), BackendChoice::Cpu).unwrap();
        sender.leave(PEER);
        receivers.iter().for_each(|receiver| sender.join(receiver.id));
        Self { sender, receivers, step: 0 }
    }

    fn join(&mut self, receiver: Receiver) {
        self.sender.join(receiver.id);
        self.receivers.push(receiver);
    }

    /// Codes a frame for all; returns the distance to its reference, and the receivers' hashes of their pictures.
    fn frame(&mut self) -> (u8, Vec<Option<u32>>) {
        let (params, step, now) = (params(), self.step, Timestamp::from_us(33_333 * self.step));
        self.step += 1;
        let mut data = Vec::new();
        Pattern::new(params.size, params.frame_rate).draw(step as u32, 0, &mut data);
        for receiver in &mut self.receivers {
            while let Some((_, report)) = receiver.reports.pop_front_if(|(due, _)| *due <= step) {
                self.sender.on_told_of(receiver.id, Told::Report(report, now));
            }
        }
        if step % 2 == 0 {
            while self.sender.prepare(now).unwrap() {}
        }
        let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
        let (id, frame) = self.sender.code(picture, Target::Bytes(900), now).unwrap();
        (frame.reference, self.receivers.iter_mut().map(|receiver| receiver.take(id, &frame, step)).collect())
    }
}

/// Of each receiver the sender knows every picture, hash by hash, whatever the others lose.
#[test]
fn one_frame_for_all_is_predicted_from_what_all_of_them_hold() {
    let lines = [([0, 0], 2), ([10, 10], 3), ([5, 30], 6)];
    let receivers = lines.into_iter().zip(1..).map(|((loses, delay), id)| Receiver::new(id, loses, delay)).collect();
    let mut room = Room::new(receivers);
    let (mut predicted, mut same) = (0, 0);
    for _ in 0..150 {
        let (reference, hashes) = room.frame();
        predicted += u32::from(reference > 0);
        same += u32::from(hashes.iter().all(|hash| hash.is_some() && *hash == hashes[0]));
    }
    let counters = room.sender.counters();
    assert!(predicted > 60 && same > 15, "{predicted} predicted, {same} the same for all");
    assert_eq!((counters.mismatches, counters.contradictions, counters.malformed), (0, 0, 0), "{counters:?}");
    assert_eq!((counters.frames, counters.predicted), (150, predicted.into()));
    assert!(counters.matches > 100 && counters.replays > 20, "{counters:?}");
}

#[test]
fn one_who_lacks_everything_has_a_frame_of_its_own_and_one_who_left_does_not_count() {
    let mut room = Room::new(vec![Receiver::new(1, [0, 0], 2), Receiver::new(2, [0, 0], 4)]);
    let references = |room: &mut Room, frames| (0..frames).map(|_| room.frame().0).collect::<Vec<_>>();
    assert_eq!(references(&mut room, 10), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    room.join(Receiver::new(3, [0, 0], 3));
    assert_eq!(references(&mut room, 4), [0, 1, 1, 1], "whoever comes needs one frame alone");
    // Nothing comes through to this one.
    room.join(Receiver::new(4, [100, 0], 3));
    let deaf = references(&mut room, 40);
    assert!(deaf[0] == 0 && deaf[20..].iter().all(|&reference| reference == 0), "{deaf:?}");
    room.sender.leave(ReceiverId(4));
    assert_eq!(references(&mut room, 5), [1; 5], "the others hold the last frame");
    // A restart forgets what one of them has held.
    room.sender.on_told_of(ReceiverId(2), Told::Restart);
    assert_eq!(references(&mut room, 3), [0, 1, 1]);
    assert_eq!(room.sender.counters().mismatches, 0);
    for receiver in 1..4 {
        room.sender.leave(ReceiverId(receiver));
    }
    assert_eq!(references(&mut room, 2), [0, 0], "nobody is there");
}

/// The same gaps at two receivers are one state, though it is decoded for each.
#[test]
fn receivers_that_lack_the_same_hold_the_same() {
    let mut room = Room::new(vec![Receiver::new(1, [0, 0], 1), Receiver::new(2, [0, 0], 1)]);
    (0..5).for_each(|_| drop(room.frame()));
    for receiver in &mut room.receivers {
        (receiver.random, receiver.loses) = (5, [0, 100]);
    }
    let (_, hashes) = room.frame();
    assert_eq!(hashes[0], hashes[1]);
    room.receivers.iter_mut().for_each(|receiver| receiver.loses = [0, 0]);
    let (reference, hashes) = room.frame();
    assert_eq!((reference, hashes[0]), (1, hashes[1]), "the frame with gaps can be referred to");
    (0..8).for_each(|_| drop(room.frame()));
    let counters = room.sender.counters();
    assert!(counters.replays >= 2 && counters.mismatches == 0, "{counters:?}");
}

#[test]
fn whoever_holds_less_than_others_or_reports_what_is_not_true_is_known() {
    let lines = [([0, 0], 2), ([100, 0], 2), ([0, 60], 2)];
    let receivers = lines.into_iter().zip(1..).map(|((loses, delay), id)| Receiver::new(id, loses, delay)).collect();
    let mut room = Room::new(receivers);
    (0..40).for_each(|_| drop(room.frame()));
    let now = Timestamp::from_us(33_333 * room.step);
    let hindrance = |room: &Room, id| room.sender.hindrance(ReceiverId(id), now).unwrap();
    assert_eq!(hindrance(&room, 1), Hindrance::default());
    assert!(hindrance(&room, 2).behind_percent > 65, "nothing comes there");
    assert!(hindrance(&room, 3).broken_percent > 40, "{:?}", hindrance(&room, 3));
    let contradiction = StatesReport { newest: FrameId(900), hash: None, fates: vec![Fate::NotUsed] };
    room.sender.on_told_of(ReceiverId(1), Told::Report(contradiction, now));
    assert_eq!(hindrance(&room, 1).untrue, 1);
    assert_eq!(room.sender.hindrance(ReceiverId(9), now), None);
}

#[test]
fn whoever_lies_about_its_pictures_costs_the_others_no_frame_alone() {
    let mut room = Room::new((1..4).map(|id| Receiver::new(id, [0, 0], 2)).collect());
    (0..10).for_each(|_| drop(room.frame()));
    room.receivers[1].lies = true;
    let now = |room: &Room| Timestamp::from_us(33_333 * room.step);
    let untrue = |room: &Room, id| room.sender.hindrance(ReceiverId(id), now(room)).unwrap().untrue;
    while untrue(&room, 2) == 0 {
        assert_eq!((room.frame().0, room.step < 20), (1, true));
    }
    assert_eq!([1, 3].map(|id| untrue(&room, id)), [0, 0]);
    // It is put apart for that.
    room.sender.leave(ReceiverId(2));
    assert!((0..5).all(|_| room.frame().0 == 1));
    // Where all that are left lie, the next frame is coded alone: it may be this end that is wrong.
    room.receivers.iter_mut().for_each(|receiver| receiver.lies = true);
    assert!((0..5).any(|_| room.frame().0 == 0));
}

#[test]
fn whoever_is_no_longer_known_to_hold_anything_has_a_frame_alone_if_it_stays() {
    let mut room = Room::new((1..3).map(|id| Receiver::new(id, [0, 0], 2)).collect());
    (0..10).for_each(|_| drop(room.frame()));
    room.receivers[1].lies = true;
    while room.sender.counters().mismatches == 0 {
        assert_eq!((room.frame().0, room.step < 20), (1, true));
    }
    room.receivers[1].lies = false;
    let after: Vec<_> = (0..6).map(|_| room.frame()).collect();
    assert_eq!(after[0].0, 0, "{after:?}");
    assert!(after[1..].iter().all(|(age, hashes)| *age > 0 && hashes[0] == hashes[1]), "{after:?}");
}

#[test]
fn whoever_says_from_the_begin_that_it_has_used_nothing_is_known_until_it_uses_something() {
    let room = || Room::new(vec![Receiver::new(1, [0, 0], 1), Receiver::new(2, [0, 0], 1)]);
    let hinders = |room: &mut Room| {
        room.frame();
        let now = Timestamp::from_us(33_333 * room.step);
        [1, 2].map(|id| room.sender.hindrance(ReceiverId(id), now).unwrap().behind_percent > 65)
    };
    let mut one = room();
    one.receivers[1].denies = true;
    let seen: Vec<_> = (0..6).map(|_| hinders(&mut one)).collect();
    let expected = [false, true, true, true, true, true].map(|of_second| [false, of_second]);
    assert_eq!(seen, expected);
    // Gone, it hinders nobody, and would again.
    one.sender.leave(ReceiverId(2));
    assert!((0..3).all(|_| hinders(&mut one) == [false, true]));
    one.receivers[1].denies = false;
    hinders(&mut one);
    let now = Timestamp::from_us(33_333 * one.step);
    drop(one.frame());
    assert_eq!(one.sender.hindrance(ReceiverId(2), now), None);
    // Where nobody has used anything, something else is wrong.
    let mut all = room();
    all.receivers.iter_mut().for_each(|receiver| receiver.denies = true);
    assert!((0..12).all(|_| hinders(&mut all) == [false; 2]));
    // One that has used a frame may lose some.
    let mut later = room();
    (0..3).for_each(|_| drop(later.frame()));
    later.receivers[1].denies = true;
    assert!((0..3).all(|_| hinders(&mut later) == [false; 2]));
}

#[test]
fn a_frame_for_one_who_is_apart_changes_nothing_for_the_others() {
    let (mut with, mut without) =
        (Room::new(vec![Receiver::new(0, [0, 0], 2)]), Room::new(vec![Receiver::new(0, [0, 0], 2)]));
    for step in 0..30 {
        let (_, hashes) = with.frame();
        assert_eq!((step, hashes), (step, without.frame().1));
        let mut data = Vec::new();
        Pattern::new(params().size, params().frame_rate).draw(step, 0, &mut data);
        // As the encode thread does, before the state of the frame for all is computed, and after it.
        if step % 3 > 0 {
            let apart = with.sender.code_apart((PixelFormat::I420, data), Target::Bytes(700)).unwrap();
            assert_eq!(apart.unwrap().0.reference, 0);
        }
    }
    assert!(with.sender.counters().predicted > 20, "{:?}", with.sender.counters());
}
