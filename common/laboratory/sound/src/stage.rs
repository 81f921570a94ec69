//! A JACK server without a card, the programs on it, and the line between them.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use faults::daemons::Daemon;
use faults::machine::priority::{has_real_time, raised};
use faults::relay::Relay;

use crate::ticker::Ticker;

/// Priorities of what stands for the card and the line, and of programs.
const SERVER: u8 = 80;
const LINE: u8 = 85;
const PROGRAM: u8 = 60;
/// Longest that a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Servers that run: a name is used again, since JACK keeps the place of one that was killed until its name comes again.
static SERVERS: AtomicU32 = AtomicU32::new(0);

/// Samples a second of every card.
pub(crate) const RATE: u32 = 48_000;

/// A card that is not there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Card {
    /// Samples of a period.
    pub(crate) period: u32,
    pub(crate) driver: Driver,
}

/// Server and clock of a card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Driver {
    /// JACK's dummy, which is right but loses time when it is late.
    Dummy,
    /// A clock that is fast by so many millionths, and never loses time.
    Off(f64),
    /// PipeWire in place of JACK.
    PipeWire,
}

/// A JACK server and a folder of files. The server ends with its value.
pub(crate) struct Stage {
    server: String,
    folder: PathBuf,
    card: Card,
    daemon: Option<Daemon>,
    /// The card's clock, if it is not the server's own.
    ticker: Option<Ticker>,
    has_real_time: bool,
}

impl Stage {
    /// Starts a server; files go to `folder`, which is there.
    pub(crate) fn start(folder: &Path, card: Card) -> Result<Self> {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let folder = folder.to_owned();
        let server = format!("duet-{}-{number}", std::process::id());
        let has_real_time = has_real_time();
        let mut stage = Self { server, folder, card, daemon: None, ticker: None, has_real_time };
        stage.start_server()?;
        Ok(stage)
    }

    /// Starts the server, again if it has ended, and waits until it answers.
    pub(crate) fn start_server(&mut self) -> Result<()> {
        self.daemon = None;
        let period = self.card.period.to_string();
        let mut command = self.command(SERVER);
        match self.card.driver {
            Driver::PipeWire => {
                std::fs::create_dir_all(self.runtime())?;
                command.arg("pipewire");
            }
            Driver::Dummy | Driver::Off(_) => {
                command.args(["jackd", "-n", &self.server]);
                command.args(if self.has_real_time { &["-R", "-P", "75"][..] } else { &["-r"] });
            }
        }
        match self.card.driver {
            Driver::PipeWire => {}
            Driver::Dummy => drop(command.args(["-d", "dummy", "-r", &RATE.to_string(), "-p", &period])),
            Driver::Off(ppm) => {
                let port = free_address()?.port();
                self.ticker = Some(Ticker::start(port, self.card.period, ppm)?);
                // The first packet tells the rest.
                command.args(["-d", "netone", "-l", &port.to_string(), "-t", "0"]);
            }
        }
        let mut daemon = Daemon::start("JACK server", &mut command, &self.file(&format!("{}.log", self.server)))?;
        let began = Instant::now();
        while !self.answers()? {
            daemon.check()?;
            if began.elapsed() > PATIENCE {
                bail!("the JACK server does not answer");
            }
            std::thread::sleep(LOOK);
        }
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Ends the server without a word.
    pub(crate) fn kill_server(&mut self) -> Result<()> {
        self.daemon.take().map_or(Ok(()), Daemon::kill)
    }

    /// Returns the path of a file of this stage.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the folder of all files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the samples of a period.
    pub(crate) fn period(&self) -> u32 {
        self.card.period
    }

    /// Returns a command for a program on this server, in real time if this user may.
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = self.command(PROGRAM);
        if self.card.driver == Driver::PipeWire {
            // It lets JACK programs find PipeWire's library.
            command.arg("pw-jack");
        }
        command.arg(program);
        command
    }

    /// Lets a command that is there already find this server.
    pub(crate) fn join(&self, command: &mut Command) {
        // Programs of others keep their settings there.
        command.env("JACK_DEFAULT_SERVER", &self.server).env("QT_QPA_PLATFORM", "offscreen").env("HOME", &self.folder);
        command.env("PIPEWIRE_RUNTIME_DIR", self.runtime());
    }

    /// Starts a program; its log is `NAME.log`.
    pub(crate) fn run(&self, name: &'static str, command: &mut Command) -> Result<Daemon> {
        Daemon::start(name, command, &self.file(&format!("{name}.log")))
    }

    /// Waits until a port of this name is there.
    pub(crate) fn wait_for_port(&self, daemon: &mut Daemon, name: &str) -> Result<()> {
        daemon.until(&format!("the port {name}"), || Ok(self.ports()?.lines().any(|port| port.starts_with(name))))
    }

    /// Returns the folder of PipeWire's socket.
    fn runtime(&self) -> PathBuf {
        self.file("pipewire")
    }

    fn ports(&self) -> Result<String> {
        let mut list = match self.card.driver {
            Driver::PipeWire => Command::new("pw-jack"),
            Driver::Dummy | Driver::Off(_) => Command::new("env"),
        };
        self.join(&mut list);
        let listed = list.arg("jack_lsp").stderr(Stdio::null()).output();
        let listed = listed.context("jack_lsp does not start: apt-get install jackd2 pipewire-jack")?;
        Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
    }

    fn answers(&self) -> Result<bool> {
        if self.card.driver != Driver::PipeWire {
            return Ok(self.ports()?.lines().any(|port| port.starts_with("system:")));
        }
        // It has no port of its own, but takes the period that it is told.
        let mut tell = Command::new("pw-metadata");
        self.join(&mut tell);
        tell.args(["-n", "settings", "0", "clock.force-quantum", &self.card.period.to_string()]);
        Ok(tell.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()))
    }

    fn command(&self, priority: u8) -> Command {
        // It ends with this program, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        if self.has_real_time {
            command.args(["chrt", "--fifo", &priority.to_string()]);
        }
        self.join(&mut command);
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        SERVERS.fetch_sub(1, Ordering::Relaxed);
        // One that is killed keeps its place among the few servers that JACK can have.
        let _ = self.daemon.take().map(Daemon::stop);
    }
}

/// Starts the line to these targets, in real time if this user may.
pub(crate) fn line(targets: &[SocketAddr], delay: Duration) -> Result<Relay> {
    let flows: Vec<_> = targets.iter().map(|&target| ((Ipv4Addr::LOCALHOST, 0).into(), target)).collect();
    Ok(raised(LINE, || Relay::shared(&flows, delay))?)
}

/// Returns an address of the loopback whose UDP port was free a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
