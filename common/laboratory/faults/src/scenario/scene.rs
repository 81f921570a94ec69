//! A call under way: its daemons, its line, and what happens to them.

use std::cmp::Reverse;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::netsim::Scenario;

use crate::attack::beside::{Ground, Kind};
use crate::bulk::Bulk;
use crate::daemons::{Daemon, Held};
use crate::flood::{self, Flooding};
use crate::hostile::{self, AtWork, Said};
use crate::logs;
use crate::machine::device::{self, DeviceAct};
use crate::machine::load::Load;
use crate::machine::route::Route;
use crate::machine::starve::Starved;
use crate::relay::Relay;
use crate::scenario::case::{Case, FAR};
use crate::scenario::event::{Event, RESTART};
use crate::scenario::measured::{Look, Span};
use crate::scenario::setup::{Pair, Setup, Stream};
use crate::scenario::sound::{Model, Sound};
use crate::testbed::{ENDS, RECEIVER, SENDER};

/// Longest time to the first picture, and to the next one after an event; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at the daemons.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Step that is still to be done.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin(Event),
    Over(Event),
    Start(usize),
}

/// Daemons, relay and others of a run.
pub(super) struct Scene {
    pub(super) pair: Pair,
    pub(super) relay: Relay,
    /// Address that is dialled.
    dialled: SocketAddr,
    pub(super) bulk: Option<Bulk>,
    pub(super) hostile: Option<AtWork<Said>>,
    beside: Option<AtWork<u64>>,
    pub(super) floods: Vec<Flooding>,
    load: Load,
    starved: Option<Starved>,
    /// A sound program on the same line.
    pub(super) model: Option<Model>,
    steps: Vec<(Duration, Step)>,
    /// Orders given to the devices of the ends.
    devices: [Option<DeviceAct>; 2],
    /// Ends that went on with another back end after their device failed, and whether it was the right one.
    pub(super) backends: Vec<(String, bool)>,
    /// Events so far, times at which something that was gone came back, and at which a hostile peer ended.
    pub(super) spans: Vec<Span>,
    pub(super) returns: Vec<f64>,
    pub(super) hostile_until: Option<f64>,
    /// State at the last event's begin, and the most memory since, and since the last look.
    before: [Held; 2],
    most: [u64; 2],
    pub(super) most_of_look: [u64; 2],
    /// Pictures shown at the last event, and the time since which they are waited for.
    shown: u64,
    waits_since: Option<Instant>,
    case: Case,
    /// Last, so that its limits of memory end after the daemons under them.
    pub(super) setup: Setup,
}

impl Scene {
    /// Begins both daemons of `case`, waits for pictures, and lets the line be what the scenario says.
    pub(super) fn begin(case: &Case, stream: &Stream, folder: &Path) -> Result<Self> {
        let setup = Setup::new(folder, stream, case)?;
        let hears = (setup.sound() == Some(Sound::Jacktrip)).then(Model::listen).transpose()?;
        let mut flows = vec![((setup.relay(), 0).into(), setup.listen)];
        if let Some(hears) = &hears {
            flows.push(((Ipv4Addr::LOCALHOST, 0).into(), hears.local_addr()?));
        }
        let relay = Relay::shared(&flows, FAR.delay)?;
        let dialled = if case.route == Route::Relay { relay.address() } else { setup.listen };
        let bulk = match &setup.spaces {
            Some(spaces) if matches!(case.route, Route::Line { .. }) => Some(Bulk::listen(spaces, &setup.file("tcp"))?),
            _ => None,
        };
        let mut pair = Pair::default();
        for end in [case.listens, 1 - case.listens] {
            pair.start(end, &setup, dialled)?;
        }
        let mut scene = Self {
            pair,
            relay,
            dialled,
            bulk,
            hostile: None,
            beside: None,
            floods: vec![],
            load: Load::default(),
            starved: None,
            model: None,
            steps: case.events.iter().map(|&(at, event)| (at, Step::Begin(event))).collect(),
            devices: [None; 2],
            backends: vec![],
            spans: vec![],
            returns: vec![],
            hostile_until: None,
            before: [Held::default(); 2],
            most: [0; 2],
            most_of_look: [0; 2],
            shown: 0,
            waits_since: None,
            case: case.clone(),
            setup,
        };
        while !scene.is_back().context("see the logs in the folder of this run")? {
            scene.pair.check()?;
            std::thread::sleep(LOOK_EVERY);
        }
        std::thread::sleep(case.settling);
        scene.relay.begin(case.there.clone(), case.back.clone());
        if let (Some(hears), Some(&to)) = (hears, scene.relay.addresses().get(1)) {
            scene.model = Some(Model::start(to, hears)?);
        }
        Ok(scene)
    }

