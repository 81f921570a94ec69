//! Sound between two daemons, through a JACK server without a card.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Daemon, PATTERN, Pair, until};

/// A JACK server with the dummy driver, which nobody else has.
struct Server {
    name: String,
    child: Child,
}

impl Server {
    /// Starts a server; none, and a note, on a machine without jackd.
    fn start(name: &str) -> Option<Self> {
        let name = format!("duet-{}-{name}", std::process::id());
        match run(&name) {
            Ok(child) => Some(Self { name, child }),
            Err(_) => {
                let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/skipped");
                let note = "sound between two daemons: there is no jackd";
                assert!(Command::new(skipped).args(["note", note]).status().unwrap().success());
                None
            }
        }
    }

    /// Ends the server and starts it anew.
    fn restart(&mut self) {
        self.end();
        self.child = run(&self.name).unwrap();
    }

    fn end(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }

    /// Makes a program meet this server.
    fn of<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("JACK_DEFAULT_SERVER", &self.name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(name: &str) -> std::io::Result<Child> {
    let mut command = Command::new("jackd");
    command.args(["--no-realtime", "--no-mlock", "--timeout", "5000", "--name", name]);
    command.args(["-d", "dummy", "--rate", "48000", "--period", "256"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Returns the newest line of a daemon's statistics.
fn newest(pair: &Pair, file: &str) -> Option<Value> {
    let text = std::fs::read_to_string(pair.folder.join(file)).ok()?;
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

fn count(pair: &Pair, file: &str, key: &str) -> u64 {
    newest(pair, file).and_then(|line| line[key].as_u64()).unwrap_or(0)
}

#[test]
fn sound_is_sent_and_heard_also_after_the_server_of_the_card_has_started_anew() {
    let Some(mut server) = Server::start("both") else { return };
    let pair = Pair::new();
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu"]);
    let receiver = Daemon::start("receiver", server.of(&mut receiver));
    let mut sender = pair.sender();
    sender.args(["--source", PATTERN, "--backend", "cpu"]);
    let sender = Daemon::start("sender", server.of(&mut sender));
    let received = || count(&pair, "receiver.jsonl", "sound_packets_received");
    until("sound", || (received() >= 300).then_some(()));
    until("the delays of ear and eye", || {
        let line = newest(&pair, "receiver.jsonl")?;
        (line["ear_ms"].as_f64()? > 0.0 && line["eye_ms"].as_f64()? > 0.0).then_some(())
    });
    assert_eq!(count(&pair, "receiver.jsonl", "sound_packets_refused"), 0);

    server.restart();
    // Both have the card again, and what is sent is what is captured now.
    for daemon in [&sender, &receiver] {
        daemon.says(&["without sound", "JACK server"]);
        until("the card again", || (daemon.said().matches("samples a period").count() >= 2).then_some(()));
    }
    let before = received();
    until("sound again", || (received() >= before + 300).then_some(()));
    until("it is heard again", || newest(&pair, "receiver.jsonl")?["sound_added_ms"].as_f64());
    [sender, receiver].into_iter().for_each(Daemon::stop);
    assert!(count(&pair, "sender.jsonl", "sound_packets_sent") >= before + 300);
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
