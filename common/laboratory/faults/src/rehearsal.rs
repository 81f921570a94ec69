//! A rehearsal: one call in both directions for hours, whose line, programs, cameras and settings are changed all the time. The
//! program at one end lives through all of it, first the one that waits for calls, then the one that calls, and must not grow.

use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::netsim::{NetConditions, Random, Scenario};
use net::identity::Identity;

use crate::attack::GROWTH_MAX_MB;
use crate::daemons::Daemon;
use crate::relay::Relay;
use crate::scenario::measured;

/// Size of the pictures, and one that they get during the call.
const SIZE: (usize, usize) = (160, 90);
const RATE: &str = "2M";
/// One way.
const DELAY: Duration = Duration::from_millis(5);
/// Memory has its size after this time.
const WARM_UP: Duration = Duration::from_secs(60);
/// Longest outage of the line, and stall of a camera.
const OUTAGE_MAX: Duration = Duration::from_secs(3);
/// Longest time until pictures come again after an event.
const BACK_MAX: Duration = Duration::from_secs(30);
/// Time between two looks at memory.
const LOOK: Duration = Duration::from_millis(200);
/// Rows of the table.
const ROWS: u32 = 8;

/// Files and threads that may come and go, such as those of a connection that is being made.
const ENTRIES_MORE: usize = 4;

const ENDS: [&str; 2] = ["waits", "calls"];

/// Asked of a rehearsal.
pub(crate) struct RehearsalOptions<'a> {
    pub(crate) programs: &'a Path,
    pub(crate) folder: &'a Path,
    /// Length of the whole.
    pub(crate) length: Duration,
    /// Time from one event to the next.
    pub(crate) cycle: Duration,
    pub(crate) fps: u32,
    pub(crate) seed: u64,
}

/// Runs both halves and prints what the end that lives through them takes; fails if it grows or pictures do not come back.
pub(crate) fn run(wanted: &RehearsalOptions<'_>) -> Result<()> {
    let (seconds, cycle) = (wanted.length.as_secs(), wanted.cycle.as_secs_f64());
    println!(
        "{}x{} at {} a second both ways, {seconds} s, an event each {cycle} s, seed {}\n",
        SIZE.0, SIZE.1, wanted.fps, wanted.seed
    );
    let mut faults = Vec::new();
    for stays in [0, 1] {
        println!("## The end that {} stays\n", ENDS[stays]);
        let mut rehearsal = Rehearsal::begin(wanted, stays)?;
        faults.extend(rehearsal.go(wanted)?.into_iter().map(|fault| format!("the end that {}: {fault}", ENDS[stays])));
    }
    println!("Files: {}", wanted.folder.display());
    if !faults.is_empty() {
        bail!("the rehearsal was not held\n{}", faults.join("\n"));
    }
    Ok(())
}

/// An event in the course of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Outage,
    OtherPort,
    Killed,
    Ended,
    Stall(usize),
    Size(usize),
    Setting(usize),
}

const EVENTS: [(Event, &str); 10] = [
    (Event::Outage, "outages of the line"),
    (Event::OtherPort, "other ports of the router"),
    (Event::Killed, "kills of the other program"),
    (Event::Ended, "ends and starts of the other program"),
    (Event::Stall(0), "stalls of the first camera"),
    (Event::Stall(1), "stalls of the second camera"),
    (Event::Size(0), "sizes of the first picture"),
    (Event::Size(1), "sizes of the second picture"),
    (Event::Setting(0), "rates and effects of the first"),
    (Event::Setting(1), "rates and effects of the second"),
];

/// A call between two ends, of which one is begun anew.
struct Rehearsal {
    folder: PathBuf,
    programs: PathBuf,
    keys: [String; 2],
    relay: Relay,
    listen: SocketAddr,
    stays: usize,
    /// None: it is just being begun anew.
    ends: [Option<Daemon>; 2],
    starts: usize,
    cameras: [Option<Camera>; 2],
    fps: u32,
    random: Random,
}

/// Memory in bytes, threads and open files of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    memory: u64,
    threads: usize,
    files: usize,
}

