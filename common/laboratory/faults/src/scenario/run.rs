//! One scenario with both daemons.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use common::netsim::lines;

use crate::bulk::Bulk;
use crate::daemons::{Daemon, Setup, Stream};
use crate::flood::{self, Flooding};
use crate::hostile::{self, Hostile};
use crate::machine::device::{self, DeviceAct};
use crate::machine::stalls::Watch;
use crate::machine::starve::Starved;
use crate::relay::{Passed, Relay};
use crate::scenario::case::{Case, FAR, Route};
use crate::scenario::fault::{Act, Fault, RESTART};
use crate::scenario::measured::{self, Look, Measured};
use crate::scenario::soak;

/// Longest time to the first picture; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time from the first picture to the scenario's begin: clocks, path and rate are settled then.
pub(crate) const SETTLING: Duration = Duration::from_secs(2);
/// Time between two looks at the daemons.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Step that is still to be done.
#[derive(Clone, Copy, Debug)]
enum Step {
    Fault(Fault),
    StartSender,
    StartReceiver,
    ContinueReceiver,
    Continue { sender: bool, receiver: bool },
    FeedReceiver,
    EndHostile(Act),
}

/// Runs `case` for `length`. Files go to `folder`.
pub(crate) fn run(case: &Case, stream: &Stream, folder: &Path, length: Duration) -> Result<(Measured, Passed)> {
    let setup = Setup::new(folder, stream, case)?;
    let relay_address = setup.spaces.as_ref().and_then(|spaces| spaces.relay).unwrap_or(Ipv4Addr::LOCALHOST);
    let relay = Relay::start((relay_address, 0).into(), setup.listen, FAR.delay)?;
    let dialled = if case.route == Route::Relay { relay.address() } else { setup.listen };
    let bulk = match &setup.spaces {
        Some(spaces) if matches!(case.route, Route::Line { .. }) => Some(Bulk::listen(spaces, &setup.file("tcp"))?),
        _ => None,
    };
    let mut pair = Pair { sender: None, receiver: Some(setup.receiver(0, dialled)?), starts: [1, 1], dialled };
    pair.sender = Some(setup.sender(0, dialled)?);
    wait_for_pictures(&setup, &mut pair)?;
    let mut scene = Scene {
        setup,
        pair,
        relay,
        bulk,
        hostile: None,
        floods: vec![],
        load: Load::default(),
        steps: vec![],
        starved: None,
        devices: [None; 2],
        backends: vec![],
    };

    scene.relay.begin(case.there.clone(), case.back.clone());
    let began = Instant::now();
    let began_unix = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let watch = Watch::start(folder)?;
    let scene_began = began - scene.relay.began();
    let mut run = Measured {
        length: length.as_secs_f64() * 1e3,
        interval: scene.setup.interval().as_secs_f64() * 1e3,
        rate_told: scene.setup.rate().parse::<common::units::Bitrate>()?.as_bps() as f64,
        capacity: 0.0,
        hostile_until: length.as_secs_f64() * 1e3,
        ..Measured::default()
    };
    run.capacity = lines::capacity(&case.there, run.rate_told, Duration::from_secs(1), length);
    let before = scene.pair.memory();
    let cpu_before = scene.pair.network_time();
    let time_before = scene.pair.time();
    let mut totals = vec![scene.totals()];
    scene.steps = case.faults.iter().map(|&(at, fault)| (at, Step::Fault(fault))).collect();
    while began.elapsed() < length {
        std::thread::sleep(LOOK_EVERY);
        scene.pair.check()?;
        for (index, memory) in scene.pair.memory().into_iter().enumerate() {
            run.memory[index] = run.memory[index].max(memory);
        }
        if began.elapsed() >= Duration::from_secs(totals.len() as u64) {
            totals.push(scene.totals());
            run.looks.push(scene.look(began.elapsed()));
        }
        scene.steps.sort_by_key(|step| std::cmp::Reverse(step.0));
        while let Some((_, step)) = scene.steps.pop_if(|step| step.0 <= began.elapsed()) {
            let now = began.elapsed();
            scene.take(step, now)?;
            let at = now.as_secs_f64() * 1e3;
            match step {
                Step::Fault(fault) => {
                    run.faults.push(at);
                    run.spans.push((at, fault));
                }
                Step::EndHostile(_) => run.hostile_until = at,
                Step::Continue { .. } => {}
                Step::StartSender | Step::StartReceiver | Step::ContinueReceiver | Step::FeedReceiver => {
                    run.returns.push(at)
                }
            }
        }
    }
    run.stalls = watch.map(|watch| watch.end(began_unix, began_unix + length)).transpose()?;
    let cpu = scene.pair.network_time();
    let time = scene.pair.time();
    run.network_cpu = [0, 1].map(|end| cpu[end].saturating_sub(cpu_before[end]).div_duration_f64(began.elapsed()));
    run.growth = [0, 1].map(|index| run.memory[index].saturating_sub(before[index]));
    if case.name != soak::NAME {
        run.notes.extend(scene.floods.drain(..).map(Flooding::note));
    }
    if let Some(hostile) = scene.hostile.take() {
        let said = hostile.end()?;
        run.notes.push(said.note);
        run.unanswered = said.unanswered;
        run.notes.extend(scene.setup.confined.as_ref().map(|[_, receiver]| receiver.kind().to_owned()));
    }
    (0..2).try_for_each(|end| scene.note_backend(end))?;
    let Scene { setup, mut pair, relay, bulk, backends, .. } = scene;
    run.backends = backends;
    for daemon in [pair.sender.take(), pair.receiver.take()].into_iter().flatten() {
        daemon.stop()?;
    }
    let passed = relay.stop();
    let rates = |of: fn(&[u64; 2]) -> u64| {
        totals.windows(2).map(|pair| 8.0 * of(&pair[1]).saturating_sub(of(&pair[0])) as f64).collect()
    };
    (run.rates, run.tcp_rates) = (rates(|totals| totals[0]), rates(|totals| totals[1]));
    if bulk.is_some() {
        let from = run.tcp_rates.iter().take_while(|rate| **rate == 0.0).count();
        run.notes.push(format!("TCP {:.1} Mbit/s", Measured::mean(&run.tcp_rates, from) / 1e6));
    }
    if case.route == Route::Relay {
        run.rates = passed.rates(scene_began, length);
        run.queueing_ms = passed.queueing_ms(scene_began, length);
        if run.capacity < run.rate_told {
            run.notes.push(format!(
                "{:.0} % of the line, queueing delay p95 {:.0} ms",
                1e2 * run.rate(1, run.rates.len()) / run.capacity,
                measured::percentile(&run.queueing_ms, 0.95)
            ));
        }
    }
    run.black_holes = measured::black_holes(&setup.file("sender-0.jsonl"));
    run.queues_p99 = measured::queues_p99(&setup.file("sender-0.jsonl"), &setup.file("receiver-0.jsonl"));
    run.psnr = setup.quality.as_ref().map(|quality| quality.since(began)).unwrap_or_default();
    if case.needs_clock() && !std::fs::read_to_string(setup.file("sender-0.log"))?.contains("1970-01-01T") {
        bail!("the sender's clock has not changed");
    }
    for number in 0..pair.starts[1] {
        run.pictures.extend(measured::pictures(&setup.file(&format!("receiver-{number}.pictures")), began_unix)?);
        let log = std::fs::read_to_string(setup.file(&format!("receiver-{number}.log")))?;
        run.connections += log.matches("connected to ").count();
        run.panics += log.matches("panicked at").count();
    }
    for number in 0..pair.starts[0] {
        run.panics +=
            std::fs::read_to_string(setup.file(&format!("sender-{number}.log")))?.matches("panicked at").count();
    }
    run.pictures.retain(|picture| (0.0..run.length).contains(&picture.at));
    if let Some(prediction) = setup.prediction() {
        let took = [0, 1].map(|end| time[end].saturating_sub(time_before[end]));
        let [sender, receiver] = ["sender-0.jsonl", "receiver-0.jsonl"].map(|name| setup.file(name));
        run.notes.push(measured::coding(prediction, &sender, &receiver, took, run.pictures.len()));
    }
    if case.name == soak::NAME {
        run.notes.push(soak::note(&run));
    } else if !run.backends.is_empty() {
        run.notes.push(format!("{} ends of calls or drivers", run.backends.len()));
    } else if let ([(from, Fault::StarveReceiver(_))], Some(&to)) = (&run.spans[..], run.returns.first()) {
        let rate = |from: f64, to: f64| {
            let inside = run.pictures.iter().filter(|picture| (from..to).contains(&picture.at)).count();
            1e3 * inside as f64 / (to - from)
        };
        let latency = |from, to, share| measured::percentile(&run.latencies(from, to), share);
        run.notes.push(format!(
            "{:.0} pictures/s before, {:.0} starved; latency p50/p95 {:.0}/{:.0} ms before, {:.0}/{:.0} ms starved",
            rate(0.0, *from),
            rate(*from, to),
            latency(0.0, *from, 0.5),
            latency(0.0, *from, 0.95),
            latency(*from, to, 0.5),
            latency(*from, to, 0.95),
        ));
    } else if case.faults.iter().any(|(_, fault)| matches!(fault, Fault::KillSender | Fault::KillReceiver)) {
        let gaps = run.gaps_at_faults();
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| measured::percentile(&gaps, share));
        run.notes.push(format!("{} kills, gap p50/p99/most {p50:.0}/{p99:.0}/{most:.0} ms", gaps.len()));
    }
    Ok((run, passed))
}

