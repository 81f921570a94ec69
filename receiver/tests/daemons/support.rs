//! Helpers of the daemon tests: both programs as processes, temporary folders, keys, ports.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::identity::Identity;
use picture::y4m::{Y4mHeader, Y4mReader};
use serde_json::Value;

/// A small test pattern.
pub(crate) const PATTERN: &str = "pattern:size=320x180:fps=30";
/// Longest a daemon may take; only a hang takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Returns the receiver under test.
pub(crate) fn receiver() -> Command {
    at_home(Command::new(env!("CARGO_BIN_EXE_receiver")))
}

/// Configurations in the usual place, for who names none, and no sound card: whoever runs the tests is neither heard nor hears them.
fn at_home(mut program: Command) -> Command {
    program.env("XDG_CONFIG_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/daemons/home"));
    program.env("JACK_DEFAULT_SERVER", "duet-none").env("ALSA_CONFIG_PATH", "/nonexistent");
    program
}

/// Returns the sender of the same build. Cargo builds only the own package's programs for a test, so this one is built
/// here, with the profile and in the folder that the receiver has, and with the features that `make test` has built it with.
pub(crate) fn sender() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    at_home(Command::new(PROGRAM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_BIN_EXE_receiver")).parent().unwrap();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            // Cargo tells it to tests; ring would be compiled anew for it.
            .env_remove("CARGO_MANIFEST_DIR")
            .args(["build", "--quiet", "--workspace", "--bin", "sender", "--profile", profile, "--target-dir"])
            .arg(folder.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(status.success(), "the sender cannot be built");
        folder.join("sender")
    })))
}

/// A folder that goes away with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("duet-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the text of a file in the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Makes a key file; returns its path and its public key.
    pub(crate) fn identity(&self, name: &str) -> (String, String) {
        let path = self.join(name);
        let identity = Identity::load_or_create(&path).unwrap();
        (path.to_string_lossy().into_owned(), identity.public_key().to_string())
    }

    /// Returns all lines of a statistics file; the last is the final one.
    pub(crate) fn stats(&self, name: &str) -> Vec<Value> {
        let lines: Vec<Value> = self.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (last, others) = lines.split_last().expect("a statistics file has a final line");
        assert!(last["final"] == true && others.iter().all(|line| line["final"] == false), "{lines:?}");
        lines
    }

    /// Returns the last line of a statistics file that is being written, null where there is none. A line that is not
    /// whole is none yet.
    pub(crate) fn last_stats(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.join(name)).unwrap_or_default();
        text.lines().rev().find_map(|line| serde_json::from_str(line).ok()).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads header and pictures of a whole Y4M file.
pub(crate) fn read_y4m(path: &Path) -> (Y4mHeader, Vec<Vec<u8>>) {
    let mut reader = Y4mReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let (mut pictures, mut data) = (Vec::new(), Vec::new());
    while reader.read(&mut data).unwrap() {
        pictures.push(data.clone());
    }
    (*reader.header(), pictures)
}

/// Returns the numbers in the pictures of the sender's test pattern.
pub(crate) fn pattern_numbers(path: &Path) -> Vec<u32> {
    let (header, pictures) = read_y4m(path);
    let number = |picture: &Vec<u8>| sending::source::pattern::read_row(picture, header.size, 0);
    let numbers = pictures.iter().enumerate();
    numbers.map(|(at, picture)| number(picture).unwrap_or_else(|| panic!("picture {at} has no number"))).collect()
}

/// Returns a port on the loopback that is free, and that the system gives to nobody who asks for any port.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Below the range of the system's choice. Other tests that run now begin elsewhere.
    const PORTS: std::ops::Range<u32> = 10_000..32_000;
    loop {
        let number = std::process::id() * 400 + NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", PORTS.start + number % (PORTS.end - PORTS.start));
        if !is_bound(&address) {
            return address;
        }
    }
}

