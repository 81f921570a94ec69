//! Both daemons as processes that can be killed, stopped and begun anew.

use std::fs::File;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use net::identity::Identity;
use picture::frame::FrameRate;

use crate::machine::confine::Confinement;
use crate::machine::device::{self, Layer, NO_LOADER};
use crate::machine::namespaces::Namespaces;
use crate::quality::{Original, Quality};
use crate::scenario::case::{Case, Route};

/// Longest that a daemon may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pictures and options of a stream.
#[derive(Clone)]
pub(crate) struct Stream {
    /// The sender's source.
    pub(crate) source: String,
    /// Video bit rate, as the sender's flag takes it.
    pub(crate) rate: String,
    /// Back end of both daemons.
    pub(crate) backend: String,
    /// Its pictures a second.
    pub(crate) frame_rate: FrameRate,
    /// Value of the sender's `--prediction`, if it is set.
    pub(crate) prediction: Option<String>,
    /// Congestion controller: `duet` or `cubic`.
    pub(crate) controller: String,
    /// Pictures to compare with, if any.
    pub(crate) original: Option<Arc<Original>>,
    /// True if the daemons run in network namespaces of their own.
    pub(crate) in_namespaces: bool,
    /// The folder that holds both programs.
    pub(crate) programs: PathBuf,
}

/// Everything that both daemons need, in a folder.
pub(crate) struct Setup {
    programs: PathBuf,
    folder: PathBuf,
    stream: Stream,
    keys: [String; 2],
    /// Address at which the receiver listens, or the sender.
    pub(crate) listen: SocketAddr,
    sender_listens: bool,
    pub(crate) spaces: Option<Namespaces>,
    pub(crate) quality: Option<Quality>,
    /// True if the program faketime sets the wall clocks of both.
    fakes_clock: bool,
    /// A layer between the daemons and OpenCL.
    layer: Option<Layer>,
    /// OpenCL drivers that can be taken away.
    drivers: Option<PathBuf>,
    /// Limits of the sender's and the receiver's memory.
    pub(crate) confined: Option<[Confinement; 2]>,
}

impl Setup {
    /// Makes keys and configuration in `folder`, which is emptied first.
    pub(crate) fn new(folder: &Path, stream: &Stream, case: &Case) -> Result<Self> {
        if folder.is_dir() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let key = |name: &str| -> Result<String> {
            Ok(Identity::load_or_create(&folder.join(name))?.public_key().to_string())
        };
        let keys = [key("sender.pem")?, key("receiver.pem")?];
        let network = format!("[network]\ncontroller = \"{}\"\n", stream.controller);
        std::fs::write(folder.join("sender.toml"), network)?;
        let sender_listens = case.route == Route::Reversed;
        // In namespaces it is the receiver that listens.
        let needs_spaces =
            (stream.in_namespaces && !sender_listens) || matches!(case.route, Route::Line { .. } | Route::Spaces);
        let spaces = needs_spaces.then(|| Namespaces::new(case.route)).transpose()?;
        let listen = match &spaces {
            Some(spaces) => (spaces.receiver, 4_820).into(),
            // A port that was free a moment ago.
            None => UdpSocket::bind("127.0.0.1:0")?.local_addr()?,
        };
        let mut stream = stream.clone();
        if let Some((source, rate)) = case.stream {
            (stream.source, stream.rate) = (source.to_owned(), rate.to_owned());
        }
        // Another source has other pictures, of another size.
        let original = stream.original.clone().filter(|_| case.stream.is_none() && !case.has_other_pictures());
        let quality = original.map(Quality::new);
        if let Some(backend) = case.backend {
            backend.clone_into(&mut stream.backend);
        }
        let fakes_clock = case.needs_clock();
        let layer = match case.needs_layer() {
            true => Some(Layer::build(folder, &stream.programs.join("receiver"))?.context(NO_LOADER)?),
            false => None,
        };
        let drivers = case.needs_drivers().then(|| device::copy_drivers(folder)).transpose()?;
        let setup = Self {
            programs: stream.programs.clone(),
            folder: folder.to_owned(),
            stream,
            keys,
            listen,
            sender_listens,
            spaces,
            quality,
            fakes_clock,
            layer,
            drivers,
            confined: case.limits_memory().then(|| ["sender", "receiver"].map(Confinement::new)),
        };
        if fakes_clock {
            faketime()?;
            setup.set_clock(0, "@1970-01-01 00:00:10")?;
            setup.set_clock(1, "+0")?;
        }
        Ok(setup)
    }

