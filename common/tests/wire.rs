//! Bytes on the wire: golden values, round trips, and bytes from an enemy.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use common::latency::OneWay;
use common::units::{FrameId, SequenceNumber, Timestamp};
use common::wire::control::{
    ByeReason, ControlError, ControlMessage, ControlReader, FoundSound, SourceState, StreamId, encode,
};
use common::wire::feedback::{AGES_MAX, FeedbackHeader};
use common::wire::media::{Content, Envelope, GROUPS_MAX, MediaHeader, ShardPlace};
use common::wire::probe::TestDatagram;
use common::wire::sound::SoundError;
use common::wire::{FEEDBACK_BYTES_MAX, PROTOCOL_VERSION};
use picture::coded::{FrameHeader, StepIndex};
use picture::frame::{BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, PixelAspect, Raster, Siting};
use picture::params::{CodecParams, StreamParams, Wavelet};
use picture::run::Form;
use proptest::prelude::*;
use sound::click::{BadMetre, Metre, Tempo};
use sound::format::{Channels, Coding, Format};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn params() -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(30_000, 1_001).unwrap(),
        colour: ColourSpace::JPEG,
        raster: Raster { siting: Siting::Left, aspect: PixelAspect::new(10, 11).unwrap() },
        ..StreamParams::new(FrameSize::new(1_919, 1_079).unwrap(), Chroma::C420)
    }
}

fn header(content: Content) -> MediaHeader {
    MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(0x0403_0201),
            capture: Timestamp::from_us(0x1615_1413_1211),
            sent_offset_us: 0x19_1817,
        },
        frame: FrameId(0x0807_0605),
        steps: FrameHeader { step: StepIndex::new(0x20).unwrap(), fine_blocks: 0x0b_0a09 },
        reference: 0x1a,
        is_last: false,
        place: None,
        content,
    }
}

#[test]
fn golden_media_headers() {
    let mut bytes = Vec::new();
    header(Content::Blocks { first: 0x1d_1c1b, count: 0x1f1e, form: Form::Map }).write(&mut bytes);
    assert_eq!(
        hex(&bytes),
        "30 00 01020304 111213141516 171819 20 00 00 05060708 090a0b 1a 1b1c1d 1e1f".replace(' ', "")
    );
    bytes.clear();
    header(Content::Blocks { first: 0x1d_1c1b, count: 0x1f1e, form: Form::List }).write(&mut bytes);
    assert_eq!(
        hex(&bytes),
        "33 00 01020304 111213141516 171819 20 00 00 05060708 090a0b 1a 1b1c1d 1e1f".replace(' ', "")
    );
    bytes.clear();
    header(Content::Fragment { block: 0x1d_1c1b, total: 0x1f1e, offset: 0x2120 }).write(&mut bytes);
    assert_eq!(
        hex(&bytes),
        "31 00 01020304 111213141516 171819 20 00 00 05060708 090a0b 1a 1b1c1d 1e1f 2021".replace(' ', "")
    );
    bytes.clear();
    let of_part = header(Content::Fragment { block: 0x1d_1c1b, total: 0x1f1e, offset: 0x2120 });
    let leaving = MediaHeader {
        envelope: Envelope {
            stream: 0x42,
            sequence: SequenceNumber(0xaabb_ccdd),
            sent_offset_us: 0xffff_ffff,
            ..of_part.envelope
        },
        is_last: true,
        place: Some(ShardPlace { group: 15, index: 0x41 }),
        ..of_part
    };
    leaving.write(&mut bytes);
    assert_eq!(
        hex(&bytes),
        "39 42 ddccbbaa 111213141516 ffffff 20 0f 41 05060708 090a0b 1a 1b1c1d 1e1f 2021".replace(' ', "")
    );
    bytes.clear();
    let place = Some(ShardPlace { group: 1, index: 0x22 });
    MediaHeader { place, ..header(Content::Parity { data: 0x21, parity: 0x22 }) }.write(&mut bytes);
    assert_eq!(hex(&bytes), "32 00 01020304 111213141516 171819 20 01 22 05060708 090a0b 1a 21 22".replace(' ', ""));
}

fn feedback() -> FeedbackHeader {
    FeedbackHeader {
        number: 0x0403,
        received: 0x0807_0605,
        missing: 0x0c0b_0a09,
        base: SequenceNumber(0x100f_0e0d),
        time: Timestamp::from_us(0x1615_1413_1211),
        unsure: Duration::from_millis(84),
    }
}

#[test]
fn golden_feedback() {
    let ago = |us| Some(Timestamp::from_us(feedback().time.as_us() - us));
    let bytes = feedback().encode([ago(0), None, ago(8 * 0x0201), ago(1 << 40)].into_iter());
    assert_eq!(hex(&bytes), "3f2a03040506070809 0a0b0c0d0e0f10 111213141516 0000 ffff 0102 feff".replace(' ', ""));
    assert_eq!(feedback().encode((0..2_000).map(|_| None)).len(), FEEDBACK_BYTES_MAX);
    let mut long = feedback().encode((0..2_000).map(|_| None));
    long.extend([0, 0]);
    for wrong in [&bytes[..21], &bytes[..23], &long, &[0x30; 30]] {
        assert!(FeedbackHeader::parse(wrong).is_err(), "{}", hex(wrong));
    }
}