impl Rehearsal {
    fn begin(wanted: &RehearsalOptions<'_>, stays: usize) -> Result<Self> {
        let folder = wanted.folder.join(ENDS[stays]);
        if folder.is_dir() {
            fs::remove_dir_all(&folder)?;
        }
        let mut keys = Vec::new();
        for end in ENDS {
            let home = folder.join(end);
            fs::create_dir_all(&home)?;
            keys.push(Identity::load_or_create(&home.join("key.pem"))?.public_key().to_string());
        }
        let Ok(keys) = keys.try_into() else { bail!("there are two ends") };
        // A port that was free a moment ago.
        let listen = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
        let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], 0)), listen, DELAY)?;
        let random = Random::new(wanted.seed);
        let mut rehearsal = Self {
            folder,
            programs: wanted.programs.to_owned(),
            keys,
            relay,
            listen,
            stays,
            ends: [None, None],
            starts: 0,
            cameras: [None, None],
            fps: wanted.fps,
            random,
        };
        rehearsal.start(0)?;
        rehearsal.start(1)?;
        Ok(rehearsal)
    }

    fn home(&self, end: usize) -> PathBuf {
        self.folder.join(ENDS[end])
    }

    fn program(&self, end: usize) -> Command {
        let mut command = Command::new(self.programs.join("sender"));
        command.arg("--identity").arg(self.home(end).join("key.pem")).env_remove("XDG_RUNTIME_DIR");
        command.arg("--config").arg("/dev/null").env("DUET_LOG", "info");
        command
    }

    fn start(&mut self, end: usize) -> Result<()> {
        self.starts += 1;
        // A camera of its own: what is left in the pipe of another one has lost its beginning.
        let camera = Camera::start(self.home(end).join(format!("camera-{}", self.starts)), self.fps)?;
        let source = camera.source();
        self.cameras[end] = Some(camera);
        let (flag, address) = if end == 0 { ("--listen", self.listen) } else { ("--to", self.relay.address()) };
        let mut command = self.program(end);
        command.args(["call", "--sink", "headless", "--backend", "cpu", "--rate", RATE, flag, &address.to_string()]);
        command.args(["--peer", &self.keys[1 - end], "--source", &source]);
        command.arg("--stats").arg(self.home(end).join("stats.jsonl"));
        let log = self.home(end).join(format!("log-{}", self.starts));
        self.ends[end] = Some(Daemon::start("sender", &mut command, &log)?);
        Ok(())
    }

    /// Pictures shown at the end that stays.
    fn shown(&self) -> Option<u64> {
        measured::last(&self.home(self.stays).join("stats-received.jsonl"))?["frames_shown"].as_u64()
    }

    fn held(&self) -> Held {
        let program = self.ends[self.stays].as_ref();
        program.map_or(Held::default(), |one| Held { memory: one.memory(), threads: one.threads(), files: one.files() })
    }

    /// Waits until the end that stays shows new pictures.
    fn wait_for_pictures(&mut self, after: &str) -> Result<()> {
        let (before, began) = (self.shown().unwrap_or(0), Instant::now());
        while self.shown().unwrap_or(0) <= before {
            if began.elapsed() > BACK_MAX {
                bail!("no picture came for {} s after {after}", BACK_MAX.as_secs());
            }
            self.ends.iter_mut().flatten().try_for_each(Daemon::check)?;
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Lets the events happen; returns the bars that were not held.
    fn go(&mut self, wanted: &RehearsalOptions<'_>) -> Result<Vec<String>> {
        self.wait_for_pictures("the start")?;
        let (began, length) = (Instant::now(), wanted.length / 2);
        let (mut base, mut most) = (Held::default(), Held::default());
        let mut counts = [0; EVENTS.len()];
        println!("| second | memory, MB | threads | open files | pictures shown |\n|---|---|---|---|---|");
        let mut rows = 0;
        while began.elapsed() < length {
            let next = Instant::now() + wanted.cycle;
            let number = self.random.below(EVENTS.len() as u64) as usize;
            counts[number] += 1;
            let (event, name) = EVENTS[number];
            self.happen(event, wanted.cycle).with_context(|| format!("during one of the {name}"))?;
            while Instant::now() < next {
                thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
                most.memory = most.memory.max(self.held().memory);
            }
            self.wait_for_pictures(name)?;
            if began.elapsed() < WARM_UP {
                (base, most) = (self.held(), self.held());
            }
            if began.elapsed() >= length * rows / ROWS {
                rows += 1;
                let Held { memory, threads, files } = self.held();
                let (second, shown) = (began.elapsed().as_secs(), self.shown().unwrap_or(0));
                println!("| {second} | {:.1} | {threads} | {files} | {shown} |", memory as f64 / 1e6);
            }
        }
        let end = self.held();
        let shown = self.shown().unwrap_or(0);
        for program in std::mem::take(&mut self.ends).into_iter().flatten() {
            program.stop()?;
        }
        println!("\n| event | times |\n|---|---|");
        EVENTS.iter().zip(counts).for_each(|((_, name), count)| println!("| {name} | {count} |"));
        let grown = |now: u64| (now as f64 - base.memory as f64) / 1e6;
        println!(
            "\n{shown} pictures shown; memory after a minute {:.1} MB, at the end {:+.1}, at most {:+.1}; threads {} -> {}, files {} -> {}\n",
            base.memory as f64 / 1e6,
            grown(end.memory),
            grown(most.memory),
            base.threads,
            end.threads,
            base.files,
            end.files,
        );
        Ok(faults(base, most, end))
    }

    /// Lets one event happen, which may take `longest`.
    fn happen(&mut self, event: Event, longest: Duration) -> Result<()> {
        let other = 1 - self.stays;
        let span = longest.min(OUTAGE_MAX);
        match event {
            Event::Outage => {
                let line = |loss| Scenario::from(NetConditions { loss, ..NetConditions::perfect(DELAY) });
                self.relay.begin(line(1.0), line(1.0));
                thread::sleep(span);
                self.relay.begin(line(0.0), line(0.0));
            }
            Event::OtherPort => self.relay.rebind()?,
            Event::Killed | Event::Ended => {
                let program = self.ends[other].take().context("it was not begun")?;
                if event == Event::Killed {
                    program.kill()?
                } else {
                    program.stop()?
                }
                self.start(other)?;
            }
            Event::Stall(end) => {
                let stall = |on| self.cameras[end].iter().for_each(|camera| camera.stalls.store(on, Ordering::Relaxed));
                stall(true);
                thread::sleep(span);
                stall(false);
            }
            Event::Size(end) => {
                let sizes = ["size=80x45", "size=120x90", "size=64x64", "size=full"];
                let size = sizes[self.random.below(sizes.len() as u64) as usize];
                self.set(end, size)?;
            }
            Event::Setting(end) => {
                let settings =
                    ["rate=1M", "rate=2M", "effects.still_noise=3", "effects.still_noise=0", "latency_max_ms=40"];
                let setting = settings[self.random.below(settings.len() as u64) as usize];
                self.set(end, setting)?;
            }
        }
        Ok(())
    }

    fn set(&self, end: usize, wish: &str) -> Result<()> {
        let done = self.program(end).args(["set", wish]).output()?;
        // One that has just been begun does not listen yet.
        if !done.status.success() && end == self.stays {
            bail!("{wish}: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(())
    }
}

/// Returns what has grown from `base` to `most` and to the `end` by more than it may.
fn faults(base: Held, most: Held, end: Held) -> Vec<String> {
    let mut faults = Vec::new();
    let grown = most.memory.saturating_sub(base.memory) as f64 / 1e6;
    if base.memory == 0 {
        faults.push("it lasted less than a minute: nothing is known".to_owned());
    }
    if grown > GROWTH_MAX_MB {
        faults.push(format!("memory grew by {grown:.1} MB > {GROWTH_MAX_MB:.0}"));
    }
    for (what, before, after) in [("threads", base.threads, end.threads), ("open files", base.files, end.files)] {
        if after > before + ENTRIES_MORE {
            faults.push(format!("{before} {what} became {after}"));
        }
    }
    faults
}

/// A camera that can stall: a pipe with pictures in it.
struct Camera {
    pipe: PathBuf,
    stalls: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Camera {
    fn start(pipe: PathBuf, fps: u32) -> Result<Self> {
        if !Command::new("mkfifo").arg(&pipe).status()?.success() {
            bail!("{} cannot be made", pipe.display());
        }
        let (stalls, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (path, stalled, ended) = (pipe.clone(), Arc::clone(&stalls), Arc::clone(&ends));
        let thread = thread::spawn(move || {
            // It ends with the program that takes its pictures.
            let _ = film(&path, fps, &stalled, &ended);
        });
        Ok(Self { pipe, stalls, ends, thread: Some(thread) })
    }

    fn source(&self) -> String {
        format!("y4m:{}:live", self.pipe.display())
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            // It may wait for a reader, or for one that has ended.
            let _ = File::options().read(true).custom_flags(NONBLOCK).open(&self.pipe);
            thread::sleep(Duration::from_millis(5));
        }
        let _ = thread.join();
    }
}

/// Flag of a file that is not waited for (Linux, `O_NONBLOCK`).
const NONBLOCK: i32 = 0o4000;

/// Gives pictures to who has opened the pipe, until that is closed.
fn film(pipe: &Path, fps: u32, stalls: &AtomicBool, ends: &AtomicBool) -> std::io::Result<()> {
    let mut file = File::options().write(true).open(pipe)?;
    let (width, height) = SIZE;
    writeln!(file, "YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420jpeg")?;
    let (interval, mut next) = (Duration::from_secs(1) / fps, Instant::now());
    let mut picture = b"FRAME\n".to_vec();
    let samples = width * height + 2 * width.div_ceil(2) * height.div_ceil(2);
    picture.resize(picture.len() + samples, 128);
    let mut number = 0usize;
    while !ends.load(Ordering::Relaxed) {
        next = (next + interval).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
        if stalls.load(Ordering::Relaxed) {
            continue;
        }
        // Bars that go by.
        number += 1;
        let luma = &mut picture[b"FRAME\n".len()..][..width * height];
        luma.iter_mut().enumerate().for_each(|(at, sample)| *sample = (16 * ((at % width + number) / 8)) as u8);
        file.write_all(&picture)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_or_is_not_known_breaks_a_bar() {
        let held = |megabytes: u64, threads, files| Held { memory: 1_000_000 * megabytes, threads, files };
        let base = held(40, 20, 30);
        assert!(faults(base, held(56, 20, 30), held(41, 24, 34)).is_empty());
        assert!(faults(base, held(57, 20, 30), base)[0].contains("17.0 MB"));
        assert_eq!(faults(base, base, held(40, 25, 35)), ["20 threads became 25", "30 open files became 35"]);
        assert!(faults(Held::default(), held(1, 1, 1), held(1, 1, 1))[0].contains("less than a minute"));
    }
}
