//! Bytes on the wire: golden values, round trips, and bytes from an enemy.
#![allow(clippy::unwrap_used, reason = "tests")]

use common::coded::{CodedFrame, FrameHeader, StepIndex};
use common::container::{self, ContainerReader, ContainerWriter, Entry};
use common::frame::{BitDepth, Chroma, ColourSpace, FrameSize, Matrix, Range};
use common::params::{Boundary, CodecParams, Levels, Padding, StreamParams, Wavelet, Weights};
use common::pyramid::BlockLayout;
use common::units::{FrameId, FrameRate, SequenceNumber, Timestamp};
use common::wire::control::{ByeReason, ControlMessage, ControlReader, Role, encode};
use common::wire::feedback::{AGES_MAX, FEEDBACK_BYTES_MAX, FeedbackHeader};
use common::wire::media::{Content, GROUPS_MAX, MediaHeader, ShardPlace};
use common::wire::probe::{Arrived, Probe};
use common::wire::run::{Run, coded_size, directory_bytes, map_bytes, write_run};
use common::wire::{DecodeError, PROTOCOL_VERSION};
use proptest::prelude::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn params() -> StreamParams {
    StreamParams {
        size: FrameSize::new(1_919, 1_079).unwrap(),
        frame_rate: FrameRate::new(30_000, 1_001).unwrap(),
        chroma: Chroma::C420,
        colour: ColourSpace::JPEG,
        codec: CodecParams::default(),
    }
}

fn header(content: Content) -> MediaHeader {
    MediaHeader {
        sequence: SequenceNumber(0x0403_0201),
        frame: FrameId(0x0807_0605),
        steps: FrameHeader { step: StepIndex::new(0x20).unwrap(), fine_blocks: 0x0b_0a09 },
        reference: 0x1a,
        capture: Timestamp::from_us(0x1615_1413_1211),
        sent_offset_us: 0x19_1817,
        is_last: false,
        place: None,
        content,
    }
}

fn frame(lens: &[usize]) -> CodedFrame {
    let mut frame =
        CodedFrame { header: FrameHeader { step: StepIndex::MIN, fine_blocks: 0 }, ends: vec![], data: vec![] };
    for (index, &len) in lens.iter().enumerate() {
        frame.data.extend(std::iter::repeat_n(index as u8 + 1, len));
        frame.ends.push(frame.data.len() as u32);
    }
    frame
}

#[test]
fn golden_stream_parameters() {
    let golden = "7f0700003704000030750000e90300000100010000ff000100";
    assert_eq!(hex(&params().to_bytes()), golden);
}

#[test]
fn golden_media_headers() {
    let mut bytes = Vec::new();
    header(Content::Blocks { first: 0x1d_1c1b, count: 0x1f1e }).write(&mut bytes);
    assert_eq!(hex(&bytes), "20200000010203040506070809 0a0b1112131415161718191a1b1c1d1e1f".replace(' ', ""));
    bytes.clear();
    header(Content::Fragment { block: 0x1d_1c1b, total: 0x1f1e, offset: 0x2120 }).write(&mut bytes);
    assert_eq!(hex(&bytes), "21200000010203040506070809 0a0b1112131415161718191a1b1c1d1e1f2021".replace(' ', ""));
    bytes.clear();
    let leaving = MediaHeader {
        sequence: SequenceNumber(0xaabb_ccdd),
        sent_offset_us: 0xffff_ffff,
        is_last: true,
        place: Some(ShardPlace { group: 15, index: 0x41 }),
        ..header(Content::Fragment { block: 0x1d_1c1b, total: 0x1f1e, offset: 0x2120 })
    };
    leaving.write(&mut bytes);
    assert_eq!(hex(&bytes), "29200f41ddccbbaa05060708090a0b111213141516ffffff1a1b1c1d1e1f2021");
    bytes.clear();
    let place = Some(ShardPlace { group: 1, index: 0x22 });
    MediaHeader { place, ..header(Content::Parity { data: 0x21, parity: 0x22 }) }.write(&mut bytes);
    assert_eq!(hex(&bytes), "22200122010203040506070809 0a0b1112131415161718191a2122".replace(' ', ""));
}

