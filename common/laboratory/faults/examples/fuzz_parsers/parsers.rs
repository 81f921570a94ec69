//! Everything that reads bytes or text from outside, each as a function that takes any bytes and must come back.

use std::io::Cursor;
use std::net::SocketAddrV4;
use std::time::Duration;

use common::config::{
    PublicKey, parse_frame_rate, parse_receiver, parse_sender, parse_size, resolve_receiver, resolve_sender,
};
use common::dht::{Client, Event, ID_BYTES, Id, Posting, REQUESTS_MAX, VALUE_BYTES_MAX};
use common::linktest::LinkTest;
use common::netsim::session::{ReceiverSession, SenderSession};
use common::path::ways::{ADDRESSES_MAX, Act, Allowance, Kind, Pair, Probe, QUESTION_BODY_BYTES_MAX, Steering, usable};
use common::reach::{LENGTH_BYTES, Message, Note, Ticket};
use common::stream::video::prediction::{REPLAYS_MAX, References, SentFrame};
use common::stream::video::protection::Protection;
use common::stream::video::reassemble::Reassembler;
use common::stream::video::{FrameTimes, ReceiverOptions};
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::control::{ControlMessage, ControlReader, StreamEnd, encode};
use common::wire::feedback::FeedbackHeader;
use common::wire::media::{Content, MediaHeader};
use common::wire::probe::TestDatagram;
use common::wire::states::StatesReport;
use lab::bank::FilterBank;
use net::reach::stun_answer;
use picture::coded::{CodedFrame, FrameHeader, StepIndex};
use picture::container::{self, ContainerReader, Entry, FileFrame};
use picture::frame::{Chroma, FrameSize};
use picture::gaps::Gaps;
use picture::params::PARAMS_BYTES;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::replay::Replay;
use picture::run::{Form, Run};
use picture::y4m::Y4mReader;
use sending::source::{JpegDecoder, MjpegReader, SourceSpec};
use showing::sink::SinkSpec;

/// Frames or pictures of a file that are read.
const FRAMES: usize = 4;
/// Ways that a call may remember, and acts that may be due at once.
const ACTS_MAX: usize = 64;
/// Most that a session may hold of a small stream, bytes.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Something that reads what others wrote.
pub(crate) struct Parser {
    /// Its name, and that of its folder in the corpus.
    pub(crate) name: &'static str,
    /// True if it reads text.
    pub(crate) is_text: bool,
    /// Reads any bytes.
    pub(crate) read: fn(&[u8]),
}

const fn bytes(name: &'static str, read: fn(&[u8])) -> Parser {
    Parser { name, is_text: false, read }
}

const fn text(name: &'static str, read: fn(&[u8])) -> Parser {
    Parser { name, is_text: true, read }
}

/// All of them.
pub(crate) const ALL: &[Parser] = &[
    bytes("media", media),
    bytes("run", run),
    bytes("feedback", feedback),
    bytes("states", states),
    bytes("probe", probe),
    bytes("control", control),
    bytes("params", params),
    bytes("reassembly", reassembly),
    bytes("receiver-session", receiver_session),
    bytes("sender-session", sender_session),
    bytes("container", clip),
    bytes("y4m", y4m),
    bytes("mjpeg", mjpeg),
    text("config", config),
    text("spec", spec),
    text("public-key", public_key),
    text("filter-bank", filter_bank),
    text("http", http),
    text("ticket", ticket),
    bytes("introduction", introduction),
    bytes("call-probe", call_probe),
    bytes("note", note),
    bytes("stun", stun),
    bytes("dht", dht),
];

