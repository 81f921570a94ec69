//! A source and an encoder at work: their threads, their end, and the link that takes what they make.

use std::sync::Arc;
use std::sync::mpsc;

use common::config::{LinkMode, Prediction, SenderConfig, SharedConfig};
use common::path::Path;
use common::stream::video::VideoSender;
use common::stream::video::prediction::states_of;
use common::units::FrameId;
use kernels::{Encoder, OpenError, Options, Target};
use net::failure::Failure;
use net::identity::Identity;
use net::link::{LinkOptions, LiveRate, NOBODY, Waker};
use net::tls::Protocol;
use picture::frame::PixelFormat;
use picture::params::{CodecParams, Profile, StreamParams};
use shell::cli::INTRODUCE;
use shell::exit::codec_failure;
use shell::record::Switch;
use shell::sd::Pulse;
use shell::settings::{OwnSide, SoundSide};
use shell::slot::Slot;
use shell::stats::Statistics;
use shell::threads::{Ending, join, spawn};

use crate::capture::Capture;
use crate::effects::LiveEffects;
use crate::encode::{self, Coding, Company, Encode, Outlet};
use crate::gate::Gate;
use crate::link::{Given, Parts, SenderLink};
use crate::predict::StreamEncoder;
use crate::recorder::Recorder;
use crate::source::pattern::Pattern;
use crate::source::{self, FrameSource, SourceFrame, SourceInfo, SourceSpec};

/// Returns the sentence of a sender without a peer.
pub fn no_peer() -> String {
    format!(
        "no machine may receive: {INTRODUCE}; or give --peer KEY or a [[peer]] section, with the key that `receiver identity` prints there"
    )
}

/// The sentence of a sender that predicts and shall record.
const NO_RECORDING: &str = "what is sent with prediction cannot be recorded here, since each frame is coded from what has reached \
                            the receiver: record it there, or leave out [codec] prediction or [record] path";

/// A source and an encoder at work, and the link that takes what they make.
pub struct Sending {
    /// Takes coded frames to the network.
    pub link: SenderLink,
    /// The same for each of [`Start::others`].
    pub other_links: Vec<SenderLink>,
    /// The threads before it.
    pub threads: Threads,
    /// Shows that the encode thread turns. The capture thread need not: a camera may hold it for as long as it likes.
    pub pulse: Pulse,
    frame_bytes: usize,
}

/// One more receiver of what is coded, at a link of its own.
pub struct Other<'a> {
    /// Wakes the loop that turns its link.
    pub waker: &'a Waker,
    /// Place of its statistics.
    pub shared: &'a SharedConfig,
    /// See [`Start::rate`].
    pub rate: LiveRate,
    /// The sound beside the pictures, where there is any.
    pub sound: Option<SoundSide>,
}

/// Wishes of a caller that starts a sending half, besides its configuration and its source.
pub struct Start<'a> {
    /// Frames after which the stream ends.
    pub frames_max: Option<u64>,
    /// True if the source ends by itself.
    pub is_finite: bool,
    /// Wakes the loop that turns the link.
    pub waker: &'a Waker,
    /// The side of the window: small pictures of what is sent, and wishes for it.
    pub own: &'a OwnSide,
    /// The rate that the link follows, for the loop's congestion window.
    pub rate: LiveRate,
    /// True if this machine receives as well.
    pub receives: bool,
    /// Told the capture time of each frame that the network takes.
    pub given: Option<Given>,
    /// The sound beside the pictures, where there is any.
    pub sound: Option<SoundSide>,
    /// The recording of what is sent, which begins by itself where the configuration asks for it.
    pub recording: Switch,
    /// Further receivers.
    pub others: Vec<Other<'a>>,
}

impl<'a> Start<'a> {
    /// Returns what a call asks for: frames without end.
    pub fn new(config: &SenderConfig, waker: &'a Waker, own: &'a OwnSide) -> Self {
        let rate = LiveRate::new(config.rate);
        Self {
            frames_max: None,
            is_finite: false,
            waker,
            own,
            rate,
            receives: true,
            given: None,
            sound: None,
            recording: Switch::default(),
            others: Vec::new(),
        }
    }
}

/// The threads of a sender, and what tells them to end.
pub struct Threads {
    gate: Arc<Gate>,
    pictures: Slot<SourceFrame>,
    outlets: Vec<Outlet>,
    capture: Ending,
    encode: Ending,
}

