//! One scenario with both daemons.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use crate::cases::{Case, FAR, Fault, RESTART};
use crate::daemons::{Daemon, Setup, Stream};
use crate::flood;
use crate::measured::{self, Measured};
use crate::relay::{Passed, Relay, SLICE};

/// Longest time to the first picture; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// From the first picture to the scenario's begin: clocks, path and rate are settled then.
const SETTLING: Duration = Duration::from_secs(2);
/// Time between two looks at the daemons.
const LOOK: Duration = Duration::from_millis(10);

/// What is still to be done.
#[derive(Clone, Copy, Debug)]
enum Step {
    Fault(Fault),
    StartSender,
    StartReceiver,
    ContinueReceiver,
}

/// Runs `case` for `length`. Files go to `folder`.
pub(crate) fn run(case: &Case, stream: &Stream, folder: &Path, length: Duration) -> Result<(Measured, Passed)> {
    let setup = Setup::new(folder, stream)?;
    let mut relay = Relay::start(([127, 0, 0, 1], 0).into(), setup.listen, FAR.delay)?;
    let mut pair = Pair { sender: None, receiver: Some(setup.receiver(0)?), starts: [1, 1] };
    pair.sender = Some(setup.sender(0, relay.address())?);
    wait_for_pictures(&setup, &mut pair)?;

    relay.begin(case.there.clone(), case.back.clone());
    let began = Instant::now();
    let began_unix = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let slices_before = (began - relay.began()).as_micros().div_ceil(SLICE.as_micros()) as usize;
    let mut run = Measured {
        length: length.as_secs_f64() * 1e3,
        rate_told: stream.rate.parse::<common::units::Bitrate>()?.as_bps() as f64,
        ..Measured::default()
    };
    let before = pair.memory();
    let mut steps: Vec<(Duration, Step)> = case.faults.iter().map(|&(at, fault)| (at, Step::Fault(fault))).collect();
    while began.elapsed() < length {
        std::thread::sleep(LOOK);
        pair.check()?;
        for (index, memory) in pair.memory().into_iter().enumerate() {
            run.memory[index] = run.memory[index].max(memory);
        }
        steps.sort_by_key(|step| std::cmp::Reverse(step.0));
        while let Some((_, step)) = steps.pop_if(|step| step.0 <= began.elapsed()) {
            let now = began.elapsed();
            match step {
                Step::Fault(fault) => {
                    run.faults.push(now.as_secs_f64() * 1e3);
                    put_in(fault, now, &setup, &mut pair, &mut relay, &mut steps)?;
                }
                Step::StartSender => pair.start_sender(&setup, relay.address())?,
                Step::StartReceiver => pair.start_receiver(&setup)?,
                Step::ContinueReceiver => pair.signal_receiver("CONT")?,
            }
            if !matches!(step, Step::Fault(_)) {
                run.returns.push(now.as_secs_f64() * 1e3);
            }
        }
    }
    run.growth = [0, 1].map(|index| run.memory[index].saturating_sub(before[index]));
    for daemon in [pair.sender.take(), pair.receiver.take()].into_iter().flatten() {
        daemon.stop()?;
    }
    let passed = relay.stop();
    let slices = passed.bytes.get(slices_before..).unwrap_or_default();
    let a_second = (1.0 / SLICE.as_secs_f64()).round() as usize;
    let seconds = slices.chunks_exact(a_second).take(length.as_secs() as usize);
    run.rates = seconds.map(|bytes| 8.0 * bytes.iter().sum::<u64>() as f64).collect();
    for number in 0..pair.starts[1] {
        run.pictures.extend(measured::pictures(&setup.file(&format!("receiver-{number}.pictures")), began_unix)?);
        let log = std::fs::read_to_string(setup.file(&format!("receiver-{number}.log")))?;
        run.connections += log.matches("connected to ").count();
    }
    run.pictures.retain(|picture| (0.0..run.length).contains(&picture.at));
    Ok((run, passed))
}

fn put_in(
    fault: Fault,
    now: Duration,
    setup: &Setup,
    pair: &mut Pair,
    relay: &mut Relay,
    steps: &mut Vec<(Duration, Step)>,
) -> Result<()> {
    match fault {
        Fault::KillSender => {
            pair.sender.take().map_or(Ok(()), Daemon::kill)?;
            steps.push((now + RESTART, Step::StartSender));
        }
        Fault::KillReceiver => {
            pair.receiver.take().map_or(Ok(()), Daemon::kill)?;
            steps.push((now + RESTART, Step::StartReceiver));
        }
        Fault::PauseReceiver(span) => {
            pair.signal_receiver("STOP")?;
            steps.push((now + span, Step::ContinueReceiver));
        }
        Fault::Rebind => relay.rebind()?,
        Fault::Flood { kind, per_second, span } => flood::start(kind, setup.listen, per_second, span)?,
    }
    steps.sort_by_key(|step| std::cmp::Reverse(step.0));
    Ok(())
}

/// Both daemons; none: killed, not yet started again.
struct Pair {
    sender: Option<Daemon>,
    receiver: Option<Daemon>,
    /// How often each was started: sender and receiver.
    starts: [usize; 2],
}

impl Pair {
    fn start_sender(&mut self, setup: &Setup, to: std::net::SocketAddr) -> Result<()> {
        self.sender = Some(setup.sender(self.starts[0], to)?);
        self.starts[0] += 1;
        Ok(())
    }

    fn start_receiver(&mut self, setup: &Setup) -> Result<()> {
        self.receiver = Some(setup.receiver(self.starts[1])?);
        self.starts[1] += 1;
        Ok(())
    }

    fn signal_receiver(&self, name: &str) -> Result<()> {
        self.receiver.as_ref().map_or(Ok(()), |receiver| receiver.signal(name))
    }

    /// An error if one has ended by itself.
    fn check(&mut self) -> Result<()> {
        [&mut self.sender, &mut self.receiver].into_iter().flatten().try_for_each(Daemon::check)
    }

    fn memory(&self) -> [u64; 2] {
        [&self.sender, &self.receiver].map(|daemon| daemon.as_ref().map_or(0, Daemon::memory))
    }
}

fn wait_for_pictures(setup: &Setup, pair: &mut Pair) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    // The first line of the log is its origin.
    while std::fs::read_to_string(setup.file("receiver-0.pictures")).unwrap_or_default().lines().count() < 2 {
        pair.check()?;
        if Instant::now() >= deadline {
            bail!("no picture came; see {}", setup.file("").display());
        }
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(SETTLING);
    Ok(())
}
