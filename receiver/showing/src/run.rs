//! The threads of a receiver, and their end.

use std::sync::{Arc, Mutex, mpsc};

use common::config::ReceiverConfig;
use common::stats::ReceiverReport;
use common::stream::video::ReceiverOptions;
use kernels::Options;
use net::clock;
use net::failure::Failure;
use net::link::{HangUp, Waker};
use shell::record::Switch;
use shell::sd::{Pulse, Watchdog};
use shell::settings::{LatencyLimit, OwnSide, TalkSide};
use shell::signals;
use shell::slot::Slot;
use shell::stats::Statistics;
use shell::threads::{Ending, join, spawn};

use crate::absence::Absence;
use crate::decode::{self, DecodeStage};
use crate::handover::{Command, End, Job, LinkView};
use crate::link::ReceiverLink;
use crate::picture_log::PictureLog;
use crate::present::{self, Presenter, SeenHook, Sinks};
use crate::sink::{self, Sink, SinkError, SinkSpec, WindowParts};
use crate::sound::{Audible, Step};

/// Coded frames that wait for the decoder, at most: those of half a second, which a pause of the line holds back and then
/// delivers at once.
const JOBS_DEPTH: usize = 16;
const _: () = assert!(
    JOBS_DEPTH <= picture::params::STATES_MAX as usize,
    "what waits can be predicted from states that are kept"
);

/// Access to the loop that turns a receiver's link.
pub struct Network {
    /// Wakes it.
    pub waker: Waker,
    /// Ends it where it has more to do than to receive.
    pub hang_up: Option<HangUp>,
    /// Threads besides the receiver's that must turn.
    pub pulses: Vec<Pulse>,
    /// The other direction, where this machine sends as well.
    pub own: Option<OwnSide>,
    /// Time for which missing parts of a frame are waited for.
    pub latency_limit: LatencyLimit,
    /// Those who are told of each picture once it is shown.
    pub seen: Option<SeenHook>,
    /// The sound that is heard, where there is any.
    pub sound: Option<Audible>,
    /// The talk of the two people, in a call.
    pub talk: Option<TalkSide>,
    /// The link's state, for whoever looks at it from outside.
    pub view: Arc<Mutex<LinkView>>,
    /// The recording of what comes, which begins by itself where the configuration asks for it.
    pub recording: Switch,
    /// True if the process ends with it, and not with others that it is one of.
    pub is_last: bool,
}