/// Programs that do nothing but compute. They end with their value.
#[derive(Default)]
struct Load(Vec<std::process::Child>);

impl Load {
    fn start() -> Result<Self> {
        let mut load = Self::default();
        for _ in 0..std::thread::available_parallelism()?.get() {
            load.0.push(std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // It computes until it is killed.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// Daemons, relay and others of a run.
struct Scene {
    pair: Pair,
    relay: Relay,
    bulk: Option<Bulk>,
    hostile: Option<Hostile>,
    floods: Vec<Flooding>,
    load: Load,
    starved: Option<Starved>,
    steps: Vec<(Duration, Step)>,
    /// Orders given to the devices of the ends.
    devices: [Option<DeviceAct>; 2],
    /// Ends that went on with another back end after their device failed, and whether it was the right one.
    backends: Vec<(String, bool)>,
    /// Last, so that its limits of memory end after the daemons under them.
    setup: Setup,
}

impl Scene {
    fn take(&mut self, step: Step, now: Duration) -> Result<()> {
        match step {
            Step::Fault(fault) => self.put_in(fault, now),
            Step::StartSender => self.pair.start_sender(&self.setup),
            Step::StartReceiver => self.pair.start_receiver(&self.setup),
            Step::ContinueReceiver => self.pair.signal_receiver("CONT"),
            Step::Continue { sender, receiver } => self.pair.signal(sender, receiver, "CONT"),
            Step::FeedReceiver => {
                self.starved = None;
                Ok(())
            }
            Step::EndHostile(act) => {
                if let Some(hostile) = &self.hostile {
                    hostile.stop();
                }
                let back = if act == Act::AbuseSender { Step::StartReceiver } else { Step::StartSender };
                self.steps.push((now + RESTART, back));
                Ok(())
            }
        }
    }

    fn put_in(&mut self, fault: Fault, now: Duration) -> Result<()> {
        match fault {
            Fault::KillSender => {
                self.note_backend(0)?;
                self.pair.sender.take().map_or(Ok(()), Daemon::kill)?;
                self.steps.push((now + RESTART, Step::StartSender));
            }
            Fault::KillReceiver => {
                self.note_backend(1)?;
                self.pair.receiver.take().map_or(Ok(()), Daemon::kill)?;
                self.steps.push((now + RESTART, Step::StartReceiver));
            }
            Fault::PauseReceiver(span) => {
                self.pair.signal_receiver("STOP")?;
                self.steps.push((now + span, Step::ContinueReceiver));
            }
            Fault::Stall { sender, receiver, span } => {
                self.pair.signal(sender, receiver, "STOP")?;
                self.steps.push((now + span, Step::Continue { sender, receiver }));
            }
            Fault::Busy => self.load = Load::start()?,
            Fault::Rebind => self.relay.rebind()?,
            Fault::Move => {
                if let Some(spaces) = &mut self.setup.spaces {
                    spaces.move_sender()?;
                }
            }
            Fault::Flood { kind, per_second, span } => {
                self.floods.push(flood::start(kind, self.setup.listen, per_second, span)?);
            }
            Fault::Clock(time) => (0..2).try_for_each(|end| self.setup.set_clock(end, time))?,
            Fault::Hostile { act, span } => {
                let (own, other, replaced) = match act {
                    Act::Flood | Act::Abuse => ("sender.pem", "receiver.pem", &mut self.pair.sender),
                    Act::AbuseSender => ("receiver.pem", "sender.pem", &mut self.pair.receiver),
                };
                replaced.take().map_or(Ok(()), Daemon::kill)?;
                let (own, other) = (self.setup.file(own), self.setup.file(other));
                self.hostile = Some(hostile::start(act, &own, &other, self.setup.listen)?);
                self.steps.push((now + span, Step::EndHostile(act)));
            }
            Fault::StarveReceiver(span) => {
                if let Some(receiver) = &self.pair.receiver {
                    self.starved = Some(Starved::begin(receiver.id(), "network")?);
                    self.steps.push((now + span, Step::FeedReceiver));
                }
            }
            Fault::Line(_) => {}
            Fault::Device { end, act } => {
                device::tell(&self.setup.device(end), act)?;
                self.devices[end] = Some(act);
            }
            Fault::RemoveDrivers => self.setup.remove_drivers()?,
            Fault::Tcp => {
                if let (Some(bulk), Some(spaces)) = (&mut self.bulk, &self.setup.spaces) {
                    bulk.begin(spaces)?;
                }
            }
        }
        Ok(())
    }

    /// Notes which back end a daemon has that is about to end, if its device has failed or may be gone.
    fn note_backend(&mut self, end: usize) -> Result<()> {
        let (name, life) = (["sender", "receiver"][end], self.pair.starts[end] - 1);
        let told = self.devices[end].take();
        let expected = match told {
            Some(DeviceAct::FailOnce(_)) => device::has_struck(&self.setup.device(end))?.then_some("cpu"),
            Some(DeviceAct::Fail) => Some("cpu"),
            None if self.setup.has_drivers() => Some(if life == 0 { "opencl" } else { "cpu" }),
            _ => None,
        };
        if let Some(expected) = expected {
            let found = measured::backend(&self.setup.file(&format!("{name}-{life}.jsonl"))).unwrap_or_default();
            let after = told.map_or_else(|| format!("start {life}"), |told| format!("{told:?}"));
            self.backends.push((format!("{name} after {after}: {found}"), found == expected));
        }
        Ok(())
    }

    /// Returns the present state of both daemons.
    fn look(&self, now: Duration) -> Look {
        let of = |count: fn(&Daemon) -> usize| self.pair.daemons().map(|daemon| daemon.map_or(0, count));
        let lives = self.pair.starts.map(|starts| starts - 1);
        Look {
            at: now.as_secs_f64() * 1e3,
            lives,
            memory: self.pair.memory(),
            threads: of(Daemon::threads),
            files: of(Daemon::files),
            clock_offset: measured::clock_offset(&self.setup.file(&format!("receiver-{}.jsonl", lives[1]))),
        }
    }

    /// Returns the bytes that have come so far: media and TCP.
    fn totals(&self) -> [u64; 2] {
        let media = measured::bytes_received(&self.setup.file("receiver-0.jsonl"));
        [media, self.bulk.as_ref().map_or(0, Bulk::arrived)]
    }
}

/// Both daemons; none: killed, not yet started again.
struct Pair {
    sender: Option<Daemon>,
    receiver: Option<Daemon>,
    /// Starts of each: sender and receiver.
    starts: [usize; 2],
    /// Address that the sender dials.
    dialled: SocketAddr,
}

impl Pair {
    fn start_sender(&mut self, setup: &Setup) -> Result<()> {
        self.sender = Some(setup.sender(self.starts[0], self.dialled)?);
        self.starts[0] += 1;
        Ok(())
    }

    fn start_receiver(&mut self, setup: &Setup) -> Result<()> {
        self.receiver = Some(setup.receiver(self.starts[1], self.dialled)?);
        self.starts[1] += 1;
        Ok(())
    }

    fn signal(&self, sender: bool, receiver: bool, name: &str) -> Result<()> {
        let asked = [self.sender.as_ref().filter(|_| sender), self.receiver.as_ref().filter(|_| receiver)];
        asked.into_iter().flatten().try_for_each(|daemon| daemon.signal(name))
    }

    fn signal_receiver(&self, name: &str) -> Result<()> {
        self.receiver.as_ref().map_or(Ok(()), |receiver| receiver.signal(name))
    }

    /// Returns an error if one has ended by itself.
    fn check(&mut self) -> Result<()> {
        [&mut self.sender, &mut self.receiver].into_iter().flatten().try_for_each(Daemon::check)
    }

    fn daemons(&self) -> [Option<&Daemon>; 2] {
        [self.sender.as_ref(), self.receiver.as_ref()]
    }

    fn network_time(&self) -> [Duration; 2] {
        self.daemons().map(|daemon| daemon.map_or(Duration::ZERO, Daemon::network_time))
    }

    /// Returns the processor time of each.
    fn time(&self) -> [Duration; 2] {
        self.daemons().map(|daemon| daemon.map_or(Duration::ZERO, Daemon::time))
    }

    fn memory(&self) -> [u64; 2] {
        self.daemons().map(|daemon| daemon.map_or(0, Daemon::memory))
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
        std::thread::sleep(LOOK_EVERY);
    }
    std::thread::sleep(SETTLING);
    Ok(())
}
