//! Runs both daemons as processes and keeps their statistics.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use net::identity::Identity;
use picture::frame::FrameSize;
use serde_json::Value;

/// Frames a second of the clip.
const FPS: u32 = 30;
/// Factor by which datagram headers, partly filled datagrams and repeated coarse blocks grow the coded bits.
const OVERHEAD: f64 = 1.07;

/// Paths of both daemons.
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Finds them next to this program: `target/release/examples/demo` finds `target/release/sender`.
    pub(crate) fn find() -> Result<Self> {
        let own = std::env::current_exe().context("this program does not know where it is")?;
        let folder = own.parent().and_then(Path::parent).context("this program is in no folder")?.to_owned();
        for name in ["sender", "receiver"] {
            let path = folder.join(name);
            if !path.is_file() {
                bail!(
                    "{} is missing: build it with `cargo build --release -p duet-sender -p duet-receiver`",
                    path.display()
                );
            }
        }
        Ok(Self { folder })
    }

    /// Returns Cargo's target folder.
    pub(crate) fn target_folder(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join(name));
        if std::env::var_os("DUET_LOG").is_none() {
            command.env("DUET_LOG", "warn");
        }
        command
    }
}

/// One stream to make.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) backend: &'a str,
    pub(crate) clip: &'a Path,
    pub(crate) size: FrameSize,
    pub(crate) frames: u64,
    pub(crate) bits_per_pixel: f64,
    pub(crate) out: &'a Path,
}

/// A stream that was made.
pub(crate) struct Streamed {
    pub(crate) backend: String,
    pub(crate) sender: Value,
    pub(crate) receiver: Value,
    /// Pictures shown a second; none for a stream of less than two seconds.
    pub(crate) frame_rate: Option<f64>,
    pub(crate) picture_file: PathBuf,
}

impl Run<'_> {
    /// Streams and waits for both ends.
    pub(crate) fn stream(&self, programs: &Programs) -> Result<Streamed> {
        let file = |name: &str| self.out.join(format!("{}-{name}", self.backend));
        let (sender_stats, receiver_stats) = (file("sender.jsonl"), file("receiver.jsonl"));
        for stats in [&sender_stats, &receiver_stats].into_iter().filter(|stats| stats.exists()) {
            std::fs::remove_file(stats)?;
        }
        let picture_file = file("received.y4m");
        let (sender_key, sender_identity) = fresh_identity(&file("sender.pem"))?;
        let (receiver_key, receiver_identity) = fresh_identity(&file("receiver.pem"))?;
        let address = free_address()?;
        let rate = OVERHEAD * self.bits_per_pixel * (self.size.pixels() as f64) * f64::from(FPS);

        let mut receiving = programs.command("receiver");
        receiving.args(["--listen", &address, "--peer", &sender_key, "--backend", self.backend, "--no-sound"]);
        receiving.arg("--identity").arg(&receiver_identity).arg("--stats").arg(&receiver_stats);
        receiving.args(["--sink", &format!("y4m:{}", picture_file.display())]);
        if std::env::var_os("DISPLAY").is_some() {
            receiving.args(["--sink", "window"]);
        }
        let mut sending = programs.command("sender");
        sending.args(["--to", &address, "--peer", &receiver_key, "--backend", self.backend, "--no-sound"]);
        sending.arg("--identity").arg(&sender_identity).arg("--stats").arg(&sender_stats);
        sending.args(["--source", &format!("mjpeg:{}:loop:fps={FPS}", self.clip.display())]);
        sending.args(["--frames", &self.frames.to_string(), "--rate", &format!("{rate:.0}")]);
        sending.args(["--prediction", "off"]);

        let mut receiving = Process(receiving.spawn().context("the receiver does not start")?, "receiver");
        let mut sending = Process(sending.spawn().context("the sender does not start")?, "sender");
        let patience = Duration::from_secs(60) + Duration::from_secs(self.frames) / FPS * 4;
        let deadline = Instant::now() + patience;
        sending.wait(deadline)?;
        receiving.wait(deadline)?;
        for key in [sender_identity, receiver_identity] {
            std::fs::remove_file(key)?;
        }
        let lines = lines(&receiver_stats)?;
        Ok(Streamed {
            backend: self.backend.to_owned(),
            sender: self::lines(&sender_stats)?.pop().context("the sender wrote no statistics")?,
            frame_rate: frame_rate(&lines),
            receiver: lines.last().cloned().context("the receiver wrote no statistics")?,
            picture_file,
        })
    }
}

impl Streamed {
    /// Returns the faults found, one sentence each.
    pub(crate) fn faults(&self, frames: u64, bits_per_pixel: f64) -> Vec<String> {
        let expected = [
            (&self.sender, "frames_sent", frames),
            (&self.sender, "frames_dropped", 0),
            (&self.receiver, "frames_complete", frames),
            (&self.receiver, "frames_partial", 0),
            (&self.receiver, "frames_lost", 0),
            (&self.receiver, "frames_shown", frames),
        ];
        let wrong = expected.iter().filter(|(report, key, wanted)| report[key] != *wanted);
        let mut faults: Vec<_> = wrong
            .map(|(report, key, wanted)| format!("{}: {key} is {}, not {wanted}", self.backend, report[key]))
            .collect();
        let spent = self.sender["bits_per_pixel"].as_f64().unwrap_or(f64::INFINITY);
        if spent > bits_per_pixel {
            faults.push(format!("{}: {spent:.3} bits per pixel were spent, more than {bits_per_pixel}", self.backend));
        }
        faults
    }
}

/// A daemon that goes away with this value.
struct Process(Child, &'static str);

impl Process {
    fn wait(&mut self, deadline: Instant) -> Result<()> {
        loop {
            match self.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the {} ended with {status}", self.1),
                None if Instant::now() >= deadline => bail!("the {} does not end", self.1),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already unless something failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a new key; returns its public part and its file.
fn fresh_identity(path: &Path) -> Result<(String, PathBuf)> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let identity = Identity::load_or_create(path)?;
    Ok((identity.public_key().to_string(), path.to_owned()))
}

/// Returns a loopback address whose port was free a moment ago.
fn free_address() -> Result<String> {
    Ok(std::net::UdpSocket::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Returns the pictures a second over the lines, a second apart, in which the stream ran.
fn frame_rate(lines: &[Value]) -> Option<f64> {
    let shown: Vec<u64> =
        lines.iter().filter(|l| l["final"] == false).filter_map(|l| l["frames_shown"].as_u64()).collect();
    let total = lines.last()?["frames_shown"].as_u64()?;
    let running: Vec<_> = shown.into_iter().filter(|&count| count > 0 && count < total).collect();
    let seconds = running.len().checked_sub(1).filter(|&seconds| seconds > 0)?;
    Some((running[seconds] - running[0]) as f64 / seconds as f64)
}
