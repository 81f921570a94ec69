//! A sender and a receiver with clocks of their own, joined by a bad network for datagrams and a reliable one for
//! control messages, in virtual time. Every frame that comes out is checked.

mod hostile;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use common::netsim::session::{ReceiverSession, SenderSession};
use common::netsim::{Network, Random, Scenario};
use common::stream::video::protection::Protection;
use common::stream::video::reassemble::WINDOW_FRAMES;
use common::stream::video::{ArrivedFrame, FrameTimes, ReceiverEvent, ReceiverOptions, SenderEvent};
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::FEEDBACK_BYTES_MAX;
use common::wire::control::ControlMessage;
use picture::coded::{BlockState, CodedFrame, FrameHeader, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameSize};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::run::coded_size;

/// The sender's clock minus the receiver's.
pub(crate) const SENDER_AHEAD_US: i64 = 5_000_000;
/// Time from capture to the coded frame.
pub(crate) const CODE_TIME: Duration = Duration::from_millis(4);
/// Rate of the stream.
pub(crate) const RATE: Bitrate = Bitrate::from_bps(4_000_000);
/// Time between frames.
pub(crate) const INTERVAL: Duration = Duration::from_micros(33_333);
const MAX_DATAGRAM: usize = 1_200;

/// Returns a point in time.
pub(crate) const fn t(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

/// Returns a small stream: 30 frames a second of 200x120, 4:2:0.
pub(crate) fn params() -> StreamParams {
    StreamParams { colour: ColourSpace::JPEG, ..StreamParams::new(FrameSize::new(200, 120).unwrap(), Chroma::C420) }
}

/// Returns a frame of almost `bytes` coded bytes; some blocks are empty, some larger than a datagram.
pub(crate) fn frame(seed: u64, bytes: usize) -> CodedFrame {
    let blocks = BlockLayout::new(&params()).blocks().len();
    let mut random = Random::new(seed);
    let header = FrameHeader { step: StepIndex::new(20).unwrap(), fine_blocks: random.below(blocks as u64) as u32 };
    let mut frame = CodedFrame { reference: 0, header, ends: vec![0; blocks], data: vec![] };
    let left = (bytes - coded_size(&frame) - 2 * blocks) as u64;
    let weights: Vec<_> = (0..blocks).map(|_| random.below(8).pow(3)).collect();
    let total: u64 = weights.iter().sum();
    for (end, weight) in frame.ends.iter_mut().zip(weights) {
        frame.data.extend((0..left * weight / total).map(|_| random.bits() as u8));
        *end = frame.data.len() as u32;
    }
    assert!(coded_size(&frame) <= bytes);
    frame
}

/// Frames sent, and those released so far.
#[derive(Default)]
pub(crate) struct Checker {
    sent: BTreeMap<u32, (CodedFrame, FrameTimes)>,
    last: Option<FrameId>,
    /// Longest that any frame's last datagram has had to travel so far.
    travel_max: Duration,
    latency_max: Duration,
    /// The sender lies: only order and time are checked.
    is_hostile: bool,
}

impl Checker {
    /// Checks what must hold for every frame released.
    pub(crate) fn on_frame(&mut self, frame: &ArrivedFrame) -> Result<(), String> {
        let (arrived, released) = (&frame.assembled, frame.released);
        let id = arrived.id;
        if self.last.is_some_and(|last| !id.is_newer_than(last)) {
            return Err(format!("frame numbers do not rise: {id:?} after {:?}", self.last));
        }
        if released > arrived.first_received + INTERVAL.mul_f64(0.75) + self.latency_max {
            return Err(format!("{id:?} waited beyond its deadline"));
        }
        if self.is_hostile {
            self.last = Some(id);
            return Ok(());
        }
        // Latest end of the sending in the receiver's time, the longest travel, the patience.
        let captured = t(arrived.capture.as_us() - SENDER_AHEAD_US as u64);
        let deadline = captured + CODE_TIME + INTERVAL.mul_f64(0.75) + self.travel_max + self.latency_max;
        // Of the first frame nobody knows when it was expected.
        let is_first = self.last.is_none();
        let unknown = if is_first { INTERVAL.mul_f64(0.75) } else { Duration::ZERO };
        if released > deadline.max(arrived.first_received + unknown + self.latency_max) {
            return Err(format!("{id:?} released after its deadline"));
        }
        self.last = Some(id);
        if arrived.first_received > arrived.last_received || arrived.last_received > released {
            return Err(format!("{id:?} has impossible times"));
        }
        let (sent, times) = self.sent.get(&id.0).ok_or_else(|| format!("{id:?} was never sent"))?;
        if arrived.frame.header != sent.header || arrived.capture != times.capture || arrived.sent < times.coded {
            return Err(format!("{id:?} has another header"));
        }
        let missing = (0..sent.block_count()).filter(|&index| arrived.frame.block(index) == BlockState::Missing);
        if arrived.frame.block_count() != sent.block_count() || arrived.is_complete() != (missing.count() == 0) {
            return Err(format!("{id:?} is not as complete as it says"));
        }
        for index in 0..sent.block_count() {
            let intact = match arrived.frame.block(index) {
                BlockState::Missing => true,
                BlockState::Zero => sent.block(index).is_empty(),
                BlockState::Coded(bytes) => bytes == sent.block(index),
            };
            if !intact {
                return Err(format!("{id:?} block {index} has other bytes"));
            }
        }
        Ok(())
    }
}

/// Both ends and all between them.
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) sender: SenderSession,
    pub(crate) receiver: ReceiverSession,
    pub(crate) checker: Checker,
    media: Network,
    feedback: Network,
    to_receiver: VecDeque<(Timestamp, ControlMessage)>,
    to_sender: VecDeque<(Timestamp, ControlMessage)>,
    connected: bool,
    /// Changes datagrams on their way.
    pub(crate) tamper: Option<fn(&mut Vec<u8>)>,
    /// Lies to the receiver.
    pub(crate) hostile: Option<Random>,
    /// Receiver's time, frame, blocks missing.
    pub(crate) trace: Vec<(u64, u32, usize)>,
    pub(crate) last_frame: Option<ArrivedFrame>,
    /// Frames that came without some of their coarse blocks.
    pub(crate) coarse_missing: usize,
    coarse_blocks: usize,
    pub(crate) longest_gap: Duration,
    /// Longest time from a frame's first datagram to its release.
    pub(crate) worst_wait: Duration,
    pub(crate) starts: usize,
    pub(crate) sender_finished: bool,
    pub(crate) receiver_finished: bool,
    pub(crate) other_sender_events: Vec<SenderEvent>,
}

