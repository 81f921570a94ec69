//! JACK, and PipeWire as one: a client with both directions, so that exactly one period lies between capture and playback. The one
//! place of `jack`.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jack::{
    AsyncClient, AudioIn, AudioOut, Client, ClientOptions, ClientStatus, Control, Error, LatencyType, LoggerType,
    NotificationHandler, Port, PortFlags, PortId, ProcessHandler, ProcessScope,
};
use sound::RATE_HZ;
use sound::format::Channels;

use crate::answer::{Calls, answer};
use crate::error::CardError;
use crate::halves::{Halves, Wanted};
use crate::info::{Backend, CardInfo, Shared};
use crate::jack_server::{self, SHARED_MEMORY};
use crate::listed::{Listed, Offer};
use crate::period::{Capturing, Playing, monotonic_us};
use crate::server_clock::ServerClock;
use crate::smoothed::{Lost, Smoothed};

/// Name of the client; the server adds a number to a second one's.
const CLIENT: &str = "Duet";
/// JACK's type of sound ports.
const SOUND: &str = "32 bit float mono audio";

/// An active client. Each call of its server has a limit of time.
pub(crate) struct JackClient(Option<Arc<Tied>>);

/// An active client and its ties.
struct Tied {
    active: AsyncClient<Notified, Process>,
    ties: Ties,
}

/// A client whose ports are registered, and what its card is.
struct Registered {
    client: Client,
    ties: Ties,
    info: CardInfo,
    inputs: Vec<Port<AudioIn>>,
    outputs: Vec<Port<AudioOut>>,
}

/// Opens a client at the server and starts it, tied with the ports of the client `name`, or of the first sound card.
pub(crate) fn open(
    name: Option<&str>,
    wanted: Wanted,
    make: &mut dyn FnMut(&CardInfo) -> Halves,
) -> Result<(CardInfo, Arc<Shared>, JackClient), CardError> {
    let name = name.map(str::to_owned);
    let Registered { client, ties, info, inputs, outputs } = connected(move |client| register(client, name, wanted))?;
    let shared = Arc::new(Shared::default());
    let halves = make(&info);
    let process = Process {
        inputs,
        outputs,
        capturing: halves.capture.zip(wanted.capture).map(|(half, channels)| Capturing::new(half, channels)),
        playing: halves.playback.zip(wanted.playback).map(|(half, channels)| Playing::new(half, channels)),
        next_frame: None,
        clock: ServerClock::default(),
        smoothed: Smoothed::default(),
        shared: shared.clone(),
    };
    let notified = Notified(shared.clone());
    let activate = move || {
        let tied = Tied { active: client.activate_async(notified, process).map_err(refused)?, ties };
        tied.connect();
        Ok(JackClient(Some(Arc::new(tied))))
    };
    let client = answer(ANSWERS_WITHIN, activate).ok_or(CardError::JackHangs)??;
    Ok((info, shared, client))
}

/// Registers ports to be tied with those of the client `name`, or of the first sound card.
fn register(client: Client, name: Option<String>, wanted: Wanted) -> Result<Registered, CardError> {
    if client.sample_rate() != RATE_HZ {
        return Err(another_rate(client.sample_rate()));
    }
    let ties = Ties { name, wanted };
    let sources = ties.theirs(&client, PortFlags::IS_OUTPUT);
    let drains = ties.theirs(&client, PortFlags::IS_INPUT);
    if let (Some(name), true, true) = (&ties.name, sources.is_empty(), drains.is_empty()) {
        return Err(CardError::NoJackClient { name: name.clone(), there: there(&client) });
    }
    let period_frames = period(&client, wanted.frames);
    let info = CardInfo {
        backend: Backend::Jack,
        name: match (&ties.name, sources.first().or(drains.first())) {
            (Some(name), _) => format!("jack:{name}"),
            (None, Some(port)) => format!("jack:{}", client_of(port)),
            (None, None) => "jack".to_owned(),
        },
        rate_hz: client.sample_rate(),
        period_frames,
        capture: wanted.capture,
        playback: wanted.playback,
        input_latency_frames: latency(&client, &sources, LatencyType::Capture),
        output_latency_frames: latency(&client, &drains, LatencyType::Playback),
    };
    let inputs = names(&IN, wanted.capture).iter().map(|name| client.register_port(name, AudioIn::default()));
    let inputs = inputs.collect::<Result<_, _>>().map_err(refused)?;
    let outputs = names(&OUT, wanted.playback).iter().map(|name| client.register_port(name, AudioOut::default()));
    let outputs = outputs.collect::<Result<_, _>>().map_err(refused)?;
    Ok(Registered { client, ties, info, inputs, outputs })
}

