use picture::coded::{BlockState, CodedFrame, FrameHeader, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::CodecParams;
use picture::run::{BLOCK_BYTES_MAX, Form};
use proptest::prelude::*;

use super::assembly::BYTES_PER_BLOCK_MAX;
use super::*;
use crate::stream::video::packetise::packetise;
use crate::units::SequenceNumber;
use crate::wire::media::{Content, Envelope};

const STEPS: FrameHeader = FrameHeader { step: StepIndex::MIN, fine_blocks: 1 };
const ACCEPTED: DatagramOutcome = DatagramOutcome::Accepted;

fn params() -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(50, 1).unwrap(),
        colour: ColourSpace::JPEG,
        ..StreamParams::new(FrameSize::new(64, 64).unwrap(), Chroma::Grey)
    }
}

/// Returns four blocks: the root and three details.
fn reassembler(start_frame: u32) -> Reassembler {
    let reassembler = Reassembler::new(&params(), FrameId(start_frame), t(0));
    assert_eq!(reassembler.blocks, 4);
    reassembler
}

fn t(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

/// Returns three datagrams: blocks 0 and 1; one of two parts of block 2; the other part, after which block 3 has no
/// room.
fn datagrams(id: u32) -> Vec<Vec<u8>> {
    let lens = [20, 30, 120, 25];
    let mut frame = CodedFrame { reference: 0, header: STEPS, ends: vec![], data: vec![] };
    for len in lens {
        frame.data.extend((0..len).map(|at| (at as u8).wrapping_add(id as u8)));
        frame.ends.push(frame.data.len() as u32);
    }
    let packets = packetise(&frame, 0, 128);
    assert_eq!(packets.len(), 4);
    packets.into_iter().map(|packet| datagram(id, packet.content, &packet.payload)).collect()
}

fn datagram(frame: u32, content: Content, payload: &[u8]) -> Vec<u8> {
    MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(0),
            capture: t(u64::from(frame) * 20_000),
            sent_offset_us: 7,
        },
        frame: FrameId(frame),
        steps: STEPS,
        reference: 0,
        is_last: false,
        place: None,
        content,
    }
    .datagram(payload)
}

fn part(frame: u32, block: u32, total: u16, offset: u16, bytes: &[u8]) -> Vec<u8> {
    datagram(frame, Content::Fragment { block, total, offset }, bytes)
}

/// Returns the bytes held for frames in the making.
fn held_bytes(reassembler: &Reassembler) -> usize {
    reassembler.held.iter().map(Assembly::bytes).sum()
}

#[test]
fn a_frame_is_whole_in_any_order_of_its_datagrams() {
    let expected = {
        let mut reassembler = reassembler(0);
        for datagram in datagrams(0) {
            assert_eq!(reassembler.on_datagram(&datagram, t(5)), ACCEPTED);
        }
        reassembler.poll_frame().unwrap()
    };
    assert!(expected.is_complete());
    assert_eq!((expected.id, expected.first_received), (FrameId(0), t(5)));
    for order in [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        let mut reassembler = reassembler(0);
        for at in order {
            assert_eq!(reassembler.poll_frame(), None);
            assert_eq!(reassembler.on_datagram(&datagrams(0)[at], t(5)), ACCEPTED);
        }
        let frame = reassembler.poll_frame().unwrap();
        for index in 0..4 {
            assert_eq!(frame.frame.block(index), expected.frame.block(index));
        }
    }
}

#[test]
fn duplicates_late_and_far_datagrams_are_told_apart() {
    let mut reassembler = reassembler(10);
    let [first, second] = [datagrams(10), datagrams(11)];
    assert_eq!(reassembler.on_datagram(&first[0], t(0)), ACCEPTED);
    assert_eq!(reassembler.on_datagram(&first[0], t(0)), DatagramOutcome::Duplicate);
    assert_eq!(reassembler.on_datagram(&first[1], t(0)), ACCEPTED);
    assert_eq!(reassembler.on_datagram(&first[1], t(0)), DatagramOutcome::Duplicate);
    for datagram in &second {
        assert_eq!(reassembler.on_datagram(datagram, t(0)), ACCEPTED);
    }
    assert_eq!(reassembler.poll_frame().map(|frame| frame.id), Some(FrameId(11)));
    assert_eq!((reassembler.poll_frame(), reassembler.pending().count()), (None, 0));
    assert_eq!(reassembler.on_datagram(&first[2], t(0)), DatagramOutcome::Late);
    assert_eq!(reassembler.on_datagram(&second[2], t(0)), DatagramOutcome::Duplicate);
    assert_eq!(reassembler.on_datagram(&datagrams(9)[0], t(0)), DatagramOutcome::Late);
    let far = &datagrams(11 + 65)[0];
    assert_eq!(reassembler.on_datagram(far, t(19_999)), DatagramOutcome::TooFarAhead);
    assert_eq!(reassembler.on_datagram(far, t(20_000)), ACCEPTED);
    let behind = &datagrams(11u32.wrapping_sub(1 << 30))[0];
    assert_eq!(reassembler.on_datagram(behind, t(u64::MAX)), DatagramOutcome::Late);
}