fn feedback() -> FeedbackHeader {
    FeedbackHeader {
        number: 0x0403,
        received: 0x0807_0605,
        missing: 0x0c0b_0a09,
        base: SequenceNumber(0x100f_0e0d),
        time: Timestamp::from_us(0x1615_1413_1211),
        unsure: std::time::Duration::from_millis(84),
    }
}

#[test]
fn golden_feedback() {
    let ago = |us| Some(Timestamp::from_us(feedback().time.as_us() - us));
    let bytes = feedback().encode([ago(0), None, ago(8 * 0x0201), ago(1 << 40)].into_iter());
    assert_eq!(hex(&bytes), "2f2a03040506070809 0a0b0c0d0e0f10 111213141516 0000 ffff 0102 feff".replace(' ', ""));
    assert_eq!(feedback().encode((0..2_000).map(|_| None)).len(), FEEDBACK_BYTES_MAX);
    let mut long = feedback().encode((0..2_000).map(|_| None));
    long.extend([0, 0]);
    for wrong in [&bytes[..21], &bytes[..23], &long, &[0x20; 30]] {
        assert!(FeedbackHeader::parse(wrong).is_err(), "{}", hex(wrong));
    }
}

#[test]
fn golden_run() {
    let mut bytes = Vec::new();
    write_run(&frame(&[0, 2, 0, 0, 0, 0, 0, 0, 1, 128]), 1..10, &mut bytes);
    assert_eq!(hex(&bytes[..8]), "8101020180800202");
    assert_eq!(bytes.len(), 2 + 4 + 131);
}

#[test]
fn golden_control_messages() {
    let t = Timestamp::from_us;
    for (message, golden) in [
        (ControlMessage::Hello { version: 1, role: Role::Sender }, "03000000 00 01 01"),
        (
            ControlMessage::Welcome { params: params(), start_frame: FrameId(7) },
            "1b000000 01 7f0700003704000030750000e90300000100010000ff000100 07",
        ),
        (ControlMessage::Ready, "01000000 02"),
        (ControlMessage::Ping { id: 3, sent: t(300) }, "05000000 03 03 fb2c01"),
        (ControlMessage::Pong { id: 3, ping_sent: t(1), received: t(2), sent: t(3) }, "05000000 04 03 01 02 03"),
        (ControlMessage::Bye { reason: ByeReason::Finished { last_frame: None } }, "02000000 05 00"),
        (ControlMessage::Bye { reason: ByeReason::Stopping }, "01000000 06"),
        (ControlMessage::Bye { reason: ByeReason::Protocol("no".to_owned()) }, "04000000 07 026e6f"),
        (ControlMessage::Bye { reason: ByeReason::ReplacedByNewer }, "01000000 08"),
        (ControlMessage::Source { stands: true }, "02000000 09 01"),
    ] {
        let mut bytes = Vec::new();
        encode(&message, Role::Sender, &mut bytes);
        assert_eq!(hex(&bytes), golden.replace(' ', ""), "{message:?}");
        assert_eq!(read_all(&bytes, 1), (vec![message], None));
    }
}

#[test]
fn a_message_says_which_end_speaks() {
    let (mut bytes, mut reader) = (Vec::new(), ControlReader::default());
    encode(&ControlMessage::Ready, Role::Receiver, &mut bytes);
    assert_eq!(hex(&bytes), "0100008002");
    encode(&ControlMessage::Ready, Role::Sender, &mut bytes);
    reader.push(&bytes);
    let speakers = [(); 2].map(|()| reader.next().unwrap().unwrap().0);
    assert_eq!(speakers, [Role::Receiver, Role::Sender]);
}

#[test]
fn golden_container_head() {
    let bytes = ContainerWriter::new(&params(), Vec::new()).unwrap().finish(7).unwrap();
    assert_eq!(hex(&bytes[..6]), "445545540400");
    assert_eq!(hex(&bytes[36..45]), "0000000007000000ff");
    assert_eq!(hex(&bytes[45..]), hex(&0x792b_2733_u32.to_le_bytes()));
    assert_eq!((bytes.len(), PROTOCOL_VERSION), (49, 5));
}

