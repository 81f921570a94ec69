//! Both daemons over a line that loses: the scenarios of `make faults` in small, without a look at the clock.

#[allow(dead_code, reason = "shared with the scenarios, which do more with it")]
use std::time::Duration;

use common::netsim::{NetConditions, Scenario};
use common::reason::Cause;
use faults::relay::{Passed, Relay};
use serde_json::Value;

use crate::support::{Daemon, PATTERN, Pair, has, until_nothing_is_lost};

const FRAMES: u64 = 150;
const SEED: u64 = 4;

/// Streams over a round trip of 50 ms and this much loss: the last lines of both statistics, and what the relay saw.
fn stream(loss: f64) -> (Value, Value, Passed) {
    eprintln!("seed {SEED}");
    let pair = Pair::new();
    let far = NetConditions { loss, ..NetConditions::perfect(Duration::from_millis(25)) };
    let relay = Relay::start(([127, 0, 0, 1], 0).into(), pair.address.parse().unwrap(), far.delay).unwrap();
    relay.begin(Scenario::from(far).with_seed(SEED), Scenario::from(far).with_seed(SEED + 1));
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    let mut command = pair.sender_that(["--to", &relay.address().to_string()]);
    command.args(["--source", PATTERN, "--rate", "6M", "--backend", "cpu"]);
    let sent = Daemon::start("sender", command.args(["--frames", &FRAMES.to_string()])).wait();
    sent.check(0, &[]);
    check_reasons(Cause::SENDER, &pair.folder.stats("sender.jsonl"), &sent.stderr);
    receiving.terminate();
    let received = receiving.wait();
    check_reasons(Cause::RECEIVER, &pair.folder.stats("receiver.jsonl"), &received.stderr);
    let last = |name: &str| pair.folder.stats(name).pop().unwrap();
    (last("sender.jsonl"), last("receiver.jsonl"), relay.stop())
}

/// Checks that each reason that was counted before the last lines of `stats` stands in the log at the usual level.
fn check_reasons(causes: &[Cause], stats: &[Value], log: &str) {
    let Some(counted) = stats.len().checked_sub(2).map(|at| &stats[at]["reasons"]) else { return };
    for cause in causes.iter().filter(|cause| counted[cause.name()].as_u64() > Some(0)) {
        let is_told = log.lines().any(|line| line.contains(" INFO ") && line.contains(cause.words()));
        assert!(is_told, "{cause:?}: {log}");
    }
}

#[test]
fn what_a_line_loses_is_mended_and_the_picture_goes_on() {
    // A starved machine drops frames and datagrams of its own.
    until_nothing_is_lost(|| {
        let (sent, received, passed) = stream(0.05);
        assert_eq!(received["datagrams_malformed"], 0);
        let (shown, left) = (received["frames_shown"].as_u64().unwrap(), sent["frames_sent"].as_u64().unwrap());
        let loss = sent["loss"].as_f64().unwrap();
        let is_mended = received["fec_recovered"].as_u64().unwrap() > 20 && 2 * shown > left && left > FRAMES / 2;
        let is_known = passed.there.lost > 20 && passed.back.lost > 5 && (0.02..0.1).contains(&loss);
        if is_mended && is_known { Ok(()) } else { Err(format!("{passed:?} {sent} {received}")) }
    });
}

#[test]
fn on_a_good_line_nothing_is_mended() {
    until_nothing_is_lost(|| {
        let (sent, received, passed) = stream(0.0);
        assert_eq!(passed.there.lost, 0);
        has(&received, &[("fec_recovered", 0)])?;
        if sent["loss"] == 0.0 { Ok(()) } else { Err(sent.to_string()) }
    });
}