#[test]
fn golden_control_messages() {
    assert_eq!(PROTOCOL_VERSION, 13);
    let t = Timestamp::from_us;
    let bounce = OneWay { capture: t(1), sent: t(2), received: t(3), released: t(4), decoded: t(5), shown: t(300) };
    let format = Format { channels: Channels::Stereo, coding: Coding::Pcm24, frames: 128 };
    let metre = Metre::new(45_495, 4).unwrap();
    let click = Tempo { metre, count_in_bars: 2, goes_on: true, start_us: 300 };
    let late = |found| ControlMessage::LateSound { number: 7, found };
    for (message, golden) in [
        (ControlMessage::Hello { version: 1, sends: true }, "03000000 00 01 01"),
        (
            ControlMessage::Welcome { params: params(), start_frame: FrameId(7) },
            "24000301 01 7f0700003704000030750000e90300000100010000ff000100 010a0000000b000000 07",
        ),
        (ControlMessage::Ready, "01000301 02"),
        (ControlMessage::Ping { id: 3, sent: t(300) }, "05000000 03 03 fb2c01"),
        (ControlMessage::Pong { id: 3, ping_sent: t(1), received: t(2), sent: t(3) }, "05000000 04 03 01 02 03"),
        (ControlMessage::Bye { reason: ByeReason::Finished { last_frame: None } }, "02000301 05 00"),
        (ControlMessage::Bye { reason: ByeReason::Stopping }, "01000301 06"),
        (ControlMessage::Bye { reason: ByeReason::Protocol("no".to_owned()) }, "04000301 07 026e6f"),
        (ControlMessage::Bye { reason: ByeReason::ReplacedByNewer }, "01000301 08"),
        (ControlMessage::Source { state: SourceState::Gives }, "02000301 09 00"),
        (ControlMessage::Source { state: SourceState::Stalled }, "02000301 09 01"),
        (ControlMessage::Source { state: SourceState::Lost }, "02000301 09 02"),
        (ControlMessage::Source { state: SourceState::Unusable }, "02000301 09 03"),
        (ControlMessage::Source { state: SourceState::Withheld }, "02000301 09 04"),
        (ControlMessage::Stalled { total: Duration::from_micros(80_000) }, "06000000 0a fc80380100"),
        (ControlMessage::Bounced(bounce), "09000301 0b 01 02 03 04 05 fb2c01"),
        (ControlMessage::WelcomeSound { format }, "02000301 0c 09"),
        (ControlMessage::Click(Some(click)), "0a000301 0d fbb7b1 04 02 01 fb2c01"),
        (ControlMessage::Click(None), "01000301 0e"),
        (ControlMessage::RecordSound { goes_on: true }, "02000301 0f 01"),
        (ControlMessage::WantSound { first: 300, count: 2 }, "05000301 10 fb2c01 02"),
        (late(FoundSound::Sound { format, capture: t(300), sound: vec![8, 9] }), "0a000301 11 07 00 09 fb2c01 020809"),
        (late(FoundSound::Muted { format, capture: t(2) }), "06000301 11 07 01 09 02 00"),
        (late(FoundSound::Nothing), "06000301 11 07 02 00 00 00"),
        (late(FoundSound::Gone), "06000301 11 07 03 00 00 00"),
        (ControlMessage::SoundEnds { next: 5 }, "02000301 12 05"),
        (ControlMessage::Text { text: "hä".to_owned() }, "05000301 13 03 68c3a4"),
        (ControlMessage::Hidden { is_hidden: true }, "02000301 14 01"),
        (ControlMessage::Recording { is_recording: false }, "02000301 15 00"),
        (ControlMessage::Waits { rings: true }, "02000000 16 01"),
        (ControlMessage::CallsOn, "01000000 17"),
    ] {
        let mut bytes = Vec::new();
        let about = (!message.is_of_path()).then_some(StreamId::sent(3));
        encode(&message, about, &mut bytes);
        assert_eq!(hex(&bytes), golden.replace(' ', ""), "{message:?}");
        assert_eq!(read_all(&bytes, 1), (vec![message], None));
    }
}

#[test]
fn a_message_says_what_it_is_about() {
    let abouts = [None, Some(StreamId::sent(0)), Some(StreamId::received(0)), Some(StreamId::received(255))];
    let (mut bytes, mut reader) = (Vec::new(), ControlReader::default());
    abouts.iter().for_each(|&about| encode(&ControlMessage::Ready, about, &mut bytes));
    assert_eq!(hex(&bytes), "0100000002 0100000102 0100000202 0100ff0202".replace(' ', ""));
    reader.push(&bytes);
    assert_eq!(abouts.map(|_| reader.next().unwrap().unwrap().0), abouts);
    // What the receivers of versions before said: the version is read.
    let old = read_all(&[3, 0, 0, 0x80, 0, 9, 0], 3);
    assert_eq!(old, (vec![ControlMessage::Hello { version: 9, sends: false }], None));
    for wrong in [[1, 0, 1, 0, 2], [1, 0, 0, 3, 2]] {
        assert_eq!(read_all(&wrong, 5), (vec![], Some(ControlError::UnknownStream)));
    }
}

