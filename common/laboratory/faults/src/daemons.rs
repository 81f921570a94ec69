//! A daemon as a process: what it takes, what it says, and how it ends.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bars::Outcome;

/// Longest that a daemon may take to end when asked.
const END_MAX: Duration = Duration::from_secs(10);
/// Longest that it may take for what it should do at once; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(10);

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

/// State of a daemon, and what it has taken; zeros once it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Resident bytes.
    pub memory: u64,
    /// Processor time.
    pub time: Duration,
    /// Threads.
    pub threads: usize,
    /// Open files.
    pub files: usize,
    /// Lines in its log.
    pub lines: usize,
}

/// A running daemon; it is killed with its value.
#[derive(Debug)]
pub struct Daemon {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// State when its figures began to count, and the most memory since.
    begin: Held,
    memory_most: u64,
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
        Ok(Self { name, child, log: log.to_owned(), begin: Held::default(), memory_most: 0 })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resident memory, bytes; 0 once it has ended.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    /// Returns the processor time of the whole process; zero once it has ended.
    pub fn time(&self) -> Duration {
        Duration::from_millis(10 * ticks(Path::new(&format!("/proc/{}/stat", self.id()))))
    }

    /// Returns the network thread's processor time: the sender's is its main thread, the receiver's has a name.
    pub(crate) fn network_time(&self) -> Duration {
        let id = self.id();
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

    /// Returns what it holds now.
    pub fn held(&self) -> Held {
        let entries = |folder| std::fs::read_dir(format!("/proc/{}/{folder}", self.id())).map_or(0, Iterator::count);
        let (threads, files) = (entries("task"), entries("fd"));
        Held { memory: self.memory(), time: self.time(), threads, files, lines: self.lines() }
    }

    /// Returns its output so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the number of lines in its log.
    pub(crate) fn lines(&self) -> usize {
        self.said().lines().count()
    }

    /// Lets growth, processor time and log lines count from here.
    pub fn begin(&mut self) {
        self.begin = self.held();
        self.memory_most = self.begin.memory;
    }

    /// Notes its present memory; call it often.
    pub fn look(&mut self) {
        self.memory_most = self.memory_most.max(self.memory());
    }

    /// Watches it for this long.
    pub fn watch(&mut self, span: Duration) {
        let end = Instant::now() + span;
        while Instant::now() < end {
            self.look();
            std::thread::sleep(LOOK);
        }
    }

    /// Watches it until `holds`; an error if that takes too long or the daemon ends.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !holds()? {
            self.look();
            self.check()?;
            if Instant::now() >= deadline {
                bail!("{what} did not come in {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until its log holds `text`: a daemon writes its log beside everything else.
    pub fn until_said(&mut self, text: &str) -> Result<()> {
        let log = self.log.clone();
        let has_said = || Ok(std::fs::read_to_string(&log).unwrap_or_default().contains(text));
        self.until(&format!("`{text}` in the log of the {}", self.name), has_said)
    }

    /// Returns the figures since [`Self::begin`], and the exit code of a daemon that has ended.
    pub fn outcome(&mut self) -> Result<Outcome> {
        self.look();
        Ok(Outcome {
            growth_mb: Some(self.memory_most.saturating_sub(self.begin.memory) as f64 / 1e6),
            exit_code: self.ended()?,
            // What a process that has ended took is gone with it.
            cpu_s: self.time().checked_sub(self.begin.time).map(|cpu| cpu.as_secs_f64()),
            log_lines: Some(self.lines().saturating_sub(self.begin.lines)),
            ..Outcome::default()
        })
    }

    /// Sends a signal, such as `KILL`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.id().to_string()]).status()?;
        if !status.success() {
            bail!("the {} got no {name}", self.name);
        }
        Ok(())
    }

    /// Returns the exit code, or 128 and the signal's number, if it has ended.
    pub fn ended(&mut self) -> Result<Option<i32>> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait()?;
        Ok(status.map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))))
    }

    /// Returns an error if it has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        let ended = self.ended()?;
        ended.map_or(Ok(()), |code| self.has_ended_with(code))
    }

    /// Waits for the end of a daemon that was asked to end: its exit code.
    pub fn wait(&mut self) -> Result<i32> {
        self.wait_at_most(PATIENCE)
    }

    fn wait_at_most(&mut self, longest: Duration) -> Result<i32> {
        let deadline = Instant::now() + longest;
        loop {
            match self.ended()? {
                Some(code) => return Ok(code),
                None if Instant::now() >= deadline => bail!("the {} does not end", self.name),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Ends it without a word to its peer.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end and waits; a daemon that does not end, or not well, is an error.
    pub fn stop(mut self) -> Result<()> {
        self.check()?;
        self.signal("TERM")?;
        match self.wait_at_most(END_MAX)? {
            0 => Ok(()),
            code => self.has_ended_with(code),
        }
    }

    fn has_ended_with(&self, code: i32) -> Result<()> {
        let said = self.said();
        bail!("the {} ended with {code}: {}", self.name, said.lines().last().unwrap_or("it said nothing"))
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