impl World {
    /// Creates a connected pair that has exchanged its greetings.
    pub(crate) fn new(scenario: impl Into<Scenario>, options: ReceiverOptions) -> Self {
        Self::protected(scenario, options, Protection::Auto)
    }

    /// Creates the same with another protection.
    pub(crate) fn protected(scenario: impl Into<Scenario>, options: ReceiverOptions, protection: Protection) -> Self {
        let (now, scenario) = (t(1_000_000), scenario.into());
        let mut world = Self {
            now,
            sender: SenderSession::new(params(), RATE, protection),
            receiver: ReceiverSession::new(options),
            checker: Checker { latency_max: options.latency_max.unwrap_or(INTERVAL), ..Checker::default() },
            media: Network::new(scenario.clone(), now),
            feedback: Network::new(scenario.clone(), now),
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            connected: false,
            tamper: None,
            hostile: None,
            trace: Vec::new(),
            last_frame: None,
            coarse_missing: 0,
            coarse_blocks: BlockLayout::new(&params()).coarse_blocks(),
            longest_gap: Duration::ZERO,
            worst_wait: Duration::ZERO,
            starts: 0,
            sender_finished: false,
            receiver_finished: false,
            other_sender_events: Vec::new(),
        };
        world.set_network(scenario);
        world.connect();
        world
    }

