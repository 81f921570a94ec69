//! A sender and a receiver of 720p60, or fewer frames a second, over one bottleneck, alone or with a TCP flow in the
//! same queue, in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use common::netsim::session::{ReceiverSession, SenderSession};
use common::netsim::{NetConditions, Network, Pauses, Scenario};
use common::stream::video::prediction::states_of;
use common::stream::video::protection::Protection;
use common::stream::video::{FrameTimes, ReceiverEvent, ReceiverOptions};
use common::units::{Bitrate, Timestamp};
use common::wire::control::ControlMessage;
use common::wire::media::MediaHeader;
use picture::coded::{CodedFrame, FrameHeader, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;
use picture::run::coded_size;
use picture::vectors::VectorLayout;

pub(crate) mod beside;
pub(crate) mod home;
pub(crate) mod own;
pub(crate) mod sound;
pub(crate) mod tcp;

use self::beside::Known;
use self::own::Own;
use self::sound::Sound;
use self::tcp::Tcp;

/// Milliseconds.
pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Megabits a second.
pub(crate) const fn mbit(mbit: u64) -> Bitrate {
    Bitrate::from_bps(mbit * 1_000_000)
}

pub(crate) const MAX_DATAGRAM: usize = 1_200;

fn params(frames_a_second: u32, profile: Profile) -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(frames_a_second, 1).unwrap(),
        colour: ColourSpace::JPEG,
        codec: CodecParams { profile, ..CodecParams::default() },
        ..StreamParams::new(FrameSize::new(1280, 720).unwrap(), Chroma::C420)
    }
}

/// Returns a frame of at most `bytes` and almost as many: small coarse blocks, then fine ones of 60 bytes or more.
fn frame(layout: &BlockLayout, bytes: usize) -> CodedFrame {
    let (blocks, coarse) = (layout.blocks().len(), layout.coarse_blocks());
    let header = FrameHeader { step: StepIndex::new(20).unwrap(), fine_blocks: 0 };
    let mut frame = CodedFrame { reference: 0, header, ends: vec![0; blocks], data: vec![] };
    let mut left = bytes.saturating_sub(coded_size(&frame));
    let coarse_bytes = (left / 10 / coarse).min(150);
    let fine_bytes = (left * 9 / 10 / (blocks - coarse)).max(60);
    for (index, end) in frame.ends.iter_mut().enumerate() {
        let wanted = if index < coarse { coarse_bytes } else { fine_bytes };
        if wanted + 2 <= left {
            frame.data.resize(frame.data.len() + wanted, 7);
            left -= wanted + 2;
        }
        *end = frame.data.len() as u32;
    }
    frame
}

/// Figures at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Time since the stream began.
    pub(crate) at: Duration,
    /// The sender's target.
    pub(crate) target: Bitrate,
    /// Longest wait of a media datagram in the queue since the last line.
    pub(crate) wait: Duration,
    /// Time that the last frame took to leave.
    pub(crate) pace: Duration,
    /// Bytes of media that arrived since the last line, with what is around them.
    pub(crate) bytes: usize,
    /// Bytes of the TCP flow that arrived since the last line.
    pub(crate) tcp_bytes: usize,
}

