//! Musicians with a folder, a key and ports; what their windows show; and processes of their own for tests.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::config::PublicKey;
use common::units::FrameId;
use kernels::Picture;
use net::identity::Identity;
use net::lock::lock;
use picture::params::StreamParams;
use room::people::{Event, Host, People, Who};
use shell::cli::CommonFlags;
use showing::sink::{Sink, SinkError};

/// Longest wait for what must come; only a hang takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

const ALONE: &str = "DUET_TEST_ALONE";

/// Runs a test in a process of its own, without the folders and the sound of whoever runs it: a process has one environment.
pub(crate) fn alone(name: &str, test: impl Fn()) {
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env(ALONE, "1").stdin(Stdio::null());
    for variable in ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"]
    {
        command.env_remove(variable);
    }
    command.env("HOME", "/nonexistent").env("JACK_DEFAULT_SERVER", "duet-none").env("ALSA_CONFIG_PATH", "/nonexistent");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Waits for something.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the folder of the programs of this build.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_duet")).parent().unwrap()
}

/// Builds the sender, which Cargo does not for this package's tests; a test that is alone has no toolchain.
pub(crate) fn build_sender() {
    if std::env::var_os(ALONE).is_some() {
        return;
    }
    let folder = programs();
    let profile = if folder.ends_with("debug") { "dev" } else { "release" };
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
}

/// A running program, killed with its value, and what it has said.
pub(crate) struct Program {
    child: Child,
    said: PathBuf,
}

impl Program {
    /// Waits until it has said a line with these words.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        until(words, || std::fs::read_to_string(&self.said).unwrap().contains(words).then_some(()));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that goes away with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("duet-people-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Counts of the things that a window has shown.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) pictures: u64,
    pub(crate) covers: u64,
    /// Of those after the last cover.
    pub(crate) pictures_since: u64,
}

struct Window(Arc<Mutex<Seen>>);

impl Sink for Window {
    fn start(&mut self, _: &StreamParams) -> Result<(), SinkError> {
        Ok(())
    }
    fn show(&mut self, _: FrameId, _: &Picture) -> Result<(), SinkError> {
        let mut seen = lock(&self.0);
        seen.pictures += 1;
        seen.pictures_since += 1;
        Ok(())
    }
    fn cover(&mut self) {
        let mut seen = lock(&self.0);
        seen.covers += 1;
        seen.pictures_since = 0;
    }
}

/// Keys and ports of musicians who all know each other.
pub(crate) struct Band<const N: usize> {
    pub(crate) folder: Folder,
    names: [&'static str; N],
    pub(crate) keys: [PublicKey; N],
    ports: BTreeMap<(usize, usize), u16>,
}

impl<const N: usize> Band<N> {
    pub(crate) fn new(names: [&'static str; N]) -> Self {
        let folder = Folder::new();
        let keys = names.map(|name| {
            std::fs::create_dir(folder.join(name)).unwrap();
            Identity::load_or_create(&folder.join(name).join("identity.pem")).unwrap().public_key()
        });
        let free = || UdpSocket::bind("[::]:0").unwrap().local_addr().unwrap().port();
        let pairs = (0..N).flat_map(|one| (0..N).map(move |other| (one, other)));
        let ports = pairs.filter(|(one, other)| one != other).map(|pair| (pair, free())).collect();
        let band = Self { folder, names, keys, ports };
        (0..N).for_each(|who| band.write(who));
        band
    }

    pub(crate) fn who(&self, which: usize) -> Who {
        Who { key: self.keys[which], name: self.names[which].to_owned() }
    }

    pub(crate) fn file(&self, who: usize) -> PathBuf {
        self.folder.join(self.names[who]).join("duet.toml")
    }

    /// Writes one's configuration.
    fn write(&self, who: usize) {
        let mut text =
            "expert.open_port = false\nexpert.house = false\nexpert.stun = []\ncodec.rate = \"2M\"\n".to_owned();
        text += "video.source = \"pattern:size=64x48:fps=30\"\nexpert.backend = \"cpu\"\nsound.card = \"none\"\n";
        for other in (0..N).filter(|other| *other != who) {
            let (name, key) = (self.names[other], self.keys[other]);
            let (own, theirs) = (self.ports[&(who, other)], self.ports[&(other, who)]);
            text += &format!("[[peer]]\nname = \"{name}\"\npublic_key = \"{key}\"\nport = {own}\n");
            text += &format!("addresses = [\"127.0.0.1:{theirs}\"]\n");
        }
        std::fs::write(self.file(who), text).unwrap();
    }

    pub(crate) fn flags(&self, who: usize) -> CommonFlags {
        let identity = Some(self.folder.join(self.names[who]).join("identity.pem"));
        CommonFlags { config: Some(self.file(who)), identity, ..CommonFlags::default() }
    }

    /// One of them types `sender call` with another's name.
    pub(crate) fn sender_call(&self, who: usize, whom: usize) -> Program {
        let folder = self.folder.join(self.names[who]);
        let said = folder.join("said");
        let mut command = Command::new(programs().join("sender"));
        command.args(["call", self.names[whom], "--sink", "headless", "--config"]).arg(self.file(who));
        command.arg("--identity").arg(folder.join("identity.pem")).stdin(Stdio::null());
        command.stderr(std::fs::File::create(&said).unwrap()).stdout(Stdio::null());
        Program { child: command.spawn().unwrap(), said }
    }

    /// One of them sits before the room.
    pub(crate) fn room(&self, who: usize) -> Room {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let window = Arc::clone(&seen);
        let host = Host {
            open_sinks: Arc::new(move |_, _| Ok(vec![Box::new(Window(Arc::clone(&window)))])),
            // The members' pictures go to tiles that nobody looks at.
            show_band: Arc::new(|_| Ok(())),
            wake: Arc::new(|| {}),
        };
        let (people, events) = People::open(self.flags(who), host, None).unwrap().expect("another runs");
        Room { people, events, seen, name: self.names[who] }
    }
}

/// A room without a window.
pub(crate) struct Room {
    pub(crate) people: People,
    events: Receiver<Event>,
    pub(crate) seen: Arc<Mutex<Seen>>,
    name: &'static str,
}

impl Room {
    /// Waits for an event; returns those before it, but for changes.
    #[track_caller]
    pub(crate) fn until(&self, wanted: &Event) -> Vec<Event> {
        let mut before = Vec::new();
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) if event == *wanted => return before,
                Ok(Event::Changed) => {}
                Ok(event) => before.push(event),
                Err(error) => panic!("{}: no {wanted:?} after {before:?}: {error}", self.name),
            }
        }
    }

    /// Returns what has happened that nobody has looked at, but for changes.
    pub(crate) fn rest(&self) -> Vec<Event> {
        self.events.try_iter().filter(|event| *event != Event::Changed).collect()
    }

    /// Waits for pictures that come now.
    #[track_caller]
    pub(crate) fn sees_the_other(&self) {
        let before = lock(&self.seen).pictures;
        until("pictures", || (lock(&self.seen).pictures > before + 5).then_some(()));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.people.close();
    }
}