/// Feeds `bytes` in pieces of `step`; gives the messages and the error that ended the reading.
fn read_all(bytes: &[u8], step: usize) -> (Vec<ControlMessage>, Option<ControlError>) {
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
    assert_eq!(read_all(&4_097u32.to_le_bytes(), 4), (vec![], Some(ControlError::MessageTooLong(4_097))));
    let mut bytes = Vec::new();
    encode(
        &ControlMessage::Bye { reason: ByeReason::Protocol("x\u{e4}".repeat(100)) },
        Some(StreamId::sent(0)),
        &mut bytes,
    );
    let (messages, _) = read_all(&bytes, 1_000);
    let [ControlMessage::Bye { reason: ByeReason::Protocol(text) }] = &messages[..] else {
        unreachable!("{messages:?}")
    };
    assert_eq!(text.len(), 199);
    // 201 bytes of text, a text that claims 2^63 bytes, a message with a byte too many.
    let long: Vec<u8> = [&[203, 0, 0, 0, 7, 201][..], &[b'x'; 201]].concat();
    let lying = [10, 0, 0, 0, 7, 253, 0, 0, 0, 0, 0, 0, 0, 128];
    for (wrong, error) in [
        (&long[..], ControlError::ReasonTooLong),
        (&lying, ControlError::UnknownMessage),
        (&[2, 0, 0, 0, 2, 0], ControlError::BytesBehind),
        (&[2, 0, 0, 0, 9, 5], ControlError::UnknownSourceState),
        (&[2, 0, 0, 0, 12, 14], ControlError::Sound(SoundError::UnknownCoding)),
        (&[6, 0, 0, 0, 13, 9, 4, 0, 1, 0], ControlError::Click(BadMetre)),
        (&[8, 0, 0, 0, 13, 251, 183, 177, 17, 0, 1, 0], ControlError::Click(BadMetre)),
    ] {
        assert_eq!(read_all(wrong, 5), (vec![], Some(error)), "{wrong:?}");
    }
}

#[test]
fn lossless_streams_are_not_live() {
    let lossless = StreamParams { codec: CodecParams { wavelet: Wavelet::Cdf53, ..params().codec }, ..params() };
    let deep = StreamParams { codec: CodecParams { depth: BitDepth::Ten, ..lossless.codec }, ..lossless };
    let mut reader = ControlReader::default();
    let refused = Some(ControlError::NotLive);
    for (params, error) in [(params(), None), (lossless, refused.clone()), (deep, refused)] {
        let mut bytes = Vec::new();
        encode(&ControlMessage::Welcome { params, start_frame: FrameId(3) }, Some(StreamId::sent(0)), &mut bytes);
        reader.push(&bytes);
        assert_eq!(reader.next().err(), error);
    }
}

fn any_header() -> impl Strategy<Value = MediaHeader> {
    const U24: std::ops::RangeInclusive<u32> = 0..=0xff_ffff;
    let content = prop_oneof![
        (U24, any::<u16>(), prop_oneof![Just(Form::Map), Just(Form::List)])
            .prop_map(|(first, count, form)| Content::Blocks { first, count, form }),
        (U24, any::<u16>(), any::<u16>()).prop_map(|(block, total, offset)| Content::Fragment { block, total, offset }),
        any::<(u8, u8)>().prop_map(|(data, parity)| Content::Parity { data, parity }),
    ];
    let place = prop::option::of((1..=GROUPS_MAX, any::<u8>()).prop_map(|(group, index)| ShardPlace { group, index }));
    let times = (0..1u64 << 48, U24);
    (any::<u32>(), any::<u32>(), 0..=208u8, U24, any::<u8>(), times, any::<bool>(), place, content).prop_map(
        |(sequence, frame, step, fine_blocks, reference, (capture, sent_offset_us), is_last, place, content)| {
            MediaHeader {
                envelope: Envelope {
                    stream: 0,
                    sequence: SequenceNumber(sequence),
                    capture: Timestamp::from_us(capture),
                    sent_offset_us,
                },
                frame: FrameId(frame),
                steps: FrameHeader { step: StepIndex::new(step).unwrap(), fine_blocks },
                reference,
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
        ControlMessage::Hello { version: 1, sends: false },
        ControlMessage::Welcome { params: params(), start_frame: FrameId(1) },
        ControlMessage::Bye { reason: ByeReason::Protocol("because".to_owned()) },
    ] {
        encode(&message, Some(StreamId::sent(0)), &mut bytes);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

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
        let unsure = Duration::from_millis(2 * u64::from(number as u8));
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
        changed in mutated(TestDatagram::Turn.to_bytes()),
    ) {
        for bytes in [random, changed] {
            if let Some(probe) = TestDatagram::from_bytes(&bytes) {
                prop_assert_eq!(probe.to_bytes(), bytes);
            }
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
}
