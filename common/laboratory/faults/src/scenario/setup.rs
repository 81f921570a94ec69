//! Both daemons of a call, begun as a scenario wants them and begun anew whenever one has gone.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use picture::frame::{FrameRate, FrameSize};

use crate::camera::Camera;
use crate::daemons::{Daemon, Held};
use crate::logs;
use crate::machine::confine::Confinement;
use crate::machine::device::{self, Layer, NO_LOADER};
use crate::machine::namespaces::Namespaces;
use crate::machine::route::Route;
use crate::quality::{Original, Quality};
use crate::scenario::case::Case;
use crate::scenario::sound::{Server, Sound};
use crate::testbed::{ENDS, RECEIVER, SECOND, SENDER, Testbed};

/// Debian's package libfaketime.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

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
    /// Sound, if the daemons are told of any.
    pub(crate) sound: Option<Sound>,
    /// Congestion controller: `duet` or `cubic`.
    pub(crate) controller: String,
    /// Pictures to compare with, if any.
    pub(crate) original: Option<Arc<Original>>,
    /// True if the daemons run in network namespaces of their own.
    pub(crate) in_namespaces: bool,
    /// The folder that holds both programs.
    pub(crate) programs: PathBuf,
}

impl Stream {
    /// Returns the stream of this source and rate, on the processor and with nothing else.
    pub(crate) fn of(source: &str, rate: &str, frame_rate: FrameRate, programs: &Path) -> Self {
        Self {
            source: source.to_owned(),
            rate: rate.to_owned(),
            backend: "cpu".to_owned(),
            frame_rate,
            prediction: None,
            sound: None,
            controller: "duet".to_owned(),
            original: None,
            in_namespaces: false,
            programs: programs.to_owned(),
        }
    }
}

/// Everything that both daemons need, in a folder.
pub(crate) struct Setup {
    pub(crate) bed: Testbed,
    stream: Stream,
    /// Address at which the one that listens does.
    pub(crate) listen: SocketAddr,
    /// The end that listens.
    listens: usize,
    /// Size of the pictures of both ends' cameras, if each sends and receives.
    cameras: Option<FrameSize>,
    /// True if both allow another peer.
    allows_second: bool,
    pub(crate) spaces: Option<Namespaces>,
    pub(crate) quality: Option<Quality>,
    /// True if the program faketime sets the wall clocks of both.
    fakes_clock: bool,
    /// A layer between the daemons and OpenCL.
    layer: Option<Layer>,
    /// OpenCL drivers that can be taken away.
    drivers: Option<PathBuf>,
    /// The card of both, if there is sound.
    server: Option<Server>,
    /// Limits of the sender's and the receiver's memory.
    pub(crate) confined: Option<[Confinement; 2]>,
}

impl Setup {
    /// Makes keys and configuration in `folder`, which is emptied first.
    pub(crate) fn new(folder: &Path, stream: &Stream, case: &Case) -> Result<Self> {
        let bed = Testbed::new(&stream.programs, folder)?;
        let mut network = String::new();
        if stream.controller != "duet" {
            network = format!("[network]\ncontroller = \"{}\"\n", stream.controller);
        }
        std::fs::write(bed.file("sender.toml"), network)?;
        let needs_spaces = (stream.in_namespaces && case.listens == RECEIVER)
            || matches!(case.route, Route::Line { .. } | Route::Spaces);
        let spaces = needs_spaces.then(|| Namespaces::new(case.route)).transpose()?;
        let listen = match &spaces {
            // In namespaces it is the receiver that listens.
            Some(spaces) => (spaces.receiver, 4_820).into(),
            None => bed.free_address()?,
        };
        let mut stream = stream.clone();
        if let Some((source, rate)) = case.stream {
            (stream.source, stream.rate) = (source.to_owned(), rate.to_owned());
        }
        // Another source has other pictures, of another size.
        let original = stream.original.clone().filter(|_| case.stream.is_none() && !case.has_other_pictures());
        if let Some(backend) = case.backend {
            backend.clone_into(&mut stream.backend);
        }
        let layer = match case.needs_layer() {
            true => Some(Layer::build(folder, &bed.path("receiver"))?.context(NO_LOADER)?),
            false => None,
        };
        let setup = Self {
            listen,
            listens: case.listens,
            cameras: case.cameras,
            allows_second: case.allows_second(),
            spaces,
            quality: original.map(Quality::new),
            fakes_clock: case.needs_clock(),
            layer,
            drivers: case.needs_drivers().then(|| device::copy_drivers(folder)).transpose()?,
            server: (stream.sound == Some(Sound::On)).then(|| Server::start(folder)).transpose()?,
            confined: case.limits_memory().then(|| ENDS.map(Confinement::new)),
            stream,
            bed,
        };
        if setup.fakes_clock {
            if !Path::new(FAKETIME).is_file() {
                bail!("{FAKETIME} is missing: install the package libfaketime");
            }
            setup.set_clock(SENDER, "@1970-01-01 00:00:10")?;
            setup.set_clock(RECEIVER, "+0")?;
        }
        Ok(setup)
    }

