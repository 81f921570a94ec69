//! Settings of a running program: changed by its user, and by nobody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Daemon, PATTERN, Pair, receiver, sender, until};

/// A user who is not the one of the tests.
const OTHER: u32 = 65534;

fn set(command: &mut Command, pair: &Pair, key: &str, wish: &str) -> Output {
    command.args(["set", wish, "--identity"]).arg(pair.folder.join(key));
    command.env_remove("XDG_RUNTIME_DIR").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the rate in the sender's last line of statistics.
fn rate(pair: &Pair) -> Option<u64> {
    pair.folder.last_stats("sender.jsonl")["rate_target_bps"].as_u64()
}

/// Asserts that the sender does not take this wish, and says why with these words.
fn is_refused(pair: &Pair, wish: &str, words: &str) {
    let refused = set(&mut sender(), pair, "sender.pem", wish);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains(words), "{}", said(&refused));
}

#[test]
fn rate_and_latency_are_set_during_the_call_and_by_its_user_only() {
    let pair = Pair::new();
    let mut receiving = pair.receiver();
    receiving.env_remove("XDG_RUNTIME_DIR").args(["--sink", "headless", "--backend", "cpu"]);
    let receiving = Daemon::start("receiver", &mut receiving);
    let mut sending = pair.sender();
    sending.env_remove("XDG_RUNTIME_DIR");
    sending.args(["--source", PATTERN, "--rate", "4M", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut sending);
    sending.says(&["streaming"]);

    let set_rate = set(&mut sender(), &pair, "sender.pem", "rate=1M");
    assert!(set_rate.status.success() && set_rate.stdout.starts_with(b"sending 1.0 Mbit/s at most"), "{set_rate:?}");
    until("the lower rate", || rate(&pair).filter(|&rate| rate <= 1_000_000));
    let set_latency = set(&mut receiver(), &pair, "receiver.pem", "latency_max_ms=30");
    assert!(set_latency.status.success(), "{set_latency:?}");
    for (wish, words) in [
        ("rate=9M", "rate takes 500.0 kbit/s to 8.0 Mbit/s, such as 8M, not \"9M\""),
        ("rate=fast", "not \"fast\""),
        ("sound=on", "\"sound\" cannot be set during the call, only rate (500.0 kbit/s to 8.0 Mbit/s, such as 8M)"),
        ("size=640x360", "size takes a size up to 320x180, such as 640x360, or full, not \"640x360\""),
        ("faster", "is no KEY=VALUE"),
    ] {
        is_refused(&pair, wish, words);
    }

    let socket = pair.folder.join("sender.sock");
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        another_user_is_refused(&pair, &socket);
    }
    [sending, receiving].into_iter().for_each(Daemon::stop);
    assert!(!socket.exists(), "it goes with the program");
    is_refused(&pair, "rate=1M", "no sender of this user runs here");
}

#[test]
fn a_call_is_named_to_whoever_asks_the_receiver() {
    let pair = Pair::new();
    let asks = || said(&set(&mut receiver(), &pair, "key.pem", "latency_max_ms=40"));
    let nobody = asks();
    assert!(nobody.contains("no receiver of this user runs here: nobody answers at"), "{nobody}");
    let call = UnixListener::bind(pair.folder.join("sender.sock")).unwrap();
    let sentence =
        "no receiver of this user runs here, but a sender does, as in a call: try `sender set latency_max_ms=40`";
    assert!(asks().contains(sentence), "{}", asks());
    drop(call);
    // A file that a killed call has left answers nobody.
    assert!(asks().contains("nobody answers at"), "{}", asks());
}