/// Both ends and the network.
pub(crate) struct Call {
    pub(crate) now: Timestamp,
    pub(crate) sender: SenderSession,
    pub(crate) receiver: ReceiverSession,
    interval: Duration,
    size: FrameSize,
    layout: BlockLayout,
    media: Network,
    feedback: Network,
    delay: Duration,
    /// Times in which the sender's and the receiver's program does not run.
    pub(crate) stalls: [Pauses; 2],
    /// The system notes when a datagram came, whether or not the receiver runs.
    pub(crate) kernel_stamps: bool,
    /// Both networks deliver at multiples of this only, as timers and radios do.
    pub(crate) grain: Duration,
    /// Changes feedbacks on their way.
    pub(crate) tamper: Option<fn(&mut Vec<u8>)>,
    /// Datagrams that have come while the receiver did not run, with their times.
    inbox: VecDeque<(Timestamp, Vec<u8>)>,
    control: VecDeque<(Timestamp, bool, ControlMessage)>,
    pub(crate) tcp: Option<Tcp>,
    pub(crate) sound: Option<Sound>,
    /// Sound on the same path.
    pub(crate) own: Option<Own>,
    /// No feedback gets through before this.
    pub(crate) silent_until: Timestamp,
    /// Part of the budget that the pictures need.
    pub(crate) detail: f64,
    /// Frames from one without a reference to the next; none: no frame is predicted.
    alone_every: Option<u32>,
    /// Coded bytes of each frame that has been given to the sender.
    pub(crate) given: Vec<usize>,
    start: Timestamp,
    /// A line for each frame interval.
    pub(crate) seen: Vec<Seen>,
    wait: Duration,
    bytes: usize,
    /// Wait of each media datagram, and when it came since the stream began.
    pub(crate) waits: Vec<(Duration, Duration)>,
    /// Of each frame, by its time of capture since the stream began: the time until its last datagram came, beyond the path.
    pub(crate) frames: BTreeMap<Duration, Duration>,
}

impl Call {
    /// Creates a call at up to `max` over `media`, whose way back loses and delays as `back` says.
    pub(crate) fn new(max: Bitrate, media: impl Into<Scenario>, back: impl Into<Scenario>) -> Self {
        Self::with_frames(60, max, media, back)
    }

    /// Creates a call of so many frames a second likewise.
    pub(crate) fn with_frames(
        frames_a_second: u32,
        max: Bitrate,
        media: impl Into<Scenario>,
        back: impl Into<Scenario>,
    ) -> Self {
        Self::begun(params(frames_a_second, Profile::Quad), max, media, back, |_| {})
    }

    /// Creates a call of predicted frames, 30 a second, of which one in so many has no reference.
    pub(crate) fn predicted(max: Bitrate, media: impl Into<Scenario>, back: impl Into<Scenario>, alone: u32) -> Self {
        let profile = Profile::Predicted(states_of(FrameRate::new(30, 1).unwrap()));
        let call = Self::begun(params(30, profile), max, media, back, |_| {});
        Self { alone_every: Some(alone), ..call }
    }

    /// Creates a call of which so much is known of the sound beside.
    pub(crate) fn beside(frames_a_second: u32, max: Bitrate, media: Scenario, known: Known) -> Self {
        let back = NetConditions::perfect(media.at(Duration::ZERO).delay);
        Self::begun(params(frames_a_second, Profile::Quad), max, media, back, |sender| match known {
            Known::Declared(rate) => sender.set_beside(Some(rate)),
            Known::Nothing => sender.set_beside(Some(Bitrate::from_bps(0))),
            Known::Apart | Known::Found => sender.set_beside(None),
        })
    }

    fn begun(
        params: StreamParams,
        max: Bitrate,
        media: impl Into<Scenario>,
        back: impl Into<Scenario>,
        set: impl FnOnce(&mut SenderSession),
    ) -> Self {
        let now = Timestamp::from_us(1_000_000);
        let media = media.into();
        let delay = media.at(Duration::ZERO).delay;
        let mut call = Self {
            now,
            sender: SenderSession::new(params, max, Protection::Auto),
            receiver: ReceiverSession::new(ReceiverOptions::default()),
            interval: params.frame_rate.interval(),
            size: params.size,
            layout: BlockLayout::new(&params),
            media: Network::new(media, now + ms(500)),
            feedback: Network::new(back.into().with_seed(7), now + ms(500)),
            delay,
            stalls: [Pauses::NONE, Pauses::NONE],
            kernel_stamps: false,
            grain: Duration::ZERO,
            tamper: None,
            inbox: VecDeque::new(),
            control: VecDeque::new(),
            tcp: None,
            sound: None,
            own: None,
            silent_until: Timestamp::default(),
            detail: 1.0,
            alone_every: None,
            given: vec![],
            start: now + ms(500),
            seen: vec![],
            wait: Duration::ZERO,
            bytes: 0,
            waits: vec![],
            frames: BTreeMap::new(),
        };
        set(&mut call.sender);
        call.sender.on_connected(now, MAX_DATAGRAM);
        call.receiver.on_connected(now);
        call.run_until(now + ms(500));
        assert!(call.sender.is_streaming());
        call
    }