    /// Returns the address of a relay between both, without its port.
    pub(crate) fn relay(&self) -> Ipv4Addr {
        self.spaces.as_ref().and_then(|spaces| spaces.relay).unwrap_or(Ipv4Addr::LOCALHOST)
    }

    /// Returns the video's bit rate as a flag has it.
    pub(crate) fn rate(&self) -> &str {
        &self.stream.rate
    }

    /// Returns the time between two pictures.
    pub(crate) fn interval(&self) -> Duration {
        self.stream.frame_rate.interval()
    }

    /// Returns what the daemons are told of sound.
    pub(crate) fn sound(&self) -> Option<Sound> {
        self.stream.sound
    }

    /// Returns what the sender is told of prediction.
    pub(crate) fn prediction(&self) -> Option<&str> {
        self.stream.prediction.as_deref()
    }

    /// Sets the wall clock of an end, running or not, as the program faketime takes it.
    pub(crate) fn set_clock(&self, end: usize, time: &str) -> Result<()> {
        // Renamed, so that no reader sees half of it.
        let part = self.file("clock.part");
        std::fs::write(&part, time)?;
        Ok(std::fs::rename(part, self.of(end, "clock"))?)
    }

    /// Returns the file that commands the OpenCL layer of an end.
    pub(crate) fn device(&self, end: usize) -> PathBuf {
        self.of(end, "device")
    }

    /// Returns true if OpenCL drivers can be taken away.
    pub(crate) fn has_drivers(&self) -> bool {
        self.drivers.is_some()
    }

    /// Takes the OpenCL drivers away.
    pub(crate) fn remove_drivers(&self) -> Result<()> {
        self.drivers.as_deref().map_or(Ok(()), device::remove_drivers)
    }