/// Returns true if a socket is bound to the port of the address. Binding one to find out would get in a daemon's way, and in that of
/// a test: a program that another test starts meanwhile holds it until it runs.
fn is_bound(address: &str) -> bool {
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    ["udp", "udp6", "tcp", "tcp6"].iter().any(|protocol| {
        let sockets = std::fs::read_to_string(format!("/proc/net/{protocol}")).unwrap_or_default();
        sockets
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1))
            .any(|local| local.ends_with(&format!(":{port:04X}")))
    })
}

/// Returns `command` with a folder of its own at `folder`, of memory, mounted with these options; none, and a note, where that may not be.
pub(crate) fn with_memory(command: &Command, folder: &Path, options: &str) -> Option<Command> {
    let tried = Command::new("unshare").args(["-m", "--", "mount", "-t", "tmpfs", "none", "/mnt"]).status();
    if !tried.is_ok_and(|status| status.success()) {
        // Containers without CAP_SYS_ADMIN have no folders of their own.
        eprintln!("NOT TESTED: {options}: no mount namespaces here");
        return None;
    }
    let mut with = Command::new("unshare");
    let script = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";
    with.args(["-m", "--", "sh", "-c", script, "sh", options]).arg(folder);
    with.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    Some(with)
}

/// A running daemon, killed if the test ends first.
pub(crate) struct Daemon {
    name: &'static str,
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// Exit and output of a daemon.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Daemon {
    pub(crate) fn start(name: &'static str, command: &mut Command) -> Self {
        Self::start_with_output(name, command, Stdio::null())
    }

    pub(crate) fn start_with_output(name: &'static str, command: &mut Command, output: Stdio) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn().expect(name);
        let mut pipe = child.stderr.take().unwrap();
        let stderr: Arc<Mutex<Vec<u8>>> = Arc::default();
        let text = Arc::clone(&stderr);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                text.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { name, child, stderr, reader: Some(reader) }
    }

    /// Returns a place on the disks that it has.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join("root").join(path.strip_prefix("/").unwrap())
    }

    /// Returns everything that it has said so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// Waits until it has said a line with all `words`.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        until(&format!("a line with {words:?}"), || self.said().lines().any(has_all).then_some(()));
    }

    /// Waits for the end; a daemon that does not end fails the test with what it said.
    pub(crate) fn wait(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if Instant::now() >= deadline => {
                    let _ = self.child.kill();
                    self.reader.take().unwrap().join().unwrap();
                    panic!("the {} does not end; it said:\n{}", self.name, self.said());
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        self.reader.take().unwrap().join().unwrap();
        let stderr = self.said();
        eprintln!("--- {} ended with {code:?}:\n{stderr}", self.name);
        Ended { code, stderr }
    }

    /// Asks the daemon to stop, as systemd does.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Asks the daemon to stop, and checks that it ends well.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.terminate();
        self.wait().check(0, &[]);
    }

    /// Tells the daemon that its terminal has closed.
    pub(crate) fn hang_up(&self) {
        self.signal("HUP");
    }

    /// Sends it the signal of that name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Ends the daemon without a word to its peer.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), None);
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // For whoever reads why a test failed.
        if std::thread::panicking() && self.reader.take().is_some_and(|reader| reader.join().is_ok()) {
            eprintln!("--- {} said:\n{}", self.name, self.said());
        }
    }
}

impl Ended {
    /// Returns the last line of standard error: the sentence that says why.
    pub(crate) fn sentence(&self) -> &str {
        self.stderr.trim_end().lines().last().unwrap_or_default()
    }

    /// Checks the exit code, that there was no panic, and that the sentence contains all `words`.
    #[track_caller]
    pub(crate) fn check(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.sentence().contains(word), "`{word}` is missing in: {}", self.stderr);
        }
    }
}

/// Repeats `attempt` until it gives something, at most [`PATIENCE`].
#[track_caller]
pub(crate) fn until<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Repeats `attempt` until it has lost nothing. A starved machine loses frames as a bad line does; programs that lose
/// them for another reason do so every time, or now and then: `make test` ends with a list of what was repeated.
#[track_caller]
pub(crate) fn until_nothing_is_lost(attempt: impl Fn() -> Result<(), String>) {
    let mut lost = Vec::new();
    for _ in 0..10 {
        match attempt() {
            Ok(()) => return,
            Err(what) => lost.push(what),
        }
        note_repeated(lost.last().unwrap());
        eprintln!("--- once more: {lost:?}");
    }
    panic!("something was lost every time: {lost:#?}");
}