/// A node's answers to a lookup, two bytes of length before each, and what was sealed in a value.
fn dht(input: &[u8]) {
    let mut client = Client::new(false);
    let entrance = SocketAddrV4::new([198, 51, 100, 1].into(), 6881);
    client.set_entrances(vec![entrance]);
    client.start(Id([1; ID_BYTES]), Id([9; ID_BYTES]), None, Timestamp::default());
    let (mut rest, mut sent) = (input, 0);
    while let Some((to, request)) = client.poll_transmit(|| 0x6161_6161, Timestamp::default()) {
        sent += 1;
        assert!(request.len() < 200 && sent <= REQUESTS_MAX);
        let Some((length, after)) = rest.split_first_chunk() else { continue };
        let (answer, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        client.on_datagram(to, answer, Timestamp::default());
        rest = after;
    }
    while let Some(Event::Value { value, .. }) = client.poll_event() {
        assert!(value.len() <= VALUE_BYTES_MAX);
    }
    let told = Posting::new(true, Timestamp::default()).believe(Some(input), 1_800_000_000_000);
    assert!(told.is_none_or(|told| told.note.candidates.len() <= ADDRESSES_MAX));
}

fn media(input: &[u8]) {
    let Ok((header, payload)) = MediaHeader::parse(input) else { return };
    let mut again = Vec::new();
    header.write(&mut again);
    again.extend_from_slice(payload);
    assert_eq!(MediaHeader::parse(&again), Ok((header, payload)));
    if let Content::Blocks { count, form, .. } = header.content {
        read_run(form, payload, count.into());
    }
}

/// Parses two bytes of how many blocks there are, and the run.
fn run(input: &[u8]) {
    if let Some((count, rest)) = input.split_first_chunk() {
        for form in [Form::Map, Form::List] {
            read_run(form, rest, u16::from_le_bytes(*count).into());
        }
    }
}

fn read_run(form: Form, bytes: &[u8], count: usize) {
    if let Ok(run) = Run::parse(form, bytes, count) {
        let lens: Vec<_> = run.map(<[u8]>::len).collect();
        assert!(lens.len() == count && lens.iter().sum::<usize>() <= bytes.len());
    }
}

fn feedback(input: &[u8]) {
    if let Ok((header, ages)) = FeedbackHeader::parse(input) {
        assert_eq!(ages.arrivals().count(), ages.len());
        assert!(ages.arrivals().all(|(_, arrival)| arrival.is_none_or(|arrival| arrival <= header.time)));
    }
}

fn states(input: &[u8]) {
    let mut references = References::<Whole, ()>::new(15, Duration::from_millis(33));
    let now = Timestamp::default();
    for _ in 0..20 {
        let age = u8::from(matches!(references.next(now, &mut Nothing), Ok(Some(_))));
        references.on_coded(age, Whole, Some(()), now);
    }
    if let Ok(report) = StatesReport::parse(input) {
        assert_eq!(report.to_bytes(input[1]), input);
        references.on_report(report, now);
        let replays = references.counters().replays;
        let _ = references.next(now, &mut Nothing);
        assert!(references.counters().replays - replays <= 2 * REPLAYS_MAX as u64);
    }
}

/// A frame of nothing, and the decoder of such.
#[derive(Clone, Copy, Debug)]
struct Whole;
struct Nothing;

impl SentFrame for Whole {
    fn block_count(&self) -> usize {
        40
    }
}

impl Replay<Whole, ()> for Nothing {
    type Error = std::convert::Infallible;

    fn replay(&mut self, _: &Whole, _: &Gaps, _: Option<&()>) -> Result<(), Self::Error> {
        Ok(())
    }

    fn hash(&self, _: &()) -> u32 {
        7
    }
}

fn probe(input: &[u8]) {
    if let Some(probe) = TestDatagram::from_bytes(input) {
        assert_eq!(TestDatagram::from_bytes(&probe.to_bytes()), Some(probe));
    }
    let mut now = Timestamp::default();
    let (mut one, mut other) = (LinkTest::begin(1_200, now), LinkTest::answer(1_200, now));
    for (_, datagram) in records(input) {
        now = now + Duration::from_millis(30);
        while let Some(load) = one.poll_datagram(now) {
            other.on_datagram(&load, now);
        }
        while let Some(answer) = other.poll_datagram(now) {
            one.on_datagram(&answer, now);
        }
        one.on_datagram(datagram, now);
        other.on_datagram(datagram, now);
    }
}

fn control(input: &[u8]) {
    let mut reader = ControlReader::default();
    for piece in input.chunks(7) {
        reader.push(piece);
        while let Ok(Some((about, message))) = reader.next() {
            let (mut again, mut other) = (Vec::new(), ControlReader::default());
            encode(&message, about, &mut again);
            other.push(&again);
            assert_eq!(other.next(), Ok(Some((about, message))));
        }
    }
}

fn params(input: &[u8]) {
    if let Ok(params) = StreamParams::from_bytes(input) {
        assert_eq!(StreamParams::from_bytes(&params.to_bytes()), Ok(params));
    }
}

/// Returns the parameters of the streams below.
pub(crate) fn small() -> StreamParams {
    let Ok(size) = FrameSize::new(96, 64) else { unreachable!() };
    StreamParams::new(size, Chroma::C420)
}

/// Returns a frame of the small stream; every block has some bytes.
pub(crate) fn frame(params: &StreamParams) -> CodedFrame {
    let (mut ends, mut data) = (Vec::new(), Vec::new());
    for block in 0..BlockLayout::new(params).blocks().len() {
        data.extend((0..40 + 60 * (block % 3)).map(|at| (at * 7 + block) as u8));
        ends.push(data.len() as u32);
    }
    CodedFrame { reference: 0, header: FrameHeader { step: StepIndex::MIN, fine_blocks: 0 }, ends, data }
}

/// Returns the records of an input: kind and bytes of each.
fn records(mut input: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[kind, low, high], rest) = input.split_first_chunk()?;
        let (bytes, rest) = rest.split_at(usize::from(u16::from_le_bytes([low, high])).min(rest.len()));
        input = rest;
        Some((kind, bytes))
    })
}

