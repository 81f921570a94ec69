//! The place of an attack: keys, a folder, daemons that are watched.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use net::identity::Identity;

use super::Outcome;
use crate::daemons::Daemon;
use crate::scenario::measured::{self, Measured};

/// Longest that a daemon may take for what it should do at once; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at a daemon.
const LOOK: Duration = Duration::from_millis(10);

/// A folder with the keys of both ends, and the programs.
#[derive(Debug)]
pub struct Testbed {
    programs: PathBuf,
    folder: PathBuf,
}

impl Testbed {
    /// Creates a testbed for the daemons in `programs`; its files go to `folder`, which is emptied first.
    pub fn new(programs: &Path, folder: &Path) -> Result<Self> {
        if folder.is_dir() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { programs: programs.to_owned(), folder: folder.to_owned() })
    }

    /// Returns the path of the program `sender` or `receiver`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns the path of a file of this attack.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the identity in `name.pem`, made when first asked for: `sender` and `receiver` are the daemons'.
    pub fn identity(&self, name: &str) -> Result<Identity> {
        Ok(Identity::load_or_create(&self.file(&format!("{name}.pem")))?)
    }

    /// Returns the public key of [`Self::identity`] as a flag has it.
    pub fn key(&self, name: &str) -> Result<String> {
        Ok(self.identity(name)?.public_key().to_string())
    }

    /// Returns an address of the loopback whose UDP port was free a moment ago.
    pub fn free_address(&self) -> Result<SocketAddr> {
        Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?)
    }

    /// Returns the program `sender` or `receiver`, with its key.
    pub fn program(&self, name: &'static str) -> Result<Command> {
        self.program_as(name, name, "cpu")
    }

    /// Returns the program `sender` or `receiver`, with its key and nothing else.
    pub(crate) fn plain(&self, name: &str) -> Result<Command> {
        self.with_key(name, name)
    }

    /// Returns the same with the key of `identity`.
    pub(crate) fn plain_as(&self, name: &str, identity: &str) -> Result<Command> {
        self.with_key(name, identity)
    }

    fn with_key(&self, name: &str, identity: &str) -> Result<Command> {
        self.identity(identity)?;
        let mut command = Command::new(self.path(name));
        command.arg("--identity").arg(self.file(&format!("{identity}.pem"))).env("DUET_LOG", "info");
        Ok(command)
    }

    /// Returns the program `sender` or `receiver`, with the key of `identity`, computing with `backend`.
    fn program_as(&self, name: &str, identity: &str, backend: &str) -> Result<Command> {
        let mut command = self.with_key(name, identity)?;
        command.args(["--backend", backend]);
        Ok(command)
    }

    /// Returns a receiver without a window that listens at `address` and allows the peer with the key `peer`. It logs
    /// the pictures shown (see [`Self::gap_ms`]) and its statistics (`receiver.jsonl`).
    pub fn receiver(&self, address: SocketAddr, peer: &str) -> Result<Command> {
        self.receiver_on("cpu", address, peer)
    }

    /// Returns the same, computing with `backend`.
    pub(crate) fn receiver_on(&self, backend: &str, address: SocketAddr, peer: &str) -> Result<Command> {
        let mut command = self.program_as("receiver", "receiver", backend)?;
        command.args(["--listen", &address.to_string(), "--peer", peer, "--sink", "headless", "--config"]);
        command.arg(self.pictures_config()?);
        command.arg("--stats").arg(self.file("receiver.jsonl"));
        Ok(command)
    }

    /// Returns the configuration of a receiver that logs the pictures shown.
    pub(crate) fn pictures_config(&self) -> Result<PathBuf> {
        let config = self.file("receiver.toml");
        std::fs::write(&config, format!("[stats]\npictures = \"{}\"\n", self.file("pictures").display()))?;
        Ok(config)
    }

    /// Returns a sender of the test pattern with the key of `name`, for the receiver at the other end of `address`, which it
    /// dials (`mode` is `--to`) or at which it listens (`--listen`); its statistics are in `NAME.jsonl`.
    pub(crate) fn sender(&self, name: &str, mode: &str, address: SocketAddr) -> Result<Command> {
        let mut command = self.program_as("sender", name, "cpu")?;
        command.args([mode, &address.to_string(), "--peer", &self.key("receiver")?, "--rate", "4M"]);
        command.args(["--source", "pattern:size=320x180:fps=30", "--stats"]).arg(self.file(&format!("{name}.jsonl")));
        Ok(command)
    }

    /// Starts a receiver that waits for the sender's call; returns its address as well.
    pub(crate) fn listening_receiver(&self) -> Result<(SocketAddr, Victim)> {
        let address = self.free_address()?;
        let mut receiver = self.start("receiver", &mut self.receiver(address, &self.key("sender")?)?)?;
        self.wait_until_bound(address, &mut receiver)?;
        Ok((address, receiver))
    }

    /// Starts a sender that waits for the receiver's call; returns its address as well.
    pub(crate) fn listening_sender(&self) -> Result<(SocketAddr, Victim)> {
        let address = self.free_address()?;
        let mut sender = self.start("sender", &mut self.sender("sender", "--listen", address)?)?;
        self.wait_until_bound(address, &mut sender)?;
        Ok((address, sender))
    }

    /// Starts a sender that calls the receiver at `address`.
    pub(crate) fn calling_sender(&self, address: SocketAddr) -> Result<Victim> {
        self.start("sender", &mut self.sender("sender", "--to", address)?)
    }

    /// Starts a daemon; its log is `NAME.log`.
    pub fn start(&self, name: &'static str, command: &mut Command) -> Result<Victim> {
        self.start_into(name, command, Stdio::null())
    }

    /// Starts it likewise, with its standard output going to `output`.
    pub(crate) fn start_into(&self, name: &'static str, command: &mut Command, output: Stdio) -> Result<Victim> {
        let daemon = Daemon::start_into(name, command, output, &self.file(&format!("{name}.log")))?;
        Ok(Victim { daemon, begin: None, memory_most: 0 })
    }

    /// Waits until a UDP socket is bound to the address's port.
    pub fn wait_until_bound(&self, address: SocketAddr, victim: &mut Victim) -> Result<()> {
        let port = format!(":{:04X}", address.port());
        victim.until("its socket", || {
            let sockets =
                ["/proc/net/udp", "/proc/net/udp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
            let is_bound = |line: &str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port));
            Ok(sockets.iter().flat_map(|text| text.lines()).any(is_bound))
        })
    }

    /// Returns the number of pictures that the receiver has shown so far.
    pub fn shown(&self) -> usize {
        let log = std::fs::read_to_string(self.file("pictures")).unwrap_or_default();
        log.lines().count().saturating_sub(1)
    }

    /// Waits until the receiver has shown `more` pictures more than now.
    pub fn wait_for_pictures(&self, victim: &mut Victim, more: usize) -> Result<()> {
        let before = self.shown();
        victim.until("pictures", || Ok(self.shown() >= before + more))
    }

    /// Returns the longest time without a new picture between `from` (time since 1970) and now, milliseconds.
    pub fn gap_ms(&self, from: Duration) -> Result<f64> {
        let now = unix_time()?.saturating_sub(from).as_secs_f64() * 1e3;
        let pictures = measured::pictures(&self.file("pictures"), from)?;
        Ok(Measured { pictures, length: now, ..Measured::default() }.gap_max())
    }
}