    /// Returns true if the end that is watched has shown pictures since the last event; an error if none come.
    pub(super) fn is_back(&mut self) -> Result<bool> {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        if self.shown_now() > self.shown {
            self.waits_since = None;
            return Ok(true);
        }
        if since.elapsed() >= PATIENCE {
            let after = self.spans.last().map_or_else(|| "the start".to_owned(), |span| format!("{:?}", span.event));
            bail!("no picture came for {} s after {after}", PATIENCE.as_secs());
        }
        Ok(false)
    }

    fn shown_now(&self) -> u64 {
        self.setup.shown(self.case.watched, self.pair.life(self.case.watched))
    }

    /// Notes what both daemons hold, and does what is due.
    pub(super) fn go_on(&mut self, began: Instant) -> Result<()> {
        self.pair.check()?;
        for (end, memory) in self.pair.each(Daemon::memory).into_iter().enumerate() {
            self.most[end] = self.most[end].max(memory);
            self.most_of_look[end] = self.most_of_look[end].max(memory);
        }
        self.steps.sort_by_key(|step| Reverse(step.0));
        while let Some(&(_, step)) = self.steps.last().filter(|step| step.0 <= began.elapsed()) {
            let is_event = matches!(step, Step::Begin(_));
            if is_event && self.case.is_patient && !self.spans.is_empty() && !self.is_back()? {
                // All that follow come later, too.
                for (at, step) in &mut self.steps {
                    *at += if matches!(step, Step::Begin(_)) { LOOK_EVERY } else { Duration::ZERO };
                }
                return Ok(());
            }
            self.steps.pop();
            let now = began.elapsed();
            self.take(step, now)?;
            self.steps.sort_by_key(|step| Reverse(step.0));
        }
        Ok(())
    }

    /// Returns true while something is still to be done.
    pub(super) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    fn take(&mut self, step: Step, now: Duration) -> Result<()> {
        let at = now.as_secs_f64() * 1e3;
        match step {
            Step::Begin(event) => {
                self.close(at)?;
                self.spans.push(Span::new(at, event));
                self.put_in(event, now).with_context(|| format!("{event:?}"))?;
                if let Some(span) = event.span() {
                    self.steps.push((now + span, Step::Over(event)));
                }
            }
            Step::Over(event) => self.over(event, now)?,
            Step::Start(end) => {
                self.pair.start(end, &self.setup, self.dialled)?;
                self.returns.push(at);
            }
        }
        if self.case.is_patient {
            self.shown = self.shown_now();
        }
        Ok(())
    }

    fn put_in(&mut self, event: Event, now: Duration) -> Result<()> {
        match event {
            Event::Kill(end) | Event::End(end) => {
                self.note_backend(end)?;
                if let Some(daemon) = self.pair.ends[end].take() {
                    if event == Event::Kill(end) {
                        daemon.kill()?
                    } else {
                        daemon.stop()?
                    }
                    self.steps.push((now + RESTART, Step::Start(end)));
                }
            }
            Event::Pause { ends, .. } => self.pair.signal(ends, "STOP")?,
            Event::Busy => self.load = Load::start()?,
            Event::Rebind => self.relay.rebind()?,
            Event::Move => {
                if let Some(spaces) = &mut self.setup.spaces {
                    spaces.move_sender()?;
                }
            }
            Event::Line { conditions, .. } => self.line(&[conditions.into(), conditions.into()]),
            Event::Flood { kind, per_second, span } => {
                self.floods.push(flood::start(kind, self.setup.listen, per_second, span)?);
            }
            Event::Clock(time) => (0..2).try_for_each(|end| self.setup.set_clock(end, time))?,
            Event::Hostile { act, .. } => {
                self.pair.ends[act.end()].take().map_or(Ok(()), Daemon::kill)?;
                let [own, other] = [act.end(), 1 - act.end()].map(|end| self.setup.file(&format!("{}.pem", ENDS[end])));
                self.hostile = Some(hostile::start(act, &own, &other, self.setup.listen)?);
            }
            Event::Beside { kind, .. } => self.beside = Some(self.beside(kind)?),
            Event::Starve(_) => {
                let receiver = self.pair.ends[RECEIVER].as_ref();
                self.starved = receiver.map(|receiver| Starved::begin(receiver.id(), "network")).transpose()?;
            }
            Event::Device { end, act } => {
                device::tell(&self.setup.device(end), act)?;
                self.devices[end] = Some(act);
            }
            Event::RemoveDrivers => self.setup.remove_drivers()?,
            Event::Tcp => {
                if let (Some(bulk), Some(spaces)) = (&mut self.bulk, &self.setup.spaces) {
                    bulk.begin(spaces)?;
                }
            }
            Event::Stall { end, .. } => self.pair.cameras[end].iter().for_each(|camera| camera.stall(true)),
            Event::Set { end, wish } => {
                let done = self.setup.command(end)?.arg("--config").arg("/dev/null").args(["set", wish]).output()?;
                // One that has just been begun does not listen yet.
                if !done.status.success() && end == self.case.watched {
                    bail!("{}", String::from_utf8_lossy(&done.stderr));
                }
            }
        }
        Ok(())
    }

