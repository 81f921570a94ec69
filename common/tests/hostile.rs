//! Hostile peers of each kind in turn before both sessions, in virtual time: whatever an allowed peer says or sends,
//! memory and queues stay bounded, nothing panics, and the right peer's call works afterwards.
//!
//! `HOURS` in the environment is the time simulated (`make hostile-hours`: 24), `SEED` decides what is sent.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of sessions")]
mod world;

use std::time::Duration;

use common::latency::OneWay;
use common::netsim::Random;
use common::netsim::session::{ReceiverSession, SenderSession};
use common::stream::video::protection::Protection;
use common::stream::video::{FrameTimes, ReceiverEvent, ReceiverOptions, SenderEvent};
use common::units::{FrameId, SequenceNumber, Timestamp};
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ByeReason, ControlMessage, SourceState, StreamEnd};
use common::wire::feedback::FeedbackHeader;
use common::wire::media::{Content, Envelope, MediaHeader, ShardPlace};
use picture::coded::{FrameHeader, StepIndex};
use picture::frame::{Chroma, FrameRate, FrameSize};
use picture::params::{Boundary, CodecParams, Padding, StreamParams};
use world::{INTERVAL, RATE, frame, params};

/// Duration of one peer's stay, and interval of its steps.
const VISIT: Duration = Duration::from_secs(20);
const STEP_US: u64 = 40_000;
/// Things that it does in a step.
const ACTS: u64 = 12;
/// Bytes that a receiving session may hold: the least that is always allowed, and the parity of three frames.
const HELD_MAX: usize = (8 << 20) + (3 << 20);
/// Messages that may wait when nobody took any for a whole visit.
const WAITING_MAX: usize = 160;
/// Frames that the right peer's call has.
const CALL: u64 = 20;

/// A kind of hostile peer: it does one thing again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Asks for the time, or answers what was not asked.
    Pings,
    /// Offers streams that are too large, too fast or too slow.
    Giants,
    /// Says goodbye in every way.
    Byes,
    /// Offers a stream, or says Hello, again.
    Again,
    /// Sends pieces of frames far ahead.
    FarAhead,
    /// Sends parity of which nothing can be made, and the first bytes of large blocks.
    Halves,
    /// Tells of arrivals that cannot be.
    Feedback,
    /// Sends random bytes.
    Junk,
    /// Any of these.
    All,
}

const KINDS: [Kind; 9] = [
    Kind::Pings,
    Kind::Giants,
    Kind::Byes,
    Kind::Again,
    Kind::FarAhead,
    Kind::Halves,
    Kind::Feedback,
    Kind::Junk,
    Kind::All,
];

/// A message or datagram of a peer.
enum Act {
    Say(ControlMessage),
    Send(Vec<u8>),
}

fn number(random: &mut Random) -> u64 {
    [0, 1, 7, u64::MAX, 1 << 31, random.bits()][random.below(6) as usize]
}

fn giant(random: &mut Random) -> StreamParams {
    let side = |random: &mut Random| [1, 64, 640, 8_192, 16_384][random.below(5) as usize];
    let rates = [(1, 60), (30, 1), (1_000, 1), (1, u32::MAX)];
    let (numerator, denominator) = rates[random.below(4) as usize];
    let codec = CodecParams { padding: Padding::Zero, boundary: Boundary::Periodic, ..CodecParams::default() };
    StreamParams {
        size: FrameSize::new(side(random), side(random)).unwrap(),
        frame_rate: FrameRate::new(numerator, denominator).unwrap(),
        chroma: Chroma::C444,
        codec,
        ..params()
    }
}

/// Returns a stream of so few frames that what is held of one is held for long.
fn slow() -> StreamParams {
    let size = FrameSize::new(640, 480).unwrap();
    StreamParams { size, frame_rate: FrameRate::new(1, 60).unwrap(), chroma: Chroma::C444, ..params() }
}

fn bye(random: &mut Random) -> ControlMessage {
    let last_frame = random.chance(0.7).then(|| FrameId(number(random) as u32));
    let reason = match random.below(4) {
        0 => ByeReason::Finished { last_frame },
        1 => ByeReason::Stopping,
        2 => ByeReason::ReplacedByNewer,
        _ => ByeReason::Protocol("\n\u{e4}".repeat(random.below(60) as usize)),
    };
    ControlMessage::Bye { reason }
}