#[test]
fn the_size_is_set_during_the_call_which_goes_on() {
    for prediction in ["off", "on"] {
        let pair = Pair::new();
        let mut receiving = pair.receiver();
        let receiving = Daemon::start("receiver", receiving.args(["--sink", "headless", "--backend", "cpu"]));
        let kept = pair.folder.join("kept");
        fs::create_dir(&kept).unwrap();
        let mut sending = pair.sender();
        sending.env_remove("XDG_RUNTIME_DIR").args(["--prediction", prediction]);
        if prediction == "off" {
            sending.arg("--record").arg(&kept);
        }
        sending.args(["--source", PATTERN, "--rate", "4M", "--backend", "cpu"]);
        let sending = Daemon::start("sender", &mut sending);
        receiving.says(&["decoder ready: 320x180 at 30"]);
        let shown = || pair.folder.last_stats("receiver.jsonl")["frames_shown"].as_u64();
        for (wish, size) in [("size=200x200", "200x112"), ("size=64x36", "64x36"), ("size=full", "320x180")] {
            let before = until("statistics", shown);
            until("pictures", || shown().filter(|&now| now > before + 10));
            let done = set(&mut sender(), &pair, "sender.pem", wish);
            assert!(done.status.success() && done.stdout == format!("sending {size}\n").as_bytes(), "{done:?}");
            sending.says(&[&format!("pictures of {size} from now on")]);
        }
        let before = until("statistics", shown);
        until("pictures", || shown().filter(|&now| now > before + 10));
        for daemon in [sending, receiving] {
            daemon.terminate();
            let ended = daemon.wait();
            ended.check(0, &[]);
            assert!(!ended.stderr.contains("broke the protocol"), "{}", ended.stderr);
        }
        let last = pair.folder.stats("receiver.jsonl").pop().unwrap();
        assert_eq!(last["path_changes"], 0, "{last}");
        let files = fs::read_dir(&kept).unwrap().count();
        assert_eq!(files, if prediction == "off" { 4 } else { 0 }, "a recording for each size");
    }
}

/// Returns the sharpness of the lines of luma of the last whole picture in a Y4M file of 320x180 in 4:2:0: the mean difference
/// of neighbours. None: there is no picture yet.
fn sharpness(path: &Path) -> Option<f64> {
    const FRAME: usize = 320 * 180 * 3 / 2;
    let bytes = fs::read(path).ok()?;
    let head = bytes.iter().position(|&byte| byte == b'\n')? + 1;
    let marker = b"FRAME\n".len();
    let frames = (bytes.len() - head) / (marker + FRAME);
    let last = head + frames.checked_sub(1)? * (marker + FRAME) + marker;
    let rows = bytes[last..last + 320 * 180].chunks_exact(320);
    let sum: f64 = rows.flat_map(|row| row.windows(2)).map(|pair| f64::from(pair[0].abs_diff(pair[1]))).sum();
    Some(sum / (319.0 * 180.0))
}

#[test]
fn effects_are_set_during_the_call_and_seen_at_the_other_end() {
    let pair = Pair::new();
    let shown = pair.folder.join("shown.y4m");
    let mut receiving = pair.receiver();
    receiving.args(["--sink", &format!("y4m:{}", shown.display()), "--backend", "cpu"]);
    let receiving = Daemon::start("receiver", &mut receiving);
    let config = pair.folder.join("effects.toml");
    fs::write(&config, "[effects]\ndetail = 1.5\n").unwrap();
    let mut sending = pair.sender();
    sending.env_remove("XDG_RUNTIME_DIR").arg("--config").arg(config);
    sending.args(["--source", PATTERN, "--rate", "8M", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut sending);
    sending.says(&["effects: detail 1.5"]);
    let stage = || pair.folder.last_stats("sender.jsonl")["stages_us"]["effects"]["p50"].as_u64();
    until("the stage in the statistics", || stage().filter(|&us| us > 0));
    let sharp = until("a picture", || sharpness(&shown));

    for (wish, words) in
        [("effects.noise=32", "effects: detail 1.5, noise 32\n"), ("effects.detail=0", "effects: detail 0, noise 32\n")]
    {
        let done = set(&mut sender(), &pair, "sender.pem", wish);
        assert!(done.status.success() && done.stdout == words.as_bytes(), "{done:?}");
    }
    until("a softer picture", || sharpness(&shown).filter(|&soft| soft < 0.6 * sharp));
    for (wish, words) in [
        ("effects.noise=33", "effects.noise takes 0 to 32 grey levels (0 is off), not \"33\""),
        ("effects.detail=NaN", "effects.detail takes 0 to 4 (1 is off), not \"NaN\""),
        ("effects.even_light=bright", "effects.even_light takes 0 to 1 (0 is off), not \"bright\""),
        ("effects.blur=1", "\"effects.blur\" cannot be set during the call, only rate"),
    ] {
        is_refused(&pair, wish, words);
    }
    for wish in ["effects.noise=0", "effects.detail=1"] {
        assert!(set(&mut sender(), &pair, "sender.pem", wish).status.success());
    }
    sending.says(&["effects: off"]);
    until("the sharp picture", || sharpness(&shown).filter(|&again| again > 0.8 * sharp));
    [sending, receiving].into_iter().for_each(Daemon::stop);
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
