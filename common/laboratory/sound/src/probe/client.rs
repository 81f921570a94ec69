//! The probe's JACK client: plays a sound, and hands what it hears to another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use jack::{AsyncClient, AudioIn, AudioOut, Client, ClientOptions, Control, Port, PortFlags, ProcessScope};
use rtrb::{Consumer, Producer, RingBuffer};

use super::signal::Signal;

/// Most samples of a chunk.
const CHUNK: usize = 64;
/// Chunks that may wait: five seconds.
const WAITING: usize = 4_096;
/// Lateness of a callback from which it is counted, beyond the period.
pub(crate) const LATE: [Duration; 3] =
    [Duration::from_micros(500), Duration::from_millis(2), Duration::from_millis(10)];

/// Samples heard, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Number of the sample that was played with the first one.
    pub(crate) at: u64,
    /// Begin of its period, microseconds of the machine's clock.
    pub(crate) us: u64,
    /// The server's count of samples then.
    pub(crate) frames: u32,
    /// True for the first chunk of a period.
    pub(crate) is_first: bool,
    heard: [[f32; 2]; CHUNK],
    count: usize,
}

impl Chunk {
    /// Returns the samples.
    pub(crate) fn heard(&self) -> &[[f32; 2]] {
        &self.heard[..self.count]
    }
}

/// Counts of the callback.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Periods that JACK says were missed.
    pub(crate) xruns: AtomicU64,
    /// Callbacks that came later than [`LATE`] says.
    pub(crate) late: [AtomicU64; 3],
    /// Chunks for which there was no room.
    pub(crate) lost: AtomicU64,
}

struct Handler {
    signal: Arc<Signal>,
    position: u64,
    outputs: [Port<AudioOut>; 2],
    inputs: [Port<AudioIn>; 2],
    chunks: Producer<Chunk>,
    counts: Arc<Counts>,
    before: Option<Instant>,
}

impl jack::ProcessHandler for Handler {
    fn process(&mut self, client: &Client, scope: &ProcessScope) -> Control {
        let now = Instant::now();
        let period = Duration::from_secs_f64(f64::from(scope.n_frames()) / f64::from(client.sample_rate()));
        let late = self.before.replace(now).map_or(Duration::ZERO, |before| (now - before).saturating_sub(period));
        for (count, _) in self.counts.late.iter().zip(LATE).filter(|(_, limit)| late > *limit) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let times = scope.cycle_times().map(|times| (times.current_usecs, times.current_frames));
        let now_us = client.time();
        let (us, frames) = times.unwrap_or_else(|_| (now_us, scope.last_frame_time()));
        // JACK smooths its times over seconds, and is far off for as long after periods that were missed and came all at once.
        let us = if us.abs_diff(now_us) > period.as_micros() as u64 { now_us } else { us };
        let [left, right] = &mut self.outputs;
        let sent = left.as_mut_slice(scope).iter_mut().zip(right.as_mut_slice(scope));
        for ((left, right), number) in sent.zip(self.position..) {
            [*left, *right] = self.signal.sample(number);
        }
        let [left, right] = self.inputs.each_ref().map(|port| port.as_slice(scope));
        for (number, (left, right)) in left.chunks(CHUNK).zip(right.chunks(CHUNK)).enumerate() {
            let mut heard = [[0.0; 2]; CHUNK];
            for (sample, pair) in heard.iter_mut().zip(left.iter().zip(right)) {
                *sample = [*pair.0, *pair.1];
            }
            let at = self.position + (number * CHUNK) as u64;
            let chunk = Chunk { at, us, frames, is_first: number == 0, heard, count: left.len() };
            if self.chunks.push(chunk).is_err() {
                self.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.position += u64::from(scope.n_frames());
        Control::Continue
    }
}

struct Notes(Arc<Counts>);

impl jack::NotificationHandler for Notes {
    fn xrun(&mut self, _: &Client) -> Control {
        self.0.xruns.fetch_add(1, Ordering::Relaxed);
        Control::Continue
    }
}

/// A running client.
pub(crate) struct ProbeClient {
    active: AsyncClient<Notes, Handler>,
    /// The sound that it hears.
    pub(crate) chunks: Consumer<Chunk>,
    pub(crate) counts: Arc<Counts>,
}

impl ProbeClient {
    /// Opens a client of this name on the server that `JACK_DEFAULT_SERVER` names, which must run.
    pub(crate) fn open(name: &str, signal: Arc<Signal>) -> Result<Self> {
        jack::set_logger(jack::LoggerType::None);
        let (client, _) = Client::new(name, ClientOptions::NO_START_SERVER).context("there is no JACK server")?;
        let (producer, chunks) = RingBuffer::new(WAITING);
        let counts = Arc::new(Counts::default());
        let handler = Handler {
            signal,
            position: 0,
            outputs: [
                client.register_port("out_1", AudioOut::default())?,
                client.register_port("out_2", AudioOut::default())?,
            ],
            inputs: [
                client.register_port("in_1", AudioIn::default())?,
                client.register_port("in_2", AudioIn::default())?,
            ],
            chunks: producer,
            counts: Arc::clone(&counts),
            before: None,
        };
        let active = client.activate_async(Notes(Arc::clone(&counts)), handler)?;
        Ok(Self { active, chunks, counts })
    }

    /// Returns microseconds since 1970 less those of the server's clock.
    pub(crate) fn unix_us(&self) -> f64 {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        unix.as_micros() as f64 - self.active.as_client().time() as f64
    }

    /// Returns the samples of a period, and those a second.
    pub(crate) fn form(&self) -> [u32; 2] {
        let client = self.active.as_client();
        [client.buffer_size(), client.sample_rate()]
    }

    /// Connects what it plays with the inputs that `to` describes, and the outputs that `from` describes with what it hears:
    /// regular expressions, at most two ports of each. Returns true if everything asked for is connected.
    pub(crate) fn connect(&self, to: Option<&str>, from: Option<&str>) -> bool {
        let client = self.active.as_client();
        let ports = |pattern: &str, flags| {
            let mut ports = client.ports(Some(pattern), None, flags);
            ports.sort();
            ports.truncate(2);
            ports
        };
        let own = |port: &str| format!("{}:{port}", client.name());
        let join = |source: &str, sink: &str| {
            let is_joined =
                || client.port_by_name(source).is_some_and(|port| port.is_connected_to(sink).unwrap_or(false));
            is_joined() || client.connect_ports_by_name(source, sink).is_ok()
        };
        let sinks = to.map(|pattern| ports(pattern, PortFlags::IS_INPUT));
        let sources = from.map(|pattern| ports(pattern, PortFlags::IS_OUTPUT));
        let sent = sinks.is_none_or(|sinks| {
            !sinks.is_empty() && sinks.iter().zip(["out_1", "out_2"]).all(|(sink, port)| join(&own(port), sink))
        });
        let heard = sources.is_none_or(|sources| {
            !sources.is_empty() && sources.iter().zip(["in_1", "in_2"]).all(|(source, port)| join(source, &own(port)))
        });
        sent && heard
    }
}
