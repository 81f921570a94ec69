//! `sender --latency-test` and `receiver --bounce`: every picture comes back, and the table's parts are the whole.

use std::path::PathBuf;
use std::process::Command;

use common::latency::{STAGES, STAGES_THERE};

use crate::support::{Daemon, PATTERN, Pair, sender, until};

/// Returns the number at the end of the line that begins with `name`, milliseconds.
#[track_caller]
fn ms(table: &str, name: &str) -> f64 {
    let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{table}"));
    line[name.len()..].split_whitespace().next().and_then(|number| number.parse().ok()).unwrap()
}

/// Returns the tester's command; what comes back is shown nowhere.
fn tester(pair: &Pair) -> Command {
    let file: PathBuf = pair.folder.join("tester.toml");
    std::fs::write(&file, "[display]\nsink = \"headless\"\n").unwrap();
    let mut command = sender();
    command.arg("--config").arg(file).args(["--latency-test", "--to", &pair.address, "--peer", &pair.receiver_key]);
    command.arg("--identity").arg(pair.folder.join("sender.pem"));
    command.args(["--source", PATTERN, "--rate", "3M", "--backend", "cpu"]);
    command
}

#[test]
fn pictures_come_back_and_the_stages_are_the_round_trip() {
    let pair = Pair::new();
    let mut bouncing = pair.receiver();
    bouncing.args(["--bounce", "--sink", "headless", "--backend", "cpu"]);
    let mut bouncing = Daemon::start("receiver", &mut bouncing);
    until("a listening receiver", || pair.is_listening().then_some(()));
    // Twice, so that the one that bounces has taken another call.
    for _ in 0..2 {
        let output = tester(&pair).output().unwrap();
        let (table, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{table}{said}");
        let (one_way, round_trip) =
            (ms(&table, "capture to the display there"), ms(&table, "round trip to the display here"));
        let stages = STAGES.map(|name| ms(&table, name));
        let (there, all) = (stages[..STAGES_THERE].iter().sum::<f64>(), stages.iter().sum::<f64>());
        // Each is rounded to a tenth.
        assert!((there - one_way).abs() <= 0.05 * one_way + 0.3, "{table}");
        assert!((all - round_trip).abs() <= 0.05 * round_trip + 0.5, "{table}");
        assert!(round_trip >= one_way && one_way > 0.0, "{table}");
        // Coding and decoding take their time on both sides, and the loopback next to none.
        assert!(stages[0] > 0.0 && stages[5] > 0.0, "{table}");
        assert!(table.contains("both clocks say") || table.contains("clock suspect"), "{table}");
        assert!(bouncing.is_running());
    }
    bouncing.stop();
    let received = pair.folder.stats("receiver.jsonl").pop().unwrap();
    assert_eq!(received["datagrams_malformed"], 0, "{received}");
}

#[test]
fn a_receiver_that_bounces_nothing_is_told_apart() {
    let pair = Pair::new();
    let waiting = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    until("a listening receiver", || pair.is_listening().then_some(()));
    let ended = Daemon::start("sender", &mut tester(&pair)).wait();
    ended.check(4, &["nobody sends pictures back", "`receiver --bounce`"]);
    waiting.stop();
}
