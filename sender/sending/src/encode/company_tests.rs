//! One encode thread for several receivers.

use common::stream::video::prediction::Held;
use common::wire::states::StatesReport;
use kernels::{BackendChoice, Decoder, Picture, State};
use net::clock;
use picture::coded::ReceivedFrame;
use picture::gaps::Gaps;

use super::tests::{coding_for, picture};
use super::*;

/// A receiver that decodes what its link takes.
struct Peer {
    decoder: Decoder,
    held: Held<State>,
    seen: Vec<(FrameId, u8, usize, u32)>,
}

impl Peer {
    fn new(params: &StreamParams) -> Self {
        Self { decoder: Decoder::open(params, BackendChoice::Cpu).unwrap(), held: Held::new(15), seen: Vec::new() }
    }

    fn take(&mut self, encoded: &Encoded) -> StatesReport {
        let mut received = ReceivedFrame::from(&*encoded.frame);
        let (gaps, reference) = (Gaps::of(&mut received), self.held.reference(encoded.id, encoded.frame.reference));
        if encoded.frame.reference > 0 && reference.is_none() {
            // What it missed is not held.
            self.held.on_lacking(encoded.id);
            return self.held.report().unwrap();
        }
        let mut out = Picture::decoded_from(&encoded.params);
        let state = self.decoder.decode(&received, reference, &mut out).unwrap();
        let bytes = picture::run::coded_size(&encoded.frame);
        self.seen.push((encoded.id, encoded.frame.reference, bytes, out.hash()));
        self.held.on_used(encoded.id, gaps, state, Some(out.hash()));
        self.held.report().unwrap()
    }
}

/// An encode thread and its receivers, frame by frame.
struct Room {
    encode: Encode,
    peers: Vec<Peer>,
    number: u32,
}

impl Room {
    fn new(budgets: &[usize]) -> Self {
        let mut encode = coding_for(budgets.len());
        encode.company.begin(&mut encode.coder);
        for (receiver, budget) in budgets.iter().enumerate() {
            encode.gate.set_budget_bytes(receiver, *budget);
            encode.gate.set_open(receiver, true);
        }
        let peers = budgets.iter().map(|_| Peer::new(&encode.params)).collect();
        Self { encode, peers, number: 0 }
    }

    /// Codes a picture; what each link takes is decoded, and reported as `says` wants it.
    fn frame(&mut self, takes: impl Fn(usize) -> bool, says: impl Fn(usize, StatesReport) -> StatesReport) {
        self.encode.withdraw();
        let picture = picture(&self.encode.info, self.number);
        self.number += 1;
        self.encode.make(picture).unwrap().unwrap();
        let slots: Vec<_> = self.encode.company.outlets().iter().map(|outlet| outlet.coded.clone()).collect();
        for (receiver, (slot, peer)) in slots.iter().zip(&mut self.peers).enumerate().filter(|(at, _)| takes(*at)) {
            if let Some(encoded) = slot.try_take() {
                let report = says(receiver, peer.take(&encoded));
                self.encode.gate.tell(receiver, Told::Report(report, clock::now()));
            }
        }
    }

    fn frames(&mut self, frames: u32) {
        (0..frames).for_each(|_| self.frame(|_| true, |_, report| report));
    }
}

#[test]
fn a_slow_receiver_has_frames_of_its_own_and_the_others_share_one_coding() {
    let mut room = Room::new(&[900, 1_200, 300]);
    room.frames(12);
    let [first, second, slow] = &room.peers[..] else { unreachable!() };
    assert_eq!(first.seen, second.seen, "the same frames, and the same pictures");
    assert_eq!(first.seen.iter().map(|(_, age, ..)| *age).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(slow.seen.len(), 12);
    assert!(slow.seen.iter().all(|(_, age, bytes, _)| *age == 0 && *bytes <= 300), "{:?}", slow.seen);
    let counters = room.encode.coder.counters();
    assert_eq!((counters.frames, counters.predicted, counters.ages, counters.mismatches), (12, 11, 11, 0));
    assert_eq!([0, 1, 2].map(|receiver| room.encode.gate.apart(receiver)), [0, 0, 12]);
}

#[test]
fn whoever_goes_and_comes_back_and_whoever_lies_costs_a_fast_line_nothing() {
    let mut room = Room::new(&[900, 300, 320]);
    for turn in 0..30 {
        match turn % 6 {
            // Its program is killed, and started again.
            2 => room.encode.gate.set_open(1, false),
            4 => {
                room.peers[1] = Peer::new(&room.encode.params);
                room.encode.gate.tell(1, Told::Restart);
                room.encode.gate.set_open(1, true);
            }
            _ => {}
        }
        let lies = |receiver, report: StatesReport| match receiver {
            2 => StatesReport { hash: Some((0, 7)), ..report },
            _ => report,
        };
        room.frame(|receiver| receiver != 2 || turn % 3 > 0, lies);
    }
    // Two slow lines are comparable, and more than one fast line: the fast one has frames of its own, until they are not.
    let fast = &room.peers[0].seen;
    assert_eq!(fast.len(), 30);
    assert!(fast.iter().all(|(_, _, bytes, _)| *bytes > 600), "{fast:?}");
}

#[test]
fn one_of_several_that_does_not_come_to_take_its_frames_misses_them_and_nobody_waits() {
    let mut room = Room::new(&[900, 900, 900]);
    room.frames(3);
    for _ in 0..3 {
        room.frame(|receiver| receiver != 2, |_, report| report);
    }
    assert_eq!(room.encode.gate.unwanted.load(Ordering::Relaxed), 0);
    assert_eq!(room.peers.iter().map(|peer| peer.seen.len()).collect::<Vec<_>>(), [6, 6, 3]);
    // What nobody takes never was.
    let next = room.encode.last;
    room.frame(|_| false, |_, report| report);
    room.frame(|receiver| receiver != 2, |_, report| report);
    assert_eq!(room.encode.last, next.map(FrameId::next));
    assert_eq!(room.encode.gate.unwanted.load(Ordering::Relaxed), 1);
    assert_eq!(room.encode.coder.counters().mismatches, 0);
}