/// Returns the time since 1970.
pub fn unix_time() -> Result<Duration> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?)
}

/// A daemon under attack.
#[derive(Debug)]
pub struct Victim {
    /// The process.
    pub daemon: Daemon,
    begin: Option<Begin>,
    memory_most: u64,
}

/// Figures of the victim when the attack began.
#[derive(Clone, Copy, Debug)]
struct Begin {
    memory: u64,
    cpu: Duration,
    log_lines: usize,
}

impl Victim {
    /// Begins the attack: growth, processor time and log lines count from here.
    pub fn begin(&mut self) {
        let begin = Begin { memory: self.daemon.memory(), cpu: self.daemon.time(), log_lines: self.lines() };
        self.memory_most = begin.memory;
        self.begin = Some(begin);
    }

    /// Notes the victim's present memory and processor time; call it often.
    pub fn look(&mut self) {
        self.memory_most = self.memory_most.max(self.daemon.memory());
    }

    /// Watches the victim for this long.
    pub fn watch(&mut self, span: Duration) {
        let end = Instant::now() + span;
        while Instant::now() < end {
            self.look();
            std::thread::sleep(LOOK);
        }
    }

    /// Watches the victim until `holds`; an error if that takes too long or the victim ends.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !holds()? {
            self.look();
            self.daemon.check()?;
            if Instant::now() >= deadline {
                bail!("{what} did not come in {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until the victim's log holds `text`: a daemon writes its log beside everything else.
    pub fn until_said(&mut self, text: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.daemon.said().contains(text) {
            self.look();
            self.daemon.check()?;
            if Instant::now() >= deadline {
                bail!("its log does not say: {text}");
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits for the end of a victim that was asked to end: its exit code.
    pub fn wait(&mut self) -> Result<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.daemon.ended()? {
                Some(code) => return Ok(code),
                None if Instant::now() >= deadline => bail!("it does not end"),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Returns the figures since [`Self::begin`], and the exit code of a victim that has ended.
    pub fn outcome(&mut self) -> Result<Outcome> {
        self.look();
        let exit_code = self.daemon.ended()?;
        let begin = self.begin.context("the attack has not begun")?;
        // What a process that has ended took is gone with it.
        let cpu = self.daemon.time().checked_sub(begin.cpu);
        Ok(Outcome {
            growth_mb: Some(self.memory_most.saturating_sub(begin.memory) as f64 / 1e6),
            cpu_s: cpu.map(|cpu| cpu.as_secs_f64()),
            log_lines: Some(self.lines().saturating_sub(begin.log_lines)),
            exit_code,
            ..Outcome::default()
        })
    }

    /// Returns the largest memory seen since [`Self::begin`], bytes.
    pub(crate) fn memory_most(&self) -> u64 {
        self.memory_most
    }

    /// Lines in its log.
    pub(crate) fn lines(&self) -> usize {
        self.daemon.said().lines().count()
    }
}