    /// Changes the network; what is under way is lost.
    pub(crate) fn set_network(&mut self, scenario: impl Into<Scenario>) {
        let scenario = scenario.into();
        self.checker.travel_max = self.checker.travel_max.max(scenario.delay_max());
        let seed = scenario.seed();
        self.media = Network::new(scenario.clone(), self.now);
        self.feedback = Network::new(scenario.with_seed(!seed), self.now);
    }

    /// Connects, and runs until the greetings are over.
    pub(crate) fn connect(&mut self) {
        self.connected = true;
        self.sender.on_connected(self.sender_now(), MAX_DATAGRAM);
        self.receiver.on_connected(self.now);
        self.run_for(5 * self.control_delay() + Duration::from_millis(1));
    }

    /// Ends the connection; all that is under way is lost.
    pub(crate) fn disconnect(&mut self) {
        self.connected = false;
        self.sender.on_disconnected(self.sender_now());
        self.receiver.on_disconnected(self.now);
        self.to_receiver.clear();
        self.to_sender.clear();
        for network in [&mut self.media, &mut self.feedback] {
            while let Some(at) = network.next_arrival() {
                network.pop(at);
            }
        }
        self.drain().unwrap();
    }

    /// Streams `frames` frames and ends cleanly.
    pub(crate) fn run(&mut self, frames: u64) {
        self.try_run(frames).unwrap();
    }

    /// Runs as [`Self::run`], or returns the first promise broken.
    pub(crate) fn try_run(&mut self, frames: u64) -> Result<(), String> {
        self.try_stream(frames)?;
        self.try_finish()
    }

    /// Streams `frames` frames.
    pub(crate) fn stream(&mut self, frames: u64) {
        self.try_stream(frames).unwrap();
    }

    /// Ends the stream and lets both ends come to rest.
    pub(crate) fn finish(&mut self) {
        self.try_finish().unwrap();
    }