/// Room that libjack's registry of servers and a client's part take in shared memory.
const SHARED_MEMORY_BYTES: u64 = 1 << 20;

/// libjack waits for ever for a server that is stopped, at times for one that ends, and for a lock in its registry that a killed program
/// has left.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
static OPENING: Calls = Calls::new();

/// Opens a client at the server and returns what `call` makes of it, within a limit of time.
fn connected<T: Send + 'static>(
    call: impl FnOnce(Client) -> Result<T, CardError> + Send + 'static,
) -> Result<T, CardError> {
    // The library must be there before its log can be silenced, and its log must be silent before it says something.
    if jack::jack_sys::library().is_err() {
        return Err(CardError::NoJackLibrary);
    }
    jack::set_logger(LoggerType::None);
    // Where the folder takes nothing, libjack's first access to its registry there is a SIGBUS.
    if rustix::fs::statvfs(SHARED_MEMORY).is_ok_and(|folder| folder.f_bavail * folder.f_frsize < SHARED_MEMORY_BYTES) {
        return Err(CardError::NoSharedMemory);
    }
    OPENING.answer(ANSWERS_WITHIN, || connect().and_then(call)).ok_or(CardError::JackHangs)?
}

fn connect() -> Result<Client, CardError> {
    // PipeWire's library, and that of JACK 1, look for their servers elsewhere.
    if version().starts_with(JACK_2) && !jack_server::answers() {
        return Err(CardError::NoJackServer);
    }
    // Never starts a server: that is the user's.
    match Client::new(CLIENT, ClientOptions::NO_START_SERVER) {
        Ok((client, _)) => Ok(client),
        Err(Error::ClientError(status)) if status.contains(ClientStatus::SERVER_FAILED) => Err(CardError::NoJackServer),
        Err(Error::LibraryError(_)) => Err(CardError::NoJackLibrary),
        Err(error) => Err(refused(error)),
    }
}

/// Environment of a user who has told PipeWire a period.
const TOLD: [&str; 2] = ["PIPEWIRE_LATENCY", "PIPEWIRE_QUANTUM"];

/// Returns the frames of a period. PipeWire has 1024 unless somebody asks for fewer, and is asked; in JACK's own server all programs have
/// the period that its user has chosen.
fn period(client: &Client, wanted: u32) -> u32 {
    let had = client.buffer_size();
    let may_ask = had > wanted && is_pipewire() && TOLD.iter().all(|name| std::env::var_os(name).is_none());
    // What it does not grant is seen in the periods that come.
    if may_ask && client.set_buffer_size(wanted).is_ok() { wanted } else { had }
}

/// Beginning of the version of JACK 2's library.
const JACK_2: &str = "1.9.";

/// Returns true if libjack is PipeWire's, which says so in its version.
fn is_pipewire() -> bool {
    version().contains("PipeWire")
}

/// Returns libjack's version; nothing where there is none.
fn version() -> String {
    let Ok(library) = jack::jack_sys::library() else { return String::new() };
    type Version = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the function has this type in both libraries, and returns a text that stays.
    let version =
        unsafe { library.get::<Version>(b"jack_get_version_string\0").ok().map(|version| CStr::from_ptr(version())) };
    version.map_or_else(String::new, |version| version.to_string_lossy().into_owned())
}

fn refused(error: Error) -> CardError {
    CardError::Jack(error.to_string())
}

const IN: [&str; 2] = ["in_1", "in_2"];
const OUT: [&str; 2] = ["out_1", "out_2"];

fn names(all: &'static [&'static str; 2], channels: Option<Channels>) -> &'static [&'static str] {
    &all[..channels.map_or(0, Channels::count)]
}

fn client_of(port: &str) -> &str {
    // A client's name may hold colons, and a port's hardly.
    port.rsplit_once(':').map_or(port, |(client, _)| client)
}

