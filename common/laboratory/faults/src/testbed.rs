//! The place of a run: a folder with the keys of both ends, and the programs.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use net::identity::Identity;

use crate::daemons::Daemon;
use crate::logs::{self, longest_gap};

/// The ends of a call, by the places that their figures have everywhere.
pub(crate) const SENDER: usize = 0;
pub(crate) const RECEIVER: usize = 1;
/// Their names.
pub(crate) const ENDS: [&str; 2] = ["sender", "receiver"];

/// The key of a peer that both may allow besides each other.
pub(crate) const SECOND: &str = "second";

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
    pub fn path(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns the path of a file of this run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the text of a file of this run; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
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

    /// Returns the program `sender` or `receiver`, with its key, computing on the processor.
    pub(crate) fn program(&self, name: &str) -> Result<Command> {
        self.program_as(name, name, "cpu")
    }

    /// Returns the program `sender` or `receiver`, with the key of `identity` and nothing else.
    pub(crate) fn plain_as(&self, name: &str, identity: &str) -> Result<Command> {
        self.with_key(Command::new(self.path(name)), identity)
    }

    /// Gives the program of `command` the key of `identity`, and a place of its own for what it opens.
    pub fn with_key(&self, mut command: Command, identity: &str) -> Result<Command> {
        self.identity(identity)?;
        command.arg("--identity").arg(self.file(&format!("{identity}.pem"))).env("DUET_LOG", "info");
        command.env("XDG_RUNTIME_DIR", self.file(&format!("{identity}.run")));
        Ok(command)
    }

    /// Returns the program `sender` or `receiver`, with the key of `identity`, computing with `backend`.
    fn program_as(&self, name: &str, identity: &str, backend: &str) -> Result<Command> {
        let mut command = self.plain_as(name, identity)?;
        command.args(["--backend", backend]);
        Ok(command)
    }

    /// Returns a receiver without a window that listens at `address` and allows the peer with the key `peer`. It logs
    /// the pictures shown (see `gap_ms`) and its statistics (`receiver.jsonl`).
    pub fn receiver(&self, address: SocketAddr, peer: &str) -> Result<Command> {
        self.receiver_on("cpu", address, peer)
    }

    /// Returns the same, computing with `backend`.
    pub fn receiver_on(&self, backend: &str, address: SocketAddr, peer: &str) -> Result<Command> {
        let mut command = self.program_as("receiver", "receiver", backend)?;
        command.args(["--listen", &address.to_string(), "--peer", peer, "--sink", "headless", "--config"]);
        command.arg(self.pictures_config("receiver", "pictures")?);
        command.arg("--stats").arg(self.file("receiver.jsonl"));
        Ok(command)
    }

    /// Returns the configuration `NAME.toml` of a receiver that logs the pictures shown to the file `pictures`.
    pub fn pictures_config(&self, name: &str, pictures: &str) -> Result<PathBuf> {
        let config = self.file(&format!("{name}.toml"));
        std::fs::write(&config, format!("[stats]\npictures = \"{}\"\n", self.file(pictures).display()))?;
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

    /// Starts a daemon that waits for a call at `address`.
    pub(crate) fn listening(
        &self,
        name: &'static str,
        address: SocketAddr,
        command: &mut Command,
    ) -> Result<(SocketAddr, Daemon)> {
        let mut daemon = self.start(name, command)?;
        self.wait_until_bound(address, &mut daemon)?;
        daemon.begin();
        Ok((address, daemon))
    }

    /// Starts a receiver that waits for the sender's call; returns its address as well. Its figures count from here.
    pub(crate) fn listening_receiver(&self) -> Result<(SocketAddr, Daemon)> {
        let address = self.free_address()?;
        self.listening("receiver", address, &mut self.receiver(address, &self.key("sender")?)?)
    }

    /// Starts one likewise whose allocator gives large blocks back to the system at once, so that its memory is what it holds.
    pub(crate) fn listening_receiver_that_keeps_nothing(&self) -> Result<(SocketAddr, Daemon)> {
        let address = self.free_address()?;
        let mut command = self.receiver(address, &self.key("sender")?)?;
        self.listening("receiver", address, command.env("MALLOC_MMAP_THRESHOLD_", "1048576"))
    }

    /// Starts a sender that waits for the receiver's call; returns its address as well. Its figures count from here.
    pub(crate) fn listening_sender(&self) -> Result<(SocketAddr, Daemon)> {
        let address = self.free_address()?;
        self.listening("sender", address, &mut self.sender("sender", "--listen", address)?)
    }

    /// Starts a sender that calls the receiver at `address`.
    pub(crate) fn calling_sender(&self, address: SocketAddr) -> Result<Daemon> {
        self.start("sender", &mut self.sender("sender", "--to", address)?)
    }

    /// Starts a daemon; its log is `NAME.log`.
    pub fn start(&self, name: &'static str, command: &mut Command) -> Result<Daemon> {
        self.start_into(name, command, Stdio::null())
    }

    /// Starts it likewise, with its standard output going to `output`.
    pub(crate) fn start_into(&self, name: &'static str, command: &mut Command, output: Stdio) -> Result<Daemon> {
        Daemon::start_into(name, command, output, &self.file(&format!("{name}.log")))
    }

    /// Waits until a UDP socket is bound to the address's port.
    pub fn wait_until_bound(&self, address: SocketAddr, daemon: &mut Daemon) -> Result<()> {
        let port = format!(":{:04X}", address.port());
        daemon.until("its socket", || {
            let sockets =
                ["/proc/net/udp", "/proc/net/udp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
            let is_bound = |line: &str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port));
            Ok(sockets.iter().flat_map(|text| text.lines()).any(is_bound))
        })
    }

    /// Returns the number of pictures that the receiver has shown so far.
    pub(crate) fn shown(&self) -> usize {
        self.text("pictures").lines().count().saturating_sub(1)
    }

    /// Waits until the receiver has shown `more` pictures more than now.
    pub fn wait_for_pictures(&self, daemon: &mut Daemon, more: usize) -> Result<()> {
        let before = self.shown();
        daemon.until("pictures", || Ok(self.shown() >= before + more))
    }

    /// Returns the longest time without a new picture between `from` (time since 1970) and now, milliseconds.
    pub(crate) fn gap_ms(&self, from: Duration) -> Result<f64> {
        let now = unix_time()?.saturating_sub(from).as_secs_f64() * 1e3;
        let pictures = logs::pictures(&self.file("pictures"), from)?;
        Ok(longest_gap(&pictures, 0.0, now))
    }
}

/// Returns the time since 1970.
pub fn unix_time() -> Result<Duration> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?)
}

/// Makes a pipe with a name.
pub(crate) fn pipe(path: &Path) -> Result<()> {
    if !Command::new("mkfifo").arg(path).status().context("mkfifo does not start")?.success() {
        bail!("no pipe can be made at {}", path.display());
    }
    Ok(())
}