impl Sending {
    /// Opens the source that `spec` names, and goes on as [`Self::start`] does. A camera that is not there is waited for, unless
    /// a number of frames is asked for.
    pub fn from_spec(config: &SenderConfig, spec: &SourceSpec, start: Start<'_>) -> Result<Self, Failure> {
        // Who asks for a number of pictures wants them now.
        let open = if start.frames_max.is_none() { source::open_or_await } else { source::open };
        let (asked, from) = (spec.clone(), config.clone());
        Self::start(config, move || open(&asked, &from), Start { is_finite: spec.is_finite(), ..start })
    }

    /// Opens the source, on its own thread, and the encoder; they wait until the link has a receiver.
    pub fn start(
        config: &SenderConfig,
        open: impl FnOnce() -> Result<Box<dyn FrameSource>, Failure> + Send + 'static,
        start: Start<'_>,
    ) -> Result<Self, Failure> {
        let Start { frames_max, is_finite, waker, own, rate, receives, given, sound, recording, others } = start;
        let shared = &config.shared;
        check(shared)?;
        let stats = Statistics::open(shared)?;
        let other_stats: Vec<_> =
            others.iter().map(|other| Statistics::open(other.shared)).collect::<Result<_, _>>()?;

        let wakers = std::iter::once(waker).chain(others.iter().map(|other| other.waker));
        let outlets: Vec<_> = wakers.map(|waker| Outlet { coded: Slot::new(), waker: waker.clone() }).collect();
        let gate = Arc::new(Gate::new(outlets.len()));
        let pictures = Slot::new();
        let (give_back, used) = mpsc::channel();
        let capture = Capture { gate: Arc::clone(&gate), pictures: pictures.clone(), used };
        let (capture, info) = capturing(capture, open)?;
        begin_recording(config, receives, &recording)?;
        let SourceInfo { size, frame_rate, colour, raster, .. } = info;
        let params = StreamParams { size, frame_rate, chroma: config.chroma, colour, raster, codec: config.codec };
        own.set_source_size(info.size);
        let options = Options::new(shared.backend, shared.device.as_deref());
        let Coding { coder, params } = coding(config, &options, params, None)?;
        let backend = Arc::new(coder.backend().clone());
        tracing::info!("{} on {}: {}", backend.kind, backend.device, backend.reason);
        let pulse = Pulse::default();
        let encode = Encode {
            coder,
            backend: Arc::clone(&backend),
            last: None,
            params,
            codec: config.codec,
            info,
            gate: Arc::clone(&gate),
            pictures: pictures.clone(),
            company: Company::new(outlets.clone()),
            used: give_back,
            handover_max: encode::HANDOVER_MAX,
            frames_max,
            has_sound: sound.is_some(),
            is_thinned: false,
            spare: encode::Spare::default(),
            pulse: pulse.clone(),
            own: own.clone(),
            effects: LiveEffects::new(own.clone(), params.size, params.chroma),
            shrinking: None,
            reopen: Box::new({
                let config = config.clone();
                move |params, last| coding(&config, &options, params, last)
            }),
        };
        let encode = spawn("encode", move || encode.run())?;
        let one_stream = frames_max.is_some() || is_finite;
        let parts = |receiver: usize, rate: LiveRate, stats, sound| {
            let share = gate.first_share(own.rate());
            let mut stream = VideoSender::new(params, share, config.protection);
            if outlets.len() > 1 {
                stream.set_shared();
            }
            gate.set_budget_bytes(receiver, stream.budget_bytes());
            rate.set(Path::first_target(share));
            Parts {
                stream,
                gate: Arc::clone(&gate),
                receiver,
                pictures: pictures.clone(),
                coded: outlets[receiver].coded.clone(),
                info,
                rate,
                backend: Arc::clone(&backend),
                stats,
                dials: shared.mode.dials(),
                one_stream,
                beside: config.beside,
                own: own.clone(),
                given: None,
                recording: Recorder::new(Switch::default(), params),
                sound,
            }
        };
        let other_links = others.into_iter().zip(other_stats).zip(1..).map(|((other, stats), receiver)| {
            let Other { rate, sound, .. } = other;
            SenderLink::new(parts(receiver, rate, stats, sound))
        });
        let other_links = other_links.collect();
        let link = SenderLink::new(Parts {
            given,
            recording: Recorder::new(recording, params),
            ..parts(0, rate, stats, sound)
        });
        // Room for what the rate may be raised to.
        let frame_bytes = config.rate_most.max(config.rate).bytes_per_frame(params.frame_rate);
        let threads = Threads { gate, pictures, outlets, capture, encode };
        Ok(Self { link, other_links, threads, pulse, frame_bytes })
    }

