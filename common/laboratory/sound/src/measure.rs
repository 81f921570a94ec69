//! One program on one line: the sound that is sent into one end and heard at the other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::netsim::Scenario;
use faults::daemons::Daemon;
use faults::relay::Relay;

use crate::conditions::Condition;
use crate::probe::{HeardFigures, Report};
use crate::programs::{Program, Running};
use crate::stage::{Card, RATE, Stage, line};

/// The first second after the connections is not counted.
pub(crate) const SKIPPED: u64 = 48_000;
/// Time that a run may take beyond that measured.
const SLACK: Duration = Duration::from_secs(60);
/// Changes of the delay up to which resampling may move it, samples.
pub(crate) const WANDER: u32 = 16;

/// Times of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Time that a program has to find its settings.
    pub(crate) settle: Duration,
    /// Time that counts.
    pub(crate) length: Duration,
    pub(crate) seed: u64,
}

/// Figures of a run.
pub(crate) struct Figures {
    pub(crate) heard: HeardFigures,
    /// Delay of the line, samples.
    pub(crate) wire: f64,
    /// Share of the samples that are those sent in every bit.
    pub(crate) exact: f64,
    pub(crate) snr_db: Option<f64>,
    /// Sent into the line, bits a second; not a number where there is none.
    pub(crate) rate: f64,
    /// Processor time of the end that sends and the one that gives, of a core.
    pub(crate) processor: [f64; 2],
    pub(crate) xruns: u64,
    pub(crate) late: [u64; 3],
    /// Mean number of programs that wanted a processor at the end.
    pub(crate) load: f64,
}

/// Measures a program on a line, with its usual sound or this one.
pub(crate) fn measure(
    program: &Program,
    signal: Option<&str>,
    condition: &Condition,
    card: Card,
    times: Times,
    folder: &Path,
) -> Result<Figures> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let stage = Stage::start(folder, card)?;
    let ways = condition.ways(times.seed, times.settle + times.length + SLACK);
    let mut running = program.start(&stage, &|target| begin(&[target], condition.delay(), ways.clone()))?;
    std::thread::sleep(times.settle);
    let (figures, from) = hear(&stage, signal.unwrap_or(program.signal()), &mut running, times.length)?;
    let wire = condition.delay().as_secs_f64() * f64::from(RATE);
    let rate = running.relay.take().map_or(f64::NAN, |relay| {
        let before = from.saturating_duration_since(relay.began());
        mean(&relay.stop().rates(before, times.length))
    });
    Ok(Figures { wire: if rate.is_nan() { 0.0 } else { wire }, rate, ..figures })
}

/// Starts a line to these targets.
pub(crate) fn begin(targets: &[std::net::SocketAddr], delay: Duration, ways: [Scenario; 2]) -> Result<Relay> {
    let relay = line(targets, delay)?;
    let [there, back] = ways;
    relay.begin(there, back);
    Ok(relay)
}

/// Hears for so long what a running program makes of a sound; returns the figures, and when that began.
pub(crate) fn hear(stage: &Stage, signal: &str, running: &mut Running, length: Duration) -> Result<(Figures, Instant)> {
    let (from, before) = (Instant::now(), running.ends.iter().map(Daemon::time).collect::<Vec<_>>());
    let report = stage.file("probe.json");
    let mut probe = probe(stage, &report);
    // The skipped second comes first.
    probe.args(["--signal", signal, "--to", &running.to, "--from", &running.from]);
    probe.args(["--seconds", &(length + Duration::from_secs(1)).as_secs_f64().to_string()]);
    let mut probe = stage.run("probe", &mut probe)?;
    ended(&mut probe)?;
    running.ends.iter_mut().chain(&mut running.others).try_for_each(Daemon::check)?;
    let took = from.elapsed().as_secs_f64();
    let times = running.ends.iter().zip(&before).map(|(end, before)| (end.time() - *before).as_secs_f64() / took);
    let processor: Vec<f64> = times.chain([f64::NAN; 2]).take(2).collect();
    let report = Report::read(&report)?;
    Ok((figures(&report, [processor[0], processor[1]])?, from))
}

/// Returns the command of a probe that writes this report.
pub(crate) fn probe(stage: &Stage, report: &Path) -> Command {
    let this = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rival-sound"));
    let mut probe = stage.program(&this);
    probe.arg("probe").arg("--report").arg(report);
    probe
}

/// Waits until a probe ends well.
pub(crate) fn ended(probe: &mut Daemon) -> Result<()> {
    loop {
        match probe.ended()? {
            Some(0) => return Ok(()),
            Some(_) => anyhow::bail!("{}", probe.said().lines().last().unwrap_or("the probe said nothing")),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn figures(report: &Report, processor: [f64; 2]) -> Result<Figures> {
    if report.lost > 0 {
        anyhow::bail!("the probe had no time for {} chunks: the machine is too busy", report.lost);
    }
    let from = report.connected.unwrap_or(0) + SKIPPED;
    let heard = report.runs.from(from).figures(WANDER);
    Ok(Figures {
        heard,
        wire: 0.0,
        exact: report.exact as f64 / report.runs.same().max(1) as f64,
        snr_db: report.snr_db,
        rate: f64::NAN,
        processor,
        xruns: report.xruns,
        late: report.late,
        load: load(),
    })
}

/// Returns the mean number of programs that want a processor.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
