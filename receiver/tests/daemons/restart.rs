//! A sender that goes away, politely or not, and comes back is shown again by the same receiver.

use std::process::Command;

use crate::support::{Daemon, PATTERN, Pair, pattern_numbers, until};

/// Number of pictures, more than are under way when a sender ends.
const MORE: u64 = 60;

fn sender(pair: &Pair, mode: &str) -> Command {
    let mut command = pair.sender_that([mode, &pair.address]);
    command.args(["--source", PATTERN, "--rate", "6M", "--backend", "cpu"]);
    command
}

/// Returns pictures shown so far, by the running receiver's statistics.
fn shown(pair: &Pair) -> u64 {
    pair.folder.last_stats("receiver.jsonl")["frames_shown"].as_u64().unwrap_or(0)
}

/// Ends a first sender with `end` while its pictures are shown, then starts a second one. `modes`: who dials
/// and who listens, the receiver first.
fn comes_back(modes: [&str; 2], end: impl FnOnce(Daemon)) {
    let pair = Pair::new();
    let output = pair.folder.join("out.y4m");
    let sink = format!("y4m:{}", output.display());
    let mut receiving = Daemon::start(
        "receiver",
        pair.receiver_that([modes[0], &pair.address]).args(["--sink", &sink, "--backend", "cpu"]),
    );
    let first = Daemon::start("sender", &mut sender(&pair, modes[1]));
    until("a picture of the first sender", || (shown(&pair) > 0).then_some(()));
    end(first);
    assert!(receiving.is_running(), "a sender that goes must not end the receiver");

    let before = shown(&pair);
    let second = Daemon::start("sender", &mut sender(&pair, modes[1]));
    until("pictures of the second sender", || (shown(&pair) > before + MORE).then_some(()));
    [second, receiving].into_iter().for_each(Daemon::stop);
    let numbers = pattern_numbers(&output);
    let begins: Vec<_> = (1..numbers.len()).filter(|&at| numbers[at] < numbers[at - 1]).collect();
    let [again] = begins[..] else { panic!("the pictures begin again at {begins:?} of {numbers:?}") };
    // A live source may skip pictures on a busy machine; pictures in place of others repeat the one before.
    assert!(numbers[again] < *numbers.last().unwrap() && numbers[again..].is_sorted(), "{numbers:?}");
}

#[test]
fn after_a_signal() {
    comes_back(["--listen", "--to"], |sender| {
        sender.stop();
    });
}

#[test]
fn after_its_terminal_closed() {
    comes_back(["--listen", "--to"], |sender| {
        sender.hang_up();
        sender.wait().check(0, &[]);
    });
}

#[test]
fn after_it_was_killed() {
    comes_back(["--listen", "--to"], Daemon::kill);
}

#[test]
fn after_it_was_killed_and_the_receiver_dials() {
    comes_back(["--to", "--listen"], Daemon::kill);
}