/// Feeds `bytes` in pieces of `step`; gives the messages and the error that ended the reading.
fn read_all(bytes: &[u8], step: usize) -> (Vec<ControlMessage>, Option<DecodeError>) {
    let (mut reader, mut messages) = (ControlReader::default(), Vec::new());
    for piece in bytes.chunks(step.max(1)) {
        reader.push(piece);
        loop {
            match reader.next() {
                Ok(Some((_, message))) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}

#[test]
fn long_messages_and_reasons_are_refused_or_cut() {
    assert_eq!(read_all(&4_097u32.to_le_bytes(), 4), (vec![], Some(DecodeError::MessageTooLong(4_097))));
    let mut bytes = Vec::new();
    encode(&ControlMessage::Bye { reason: ByeReason::Protocol("x\u{e4}".repeat(100)) }, Role::Sender, &mut bytes);
    let (messages, _) = read_all(&bytes, 1_000);
    let [ControlMessage::Bye { reason: ByeReason::Protocol(text) }] = &messages[..] else {
        unreachable!("{messages:?}")
    };
    assert_eq!(text.len(), 199);
    // 201 bytes of text, a text that claims 2^63 bytes, a message with a byte too many.
    let long: Vec<u8> = [&[204, 0, 0, 0, 7, 201][..], &[b'x'; 202]].concat();
    let lying = [10, 0, 0, 0, 7, 253, 0, 0, 0, 0, 0, 0, 0, 128];
    for wrong in [&long[..], &lying, &[2, 0, 0, 0, 2, 0]] {
        assert!(matches!(read_all(wrong, 5), (_, Some(DecodeError::Malformed(_)))), "{wrong:?}");
    }
}

#[test]
fn every_field_of_the_parameters_is_checked() {
    let good = params().to_bytes();
    for (at, wrong) in [(3, 1), (16, 3), (17, 2), (18, 2), (19, 1), (20, 3), (22, 3), (23, 2), (24, 2)] {
        let mut bytes = good;
        bytes[at] = wrong;
        assert!(StreamParams::from_bytes(&bytes).is_err(), "byte {at}");
    }
    assert!(StreamParams::from_bytes(&good[..24]).is_err() && StreamParams::from_bytes(&[0; 25]).is_err());
}

#[test]
fn rgb_is_lossless_and_live_streams_are_not() {
    let rgb = StreamParams { chroma: Chroma::Rgb, ..params() };
    assert!(StreamParams::from_bytes(&rgb.to_bytes()).is_err());
    let lossless = StreamParams { codec: CodecParams { wavelet: Wavelet::Cdf53, ..rgb.codec }, ..rgb };
    assert_eq!(StreamParams::from_bytes(&lossless.to_bytes()), Ok(lossless));
    let deep = StreamParams { codec: CodecParams { depth: BitDepth::Ten, ..lossless.codec }, ..lossless };
    assert_eq!(StreamParams::from_bytes(&deep.to_bytes()), Ok(deep));
    let mut reader = ControlReader::default();
    for (params, is_live) in [(params(), true), (lossless, false), (deep, false)] {
        let mut bytes = Vec::new();
        encode(&ControlMessage::Welcome { params, start_frame: FrameId(3) }, Role::Sender, &mut bytes);
        reader.push(&bytes);
        assert_eq!(reader.next().is_ok(), is_live);
    }
}

fn any_params() -> impl Strategy<Value = StreamParams> {
    let size = (1..=16_384u32, 1..=16_384u32).prop_map(|(width, height)| FrameSize::new(width, height).unwrap());
    let rate = (1..=1_000u32, 1..=5_000u32).prop_map(|(fps, den)| FrameRate::new(fps, den).unwrap());
    let chroma = prop::sample::select(vec![Chroma::Grey, Chroma::C420, Chroma::C444]);
    let matrix = prop::sample::select(vec![Matrix::Bt601, Matrix::Bt709]);
    let range = prop::sample::select(vec![Range::Limited, Range::Full]);
    let levels = prop_oneof![Just(Levels::Full), (0..255u8).prop_map(Levels::AtMost)];
    let boundary = prop::sample::select(vec![Boundary::Symmetric, Boundary::Periodic, Boundary::Zero]);
    let padding = prop::sample::select(vec![Padding::Zero, Padding::Smooth]);
    let weights = prop::sample::select(vec![Weights::Psnr, Weights::Visual]);
    (size, rate, chroma, matrix, range, levels, boundary, (padding, weights)).prop_map(
        |(size, frame_rate, chroma, matrix, range, levels, boundary, (padding, weights))| StreamParams {
            size,
            frame_rate,
            chroma,
            colour: ColourSpace { matrix, range },
            codec: CodecParams { levels, boundary, padding, weights, ..CodecParams::default() },
        },
    )
}

fn any_header() -> impl Strategy<Value = MediaHeader> {
    const U24: std::ops::RangeInclusive<u32> = 0..=0xff_ffff;
    let content = prop_oneof![
        (U24, any::<u16>()).prop_map(|(first, count)| Content::Blocks { first, count }),
        (U24, any::<u16>(), any::<u16>()).prop_map(|(block, total, offset)| Content::Fragment { block, total, offset }),
        any::<(u8, u8)>().prop_map(|(data, parity)| Content::Parity { data, parity }),
    ];
    let place = prop::option::of((1..=GROUPS_MAX, any::<u8>()).prop_map(|(group, index)| ShardPlace { group, index }));
    let times = (0..1u64 << 48, U24);
    (any::<u32>(), any::<u32>(), 0..=208u8, U24, any::<u8>(), times, any::<bool>(), place, content).prop_map(
        |(sequence, frame, step, fine_blocks, reference, (capture, sent_offset_us), is_last, place, content)| {
            MediaHeader {
                sequence: SequenceNumber(sequence),
                frame: FrameId(frame),
                steps: FrameHeader { step: StepIndex::new(step).unwrap(), fine_blocks },
                reference,
                capture: Timestamp::from_us(capture),
                sent_offset_us,
                is_last,
                place,
                content,
            }
        },
    )
}

/// Returns valid bytes with some of them changed, cut or added to.
fn mutated(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let len = good.len();
    let changes = prop::collection::vec((0..len, any::<u8>()), 0..4);
    (Just(good), changes, 0..=len, prop::collection::vec(any::<u8>(), 0..4)).prop_map(
        |(mut bytes, changes, cut, tail)| {
            for (at, value) in changes {
                bytes[at] = value;
            }
            if cut % 3 == 0 {
                bytes.truncate(cut);
            }
            bytes.extend(tail);
            bytes
        },
    )
}

fn some_messages() -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in [
        ControlMessage::Hello { version: 1, role: Role::Receiver },
        ControlMessage::Welcome { params: params(), start_frame: FrameId(1) },
        ControlMessage::Bye { reason: ByeReason::Protocol("because".to_owned()) },
    ] {
        encode(&message, Role::Sender, &mut bytes);
    }
    bytes
}

fn some_file() -> Vec<u8> {
    let params = StreamParams { size: FrameSize::new(64, 40).unwrap(), ..params() };
    let lens: Vec<_> = (0..BlockLayout::new(&params).blocks().len()).map(|index| index * 37 % 300).collect();
    let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
    writer.frame(&frame(&lens)).unwrap();
    writer.finish(1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parameters_come_back(params in any_params()) {
        prop_assert_eq!(StreamParams::from_bytes(&params.to_bytes()), Ok(params));
    }

    #[test]
    fn media_headers_come_back(header in any_header(), payload in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        bytes.extend(&payload);
        prop_assert_eq!(MediaHeader::parse(&bytes), Ok((header, &payload[..])));
    }

    #[test]
    fn feedback_comes_back(
        numbers in any::<(u16, u32, u32, u32)>(),
        time in 1u64 << 20..1 << 48,
        ages in prop::collection::vec(prop::option::of(0..65_534u64), 0..=AGES_MAX),
    ) {
        let (number, received, missing, base) = numbers;
        let unsure = std::time::Duration::from_millis(2 * u64::from(number as u8));
        let time = Timestamp::from_us(time);
        let header = FeedbackHeader { number, received, missing, base: SequenceNumber(base), time, unsure };
        let arrivals: Vec<_> = ages.iter().map(|age| age.map(|age| Timestamp::from_us(time.as_us() - 8 * age))).collect();
        let bytes = header.encode(arrivals.iter().copied());
        let (read, ages) = FeedbackHeader::parse(&bytes).unwrap();
        prop_assert_eq!(read, header);
        prop_assert_eq!(ages.len(), arrivals.len());
        let expected = arrivals.iter().zip(0..).map(|(&at, place)| (SequenceNumber(base.wrapping_add(place)), at));
        prop_assert!(ages.arrivals().eq(expected));
    }

    #[test]
    fn any_bytes_are_feedback_or_not(
        random in prop::collection::vec(any::<u8>(), 0..1_200),
        changed in mutated(feedback().encode([None; 9].into_iter())),
    ) {
        for bytes in [random, changed] {
            if let Ok((header, ages)) = FeedbackHeader::parse(&bytes) {
                prop_assert_eq!(bytes.len(), 22 + 2 * ages.len());
                prop_assert_eq!(ages.arrivals().count(), ages.len());
                prop_assert!(ages.arrivals().all(|(_, at)| at.is_none_or(|at| at <= header.time)));
            }
        }
    }

    #[test]
    fn any_bytes_are_probes_or_not(
        random in prop::collection::vec(any::<u8>(), 0..64),
        changed in mutated(Probe::Tell { train: 1, arrived: Arrived::default() }.to_bytes(0)),
    ) {
        for bytes in [random, changed] {
            if let Ok(probe) = Probe::from_bytes(&bytes) {
                let again = probe.to_bytes(bytes.len());
                prop_assert_eq!(again.len(), bytes.len());
                prop_assert_eq!(Probe::from_bytes(&again), Ok(probe));
            }
        }
    }

    #[test]
    fn runs_come_back_and_cost_what_is_said(lens in prop::collection::vec(prop_oneof![Just(0), 1..200usize, 200..40_000usize], 1..60)) {
        let lens: Vec<_> = lens.into_iter().map(|len| len.min(32_767)).collect();
        let frame = frame(&lens);
        let mut bytes = Vec::new();
        write_run(&frame, 0..lens.len(), &mut bytes);
        prop_assert_eq!(bytes.len() + 4, coded_size(&frame));
        let directory: usize = lens.iter().map(|&len| directory_bytes(len) + len).sum();
        prop_assert_eq!(bytes.len(), map_bytes(lens.len()) + directory);
        let blocks: Vec<_> = Run::parse(&bytes, lens.len()).unwrap().collect();
        prop_assert!(blocks.iter().copied().eq((0..lens.len()).map(|index| frame.block(index))));
    }

    #[test]
    fn any_bytes_are_a_run_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..100usize) {
        if let Ok(run) = Run::parse(&bytes, count) {
            let blocks: Vec<_> = run.collect();
            prop_assert_eq!(blocks.len(), count);
            let used: usize = blocks.iter().map(|block| directory_bytes(block.len()) + block.len()).sum();
            prop_assert_eq!(map_bytes(count) + used, bytes.len());
        }
    }

    #[test]
    fn any_bytes_are_control_messages_or_not(
        random in prop::collection::vec(any::<u8>(), 0..100),
        changed in mutated(some_messages()),
        step in 1..20usize,
    ) {
        for bytes in [random, changed] {
            let whole = read_all(&bytes, bytes.len());
            prop_assert_eq!(read_all(&bytes, step), whole);
        }
    }

    #[test]
    fn any_bytes_are_a_file_or_not(random in prop::collection::vec(any::<u8>(), 0..100), changed in mutated(some_file())) {
        for bytes in [random, changed] {
            if let Ok(mut reader) = ContainerReader::new(&bytes[..]) {
                let blocks = BlockLayout::new(reader.params()).blocks().len();
                while let Some(entry) = reader.next_entry().unwrap() {
                    if let Entry::Frame(frame) = entry && let container::Content::Blocks { frame, .. } = frame.content {
                        prop_assert_eq!(frame.block_count(), blocks);
                    }
                }
            }
        }
    }
}
