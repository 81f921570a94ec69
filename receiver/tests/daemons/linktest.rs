//! `sender --link-test` against a receiver that waits, is in a call, does not know the tester, or is not there; and by name, as
//! a call goes.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::{Daemon, PATTERN, Pair, free_address, sender, until};

/// Returns the tester's command; `pair.sender()` has flags that a test does not take.
fn tester(pair: &Pair, identity: &str, target: &str) -> Command {
    let mut command = sender();
    command.args(["--link-test", target, "--peer", &pair.receiver_key, "--source", "pattern:size=640x360:fps=25"]);
    command.args(["--identity", &pair.folder.join(identity).to_string_lossy()]);
    command
}

/// Part of the line about what the other side has measured.
const BACK: &str = "from there to here; round trip";

fn waiting(pair: &Pair) -> Daemon {
    let daemon = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    until("a listening receiver", || pair.is_listening().then_some(()));
    daemon
}

#[test]
fn a_waiting_receiver_is_measured_and_goes_on_waiting() {
    let pair = Pair::new();
    let mut receiver = waiting(&pair);
    let output = tester(&pair, "sender.pem", &pair.address).output().unwrap();
    let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{text}{said}");
    let way = format!(", directly ({})", pair.address);
    for wanted in
        ["round trip", "loss", "usable rate", "Mbit/s", "640x360 at 25", "dB", "recommended: --rate ", &way, BACK]
    {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
    assert!(receiver.is_running());
    // The test was no call: the receiver has seen no stream, and still takes one.
    let mut command = pair.sender();
    command.args(["--source", PATTERN, "--rate", "4M", "--backend", "cpu", "--frames", "5"]);
    Daemon::start("sender", &mut command).wait().check(0, &[]);
    receiver.stop();
    assert_eq!(pair.folder.stats("receiver.jsonl").pop().unwrap()["datagrams_malformed"], 0);
}

#[test]
fn a_call_is_not_disturbed() {
    let pair = Pair::new();
    let receiving = waiting(&pair);
    let mut sending = pair.stream(PATTERN);
    let lines = || std::fs::read_to_string(pair.folder.join("receiver.jsonl")).unwrap_or_default();
    // Its decoder is named once pictures are shown.
    until("a call", || lines().contains("\"backend\":\"cpu\"").then_some(()));
    Daemon::start("sender", &mut tester(&pair, "sender.pem", &pair.address)).wait().check(4, &["in a call"]);
    assert!(sending.is_running());
    sending.stop();
    receiving.stop();
}

#[test]
fn strangers_and_wrong_addresses_get_a_sentence() {
    let pair = Pair::new();
    let receiver = waiting(&pair);
    pair.folder.identity("stranger.pem");
    let mut stranger = tester(&pair, "stranger.pem", &pair.address);
    // On a busy computer the refusal may be there before the dialler has seen that the other machine proved its key.
    Daemon::start("sender", &mut stranger).wait().check(4, &["refused"]);
    let nobody = free_address();
    Daemon::start("sender", &mut tester(&pair, "sender.pem", &nobody)).wait().check(4, &[&nobody, "receiver"]);
    Daemon::start("sender", &mut tester(&pair, "sender.pem", "home:0")).wait().check(2, &["HOST:PORT"]);
    receiver.stop();
}

/// Two machines that know each other by name, with their UDP ports.
struct Introduced {
    pair: Pair,
    addresses: [String; 2],
}

const SIDES: [&str; 2] = ["sender", "receiver"];

impl Introduced {
    fn new() -> Self {
        Self { pair: Pair::new(), addresses: SIDES.map(|_| free_address()) }
    }

    /// Returns the configuration of a side, for which the other one is called `other`.
    fn file(&self, side: usize) -> PathBuf {
        let key = if side == 0 { &self.pair.receiver_key } else { &self.pair.sender_key };
        let port = self.addresses[side].rsplit_once(':').unwrap().1;
        let text = format!(
            "[expert]\nstun = []\nopen_port = false\nhouse = false\n[[peer]]\nname = \"other\"\npublic_key = \"{key}\"\n\
             port = {port}\naddresses = [\"{}\"]\n",
            self.addresses[1 - side]
        );
        let file = self.pair.folder.join(&format!("{}.toml", SIDES[side]));
        std::fs::write(&file, text).unwrap();
        file
    }

    fn sender(&self, side: usize) -> Command {
        let mut command = sender();
        command.arg("--config").arg(self.file(side));
        command.arg("--identity").arg(self.pair.folder.join(&format!("{}.pem", SIDES[side])));
        command.args(["--source", "pattern:size=64x48:fps=30", "--backend", "cpu"]);
        command
    }

    fn call(&self, side: usize) -> Daemon {
        let mut command = self.sender(side);
        command.args(["--rate", "2M", "call", "other", "--sink", "headless"]);
        Daemon::start("call", &mut command)
    }

    fn test(&self, side: usize) -> Output {
        self.sender(side).args(["--link-test", "other"]).output().unwrap()
    }
}

#[test]
fn a_machine_is_tested_by_name_whichever_of_the_two_would_dial_in_a_call() {
    for (calls, tests) in [(0, 1), (1, 0)] {
        let homes = Introduced::new();
        let mut calling = homes.call(calls);
        calling.says(&["looking for other"]);
        let output = homes.test(tests);
        let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{text}{said}");
        let way = format!("line to other, directly ({})", homes.addresses[calls]);
        for wanted in [way.as_str(), "usable rate", BACK, "recommended: --rate "] {
            assert!(text.contains(wanted), "{wanted} is missing in:\n{text}{said}");
        }
        // It was no call, and the next one comes about.
        assert!(calling.is_running() && !calling.said().contains("connected to"), "{}", calling.said());
        let other = homes.call(tests);
        for call in [&calling, &other] {
            call.says(&["connected to other"]);
        }
        // In which nobody is disturbed: neither by a second program at the same port, nor by the machine itself.
        let refused = homes.test(tests);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(4), "{said}");
        for call in [calling, other] {
            call.stop();
        }
    }
}

#[test]
fn where_nobody_answers_the_tester_says_what_to_start_there() {
    let homes = Introduced::new();
    let mut command = homes.sender(0);
    command.args(["--link-test", "other"]);
    Daemon::start("sender", &mut command).wait().check(4, &["other was not found", "`sender call` there"]);
    let mut command = homes.sender(0);
    command.args(["--link-test", "clara:0"]);
    Daemon::start("sender", &mut command).wait().check(2, &["HOST:PORT", "the name of a machine"]);
}