    /// Returns the path of a file of this run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.bed.file(name)
    }

    fn of(&self, end: usize, what: &str) -> PathBuf {
        self.file(&format!("{}.{what}", ENDS[end]))
    }

    /// Returns the file of this `kind` of the `number`th start of an end.
    pub(crate) fn file_of(&self, end: usize, number: usize, kind: &str) -> PathBuf {
        self.file(&format!("{}-{number}.{kind}", ENDS[end]))
    }

    /// Returns the text of that file; empty if there is none.
    pub(crate) fn text_of(&self, end: usize, number: usize, kind: &str) -> String {
        std::fs::read_to_string(self.file_of(end, number, kind)).unwrap_or_default()
    }

    /// Returns the number of pictures that the `number`th start of an end has shown.
    pub(crate) fn shown(&self, end: usize, number: usize) -> u64 {
        if self.cameras.is_some() {
            let stats = self.file(&format!("{}-{number}-received.jsonl", ENDS[end]));
            return logs::last(&stats).map_or(0, |line| line["frames_shown"].as_u64().unwrap_or(0));
        }
        // The first line of the log is its origin.
        self.text_of(end, number, "pictures").lines().count().saturating_sub(1) as u64
    }

    /// Starts an end for the `number`th time; who dials, dials `to`.
    fn start(&self, end: usize, number: usize, to: SocketAddr, camera: Option<&Camera>) -> Result<Daemon> {
        let mut command = self.command(end)?;
        command.arg("--config").arg(match end {
            SENDER => self.file("sender.toml"),
            _ if camera.is_some() => self.file("sender.toml"),
            _ => {
                let pictures = format!("receiver-{number}.pictures");
                self.bed.pictures_config(&format!("receiver-{number}"), &pictures)?
            }
        });
        if camera.is_some() {
            command.arg("call");
        }
        let (flag, address) = if end == self.listens { ("--listen", self.listen) } else { ("--to", to) };
        command.args(["--backend", &self.stream.backend, flag, &address.to_string()]);
        command.args(["--peer", &self.bed.key(ENDS[1 - end])?]);
        if self.allows_second {
            command.args(["--peer", &self.bed.key(SECOND)?]);
        }
        command.arg("--stats").arg(self.file_of(end, number, "jsonl"));
        command.args(self.stream.sound.iter().flat_map(|sound| sound.options(end == SENDER || camera.is_some())));
        if let Some(server) = &self.server {
            server.join(&mut command);
        }
        if end == SENDER || camera.is_some() {
            let source = camera.map_or_else(|| self.stream.source.clone(), Camera::source);
            command.args(["--source", &source, "--rate", &self.stream.rate]);
            if let Some(prediction) = &self.stream.prediction {
                command.args(["--prediction", prediction]);
            }
        }
        if end == RECEIVER || camera.is_some() {
            command.args(["--sink", "headless"]);
        }
        if let (RECEIVER, Some(quality)) = (end, &self.quality) {
            let pipe = self.file_of(end, number, "y4m");
            quality.watch(&pipe)?;
            command.args(["--sink", &format!("y4m:{}", pipe.display())]);
        }
        Daemon::start(ENDS[end], &mut command, &self.file_of(end, number, "log"))
    }

    /// Returns the program of an end, with its key and what is done to its machine.
    pub(crate) fn command(&self, end: usize) -> Result<Command> {
        let program = self.bed.path(ENDS[if self.cameras.is_some() { SENDER } else { end }]);
        let command = match (&self.spaces, &self.confined) {
            (Some(spaces), _) => spaces.command(end, &program),
            (None, Some(confined)) => confined[end].command(&program),
            (None, None) => Command::new(program),
        };
        let mut command = self.bed.with_key(command, ENDS[end])?;
        if self.fakes_clock {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", self.of(end, "clock"));
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

/// Both daemons; none: killed, not yet started again.
#[derive(Default)]
pub(crate) struct Pair {
    pub(crate) ends: [Option<Daemon>; 2],
    /// Starts of each.
    pub(crate) starts: [usize; 2],
    /// Cameras of ends that have one.
    pub(crate) cameras: [Option<Camera>; 2],
}

impl Pair {
    /// Starts an end; who dials, dials `to`.
    pub(crate) fn start(&mut self, end: usize, setup: &Setup, to: SocketAddr) -> Result<()> {
        let number = self.starts[end];
        if let Some(size) = setup.cameras {
            // A camera of its own: what is left in the pipe of another one has lost its beginning.
            let camera = Camera::start(setup.file_of(end, number, "camera"), size, setup.stream.frame_rate)?;
            self.cameras[end] = Some(camera);
        }
        self.ends[end] = Some(setup.start(end, number, to, self.cameras[end].as_ref())?);
        self.starts[end] += 1;
        Ok(())
    }

    /// Returns the number of the newest start of an end.
    pub(crate) fn life(&self, end: usize) -> usize {
        self.starts[end].saturating_sub(1)
    }

    /// Sends a signal to the ends that are true.
    pub(crate) fn signal(&self, ends: [bool; 2], name: &str) -> Result<()> {
        let asked = self.ends.iter().zip(ends).filter(|(_, is_asked)| *is_asked);
        asked.filter_map(|(end, _)| end.as_ref()).try_for_each(|daemon| daemon.signal(name))
    }

    /// Returns an error if one has ended by itself.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.ends.iter_mut().flatten().try_for_each(Daemon::check)
    }

    /// Returns what `of` gives for each.
    pub(crate) fn each<T: Default>(&self, of: impl Fn(&Daemon) -> T) -> [T; 2] {
        self.ends.each_ref().map(|daemon| daemon.as_ref().map_or_else(T::default, &of))
    }

    /// Returns what each holds.
    pub(crate) fn held(&self) -> [Held; 2] {
        self.each(Daemon::held)
    }
}