    /// Returns the video's bit rate as a flag has it.
    pub(crate) fn rate(&self) -> &str {
        &self.stream.rate
    }

    /// Returns the time between two pictures.
    pub(crate) fn interval(&self) -> Duration {
        self.stream.frame_rate.interval()
    }

    /// Returns what the sender is told of prediction.
    pub(crate) fn prediction(&self) -> Option<&str> {
        self.stream.prediction.as_deref()
    }

    /// Sets the wall clock of the sender (0) or receiver (1), running or not, as the program faketime takes it.
    pub(crate) fn set_clock(&self, end: usize, time: &str) -> Result<()> {
        // Renamed, so that no reader sees half of it.
        let part = self.file("clock.part");
        std::fs::write(&part, time)?;
        Ok(std::fs::rename(part, self.clock(end))?)
    }

    /// Returns the file that commands the OpenCL layer of the sender (0) or the receiver (1).
    pub(crate) fn device(&self, end: usize) -> PathBuf {
        self.file(["sender.device", "receiver.device"][end])
    }

    /// Returns true if OpenCL drivers can be taken away.
    pub(crate) fn has_drivers(&self) -> bool {
        self.drivers.is_some()
    }

    /// Takes the OpenCL drivers away.
    pub(crate) fn remove_drivers(&self) -> Result<()> {
        self.drivers.as_deref().map_or(Ok(()), device::remove_drivers)
    }

    fn clock(&self, end: usize) -> PathBuf {
        self.file(["sender.clock", "receiver.clock"][end])
    }

    /// Returns the path of a file of this run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the sender for the `number`th time; who dials, dials `to`.
    pub(crate) fn sender(&self, number: usize, to: SocketAddr) -> Result<Daemon> {
        let mut command = self.command(0, number)?;
        self.join(&mut command, self.sender_listens, to);
        command.args(["--peer", &self.keys[1]]);
        command.args(["--source", &self.stream.source, "--rate", &self.stream.rate]);
        if let Some(prediction) = &self.stream.prediction {
            command.args(["--prediction", prediction]);
        }
        command.arg("--config").arg(self.file("sender.toml"));
        Daemon::start("sender", &mut command, &self.file(&format!("sender-{number}.log")))
    }

    /// Starts the receiver for the `number`th time; who dials, dials `to`.
    pub(crate) fn receiver(&self, number: usize, to: SocketAddr) -> Result<Daemon> {
        let pictures = self.file(&format!("receiver-{number}.pictures"));
        let config = self.file(&format!("receiver-{number}.toml"));
        std::fs::write(&config, format!("[stats]\npictures = \"{}\"\n", pictures.display()))?;
        let mut command = self.command(1, number)?;
        self.join(&mut command, !self.sender_listens, to);
        command.args(["--peer", &self.keys[0], "--sink", "headless"]);
        if let Some(quality) = &self.quality {
            let pipe = self.file(&format!("receiver-{number}.y4m"));
            quality.watch(&pipe)?;
            command.args(["--sink", &format!("y4m:{}", pipe.display())]);
        }
        command.arg("--config").arg(config);
        Daemon::start("receiver", &mut command, &self.file(&format!("receiver-{number}.log")))
    }

    fn join(&self, command: &mut Command, listens: bool, to: SocketAddr) {
        let (flag, address) = if listens { ("--listen", self.listen) } else { ("--to", to) };
        command.arg(flag).arg(address.to_string());
    }

