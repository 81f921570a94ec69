//! Both daemons as processes that can be killed, stopped and begun anew.

use std::fs::File;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use shell::identity::Identity;

/// Longest that a daemon may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is streamed, and how.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The sender's source.
    pub(crate) source: String,
    /// Video bit rate, as the sender's flag takes it.
    pub(crate) rate: String,
    /// Back end of both daemons.
    pub(crate) backend: String,
    /// Congestion controller: `duet` or `cubic`.
    pub(crate) controller: String,
}

/// Everything that both daemons need, in a folder.
pub(crate) struct Setup {
    programs: PathBuf,
    folder: PathBuf,
    stream: Stream,
    keys: [String; 2],
    /// Where the receiver listens.
    pub(crate) listen: SocketAddr,
}

impl Setup {
    /// Makes keys and configuration in `folder`, which is emptied first.
    pub(crate) fn new(folder: &Path, stream: &Stream) -> Result<Self> {
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
        // A port that was free a moment ago.
        let listen = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self { programs: programs()?, folder: folder.to_owned(), stream: stream.clone(), keys, listen })
    }

    /// A file of this run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the sender for the `number`th time; it dials `to`.
    pub(crate) fn sender(&self, number: usize, to: SocketAddr) -> Result<Daemon> {
        let mut command = self.command("sender", number);
        command.args(["--to", &to.to_string(), "--peer", &self.keys[1]]);
        command.args(["--source", &self.stream.source, "--rate", &self.stream.rate]);
        command.arg("--config").arg(self.file("sender.toml"));
        Daemon::start("sender", &mut command, &self.file(&format!("sender-{number}.log")))
    }

    /// Starts the receiver for the `number`th time.
    pub(crate) fn receiver(&self, number: usize) -> Result<Daemon> {
        let pictures = self.file(&format!("receiver-{number}.pictures"));
        let config = self.file(&format!("receiver-{number}.toml"));
        std::fs::write(&config, format!("[stats]\npictures = \"{}\"\n", pictures.display()))?;
        let mut command = self.command("receiver", number);
        command.args(["--listen", &self.listen.to_string(), "--peer", &self.keys[0], "--sink", "headless"]);
        command.arg("--config").arg(config);
        Daemon::start("receiver", &mut command, &self.file(&format!("receiver-{number}.log")))
    }

    fn command(&self, name: &str, number: usize) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.args(["--backend", &self.stream.backend]);
        command.arg("--identity").arg(self.file(&format!("{name}.pem")));
        command.arg("--stats").arg(self.file(&format!("{name}-{number}.jsonl")));
        command.env("DUET_LOG", "info");
        command
    }
}

/// Next to this program: `target/release/examples/faults` finds `target/release`.
fn programs() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let folder = own.parent().and_then(Path::parent).context("this program is in no folder")?;
    for name in ["sender", "receiver"] {
        if !folder.join(name).is_file() {
            bail!("{name} is not in {}: build it with the same profile first", folder.display());
        }
    }
    Ok(folder.to_owned())
}

/// A running daemon; it is killed with its value.
pub(crate) struct Daemon {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    fn start(name: &'static str, command: &mut Command, log: &Path) -> Result<Self> {
        let text = File::create(log)?;
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(text);
        let child = command.spawn().with_context(|| format!("the {name} does not start"))?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    /// Resident memory, bytes; 0 once it has ended.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    /// Sends a signal, such as `KILL`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status()?;
        if !status.success() {
            bail!("the {} got no {name}", self.name);
        }
        Ok(())
    }

    /// Ends it without a word to its peer.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// An error if it has ended by itself.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the {} ended with {status}: {}", self.name, self.last_line()),
        }
    }

    /// Asks it to end and waits; a daemon that does not end, or not well, is an error.
    pub(crate) fn stop(mut self) -> Result<()> {
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
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().last().unwrap_or("it said nothing").to_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
