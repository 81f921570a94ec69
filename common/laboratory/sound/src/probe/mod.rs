//! A JACK client that sends a sound into one end and finds it at the other.
//!
//! ```text
//! signal ─▶ client ─▶ JACK ─▶ the program ─▶ JACK ─▶ client ─▶ find (counted), follow (table) or onsets (clap) ─▶ a report
//! ```

mod client;
mod counted;
mod find;
mod follow;
mod heard;
mod report;
mod signal;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use self::client::{Chunk, ProbeClient};
use self::find::Finder;
use self::follow::Follower;
pub(crate) use self::heard::HeardFigures;
#[cfg(test)]
pub(crate) use self::heard::Runs;
use self::report::Clock;
pub(crate) use self::report::Report;
pub(crate) use self::signal::SMOOTH;
use self::signal::Signal;

/// Longest that ports may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at what was heard, and at the connections.
const LOOK: Duration = Duration::from_millis(20);
/// Time without a callback after which the server has gone.
const GONE: Duration = Duration::from_secs(2);
/// Loudness from which a clap is heard, and samples of quiet before it.
const ONSET: (f32, u64) = (0.1, 4_800);

/// Work of the probe.
#[derive(Debug, Args)]
pub(crate) struct ProbeOptions {
    /// Name of the JACK client
    #[arg(long, default_value = "probe")]
    name: String,
    /// The sound sent: counted, smooth, sweep, wav:FILE, clap or silence
    #[arg(long, default_value = "counted")]
    signal: String,
    /// Inputs to which it is sent, a regular expression
    #[arg(long)]
    to: Option<String>,
    /// Outputs that are heard, likewise
    #[arg(long)]
    from: Option<String>,
    /// Length, from the time on at which all are connected
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Counts the length from the start, and connects whatever comes
    #[arg(long)]
    anyway: bool,
    /// Number of the first sample heard: more than those sent so far
    #[arg(long, default_value_t = 0)]
    listen_first: u64,
    /// File of the report
    #[arg(long)]
    report: PathBuf,
}

/// Listeners, by what is sent.
enum Listener {
    Finder(Box<Finder>),
    Follower(Box<Follower>),
    /// Times of claps heard, us, and the number of the last loud sample.
    Onsets(Vec<f64>, Option<u64>),
}

impl Listener {
    fn new(signal: &Signal) -> Self {
        match signal {
            Signal::Counted => Self::Finder(Box::default()),
            Signal::Table(table) => Self::Follower(Box::new(Follower::new(table.clone()))),
            Signal::Clap | Signal::Silence => Self::Onsets(Vec::new(), None),
        }
    }

    fn take(&mut self, chunk: &Chunk, us_a_sample: f64, into_period: u64) {
        for (offset, &heard) in (0..).zip(chunk.heard()) {
            let at = chunk.at + offset;
            match self {
                Self::Finder(finder) => finder.take(at, heard),
                Self::Follower(follower) => follower.take(at, heard),
                Self::Onsets(onsets, last) if heard[0].abs() > ONSET.0 => {
                    if last.is_none_or(|last| at - last > ONSET.1) {
                        onsets.push(chunk.us as f64 + (into_period + offset) as f64 * us_a_sample);
                    }
                    *last = Some(at);
                }
                Self::Onsets(..) => {}
            }
        }
    }
}

/// Runs the probe and writes its report.
pub(crate) fn run(options: &ProbeOptions) -> Result<()> {
    let signal = Arc::new(Signal::parse(&options.signal)?);
    let mut listener = Listener::new(&signal);
    let mut client = ProbeClient::open(&options.name, Arc::clone(&signal))?;
    let [period, rate] = client.form();
    let us_a_sample = 1e6 / f64::from(rate);
    let length = Duration::from_secs_f64(options.seconds);
    let (began, mut connected, mut last) = (Instant::now(), None, Instant::now());
    let (mut clock, mut samples, mut period_at, mut is_gone) = (Clock::default(), 0, 0, false);
    let mut claps = Vec::new();
    loop {
        if client.connect(options.to.as_deref(), options.from.as_deref()) && connected.is_none() {
            connected = Some((Instant::now(), samples));
        }
        while let Ok(mut chunk) = client.chunks.pop() {
            last = Instant::now();
            chunk.at += options.listen_first;
            if chunk.is_first {
                clock.note(chunk.at, chunk.us, chunk.frames);
                period_at = chunk.at;
            }
            if matches!(*signal, Signal::Clap) {
                let begins = (chunk.at..).zip(chunk.heard()).map(|(at, _)| at).filter(|at| at.is_multiple_of(48_000));
                claps.extend(begins.map(|at| chunk.us as f64 + (at - period_at) as f64 * us_a_sample));
            }
            listener.take(&chunk, us_a_sample, chunk.at - period_at);
            samples = chunk.at + chunk.heard().len() as u64;
        }
        let counted = if options.anyway { Some(began) } else { connected.map(|connected| connected.0) };
        if counted.is_some_and(|from| from.elapsed() >= length) {
            break;
        }
        if counted.is_none() && began.elapsed() > PATIENCE {
            bail!("the ports {:?} and {:?} are not there", options.to, options.from);
        }
        if last.elapsed() > GONE {
            is_gone = true;
            break;
        }
        std::thread::sleep(LOOK);
    }
    let counts = &client.counts;
    let mut report = Report {
        period,
        rate,
        samples,
        connected: connected.map(|connected| connected.1),
        is_gone,
        xruns: counts.xruns.load(Ordering::Relaxed),
        late: counts.late.each_ref().map(|count| count.load(Ordering::Relaxed)),
        lost: counts.lost.load(Ordering::Relaxed),
        clock,
        unix_us: client.unix_us(),
        claps_sent: claps,
        ..Report::default()
    };
    match listener {
        Listener::Finder(finder) => (report.runs, report.exact) = finder.end(),
        Listener::Follower(follower) => {
            let (runs, exact, snr_db) = follower.end();
            (report.runs, report.exact, report.snr_db) = (runs, exact, Some(snr_db));
        }
        Listener::Onsets(onsets, _) => report.claps_heard = onsets,
    }
    report.write(&options.report)
}