    fn command(&self, end: usize, number: usize) -> Result<Command> {
        let name = ["sender", "receiver"][end];
        let program = self.programs.join(name);
        let mut command = match (&self.spaces, &self.confined) {
            (Some(spaces), _) => spaces.command(end, &program),
            (None, Some(confined)) => confined[end].command(&program),
            (None, None) => Command::new(program),
        };
        command.args(["--backend", &self.stream.backend]);
        command.arg("--identity").arg(self.file(&format!("{name}.pem")));
        command.arg("--stats").arg(self.file(&format!("{name}-{number}.jsonl")));
        command.env("DUET_LOG", "info");
        if self.fakes_clock {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", self.clock(end));
            command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        if let Some(layer) = &self.layer {
            layer.join(&mut command, &self.device(end))?;
        }
        if let Some(drivers) = &self.drivers {
            // So that a machine without a GPU takes its OpenCL device, too, before it is gone.
            command.env("OCL_ICD_VENDORS", drivers).env("DUET_LAYER_GPU", "1");
        }
        Ok(command)
    }
}

/// Debian's package libfaketime.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

fn faketime() -> Result<()> {
    if !Path::new(FAKETIME).is_file() {
        bail!("{FAKETIME} is missing: install the package libfaketime");
    }
    Ok(())
}

/// Returns the folder that holds both daemons: `asked`, or where this program or, for a test, its build lies.
pub fn programs(asked: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let has_both = |folder: &&Path| ["sender", "receiver"].iter().all(|name| folder.join(name).is_file());
    let mut folders: Vec<&Path> = own.ancestors().skip(1).take(2).collect();
    if let Some(asked) = asked {
        folders = vec![asked];
    }
    let found = folders.iter().copied().find(has_both).map(Path::to_owned);
    found.with_context(|| {
        format!("sender and receiver are not in {}: build them with the same profile first", folders[0].display())
    })
}

/// A running daemon; it is killed with its value.
#[derive(Debug)]
pub struct Daemon {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts `command`; what it says goes to the file `log`.
    pub fn start(name: &'static str, command: &mut Command, log: &Path) -> Result<Self> {
        Self::start_into(name, command, Stdio::null(), log)
    }

    /// Starts it likewise, with its standard output going to `output`.
    pub(crate) fn start_into(name: &'static str, command: &mut Command, output: Stdio, log: &Path) -> Result<Self> {
        let text = File::create(log)?;
        let command = command.stdin(Stdio::null()).stdout(output).stderr(text);
        let child = command.spawn().with_context(|| format!("the {name} does not start"))?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    /// Returns the resident memory, bytes; 0 once it has ended.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    /// Returns the number of its threads; 0 once it has ended.
    pub(crate) fn threads(&self) -> usize {
        self.entries("task")
    }

    /// Returns the number of its open files; 0 once it has ended.
    pub(crate) fn files(&self) -> usize {
        self.entries("fd")
    }

    fn entries(&self, folder: &str) -> usize {
        std::fs::read_dir(format!("/proc/{}/{folder}", self.child.id())).map_or(0, Iterator::count)
    }

    /// Returns the network thread's processor time: the sender's is its main thread, the receiver's has a name.
    pub(crate) fn network_time(&self) -> Duration {
        let id = self.child.id();
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let is_network = |folder: &PathBuf| {
            let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
            match self.name {
                "sender" => folder.file_name().is_some_and(|name| *name == *id.to_string()),
                _ => name.trim() == "network",
            }
        };
        let ticks = threads.map(|thread| thread.path()).filter(is_network).map(|thread| ticks(&thread.join("stat")));
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time of the whole process; zero once it has ended.
    pub fn time(&self) -> Duration {
        Duration::from_millis(10 * ticks(Path::new(&format!("/proc/{}/stat", self.child.id()))))
    }

    /// Returns its output so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the exit code, or 128 and the signal's number, if it has ended.
    pub fn ended(&mut self) -> Result<Option<i32>> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait()?;
        Ok(status.map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))))
    }

    /// Sends a signal, such as `KILL`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status()?;
        if !status.success() {
            bail!("the {} got no {name}", self.name);
        }
        Ok(())
    }

    /// Ends it without a word to its peer.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Returns an error if it has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the {} ended with {status}: {}", self.name, self.last_line()),
        }
    }

    /// Asks it to end and waits; a daemon that does not end, or not well, is an error.
    pub fn stop(mut self) -> Result<()> {
        self.check()?;
        self.signal("TERM")?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the {} ended with {status}: {}", self.name, self.last_line()),
                None if Instant::now() >= deadline => bail!("the {} does not end", self.name),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn last_line(&self) -> String {
        self.said().lines().last().unwrap_or("it said nothing").to_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns user and system time in a `stat` file, hundredths of a second; see proc(5).
fn ticks(stat: &Path) -> u64 {
    let text = std::fs::read_to_string(stat).unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field after it.
    let after = text.rsplit_once(") ").map_or("", |parts| parts.1);
    after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
