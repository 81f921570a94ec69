//! Settings of a running program: changed by its user, and by nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Daemon, Pair, receiver, sender, until};

/// A user who is not the one of the tests.
const OTHER: u32 = 65534;

fn set(command: &mut Command, pair: &Pair, key: &str, wish: &str) -> Output {
    command.args(["set", wish, "--identity"]).arg(pair.folder.join(key));
    command.env_remove("XDG_RUNTIME_DIR").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The rate that the sender's last whole line of statistics has.
fn rate(pair: &Pair) -> Option<u64> {
    let text = fs::read_to_string(pair.folder.join("sender.jsonl")).ok()?;
    let (lines, _) = text.rsplit_once('\n')?;
    serde_json::from_str::<Value>(lines.lines().last()?).unwrap()["rate_target_bps"].as_u64()
}

#[test]
fn rate_and_latency_are_set_during_the_call_and_by_its_user_only() {
    let pair = Pair::new();
    let mut receiving = pair.receiver();
    receiving.env_remove("XDG_RUNTIME_DIR").args(["--sink", "headless", "--backend", "cpu"]);
    let receiving = Daemon::start("receiver", &mut receiving);
    let mut sending = pair.sender();
    sending.env_remove("XDG_RUNTIME_DIR");
    sending.args(["--source", "pattern:size=320x180:fps=30", "--rate", "4M", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut sending);
    sending.says(&["streaming"]);

    let set_rate = set(&mut sender(), &pair, "sender.pem", "rate=1M");
    assert!(set_rate.status.success() && set_rate.stdout.starts_with(b"sending 1.0 Mbit/s at most"), "{set_rate:?}");
    until("the lower rate", || rate(&pair).filter(|rate| *rate <= 1_000_000));
    let set_latency = set(&mut receiver(), &pair, "receiver.pem", "latency_max_ms=30");
    assert!(set_latency.status.success(), "{set_latency:?}");
    for (wish, words) in [
        ("rate=9M", "rate takes 500.0 kbit/s to 8.0 Mbit/s, such as 8M, not \"9M\""),
        ("rate=fast", "not \"fast\""),
        ("size=640x360", "\"size\" cannot be set during the call, only rate (500.0 kbit/s to 8.0 Mbit/s, such as 8M)"),
        ("faster", "is no KEY=VALUE"),
    ] {
        let refused = set(&mut sender(), &pair, "sender.pem", wish);
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains(words), "{}", said(&refused));
    }

    let socket = pair.folder.join("sender.sock");
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        another_user_is_refused(&pair, &socket);
    }
    for daemon in [sending, receiving] {
        daemon.terminate();
        daemon.wait().check(0, &[]);
    }
    assert!(!socket.exists(), "it goes with the program");
    let nobody = set(&mut sender(), &pair, "sender.pem", "rate=1M");
    assert_eq!(nobody.status.code(), Some(2));
    assert!(said(&nobody).contains("no sender of this user runs here"), "{}", said(&nobody));
}

fn another_user_is_refused(pair: &Pair, socket: &Path) {
    // Where that user may run it.
    let program = pair.folder.join("sender");
    fs::copy(sender().get_program(), &program).unwrap();
    let try_it = || set(Command::new(&program).uid(OTHER).gid(OTHER), pair, "sender.pem", "rate=2M");
    let refused = try_it();
    assert!(said(&refused).contains("belongs to another user"), "{refused:?}");
    // Also where somebody has opened the door.
    fs::set_permissions(socket, Permissions::from_mode(0o666)).unwrap();
    let refused = try_it();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("answer"), "{refused:?}");
    assert!(rate(pair).is_some_and(|rate| rate <= 1_000_000));
}