#[test]
fn a_fourth_frame_pushes_the_oldest_out() {
    let mut reassembler = reassembler(u32::MAX);
    for id in [1, u32::MAX, 0] {
        assert_eq!(reassembler.on_datagram(&datagrams(id)[0], t(0)), ACCEPTED);
    }
    assert_eq!(reassembler.poll_frame(), None);
    assert_eq!(reassembler.on_datagram(&datagrams(2)[0], t(0)), ACCEPTED);
    let frame = reassembler.poll_frame().unwrap();
    assert_eq!((frame.id, frame.frame.missing()), (FrameId(u32::MAX), 2));
    let pending: Vec<_> = reassembler.pending().map(|frame| frame.id.0).collect();
    assert_eq!(pending, [0, 1, 2]);
    assert_eq!(reassembler.release(FrameId(7)), None);
    assert_eq!(reassembler.release(FrameId(1)).map(|frame| frame.id), Some(FrameId(1)));
    assert_eq!(reassembler.on_datagram(&datagrams(0)[1], t(0)), DatagramOutcome::Late);
}

#[test]
fn a_frame_without_room_is_late() {
    let mut reassembler = reassembler(0);
    for id in [5, 6, 7] {
        reassembler.on_datagram(&datagrams(id)[0], t(0));
    }
    assert_eq!(reassembler.on_datagram(&datagrams(4)[0], t(0)), DatagramOutcome::Late);
    assert_eq!(reassembler.poll_frame(), None);
}

#[test]
fn lies_are_malformed_and_change_nothing() {
    let form = Form::Map;
    let run = |first, count, payload: &[u8]| datagram(0, Content::Blocks { first, count, form }, payload);
    for (what, lie) in [
        ("no header", vec![0x10; 28]),
        ("no blocks", run(0, 0, &[])),
        ("beyond the last block", run(3, 2, &[0])),
        ("giant count", run(0, u16::MAX, &[0; 9_000])),
        ("giant first block", run(0xff_ffff, 1, &[0])),
        ("short map", run(0, 4, &[])),
        ("bits beyond the map", run(0, 3, &[8])),
        ("length beyond the end", run(0, 1, &[1, 5, 9, 9])),
        ("bytes after the end", run(0, 1, &[1, 1, 9, 9])),
        ("empty part", part(0, 0, 100, 0, &[])),
        ("tiny part", part(0, 0, 100, 0, &[1])),
        ("part beyond its block", part(0, 0, 100, 61, &[1; 40])),
        ("part of nothing", part(0, 0, 0, 0, &[])),
        ("offset beyond", part(0, 0, 100, u16::MAX, &[1; 40])),
        ("part of no block", part(0, 4, 100, 0, &[1; 100])),
        ("block beyond the format", part(0, 0, u16::MAX, 0, &[1; 100])),
    ] {
        let mut reassembler = reassembler(0);
        let outcome = reassembler.on_datagram(&lie, t(0));
        assert!(matches!(outcome, DatagramOutcome::Malformed(_)), "{what}: {outcome:?}");
        assert_eq!((reassembler.pending().count(), held_bytes(&reassembler)), (0, 0), "{what}");
    }
}

#[test]
fn contradictions_within_a_frame_are_malformed() {
    let mut reassembler = reassembler(0);
    assert_eq!(reassembler.on_datagram(&part(0, 1, 100, 0, &[7; 40]), t(0)), ACCEPTED);
    let other_total = reassembler.on_datagram(&part(0, 1, 99, 40, &[8; 59]), t(0));
    assert!(matches!(other_total, DatagramOutcome::Malformed(_)));
    let mut other_step = datagrams(0)[0].clone();
    other_step[15] = 77;
    assert!(matches!(reassembler.on_datagram(&other_step, t(0)), DatagramOutcome::Malformed(_)));
    let mut other_capture = datagrams(0)[0].clone();
    other_capture[6] ^= 1;
    assert!(matches!(reassembler.on_datagram(&other_capture, t(0)), DatagramOutcome::Malformed(_)));
    // Overlapping parts: the first copy of a byte stays.
    assert_eq!(reassembler.on_datagram(&part(0, 1, 100, 20, &[9; 80]), t(0)), ACCEPTED);
    let expected = [[7; 40].as_slice(), &[9; 60]].concat();
    let frame = reassembler.release(FrameId(0)).unwrap();
    assert_eq!(frame.frame.block(1), BlockState::Coded(&expected));
}