    /// Ends what has lasted its time.
    fn over(&mut self, event: Event, now: Duration) -> Result<()> {
        let at = now.as_secs_f64() * 1e3;
        match event {
            Event::Pause { ends, .. } => {
                self.pair.signal(ends, "CONT")?;
                self.returns.push(at);
            }
            Event::Starve(_) => {
                self.starved = None;
                self.returns.push(at);
            }
            Event::Line { .. } => self.line(&[self.case.there.clone(), self.case.back.clone()]),
            Event::Hostile { act, .. } => {
                self.hostile.iter().for_each(AtWork::stop);
                self.hostile_until = Some(at);
                self.steps.push((now + RESTART, Step::Start(act.end())));
            }
            Event::Beside { .. } => self.beside.iter().for_each(|peer| peer.stop()),
            Event::Stall { end, .. } => self.pair.cameras[end].iter().for_each(|camera| camera.stall(false)),
            _ => {}
        }
        Ok(())
    }

    /// Lets the line be these, with other fates than before.
    fn line(&self, lines: &[Scenario; 2]) {
        let again = |line: &Scenario| line.clone().with_seed(line.seed().wrapping_add(self.spans.len() as u64));
        self.relay.begin(again(&lines[0]), again(&lines[1]));
    }

    fn beside(&self, kind: &'static Kind) -> Result<AtWork<u64>> {
        let (bed, listens) = (&self.setup.bed, self.case.listens);
        let ground = Ground::of(bed, listens, self.setup.listen, self.relay.tap(), self.case.there.seed())?;
        Ok(AtWork::start(move |stop| kind.run(&ground, stop)))
    }

    /// Begins to count what the next event costs, and notes what the last one has.
    pub(super) fn close(&mut self, at: f64) -> Result<()> {
        let acts = self.beside.take().map_or(Ok(0), AtWork::end)?;
        let after = self.pair.held();
        if let Some(span) = self.spans.last_mut() {
            (span.until, span.acts) = (at, acts);
            for end in [SENDER, RECEIVER] {
                let before = self.before[end];
                span.growth[end] = self.most[end].saturating_sub(before.memory);
                span.lines[end] = after[end].lines.saturating_sub(before.lines);
                span.time[end] = after[end].time.saturating_sub(before.time);
            }
        }
        (self.before, self.most) = (after, after.map(|held| held.memory));
        Ok(())
    }

    /// Notes which back end a daemon has that is about to end, if its device has failed or may be gone.
    pub(super) fn note_backend(&mut self, end: usize) -> Result<()> {
        let life = self.pair.life(end);
        let told = self.devices[end].take();
        let expected = match told {
            Some(DeviceAct::FailOnce(_)) => device::has_struck(&self.setup.device(end))?.then_some("cpu"),
            Some(DeviceAct::Fail) => Some("cpu"),
            None if self.setup.has_drivers() => Some(if life == 0 { "opencl" } else { "cpu" }),
            _ => None,
        };
        if let Some(expected) = expected {
            let found = logs::backend(&self.setup.file_of(end, life, "jsonl")).unwrap_or_default();
            let after = told.map_or_else(|| format!("start {life}"), |told| format!("{told:?}"));
            self.backends.push((format!("{} after {after}: {found}", ENDS[end]), found == expected));
        }
        Ok(())
    }

    /// Returns the present state of both daemons.
    pub(super) fn look(&mut self, now: Duration) -> Look {
        let lives = [self.pair.life(SENDER), self.pair.life(RECEIVER)];
        Look {
            at: now.as_secs_f64() * 1e3,
            lives,
            held: self.pair.held(),
            memory_most: std::mem::take(&mut self.most_of_look),
            clock_offset: logs::clock_offset(&self.setup.file_of(RECEIVER, lives[1], "jsonl")),
            shown: if self.case.cameras.is_some() { self.shown_now() } else { 0 },
        }
    }

    /// Returns the bytes that have come so far: media and TCP.
    pub(super) fn totals(&self) -> [u64; 2] {
        let media = logs::bytes_received(&self.setup.file_of(RECEIVER, 0, "jsonl"));
        [media, self.bulk.as_ref().map_or(0, Bulk::arrived)]
    }
}