/// Appends what [`records`] reads.
pub(crate) fn record(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A control message.
pub(crate) const CONTROL: u8 = 0;
/// A datagram.
pub(crate) const DATAGRAM: u8 = 1;
/// Time goes on by so many milliseconds as the record has bytes, and what is due is done.
pub(crate) const TIME: u8 = 2;
/// The decoder is there, or a frame to send.
pub(crate) const OWN: u8 = 3;

fn reassembly(input: &[u8]) {
    let mut now = Timestamp::default();
    let mut reassembler = Reassembler::new(&small(), FrameId(0), now);
    for (kind, bytes) in records(input) {
        match kind % 4 {
            DATAGRAM => {
                reassembler.on_datagram(bytes, now);
            }
            TIME => now = now + Duration::from_millis(bytes.len() as u64),
            _ => {
                let oldest = reassembler.pending().next().map(|frame| frame.id);
                oldest.map(|id| reassembler.release(id));
            }
        }
        while reassembler.poll_frame().is_some() {}
        assert!(reassembler.held_bytes() < HELD_BYTES_MAX);
    }
}

/// Returns the messages in `bytes`, up to what is none.
fn messages(reader: &mut ControlReader, bytes: &[u8]) -> Vec<ControlMessage> {
    reader.push(bytes);
    std::iter::from_fn(|| reader.next().ok().flatten().map(|(_, message)| message)).collect()
}

fn receiver_session(input: &[u8]) {
    let (mut now, mut reader) = (Timestamp::from_us(1_000_000), ControlReader::default());
    let options = ReceiverOptions { size_max: FrameSize::new(256, 256).ok(), ..ReceiverOptions::default() };
    let mut session = ReceiverSession::new(options);
    session.on_connected(now);
    for (kind, bytes) in records(input) {
        match kind % 4 {
            CONTROL => {
                for message in messages(&mut reader, bytes) {
                    if session.on_control(message, now).is_err() {
                        return;
                    }
                }
            }
            DATAGRAM => {
                session.on_datagram(bytes, now);
            }
            TIME => {
                now = now + Duration::from_millis(bytes.len() as u64);
                session.handle_timeout(now);
            }
            _ => session.ready(now),
        }
        while session.poll_event().is_some() {}
        while session.poll_control().is_some() {}
        while session.poll_datagram(now).is_some() {}
        assert!(session.held_bytes() < HELD_BYTES_MAX);
    }
}

fn sender_session(input: &[u8]) {
    let (params, mut now, mut reader) = (small(), Timestamp::from_us(1_000_000), ControlReader::default());
    let frame = frame(&params);
    let mut session = SenderSession::new(params, Bitrate::from_bps(5_000_000), Protection::Auto);
    session.on_connected(now, 1200);
    for (kind, bytes) in records(input) {
        match kind % 4 {
            CONTROL => {
                for message in messages(&mut reader, bytes) {
                    if session.on_control(message, now).is_err() {
                        return;
                    }
                }
            }
            DATAGRAM => {
                session.on_datagram(bytes, now);
            }
            TIME => {
                now = now + Duration::from_millis(bytes.len() as u64);
                session.handle_timeout(now);
            }
            _ => session.on_frame(session.next_frame(), &frame, FrameTimes { capture: now, coded: now }, now),
        }
        while session.poll_event().is_some() {}
        while session.poll_control().is_some() {}
        while session.poll_datagram(now).is_some() {}
        assert!(session.rate_target().as_bps() <= 5_000_000 && session.budget_bytes() < 1 << 20);
    }
}

fn clip(input: &[u8]) {
    // The blocks of large pictures are many.
    let params = input.get(6..6 + PARAMS_BYTES).and_then(|bytes| StreamParams::from_bytes(bytes).ok());
    if params.is_some_and(|params| params.size.pixels() > 1 << 20) {
        return;
    }
    let Ok(mut reader) = ContainerReader::new(input) else { return };
    let mut pictures = 0;
    for _ in 0..FRAMES {
        let Ok(Some(entry)) = reader.next_entry() else { return };
        assert!(reader.pictures() >= pictures);
        pictures = reader.pictures();
        if let Entry::Frame(FileFrame { number, content: container::Content::Blocks { frame, damaged, .. } }) = entry {
            assert!(number < pictures && damaged <= frame.missing() && frame.missing() <= frame.block_count());
        }
    }
}

fn y4m(input: &[u8]) {
    let Ok(mut reader) = Y4mReader::new(Cursor::new(input)) else { return };
    let mut data = Vec::new();
    for _ in 0..FRAMES {
        match reader.read(&mut data) {
            Ok(true) => assert_eq!(data.len(), reader.header().picture_bytes()),
            Ok(false) | Err(_) => return,
        }
    }
}

fn mjpeg(input: &[u8]) {
    let (mut reader, mut total) = (MjpegReader::new(input), 0);
    while let Ok(Some(picture)) = reader.next_picture() {
        assert!(picture.starts_with(&[0xff, 0xd8]));
        total += picture.len();
    }
    assert!(total <= input.len());
    let (mut decoder, mut data) = (JpegDecoder::default(), Vec::new());
    for _ in 0..2 {
        if let Ok((format, size)) = decoder.decode(input, &mut data) {
            assert_eq!(data.len(), format.bytes(size));
        }
    }
}

fn config(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = parse_sender(&text).and_then(|file| resolve_sender(&file));
    let _ = parse_receiver(&text).and_then(|file| resolve_receiver(&file));
}

fn spec(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = SourceSpec::parse(&text);
    let _ = text.parse::<SinkSpec>();
    let _ = parse_frame_rate(&text);
    let _ = text.parse::<Bitrate>();
    if let Ok(size) = parse_size(&text) {
        let sides = 1..=FrameSize::MAX_SIDE as usize;
        assert!(sides.contains(&size.width()) && sides.contains(&size.height()));
    }
}

fn public_key(input: &[u8]) {
    if let Ok(key) = String::from_utf8_lossy(input).parse::<PublicKey>() {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}

fn filter_bank(input: &[u8]) {
    let _ = FilterBank::from_toml(&String::from_utf8_lossy(input));
}

fn http(input: &[u8]) {
    let status = shell::metrics::status_of(input);
    assert!(status.starts_with(['2', '4', '5']));
}

fn ticket(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(ticket) = text.parse::<Ticket>() {
        assert_eq!(ticket.to_string(), text.trim());
        assert!(ticket.candidates.len() <= ADDRESSES_MAX);
        assert!(ticket.candidates.iter().all(|candidate| usable(candidate.address)));
    }
}

fn introduction(input: &[u8]) {
    let Some((length, body)) = input.split_first_chunk() else { return };
    let Ok(length) = Message::length(*length) else { return };
    if let Some(Ok(message)) = body.get(..length).map(Message::decode) {
        assert_eq!(message.encode(), input[..LENGTH_BYTES + length]);
    }
}

/// Parses one probe of a call's other end, and lets a call live through several that come on two ways.
fn call_probe(input: &[u8]) {
    if let Some(probe) = Probe::decode(input) {
        let bytes = probe.encode(0);
        assert!(bytes.len() <= input.len().min(QUESTION_BODY_BYTES_MAX));
        assert_eq!(Probe::decode(&bytes), Some(probe));
    }
    let ways = [9, 10].map(|last| Pair::from(std::net::SocketAddr::from(([203, 0, 113, last], 20_000))));
    let mut now = Timestamp::default();
    let mut steering = Steering::new(ways[0], Kind::Relayed, now);
    let (mut allowance, mut nonce) = (Allowance::default(), 0);
    for (kind, bytes) in records(input) {
        let from = ways[usize::from(kind) / 4 % 2];
        match (kind % 4, Probe::decode(bytes)) {
            (TIME, _) => now = now + Duration::from_millis(bytes.len() as u64),
            (_, Some(Probe::Question { number, candidates, .. })) => {
                assert!(candidates.len() <= ADDRESSES_MAX);
                assert!(candidates.iter().all(|candidate| usable(candidate.address)));
                if steering.on_question(from, number, bytes.len(), &mut allowance, now) {
                    steering.set_told(&candidates, now);
                }
            }
            (_, Some(Probe::Answer(nonce))) => {
                steering.on_answer(from, nonce, now);
            }
            (_, None) => {}
        }
        // Small ones, so that some answers are right.
        let mut act = || {
            nonce += 1;
            steering.poll(now, nonce, &mut allowance)
        };
        let acts: Vec<Act> = std::iter::from_fn(&mut act).take(ACTS_MAX).collect();
        assert!(acts.len() < ACTS_MAX && steering.pairs() < ACTS_MAX);
    }
}

fn note(input: &[u8]) {
    if let Some(note) = Note::decode(input) {
        assert!(note.candidates.len() <= ADDRESSES_MAX);
        assert!(note.candidates.iter().all(|candidate| usable(candidate.address)));
        assert_eq!(Note::decode(&note.encode()), Some(note));
    }
}

/// Parses an answer to the question whose number it carries.
fn stun(input: &[u8]) {
    let number = input.get(8..20).map(|number| number.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)));
    if let Some(address) = number.and_then(|number| stun_answer(input, number)) {
        assert!(usable(address));
    }
}

/// Speakers of the messages: a session hears those of the other end.
pub(crate) const ROLES: [StreamEnd; 2] = [StreamEnd::Sender, StreamEnd::Receiver];