/// Returns which clients have sound ports, as half a sentence.
fn there(client: &Client) -> String {
    let mut names: Vec<_> = client.ports(None, Some(SOUND), PortFlags::empty());
    names.iter_mut().for_each(|port| *port = client_of(port).to_owned());
    names.sort();
    names.dedup();
    if names.is_empty() { "is none".to_owned() } else { format!("are {}", names.join(", ")) }
}

fn latency(client: &Client, ports: &[String], direction: LatencyType) -> u32 {
    let port = ports.first().and_then(|name| client.port_by_name(name));
    port.map_or(0, |port| port.get_latency_range(direction).1)
}

/// Returns the clients of the server that have a card's ports.
pub(crate) fn list() -> Vec<Listed> {
    connected(|client| Ok(listed(&client))).unwrap_or_default()
}

fn listed(client: &Client) -> Vec<Listed> {
    let of = |flags: PortFlags| client.ports(None, Some(SOUND), flags | PortFlags::IS_PHYSICAL);
    let (sources, drains) = (of(PortFlags::IS_OUTPUT), of(PortFlags::IS_INPUT));
    let mut names: Vec<_> = sources.iter().chain(&drains).map(|port| client_of(port)).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let (rate_hz, frames) = (client.sample_rate(), client.buffer_size());
    let offer = |ports: &[String], name: &str| {
        let channels = ports.iter().filter(|port| client_of(port) == name).count() as u16;
        let frames = Some((frames, frames));
        (channels > 0).then_some(Offer { channels, rates_hz: (rate_hz, rate_hz), frames })
    };
    let listed = |name: &str| Listed {
        backend: Backend::Jack,
        name: format!("jack:{name}"),
        description: String::new(),
        capture: offer(&sources, name),
        playback: offer(&drains, name),
        problem: (rate_hz != RATE_HZ).then(|| another_rate(rate_hz).to_string()),
    };
    names.into_iter().map(listed).collect()
}

fn another_rate(rate_hz: u32) -> CardError {
    let remedy = "start it with `-r 48000`, or set PipeWire's `default.clock.rate = 48000`";
    CardError::Rate { what: "the JACK server".to_owned(), rate_hz, remedy }
}

/// The ties wanted.
struct Ties {
    name: Option<String>,
    wanted: Wanted,
}

impl Ties {
    /// Returns the ports that give (`IS_OUTPUT`) or take sound: those of the client asked for, or of the first card.
    fn theirs(&self, client: &Client, direction: PortFlags) -> Vec<String> {
        let flags = if self.name.is_some() { direction } else { direction | PortFlags::IS_PHYSICAL };
        let mut ports = client.ports(None, Some(SOUND), flags);
        let name = self.name.clone().or_else(|| ports.first().map(|port| client_of(port).to_owned()));
        ports.retain(|port| Some(client_of(port)) == name.as_deref());
        ports
    }
}

impl JackClient {
    /// Ties own ports that are tied with nothing. Returns false if the server does not answer.
    pub(crate) fn connect(&self) -> bool {
        self.answers(Tied::connect)
    }

    /// Ties own outputs with own inputs, each with its like.
    pub(crate) fn tie_back(&self) {
        self.answers(Tied::tie_back);
    }

    fn answers(&self, call: fn(&Tied)) -> bool {
        let tied = self.0.clone();
        answer(ANSWERS_WITHIN, move || tied.iter().for_each(|tied| call(tied))).is_some()
    }
}

impl Drop for JackClient {
    fn drop(&mut self) {
        let tied = self.0.take();
        // A client whose server does not answer is left behind, and closes when it does.
        let _ = answer(ANSWERS_WITHIN, || drop(tied));
    }
}