    /// Streams for `span`.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            let next = self.now + self.interval;
            // The first frame after a stall goes late, those before it never.
            let up = self.runs_again(0);
            if up < next {
                self.run_until(up);
                let times = FrameTimes { capture: self.now, coded: self.now };
                let mut frame = frame(&self.layout, (self.sender.budget_bytes() as f64 * self.detail) as usize);
                if self.alone_every.is_some_and(|every| !(self.given.len() as u32).is_multiple_of(every)) {
                    let slices = VectorLayout::new(self.size).slices();
                    frame.ends.splice(0..0, std::iter::repeat_n(0, slices));
                    frame.reference = 1;
                }
                self.given.push(coded_size(&frame));
                self.sender.on_frame(self.sender.next_frame(), &frame, times, self.now);
            }
            self.run_until(next);
            let seen = Seen {
                at: self.now.since(self.start),
                target: self.sender.rate_target(),
                wait: std::mem::take(&mut self.wait),
                pace: self.sender.stats().last_pace,
                bytes: std::mem::take(&mut self.bytes),
                tcp_bytes: self.tcp.as_mut().map_or(0, Tcp::take_arrived),
            };
            self.seen.push(seen);
        }
    }

    /// Returns the lines from `from` to `to`.
    pub(crate) fn between(&self, from: Duration, to: Duration) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| (from..to).contains(&seen.at))
    }

    /// Returns the longest wait within a time.
    pub(crate) fn wait_max(&self, from: Duration, to: Duration) -> Duration {
        self.between(from, to).map(|seen| seen.wait).max().unwrap_or_default()
    }

    /// Returns the rates of the media that arrived within a time, and of the TCP flow, Mbit/s.
    pub(crate) fn rates(&self, from: Duration, to: Duration) -> (f64, f64) {
        let rate = |of: fn(&Seen) -> usize| {
            8e-6 * self.between(from, to).map(of).sum::<usize>() as f64 / (to - from).as_secs_f64()
        };
        (rate(|seen| seen.bytes), rate(|seen| seen.tcp_bytes))
    }

    /// Returns the longest wait of `share` of the media datagrams that came within a time.
    pub(crate) fn wait_percentile(&self, share: f64, from: Duration, to: Duration) -> Duration {
        let within = self.waits.iter().filter(|(at, _)| (from..to).contains(at));
        let mut waits: Vec<_> = within.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        waits.get((waits.len() as f64 * share) as usize).copied().unwrap_or_default()
    }

    /// Returns the time that `share` of the frames captured within a time took until the last datagram came, beyond the path.
    pub(crate) fn latency(&self, share: f64, from: Duration, to: Duration) -> Duration {
        let mut times: Vec<_> = self.frames.range(from..to).map(|(_, took)| *took).collect();
        times.sort_unstable();
        times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default()
    }

    /// Returns the time at which an end runs: now, or after its stall.
    fn runs_again(&self, end: usize) -> Timestamp {
        match self.stalls[end].end(self.now.since(self.start)) {
            Some(up) if self.start <= self.now => self.start + up,
            _ => self.now,
        }
    }

    fn run_until(&mut self, end: Timestamp) {
        self.exchange();
        loop {
            let [sender, receiver] = [0, 1].map(|end| self.runs_again(end));
            let after = |at: Option<Timestamp>, up: Timestamp| at.map(|at| if up > self.now { at.max(up) } else { at });
            let next = [
                after(self.sender.poll_timeout(), sender),
                after(self.receiver.poll_timeout(), receiver),
                self.delivery(self.media.next_arrival()),
                after(self.inbox.front().map(|front| front.0), receiver),
                after(self.delivery(self.feedback.next_arrival()), sender),
                self.control.front().and_then(|front| after(Some(front.0), if front.1 { sender } else { receiver })),
                self.tcp.as_ref().and_then(Tcp::next_at),
                self.sound.as_ref().and_then(Sound::next_at),
                after(self.own.as_ref().map(Own::next_at), sender),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|&next| next <= end) else { break };
            self.now = next.max(self.now);
            self.exchange();
        }
        self.now = end;
    }

    /// Returns the delivery of a datagram that arrives at `at`.
    fn delivery(&self, at: Option<Timestamp>) -> Option<Timestamp> {
        let grain = self.grain.as_micros().max(1) as u64;
        at.map(|at| Timestamp::from_us(at.as_us().next_multiple_of(grain)))
    }

    fn exchange(&mut self) {
        let now = self.now;
        let delivers = self.delivery(Some(now)) == Some(now);
        let [sender_runs, receiver_runs] = [0, 1].map(|end| self.runs_again(end) <= now);
        while delivers && let Some(datagram) = self.media.pop(now) {
            if let Some(tcp) = &mut self.tcp
                && tcp.on_segment(&datagram, now)
            {
                continue;
            }
            if let Some(sound) = &mut self.sound
                && sound.on_packet(&datagram, now, self.start)
            {
                continue;
            }
            if let Some(own) = &mut self.own
                && own.is_of(&datagram)
            {
                own.on_arrival(&datagram, now, self.start, self.delay);
                self.inbox.push_back((now, datagram));
                continue;
            }
            let (header, _) = MediaHeader::parse(&datagram).unwrap();
            let (sent, capture) = (header.envelope.sent(), header.envelope.capture);
            let wait = now.since(sent).saturating_sub(self.delay);
            self.frames.insert(capture.since(self.start), now.since(capture).saturating_sub(self.delay));
            self.wait = self.wait.max(wait);
            self.waits.push((now.since(self.start), wait));
            self.bytes += datagram.len() + 60;
            self.inbox.push_back((now, datagram));
        }
        if receiver_runs {
            self.exchange_receiver(now);
        }
        if sender_runs {
            self.exchange_sender(now);
        }
        if let Some(sound) = &mut self.sound {
            while let Some(packet) = sound.poll(now) {
                self.media.push(packet, now);
            }
        }
        if let Some(tcp) = &mut self.tcp {
            while let Some(segment) = tcp.poll(now) {
                self.media.push(segment, now);
            }
        }
        while let Some(message) = self.sender.poll_control() {
            self.control.push_back((now + self.delay, false, message));
        }
        while let Some(message) = self.receiver.poll_control() {
            self.control.push_back((now + self.delay, true, message));
        }
    }

    fn exchange_receiver(&mut self, now: Timestamp) {
        while let Some((came, datagram)) = self.inbox.pop_front() {
            let came = if self.kernel_stamps { came } else { now };
            match &mut self.own {
                Some(own) if own.is_of(&datagram) => own.on_datagram(&datagram, self.receiver.path(), came),
                _ => drop(self.receiver.on_datagram(&datagram, came)),
            }
        }
        while let Some((_, _, message)) = self.control.pop_front_if(|front| front.0 <= now && !front.1) {
            self.receiver.on_control(message, now).unwrap();
        }
        self.receiver.handle_timeout(now);
        while let Some(event) = self.receiver.poll_event() {
            if let ReceiverEvent::Start(_) = event {
                self.receiver.ready(now);
            }
        }
        while let Some(datagram) = self.receiver.poll_datagram(now) {
            self.feedback.push(datagram, now);
        }
    }

    fn exchange_sender(&mut self, now: Timestamp) {
        let delivers = self.delivery(Some(now)) == Some(now);
        while delivers && let Some(mut datagram) = self.feedback.pop(now) {
            if let Some(tamper) = self.tamper {
                tamper(&mut datagram);
            }
            if self.silent_until <= now {
                self.sender.on_datagram(&datagram, now);
            }
        }
        while let Some((_, _, message)) = self.control.pop_front_if(|front| front.0 <= now && front.1) {
            self.sender.on_control(message, now).unwrap();
        }
        self.sender.handle_timeout(now);
        while self.sender.poll_event().is_some() {}
        if let Some(own) = &mut self.own {
            while let Some(datagram) = own.poll(self.sender.path(), now) {
                self.media.push(datagram, now);
            }
        }
        while let Some(datagram) = self.sender.poll_datagram(now) {
            self.media.push(datagram, now);
        }
    }
}