    /// Lets `span` pass.
    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span).unwrap();
    }

    fn try_finish(&mut self) -> Result<(), String> {
        self.sender.finish(self.sender_now());
        self.run_until(self.now + Duration::from_secs(2))
    }

    fn try_stream(&mut self, frames: u64) -> Result<(), String> {
        for _ in 0..frames {
            let capture = self.sender_now();
            let next = self.now + INTERVAL;
            self.run_until(self.now + CODE_TIME)?;
            let times = FrameTimes { capture, coded: self.sender_now() };
            let stats = self.sender.stats();
            let id = self.checker.sent.len() as u32;
            let frame = frame(id.into(), self.sender.budget_bytes().max(2_000));
            if self.sender.is_streaming() {
                self.checker.sent.insert(id, (frame.clone(), times));
            }
            self.sender.on_frame(self.sender.next_frame(), &frame, times, self.sender_now());
            assert!(self.sender.stats().frames_unwanted == stats.frames_unwanted || !self.sender.is_streaming());
            self.drain()?;
            self.run_until(next)?;
        }
        Ok(())
    }

    fn control_delay(&self) -> Duration {
        self.media.conditions(self.now).delay
    }

    pub(crate) fn sender_now(&self) -> Timestamp {
        self.now + Duration::from_micros(SENDER_AHEAD_US as u64)
    }

    /// Goes from happening to happening.
    fn run_until(&mut self, end: Timestamp) -> Result<(), String> {
        self.drain()?;
        loop {
            let sender = self.sender.poll_timeout().map(|at| t(at.as_us() - SENDER_AHEAD_US as u64));
            let queues = [&self.to_receiver, &self.to_sender].map(|queue| queue.front().map(|front| front.0));
            let networks = [&self.media, &self.feedback].map(Network::next_arrival);
            let next = [sender, self.receiver.poll_timeout(), networks[0], networks[1], queues[0], queues[1]];
            let Some(next) = next.into_iter().flatten().min().filter(|&next| next <= end) else { break };
            if next < self.now {
                return Err(format!("something was due at {next:?} and is not done at {:?}", self.now));
            }
            self.now = next;
            self.step()?;
        }
        self.now = end;
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let now = self.now;
        while let Some(datagram) = self.media.pop(now) {
            self.receiver.on_datagram(&datagram, now);
        }
        while let Some(datagram) = self.feedback.pop(now) {
            assert!(datagram.len() <= FEEDBACK_BYTES_MAX);
            self.sender.on_datagram(&datagram, self.sender_now());
        }
        let held_max = WINDOW_FRAMES * (8_192 * BlockLayout::new(&params()).blocks().len() + (1 << 20));
        if self.receiver.held_bytes() > held_max {
            return Err(format!("{} bytes held", self.receiver.held_bytes()));
        }
        while let Some((_, message)) = self.to_receiver.pop_front_if(|front| front.0 <= now) {
            self.receiver.on_control(message, now).map_err(|error| error.to_string())?;
        }
        while let Some((_, message)) = self.to_sender.pop_front_if(|front| front.0 <= now) {
            self.sender.on_control(message, self.sender_now()).map_err(|error| error.to_string())?;
        }
        self.receiver.handle_timeout(now);
        self.sender.handle_timeout(self.sender_now());
        self.drain()?;
        match self.receiver.poll_timeout() {
            Some(at) if at <= now => Err(format!("the receiver left something undone at {now:?}")),
            _ => Ok(()),
        }
    }

    fn drain(&mut self) -> Result<(), String> {
        let now = self.now;
        while let Some(event) = self.receiver.poll_event() {
            match event {
                ReceiverEvent::Start(started) => {
                    assert_eq!(started, params());
                    self.starts += 1;
                    self.receiver.ready(self.now);
                }
                ReceiverEvent::Frame(frame) => self.on_frame(frame)?,
                ReceiverEvent::Finished => self.receiver_finished = true,
                other => return Err(format!("unexpected {other:?}")),
            }
        }
        while let Some(event) = self.sender.poll_event() {
            match event {
                SenderEvent::Streaming => {}
                SenderEvent::Finished => self.sender_finished = true,
                other => self.other_sender_events.push(other),
            }
        }
        while let Some(mut datagram) = self.sender.poll_datagram(self.sender_now()) {
            assert!(datagram.len() <= MAX_DATAGRAM);
            if let Some(tamper) = self.tamper {
                tamper(&mut datagram);
            }
            if let Some(random) = &mut self.hostile {
                self.checker.is_hostile = true;
                let more = hostile::lie(random, &mut datagram);
                more.into_iter().for_each(|datagram| self.media.push(datagram, now));
            }
            self.media.push(datagram, now);
        }
        while let Some(datagram) = self.receiver.poll_datagram(now) {
            self.feedback.push(datagram, now);
        }
        while let Some(message) = self.sender.poll_control() {
            self.to_receiver.push_back((now + self.control_delay(), message));
        }
        while let Some(message) = self.receiver.poll_control() {
            self.to_sender.push_back((now + self.control_delay(), message));
        }
        assert!(self.connected || (self.to_receiver.is_empty() && self.to_sender.is_empty()));
        Ok(())
    }

    fn on_frame(&mut self, frame: ArrivedFrame) -> Result<(), String> {
        if frame.released != self.now {
            return Err("a frame with another time of release".to_owned());
        }
        self.checker.on_frame(&frame)?;
        let is_missing = |index: usize| frame.assembled.frame.block(index) == BlockState::Missing;
        self.coarse_missing += usize::from((0..self.coarse_blocks).any(is_missing));
        self.trace.push((frame.released.as_us(), frame.assembled.id.0, frame.assembled.frame.missing()));
        if let Some(last) = &self.last_frame {
            self.longest_gap = self.longest_gap.max(frame.released.since(last.released));
        }
        self.worst_wait = self.worst_wait.max(frame.released.since(frame.assembled.first_received));
        self.last_frame = Some(frame);
        Ok(())
    }
}