#[test]
fn lying_lengths_reserve_no_more_than_a_frame_may_have() {
    let params = StreamParams { size: FrameSize::new(1_280, 720).unwrap(), ..params() };
    let mut reassembler = Reassembler::new(&params, FrameId(0), t(0));
    assert!(
        WINDOW_FRAMES * BYTES_PER_BLOCK_MAX * reassembler.blocks > 2 * reassembler.bytes_max,
        "the test shows nothing"
    );
    let mut refused = 0;
    for frame in 0..20 {
        for block in 0..reassembler.blocks as u32 {
            let outcome = reassembler.on_datagram(&part(frame, block, BLOCK_BYTES_MAX as u16, 0, &[1; 32]), t(0));
            refused += u32::from(matches!(outcome, DatagramOutcome::Malformed(_)));
            reassembler.poll_frame();
            assert!(reassembler.pending().count() <= WINDOW_FRAMES);
            assert!(held_bytes(&reassembler) <= reassembler.bytes_max);
        }
    }
    assert!(refused > 10_000, "{refused}");
}

#[test]
fn more_frames_than_a_sender_can_send_are_not_begun() {
    let mut reassembler = reassembler(0);
    let mut begin = |frame: u32, us: u64| reassembler.on_datagram(&datagrams(frame)[0], t(us)) == ACCEPTED;
    let at_once = (0..100_000).take_while(|&frame| begin(frame, 0)).count();
    let (interval, dead) = (params().frame_rate.interval(), DEAD_LINE);
    assert_eq!(at_once, (dead.as_micros() / interval.as_micros()) as usize);
    // Twice as fast as they should come is not too fast, however long.
    let next = at_once as u32;
    let half = interval.as_micros() as u64 / 2;
    assert!((1..10_000).all(|number| begin(next + number, half * u64::from(number))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_outcome(
        pieces in prop::collection::vec((0..6u32, 0..4usize, prop::collection::vec((0..128usize, any::<u8>()), 0..3), 0..=128usize), 1..60),
        random in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
    ) {
        let mut reassembler = reassembler(0);
        let mut last = None;
        let mutated = pieces.into_iter().map(|(frame, at, changes, cut)| {
            let mut bytes = datagrams(frame)[at].clone();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(if cut % 5 == 0 { cut } else { 128 });
            bytes
        });
        for (us, bytes) in mutated.chain(random).enumerate() {
            reassembler.on_datagram(&bytes, t(us as u64));
            prop_assert!(reassembler.pending().count() <= WINDOW_FRAMES);
            prop_assert!(held_bytes(&reassembler) <= WINDOW_FRAMES * BYTES_PER_BLOCK_MAX * 4);
            while let Some(frame) = reassembler.poll_frame() {
                prop_assert!(last.is_none_or(|last| frame.id.is_newer_than(last)));
                last = Some(frame.id);
            }
        }
    }
}

#[test]
fn a_frame_with_a_reference_has_its_slices_first_and_only_where_the_stream_has_references() {
    let media = |reference, first, count, payload: &[u8]| {
        let header = MediaHeader {
            envelope: Envelope { stream: 0, sequence: SequenceNumber(0), capture: t(0), sent_offset_us: 0 },
            frame: FrameId(0),
            steps: STEPS,
            reference,
            is_last: false,
            place: None,
            content: Content::Blocks { first, count, form: Form::Map },
        };
        header.datagram(payload)
    };
    let malformed = |reason| DatagramOutcome::Malformed(reason);
    assert_eq!(reassembler(0).on_datagram(&media(1, 0, 4, &[0]), t(0)), malformed(PieceError::UnknownReference));

    let codec = CodecParams { profile: picture::params::Profile::Predicted(9), ..CodecParams::default() };
    let mut reassembler = Reassembler::new(&StreamParams { codec, ..params() }, FrameId(0), t(0));
    assert_eq!(reassembler.on_datagram(&media(10, 0, 5, &[0]), t(0)), malformed(PieceError::UnknownReference));
    assert_eq!(reassembler.on_datagram(&media(0, 0, 5, &[0]), t(0)), malformed(PieceError::BeyondLastBlock));
    assert_eq!(reassembler.on_datagram(&media(9, 0, 4, &[0]), t(0)), ACCEPTED);
    assert_eq!(reassembler.on_datagram(&media(8, 4, 1, &[0]), t(0)), malformed(PieceError::Contradiction));
    assert_eq!(reassembler.on_datagram(&media(9, 4, 1, &[0]), t(0)), ACCEPTED);
    let frame = reassembler.poll_frame().unwrap();
    assert_eq!((frame.reference, frame.frame.block_count()), (9, 5));
}