fn media(random: &mut Random, frame: u64, content: Content, payload: usize) -> Act {
    let has_place = matches!(content, Content::Parity { .. }) || random.chance(0.5);
    let place = ShardPlace { group: 1 + random.below(200) as u8, index: random.below(64) as u8 };
    let mut bytes = Vec::new();
    MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(random.bits() as u32),
            capture: Timestamp::from_us(frame.wrapping_mul(33_000) % (1 << 47)),
            sent_offset_us: random.below(1 << 24) as u32,
        },
        frame: FrameId(frame as u32),
        steps: FrameHeader { step: StepIndex::MIN, fine_blocks: 0 },
        reference: 0,
        is_last: random.chance(0.1),
        place: has_place.then_some(place),
        content,
    }
    .write(&mut bytes);
    bytes.extend((0..payload).map(|_| random.bits() as u8));
    Act::Send(bytes)
}

/// Returns the next thing that a peer at the end `own` does; `frame` counts up.
fn act(kind: Kind, own: StreamEnd, random: &mut Random, frame: &mut u64) -> Act {
    let time = |random: &mut Random| Timestamp::from_us(number(random));
    *frame += u64::from(random.chance(if kind == Kind::Halves { 0.0002 } else { 0.3 }));
    match kind {
        Kind::All => act(KINDS[random.below(KINDS.len() as u64 - 1) as usize], own, random, frame),
        Kind::Pings if own == StreamEnd::Receiver => {
            Act::Say(ControlMessage::Ping { id: number(random) as u32, sent: time(random) })
        }
        Kind::Pings => {
            let (ping_sent, received, sent) = (time(random), time(random), time(random));
            Act::Say(ControlMessage::Pong { id: random.below(64) as u32, ping_sent, received, sent })
        }
        Kind::Giants => Act::Say(ControlMessage::Welcome { params: giant(random), start_frame: FrameId(0) }),
        Kind::Byes => Act::Say(bye(random)),
        Kind::Again => Act::Say(match random.below(11) {
            0 => ControlMessage::Hello { version: PROTOCOL_VERSION, sends: own == StreamEnd::Sender },
            1 => ControlMessage::Welcome { params: params(), start_frame: FrameId(number(random) as u32) },
            2 => ControlMessage::Source {
                state: if random.chance(0.5) { SourceState::Stalled } else { SourceState::Lost },
            },
            3 => ControlMessage::Stalled { total: Duration::from_micros(number(random)) },
            4 => {
                let [capture, sent, received, released, decoded, shown] = [(); 6].map(|()| time(random));
                ControlMessage::Bounced(OneWay { capture, sent, received, released, decoded, shown })
            }
            5 => ControlMessage::Text { text: "\u{202e}\0".repeat(random.below(500) as usize) },
            6 => ControlMessage::Hidden { is_hidden: random.chance(0.5) },
            7 => ControlMessage::Recording { is_recording: random.chance(0.5) },
            8 => ControlMessage::Waits { rings: random.chance(0.5) },
            9 => ControlMessage::CallsOn,
            _ => ControlMessage::Ready,
        }),
        Kind::FarAhead => {
            let frame = if random.chance(0.5) { number(random) } else { *frame };
            let block = random.below(20) as u32;
            media(random, frame, Content::Fragment { block, total: 40, offset: 0 }, 40)
        }
        Kind::Halves if random.chance(0.5) => {
            let (data, parity) = (random.below(64) as u8, random.below(64) as u8);
            let bytes = 2 * random.below(600) as usize;
            media(random, *frame, Content::Parity { data, parity }, bytes)
        }
        Kind::Halves => {
            let (block, total) = (random.below(1_000) as u32, (20_000 + random.below(14_000)) as u16);
            media(random, *frame, Content::Fragment { block, total, offset: 0 }, 32)
        }
        Kind::Feedback => {
            let header = FeedbackHeader {
                number: random.bits() as u16,
                received: number(random) as u32,
                missing: number(random) as u32,
                base: SequenceNumber(number(random) as u32),
                time: time(random),
                unsure: Duration::from_millis(random.below(600)),
            };
            let arrivals: Vec<_> = (0..random.below(40)).map(|_| random.chance(0.8).then(|| time(random))).collect();
            Act::Send(header.encode(arrivals.into_iter()))
        }
        Kind::Junk => Act::Send((0..random.below(1_300)).map(|_| random.bits() as u8).collect()),
    }
}