/// Those who show what comes.
pub enum Shows<'a> {
    /// Sinks that are opened as these say.
    Specs(&'a [SinkSpec]),
    /// Sinks of the caller's own, for the eye, opened on the thread that calls.
    Own(OpenSinks<'a>),
}

/// Opens sinks of the caller's own.
pub type OpenSinks<'a> = Box<dyn FnOnce(WindowParts) -> Result<Vec<Box<dyn Sink>>, SinkError> + 'a>;

/// Receives until `frames` pictures are shown, a window is closed or the process is asked to stop; if `frames` are
/// asked for or a sink records, also until the sender has finished. The link is turned by `turn`, on a thread of its own; the
/// connection is its matter. Call it on the main thread. Returns the last statistics.
pub fn run_over(
    network: Network,
    config: &ReceiverConfig,
    shows: Shows<'_>,
    frames: Option<u64>,
    turn: impl FnOnce(ReceiverLink) -> Result<(), Failure> + Send + 'static,
) -> Result<ReceiverReport, Failure> {
    let shared = &config.shared;
    let Network { waker, hang_up, mut pulses, own, latency_limit, seen, sound, talk, view, recording, is_last } =
        network;
    let (pulse, decode_pulse) = (Pulse::default(), Pulse::default());
    pulses.extend([pulse.clone(), decode_pulse.clone()]);
    let compute = Options::new(shared.backend, shared.device.as_deref());
    decode::probe(&compute)?;
    let is_file = |spec: &SinkSpec| spec.file().is_some();
    let (records, has_file) = match &shows {
        Shows::Specs(specs) => (specs.iter().all(is_file), specs.iter().any(is_file)),
        Shows::Own(_) => (false, false),
    };
    let one_stream = frames.is_some() || has_file;
    let absence = Absence::new(&shared.peers, &shared.mode, own.is_some(), clock::now());
    let parts = WindowParts {
        backend: config.window,
        status_line: config.status_line,
        snapshot: config.snapshot,
        own,
        latency_limit: latency_limit.clone(),
        sound: sound.clone(),
    };
    let sinks = open_sinks(shows, parts, records)?;
    let mut stats = Statistics::open(shared)?;
    let mut log = PictureLog::create(config.pictures_file.as_deref())?;
    config.record.as_deref().map_or(Ok(()), |path| recording.begin(path, "received"))?;
    let (jobs, pictures) = (Slot::with_depth(JOBS_DEPTH), Slot::new());
    let (commands, command_queue) = mpsc::channel();
    let (shown, shown_queue) = mpsc::channel();
    let stream =
        ReceiverOptions { latency_max: config.latency_max, drops_backlog: !records, size_max: Some(config.size_max) };
    let dials = shared.mode.dials();
    let (switch, seen_by) = (recording.clone(), Arc::clone(&view));
    let mut link = ReceiverLink::new(stream, dials, one_stream, jobs.clone(), command_queue, seen_by, pulse, switch);
    link.set_latency_limit(latency_limit);
    let network = turning(link, jobs.clone(), turn)?;
    let tell = {
        let (commands, waker) = (commands.clone(), waker.clone());
        move |command| {
            if commands.send(command).is_ok() {
                waker.wake();
            }
        }
    };
    let stage = DecodeStage {
        jobs,
        pictures: pictures.clone(),
        records,
        shown: shown_queue,
        tell: tell.clone(),
        now: clock::now,
        pulse: decode_pulse,
        recording: recording.clone(),
    };
    let decoding = spawn("decode", move || decode::run(&compute, &stage))?;
    let mut watchdog = Watchdog::ready(pulses);
    let end = |end| match (end, &hang_up) {
        (End::Stop, Some(call)) => call.hang_up(),
        _ => tell(Command::End(end)),
    };
    let (link, shown) = (&view, &shown);
    let presenter = Presenter {
        pictures: &pictures,
        shown,
        link,
        end: &end,
        frames,
        records,
        absence,
        seen,
        sound: sound.map(Step::new),
        talk,
    };
    let presented = present::run(presenter, sinks, &mut stats, &mut log, &mut watchdog);
    if is_last {
        signals::end_within(signals::END_MAX);
    }
    // After a failure here nobody takes pictures any more, and the decode thread may be waiting for that.
    pictures.close();
    // The network thread ends by itself when the stream has; after a failure elsewhere it must be told.
    end(End::Stop);
    let decoded = join(decoding);
    let linked = join(network);
    recording.finish();
    linked.and(decoded).and(presented)
}

/// Starts the thread that turns the link; the decoder has no frames to come once it has ended.
fn turning(
    link: ReceiverLink,
    jobs: Slot<Job>,
    turn: impl FnOnce(ReceiverLink) -> Result<(), Failure> + Send + 'static,
) -> Result<Ending, Failure> {
    spawn("network", move || {
        let _closing = jobs.closing();
        turn(link)
    })
}

/// Opens the sinks. `records`: whether all are files.
fn open_sinks(shows: Shows<'_>, parts: WindowParts, records: bool) -> Result<Sinks, Failure> {
    let opened = match shows {
        Shows::Specs(specs) => Sinks::open(specs, |spec| sink::open(spec, &parts, records)),
        Shows::Own(open) => open(parts).map(Sinks::of),
    };
    opened.map_err(|error| match error {
        // A path is the user's choice, a display the machine's.
        SinkError::File { .. } | SinkError::WithoutWindow => Failure::usage(error),
        _ => Failure::device(error),
    })
}
