//! `sender --link-test` against a receiver that waits, is in a call, does not know the tester, or is not there.

use std::process::Command;

use crate::support::{Daemon, Pair, free_address, sender, until};

/// Returns the tester's command; `pair.sender()` has flags that a test does not take.
fn tester(pair: &Pair, identity: &str, target: &str) -> Command {
    let mut command = sender();
    command.args(["--link-test", target, "--peer", &pair.receiver_key, "--source", "pattern:size=640x360:fps=25"]);
    command.args(["--identity", &pair.folder.join(identity).to_string_lossy()]);
    command
}

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
    for wanted in ["round trip", "loss", "usable rate", "Mbit/s", "640x360 at 25", "dB", "recommended: --rate "] {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
    assert!(receiver.is_running());
    // The test was no call: the receiver has seen no stream, and still takes one.
    let mut command = pair.sender();
    command.args(["--source", "pattern:size=320x180:fps=30", "--rate", "4M", "--backend", "cpu", "--frames", "5"]);
    Daemon::start("sender", &mut command).wait().check(0, &[]);
    receiver.terminate();
    receiver.wait().check(0, &[]);
    assert_eq!(pair.folder.stats("receiver.jsonl").pop().unwrap()["datagrams_malformed"], 0);
}

#[test]
fn a_call_is_not_disturbed() {
    let pair = Pair::new();
    let receiving = waiting(&pair);
    let mut command = pair.sender();
    command.args(["--source", "pattern:size=320x180:fps=30", "--rate", "4M", "--backend", "cpu"]);
    let mut sending = Daemon::start("sender", &mut command);
    let lines = || std::fs::read_to_string(pair.folder.join("receiver.jsonl")).unwrap_or_default();
    // Its decoder is named once pictures are shown.
    until("a call", || lines().contains("\"backend\":\"cpu\"").then_some(()));
    Daemon::start("sender", &mut tester(&pair, "sender.pem", &pair.address)).wait().check(4, &["in a call"]);
    assert!(sending.is_running());
    sending.terminate();
    sending.wait().check(0, &[]);
    receiving.terminate();
    receiving.wait().check(0, &[]);
}

#[test]
fn strangers_and_wrong_addresses_get_a_sentence() {
    let pair = Pair::new();
    let receiver = waiting(&pair);
    pair.folder.identity("stranger.pem");
    let mut stranger = tester(&pair, "stranger.pem", &pair.address);
    Daemon::start("sender", &mut stranger).wait().check(4, &["refused this machine's key"]);
    let nobody = free_address();
    Daemon::start("sender", &mut tester(&pair, "sender.pem", &nobody)).wait().check(4, &[&nobody, "receiver"]);
    Daemon::start("sender", &mut tester(&pair, "sender.pem", "home:0")).wait().check(2, &["HOST:PORT"]);
    receiver.terminate();
    receiver.wait().check(0, &[]);
}
