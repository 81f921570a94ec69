//! Sound between two daemons, through a JACK server without a card.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use crate::support::{Daemon, PATTERN, Pair, until};

/// A JACK server with the dummy driver, which nobody else has.
pub(crate) struct Server {
    name: String,
    child: Child,
}

impl Server {
    /// Starts a server; none, and a note, on a machine without jackd.
    pub(crate) fn start(name: &str) -> Option<Self> {
        Self::at_rate(name, "48000")
    }

    fn at_rate(name: &str, rate: &str) -> Option<Self> {
        let name = format!("duet-{}-{name}", std::process::id());
        has_own_shared_memory();
        match run(&name, rate) {
            Ok(child) => {
                let mut server = Self { name, child };
                server.answers();
                Some(server)
            }
            Err(_) => {
                let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/skipped");
                let note = "sound between two daemons: there is no jackd";
                assert!(Command::new(skipped).args(["note", note]).status().unwrap().success());
                None
            }
        }
    }

    /// Starts a server that has ended anew, at 48 kHz.
    fn restart(&mut self) {
        self.child = run(&self.name, "48000").unwrap();
        self.answers();
    }

    /// Waits for the socket at which clients of this server knock.
    fn answers(&mut self) {
        let socket = format!("jack_{}_", self.name);
        until("the answer of jackd", || {
            assert_eq!(self.child.try_wait().unwrap(), None, "jackd has ended: {}", self.name);
            let mut files = std::fs::read_dir("/dev/shm").unwrap().flatten();
            files.any(|file| file.file_name().to_string_lossy().starts_with(&socket)).then_some(())
        });
    }

    fn end(&mut self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }

    /// Makes a program meet this server.
    pub(crate) fn of<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("JACK_DEFAULT_SERVER", &self.name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("-TERM");
    }
}

/// Gives this thread, and all that it starts, a shared memory of its own where it may. Servers meet there; it has room for
/// eight of them and keeps the place of each that was killed, whoever had started it.
fn has_own_shared_memory() {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        let own = "mount --make-rprivate / && mount -t tmpfs none /dev/shm";
        let _ = Command::new("sh").args(["-c", own]).stderr(Stdio::null()).status();
    }
}