/// Adds to the list that `.ci/skipped end` prints.
fn note_repeated(why: &str) {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("repeated");
    let test = std::thread::current();
    let line = format!("{}: {why}\n", test.name().unwrap_or("a test"));
    let mut file = File::options().append(true).create(true).open(list).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

/// Checks that the value of each key in a report is the wanted one; otherwise returns the whole report.
pub(crate) fn has(report: &Value, wanted: &[(&str, u64)]) -> Result<(), String> {
    match wanted.iter().find(|(key, value)| report[*key] != *value) {
        Some((key, value)) => Err(format!("{key} is not {value} in {report}")),
        None => Ok(()),
    }
}

/// Two daemons that know each other's keys; the receiver listens on the loopback.
pub(crate) struct Pair {
    pub(crate) folder: Folder,
    pub(crate) address: String,
    pub(crate) sender_key: String,
    pub(crate) receiver_key: String,
    sender_identity: String,
    receiver_identity: String,
    _turn: Turn,
}

/// Pairs that stream side by side: they wait most of the time, but a small machine cannot stream many videos and lose nothing.
const PAIRS_MAX: usize = 4;
static PAIRS: Mutex<usize> = Mutex::new(0);
static PAIR_ENDED: Condvar = Condvar::new();

/// A place among the pairs that stream.
struct Turn;

impl Turn {
    fn wait() -> Self {
        let pairs = PAIRS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pairs =
            PAIR_ENDED.wait_while(pairs, |pairs| *pairs == PAIRS_MAX).unwrap_or_else(PoisonError::into_inner);
        *pairs += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *PAIRS.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        PAIR_ENDED.notify_one();
    }
}

impl Pair {
    /// Returns true if the daemon's socket is bound.
    pub(crate) fn is_listening(&self) -> bool {
        is_bound(&self.address)
    }

    pub(crate) fn new() -> Self {
        let turn = Turn::wait();
        let folder = Folder::new();
        let (sender_identity, sender_key) = folder.identity("sender.pem");
        let (receiver_identity, receiver_key) = folder.identity("receiver.pem");
        let address = free_address();
        Self { folder, address, sender_key, receiver_key, sender_identity, receiver_identity, _turn: turn }
    }

    /// Returns the receiver's command up to its sinks and extras; writes `receiver.jsonl`.
    pub(crate) fn receiver(&self) -> Command {
        self.receiver_that(["--listen", &self.address])
    }

    /// Returns the same, but it dials or listens as `mode`, a flag and its value, says.
    pub(crate) fn receiver_that(&self, mode: [&str; 2]) -> Command {
        let mut command = receiver();
        command
            .args(mode)
            .args(["--peer", &self.sender_key, "--identity", &self.receiver_identity])
            .arg("--stats")
            .arg(self.folder.join("receiver.jsonl"));
        command
    }

    /// Returns the sender's command up to its source and extras; writes `sender.jsonl`.
    pub(crate) fn sender(&self) -> Command {
        self.sender_that(["--to", &self.address])
    }

    /// Starts a sender of this source.
    pub(crate) fn stream(&self, source: &str) -> Daemon {
        Daemon::start("sender", self.sender().args(["--source", source, "--rate", "4M", "--backend", "cpu"]))
    }

    /// Returns the sender's command, but it dials or listens as `mode`, a flag and its value, says.
    pub(crate) fn sender_that(&self, mode: [&str; 2]) -> Command {
        let mut command = sender();
        command
            .args(mode)
            .args(["--peer", &self.receiver_key, "--identity", &self.sender_identity])
            .arg("--stats")
            .arg(self.folder.join("sender.jsonl"));
        command
    }
}