/// Both sessions that are attacked, and the time.
struct Victims {
    now: Timestamp,
    random: Random,
    sender: SenderSession,
    receiver: ReceiverSession,
    frames: u64,
    held_most: usize,
    waiting_most: usize,
}

impl Victims {
    fn new(seed: u64) -> Self {
        let options = ReceiverOptions {
            drops_backlog: seed.is_multiple_of(2),
            size_max: Some(FrameSize::new(640, 480).unwrap()),
            ..ReceiverOptions::default()
        };
        Self {
            now: Timestamp::from_us(1_000_000),
            random: Random::new(seed),
            sender: SenderSession::new(params(), RATE, Protection::Auto),
            receiver: ReceiverSession::new(options),
            frames: 0,
            held_most: 0,
            waiting_most: 0,
        }
    }

    /// Lets a peer of this kind come and stay for a while. Who is sent away comes again at once.
    fn visit(&mut self, kind: Kind) {
        let (mut to_sender, mut to_receiver) = (false, false);
        let (mut frame, end) = (0, self.now + VISIT);
        let takes_messages = self.random.chance(0.7);
        while self.now < end {
            if !to_sender {
                self.sender.on_connected(self.now, 1_200);
                let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false };
                to_sender = [hello, ControlMessage::Ready].into_iter().all(|said| self.tell_sender(said));
            }
            if !to_receiver {
                frame = 0;
                self.receiver.on_connected(self.now);
                let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true };
                let params = match kind {
                    Kind::Giants => giant(&mut self.random),
                    Kind::Halves => slow(),
                    _ => params(),
                };
                let welcome = ControlMessage::Welcome { params, start_frame: FrameId(0) };
                to_receiver = self.tell_receiver(hello) && self.tell_receiver(welcome);
            }
            for _ in 0..ACTS {
                self.now = self.now + Duration::from_micros(self.random.below(2 * STEP_US / ACTS));
                match act(kind, StreamEnd::Receiver, &mut self.random, &mut frame) {
                    Act::Say(message) => to_sender &= self.tell_sender(message),
                    Act::Send(datagram) => drop(self.sender.on_datagram(&datagram, self.now)),
                }
                match act(kind, StreamEnd::Sender, &mut self.random, &mut frame) {
                    Act::Say(message) => to_receiver &= self.tell_receiver(message),
                    Act::Send(datagram) => drop(self.receiver.on_datagram(&datagram, self.now)),
                }
                self.held_most = self.held_most.max(self.receiver.held_bytes());
            }
            self.turn(takes_messages);
        }
        self.turn(true);
        self.sender.on_disconnected(self.now);
        self.receiver.on_disconnected(self.now);
        self.turn(true);
    }

    fn tell_sender(&mut self, message: ControlMessage) -> bool {
        self.sender.on_control(message, self.now).is_ok()
    }

    fn tell_receiver(&mut self, message: ControlMessage) -> bool {
        self.receiver.on_control(message, self.now).is_ok()
    }

    /// Does the part of both sessions' owners after every event.
    fn turn(&mut self, takes_messages: bool) {
        let times = FrameTimes { capture: self.now, coded: self.now };
        self.frames += 1;
        self.sender.on_frame(
            self.sender.next_frame(),
            &frame(self.frames, self.sender.budget_bytes().clamp(2_000, 20_000)),
            times,
            self.now,
        );
        self.sender.handle_timeout(self.now);
        self.receiver.handle_timeout(self.now);
        while self.sender.poll_datagram(self.now).is_some() {}
        let feedbacks = std::iter::from_fn(|| self.receiver.poll_datagram(self.now)).count();
        assert!(feedbacks < 100, "{feedbacks} feedbacks at once");
        assert!(self.receiver.poll_timeout().is_none_or(|at| at > self.now));
        while let Some(event) = self.receiver.poll_event() {
            if let ReceiverEvent::Start(params) = event {
                assert!(params.size.pixels() <= 640 * 480, "{params:?}");
                self.receiver.ready(self.now);
            }
        }
        while self.sender.poll_event().is_some() {}
        if takes_messages {
            let waiting = std::iter::from_fn(|| self.sender.poll_control()).count();
            let waiting = waiting.max(std::iter::from_fn(|| self.receiver.poll_control()).count());
            self.waiting_most = self.waiting_most.max(waiting);
        }
        assert!(self.held_most <= HELD_MAX, "{} bytes held", self.held_most);
        assert!(self.waiting_most <= WAITING_MAX, "{} messages waited", self.waiting_most);
    }

    /// Lets the right receiver call the sender, and the right sender the receiver: every frame is shown.
    fn right_calls(&mut self) {
        let mut viewer = ReceiverSession::new(ReceiverOptions::default());
        let shown = call(&mut self.sender, &mut viewer, &mut self.now);
        assert_eq!(shown, CALL, "from the sender");
        let mut camera = SenderSession::new(params(), RATE, Protection::Auto);
        let shown = call(&mut camera, &mut self.receiver, &mut self.now);
        assert_eq!(shown, CALL, "at the receiver");
    }
}