fn run(name: &str, rate: &str) -> std::io::Result<Child> {
    let mut command = Command::new("jackd");
    command.args(["--no-realtime", "--no-mlock", "--timeout", "5000", "--name", name]);
    command.args(["-d", "dummy", "--rate", rate, "--period", "256"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Returns the newest line of a daemon's statistics.
fn newest(pair: &Pair, file: &str) -> Option<Value> {
    let text = std::fs::read_to_string(pair.folder.join(file)).ok()?;
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

pub(crate) fn count(pair: &Pair, file: &str, key: &str) -> u64 {
    newest(pair, file).and_then(|line| line[key].as_u64()).unwrap_or(0)
}

#[test]
fn sound_is_sent_and_heard_also_after_the_server_of_the_card_has_started_anew() {
    let Some(mut server) = Server::start("both") else { return };
    let pair = Pair::new();
    let [sender, receiver] = start(&server, &pair, PATTERN, |_| {});
    let received = || count(&pair, "receiver.jsonl", "sound_packets_received");
    until("sound", || (received() >= 300).then_some(()));
    until("the delays of ear and eye", || {
        let line = newest(&pair, "receiver.jsonl")?;
        (line["ear_ms"].as_f64()? > 0.0 && line["eye_ms"].as_f64()? > 0.0).then_some(())
    });
    assert_eq!(count(&pair, "receiver.jsonl", "sound_packets_refused"), 0);

    let mut before = 0;
    // It ends, and it dies.
    for (round, signal) in ["-TERM", "-KILL"].into_iter().enumerate() {
        server.end(signal);
        let of = |what: &str| [&sender, &receiver].map(|daemon| daemon.said().matches(what).count());
        until("no card", || of("without sound").iter().all(|&said| said > round).then_some(()));
        // The picture goes on meanwhile.
        let shown = count(&pair, "receiver.jsonl", "frames_shown");
        until("pictures", || (count(&pair, "receiver.jsonl", "frames_shown") >= shown + 30).then_some(()));
        server.restart();
        // Both have the card again, and what is sent is what is captured now.
        until("the card again", || of("Hz, periods of").iter().all(|&said| said >= round + 2).then_some(()));
        before = received();
        until("sound again", || (received() >= before + 300).then_some(()));
        until("it is heard again", || newest(&pair, "receiver.jsonl")?["sound_added_ms"].as_f64());
    }
    // It was one connection all the time.
    for daemon in [&sender, &receiver] {
        assert_eq!(daemon.said().matches("connected to").count(), 1, "{}", daemon.said());
    }
    [sender, receiver].into_iter().for_each(Daemon::stop);
    assert!(count(&pair, "sender.jsonl", "sound_packets_sent") >= before + 300);
}

/// Starts a receiver, and a sender of `source`, with that server; the sender's command may be changed.
fn start(server: &Server, pair: &Pair, source: &str, change: impl FnOnce(&mut Command)) -> [Daemon; 2] {
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu"]);
    let receiver = Daemon::start("receiver", server.of(&mut receiver));
    let mut sender = pair.sender();
    sender.args(["--source", source, "--backend", "cpu"]);
    change(server.of(&mut sender));
    [Daemon::start("sender", &mut sender), receiver]
}

/// Waits for sound that comes now, without pictures, of which the statistics of both say so.
fn is_heard_alone(pair: &Pair) {
    let received = || count(pair, "receiver.jsonl", "sound_packets_received");
    let before = received();
    until("sound", || (received() >= before + 300).then_some(()));
    for file in ["receiver.jsonl", "sender.jsonl"] {
        until("sound only", || (newest(pair, file)?["state"] == "sound").then_some(()));
    }
    until("the delay of the ear alone", || {
        let line = newest(pair, "receiver.jsonl")?;
        (line["ear_ms"].as_f64()? > 0.0 && line["eye_ms"].is_null()).then_some(())
    });
}

#[test]
fn without_a_camera_there_is_sound_only() {
    let Some(server) = Server::start("alone") else { return };
    for source in ["camera:index=99:size=320x180", "none"] {
        let pair = Pair::new();
        let [sender, receiver] = start(&server, &pair, source, |_| {});
        receiver.says(&[if source == "none" { "sound only" } else { "camera lost" }]);
        is_heard_alone(&pair);
        assert_eq!(count(&pair, "receiver.jsonl", "frames_shown"), 0);
        [sender, receiver].into_iter().for_each(Daemon::stop);
    }
}

/// Place in the false camera's control file of what makes it go, and Linux' number of its error.
const GONE: (u64, i32) = (4, 1);

#[test]
fn sound_goes_on_when_the_camera_goes_and_the_picture_comes_back_with_it() {
    let Some(server) = Server::start("camera") else { return };
    let pair = Pair::new();
    let library = pair.folder.join("camera.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../sender/tests/false_camera/camera.c");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).args([source, "-ldl"]).status();
    assert!(compiled.unwrap().success());
    std::fs::create_dir_all(pair.folder.join("dev")).unwrap();
    std::fs::write(pair.folder.join("dev/video0"), "").unwrap();
    std::fs::write(pair.folder.join("control"), [0; 4096]).unwrap();
    let picture = [0x80; 64 * 48 * 2];
    std::fs::write(pair.folder.join("film"), [&(picture.len() as u32).to_le_bytes()[..], &picture].concat()).unwrap();
    let daemons = start(&server, &pair, "camera", |sender| {
        sender.env("LD_PRELOAD", &library).envs([
            ("FALSE_FORMATS", "YUYV"),
            ("FALSE_SIZE", "64x48"),
            ("FALSE_INTERVAL", "1/30"),
        ]);
        for (name, file) in [("FALSE_DEV", "dev"), ("FALSE_FILM", "film"), ("FALSE_CONTROL", "control")] {
            sender.env(name, pair.folder.join(file));
        }
    });
    let shown = || count(&pair, "receiver.jsonl", "frames_shown");
    until("pictures", || (shown() > 30).then_some(()));
    let control = File::options().write(true).open(pair.folder.join("control")).unwrap();
    let set = |value: i32| control.write_all_at(&value.to_le_bytes(), 4 * GONE.0).unwrap();
    set(GONE.1);
    daemons[1].says(&["camera lost, says the sender"]);
    is_heard_alone(&pair);
    let before = shown();
    set(0);
    until("pictures again", || (shown() > before + 30).then_some(()));
    until("a call as before", || (newest(&pair, "receiver.jsonl")?["state"] == "streaming").then_some(()));
    daemons.into_iter().for_each(Daemon::stop);
}

#[test]
fn who_wants_no_sound_gets_none_and_has_the_picture() {
    let Some(server) = Server::start("none") else { return };
    let pair = Pair::new();
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu", "--no-sound"]);
    let receiver = Daemon::start("receiver", server.of(&mut receiver));
    let mut sender = pair.sender();
    sender.args(["--source", PATTERN, "--backend", "cpu"]);
    let sender = Daemon::start("sender", server.of(&mut sender));
    sender.says(&["the other side takes no sound"]);
    let shown = || count(&pair, "receiver.jsonl", "frames_shown");
    until("pictures", || (shown() > 0).then_some(()));
    let before = shown();
    until("more of them", || (shown() > before + 20).then_some(()));
    [sender, receiver].into_iter().for_each(Daemon::stop);
    assert_eq!(count(&pair, "sender.jsonl", "sound_packets_sent"), 0);
    assert_eq!(count(&pair, "receiver.jsonl", "sound_packets_received"), 0);
}

#[test]
fn a_server_of_another_rate_gets_a_sentence_and_the_picture_comes_until_it_has_the_right_one() {
    let Some(mut server) = Server::at_rate("rate", "44100") else { return };
    let pair = Pair::new();
    let [sender, receiver] = start(&server, &pair, PATTERN, |_| {});
    for daemon in [&sender, &receiver] {
        daemon.says(&["runs at 44100 Hz", "-r 48000"]);
    }
    until("pictures", || (count(&pair, "receiver.jsonl", "frames_shown") >= 30).then_some(()));
    assert_eq!(count(&pair, "sender.jsonl", "sound_packets_sent"), 0);
    server.end("-TERM");
    server.restart();
    until("sound", || (count(&pair, "receiver.jsonl", "sound_packets_received") >= 300).then_some(()));
    [sender, receiver].into_iter().for_each(Daemon::stop);
}