    /// Returns the options of the first link's loop.
    pub fn options(&self, config: &SenderConfig, protocol: Protocol) -> Result<LinkOptions, Failure> {
        self.options_of(&self.link, config, protocol)
    }

    /// Returns the options of the loop of one of the links, whose peer `config` names.
    pub fn options_of(
        &self,
        link: &SenderLink,
        config: &SenderConfig,
        protocol: Protocol,
    ) -> Result<LinkOptions, Failure> {
        let options = LinkOptions::of(&config.shared, protocol, link.rate(), self.frame_bytes)?;
        Ok(options.with_controller(config.controller))
    }
}

impl Threads {
    /// Ends the threads after the link has ended as `linked`; what went wrong first counts.
    pub fn end(self, linked: Result<(), Failure>) -> Result<(), Failure> {
        self.gate.end();
        self.pictures.close();
        self.outlets.iter().for_each(|outlet| outlet.coded.close());
        let encoded = join(self.encode);
        // A camera may hold its thread for ever; one that has not ended has nothing to report.
        let captured = if self.capture.is_finished() { join(self.capture) } else { Ok(()) };
        linked.and(captured).and(encoded)
    }
}

/// Fails at once where a daemon has nobody to send to or no key, before anything is opened.
fn check(shared: &SharedConfig) -> Result<(), Failure> {
    if shared.peers.is_empty() {
        return Err(Failure::usage(no_peer()));
    }
    if shared.mode == LinkMode::DialNobody {
        return Err(Failure::usage(NOBODY));
    }
    Ok(Identity::load(&Identity::path_of(shared)?).map(drop)?)
}

/// Starts the thread that opens a source and takes its pictures; returns what the source is.
fn capturing(
    capture: Capture,
    open: impl FnOnce() -> Result<Box<dyn FrameSource>, Failure> + Send + 'static,
) -> Result<(Ending, SourceInfo), Failure> {
    let (opened, info) = mpsc::channel();
    let thread = spawn("capture", move || capture.run(open, &opened))?;
    let info = info.recv().map_err(|_| Failure::device("the source did not open"))??;
    Ok((thread, info))
}

/// Begins the recording that is asked for; none of predicted frames, which refer to others.
fn begin_recording(config: &SenderConfig, receives: bool, recording: &Switch) -> Result<(), Failure> {
    let Some(path) = config.record.as_deref() else { return Ok(()) };
    match (config.prediction == Prediction::On, receives) {
        (true, false) => Err(Failure::usage(NO_RECORDING)),
        (true, true) => {
            tracing::warn!("{NO_RECORDING}; what is received is recorded");
            Ok(())
        }
        (false, _) => recording.begin(path, "sent"),
    }
}

/// Opens the encoder of a stream of pictures of `params`, with states or without; it goes on behind the frame `last`.
fn coding(
    config: &SenderConfig,
    options: &Options,
    params: StreamParams,
    last: Option<FrameId>,
) -> Result<Coding, Failure> {
    let profile = Profile::Predicted(states_of(params.frame_rate));
    let predicted = StreamParams { codec: CodecParams { profile, ..params.codec }, ..params };
    let bytes = config.rate.bytes_per_frame(params.frame_rate);
    let (params, only_where_worth_it) = match config.prediction {
        // A recording has no frames that refer to others.
        Prediction::Auto if config.record.is_some() => (params, false),
        Prediction::Off => (params, false),
        Prediction::On => (predicted, false),
        Prediction::Auto => {
            // A backend that was asked for and is not there ends the program, as without prediction.
            drop(encoder(options, &params, bytes)?);
            (predicted, true)
        }
    };
    let coder = StreamEncoder::with(&params, encoder(options, &params, bytes)?, last);
    let coder = if only_where_worth_it { coder.only_where_worth_it() } else { coder };
    Ok(Coding { coder: coder.in_real_time(), params })
}

/// Opens an encoder that has coded a picture, in so many bytes.
fn encoder(options: &Options, params: &StreamParams, bytes: usize) -> Result<Encoder, Failure> {
    let mut data = Vec::new();
    Pattern::new(params.size, params.frame_rate).draw(0, 0, &mut data);
    let encoder = Encoder::open_ready(params, options, (PixelFormat::I420, &data), Target::Bytes(bytes));
    encoder.map_err(|error| match error {
        OpenError::First(error) => encode::failure(&error),
        error => codec_failure(&error),
    })
}