/// Runs a call of [`CALL`] frames on a perfect line; returns how many were released whole.
fn call(sender: &mut SenderSession, receiver: &mut ReceiverSession, now: &mut Timestamp) -> u64 {
    sender.on_connected(*now, 1_200);
    receiver.on_connected(*now);
    let (mut given, mut shown, mut next) = (0, 0, *now);
    let end = *now + INTERVAL * (CALL as u32 + 30);
    while *now < end {
        *now = *now + Duration::from_millis(1);
        sender.handle_timeout(*now);
        receiver.handle_timeout(*now);
        while let Some(message) = sender.poll_control() {
            receiver.on_control(message, *now).unwrap();
        }
        while let Some(message) = receiver.poll_control() {
            sender.on_control(message, *now).unwrap();
        }
        while let Some(event) = sender.poll_event() {
            assert_eq!(event, SenderEvent::Streaming);
        }
        if sender.is_streaming() && given < CALL && next <= *now {
            next = *now + INTERVAL;
            sender.on_frame(sender.next_frame(), &frame(given, 4_000), FrameTimes { capture: *now, coded: *now }, *now);
            given += 1;
        }
        while let Some(datagram) = sender.poll_datagram(*now) {
            receiver.on_datagram(&datagram, *now);
        }
        while let Some(datagram) = receiver.poll_datagram(*now) {
            sender.on_datagram(&datagram, *now);
        }
        while let Some(event) = receiver.poll_event() {
            match event {
                ReceiverEvent::Start(_) => receiver.ready(*now),
                ReceiverEvent::Frame(arrived) => shown += u64::from(arrived.assembled.is_complete()),
                other => panic!("{other:?}"),
            }
        }
    }
    sender.on_disconnected(*now);
    receiver.on_disconnected(*now);
    shown
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: write a number")))
}

#[test]
fn hostile_peers_of_all_kinds_in_turn_cost_little_and_end_no_call() {
    let seed = from_environment("SEED").unwrap_or(1);
    let hours: f64 = from_environment("HOURS").unwrap_or(0.2);
    println!("SEED={seed}, {hours} hours simulated");
    let mut victims = Victims::new(seed);
    let (begin, end) = (victims.now, victims.now + Duration::from_secs_f64(3_600.0 * hours));
    let mut visits = 0;
    for kind in KINDS.into_iter().cycle() {
        victims.visit(kind);
        victims.right_calls();
        visits += 1;
        if victims.now >= end {
            break;
        }
    }
    assert!(visits >= KINDS.len(), "not every kind has come");
    let (held, waiting) = (victims.held_most / 1_000, victims.waiting_most);
    println!(
        "{visits} peers in {:.1} h: at most {held} kB held, {waiting} messages waiting",
        victims.now.since(begin).as_secs_f64() / 3_600.0
    );
}