impl Tied {
    /// A single microphone is heard on both channels; one channel is played on two sides.
    fn connect(&self) {
        let client = self.active.as_client();
        let (sources, drains) =
            (self.ties.theirs(client, PortFlags::IS_OUTPUT), self.ties.theirs(client, PortFlags::IS_INPUT));
        let own = |name: &str| format!("{}:{name}", client.name());
        let is_free = |name: &str| {
            client.port_by_name(name).is_some_and(|port| port.connected_count().is_ok_and(|count| count == 0))
        };
        // A server that refuses a tie leaves it to the user, whose patch bay shows what is free.
        for (index, name) in names(&IN, self.ties.wanted.capture).iter().map(|name| own(name)).enumerate() {
            if let (true, Some(source)) = (is_free(&name), sources.get(index).or(sources.last())) {
                let _ = client.connect_ports_by_name(source, &name);
            }
        }
        let playing = names(&OUT, self.ties.wanted.playback);
        for (index, name) in playing.iter().map(|name| own(name)).enumerate() {
            if !is_free(&name) {
                continue;
            }
            let to = match playing.len() {
                1 => drains.get(..drains.len().min(2)),
                _ => drains.get(index).or(drains.last()).map(std::slice::from_ref),
            };
            for drain in to.unwrap_or_default() {
                let _ = client.connect_ports_by_name(&name, drain);
            }
        }
    }

    fn tie_back(&self) {
        let client = self.active.as_client();
        let wanted = self.ties.wanted;
        for (from, to) in names(&OUT, wanted.playback).iter().zip(names(&IN, wanted.capture)) {
            let own = |name: &str| format!("{}:{name}", client.name());
            let _ = client.connect_ports_by_name(&own(from), &own(to));
        }
    }
}

struct Notified(Arc<Shared>);

impl NotificationHandler for Notified {
    // SAFETY: an atomic is set, which a signal handler may do.
    unsafe fn shutdown(&mut self, _status: ClientStatus, _reason: &str) {
        self.0.gone.store(true, Ordering::Release);
    }

    fn port_registration(&mut self, _client: &Client, _port: PortId, _is_registered: bool) {
        self.0.ports_changed.store(true, Ordering::Release);
    }

    fn xrun(&mut self, _client: &Client) -> Control {
        self.0.xruns.fetch_add(1, Ordering::Relaxed);
        Control::Continue
    }
}

struct Process {
    inputs: Vec<Port<AudioIn>>,
    outputs: Vec<Port<AudioOut>>,
    capturing: Option<Capturing>,
    playing: Option<Playing>,
    /// Frame at which the server's next cycle should begin.
    next_frame: Option<u32>,
    clock: ServerClock,
    smoothed: Smoothed,
    shared: Arc<Shared>,
}

impl ProcessHandler for Process {
    fn process(&mut self, client: &Client, scope: &ProcessScope) -> Control {
        let frames = scope.n_frames() as usize;
        let (before_us, server_us, after_us) = (monotonic_us(), client.time(), monotonic_us());
        self.clock.read(before_us, server_us, after_us);
        let (frame, us) = match scope.cycle_times() {
            Ok(times) => (times.current_frames, times.current_usecs),
            Err(_) => (scope.last_frame_time(), server_us),
        };
        let lost = match self.next_frame.map_or(0, |next| frame.wrapping_sub(next)) {
            0 => Lost::Nothing,
            lost => Lost::Counted(lost.into()),
        };
        self.next_frame = Some(frame.wrapping_add(scope.n_frames()));
        let cycle = self.smoothed.next(self.clock.ours(us), frames, lost);
        let mut inputs: [&[f32]; 2] = [&[]; 2];
        inputs.iter_mut().zip(&self.inputs).for_each(|(to, port)| *to = port.as_slice(scope));
        let mut outputs: [&mut [f32]; 2] = [&mut [], &mut []];
        outputs.iter_mut().zip(&mut self.outputs).for_each(|(to, port)| *to = port.as_mut_slice(scope));
        if let Some(capturing) = &mut self.capturing {
            capturing.serve(frames, cycle, |frame, channel| inputs[channel][frame]);
        }
        match &mut self.playing {
            Some(playing) => playing.serve(frames, cycle, |frame, samples| {
                outputs.iter_mut().zip(samples).for_each(|(plane, &sample)| plane[frame] = sample);
            }),
            None => outputs.iter_mut().for_each(|plane| plane.fill(0.0)),
        }
        self.shared.period_frames.store(scope.n_frames(), Ordering::Relaxed);
        self.shared.captured.fetch_add(1, Ordering::Relaxed);
        self.shared.played.fetch_add(1, Ordering::Relaxed);
        Control::Continue
    }
}
