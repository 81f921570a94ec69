//! Messages and exit codes of a receiver when something is wrong.

use std::net::UdpSocket;

use crate::support::{Daemon, Ended, Pair, receiver, sender};

fn run(command: &mut std::process::Command) -> Ended {
    Daemon::start("receiver", command).wait()
}

#[test]
fn an_address_in_use() {
    let pair = Pair::new();
    let _taken = UdpSocket::bind(&pair.address).unwrap();
    run(pair.receiver().args(["--sink", "headless"])).check(4, &[&pair.address, "in use"]);
}

#[test]
fn an_unknown_key_in_the_configuration() {
    let pair = Pair::new();
    let path = pair.folder.join("receiver.toml");
    std::fs::write(&path, "[display]\nsinks = \"headless\"\n").unwrap();
    run(pair.receiver().arg("--config").arg(&path)).check(2, &["receiver.toml", "line 2", "`sinks`", "`sink`"]);
}

#[test]
fn a_sound_card_that_is_none() {
    let pair = Pair::new();
    let path = pair.folder.join("receiver.toml");
    std::fs::write(&path, "[sound]\ncard = \"pulse\"\n").unwrap();
    for command in ["run", "check", "doctor"] {
        let config = pair.receiver().arg("--config").arg(&path).args(["--sink", "headless", command]).output().unwrap();
        let said = String::from_utf8(config.stderr).unwrap();
        assert_eq!(config.status.code(), Some(2), "{said}");
        assert!(said.contains("[sound] card: `pulse` is no sound card: use auto"), "{said}");
    }
    std::fs::write(&path, "[sound]\ncard = \"none\"\nsync = \"ear\"\n").unwrap();
    run(pair.receiver().arg("--config").arg(&path)).check(2, &["sound.sync", "`ear` is not one of `free`, `picture`"]);
}

#[test]
fn a_configuration_that_is_not_there() {
    let pair = Pair::new();
    run(pair.receiver().args(["--config", "/nonexistent/receiver.toml"])).check(2, &["/nonexistent/receiver.toml"]);
}

#[test]
fn an_unknown_flag() {
    run(receiver().arg("--sinc=headless")).check(2, &["--sinc", "--sink"]);
    let ended = run(receiver().args(["set", "latency_max_ms=40", "--mute"]));
    ended.check(2, &["unexpected argument '--mute' found"]);
    assert!(!ended.stderr.contains("-- --mute"), "{}", ended.stderr);
}

#[test]
fn what_only_the_sender_does() {
    for (arguments, meant) in [(&["call", "clara"][..], "clara"), (&["clara"], "clara")] {
        run(receiver().args(arguments)).check(2, &[&format!("did you mean `sender call {meant}`?")]);
    }
    run(receiver().arg("set")).check(2, &["<KEY=VALUE>... is missing: write `receiver set <KEY=VALUE>...`"]);
}

#[test]
fn an_unknown_sink() {
    let pair = Pair::new();
    run(pair.receiver().args(["--sink", "windows"])).check(2, &["`windows`", "use window, window:fullscreen"]);
}

#[test]
fn a_sink_that_cannot_be_written() {
    let pair = Pair::new();
    run(pair.receiver().args(["--sink", "y4m:/nonexistent/out.y4m"])).check(2, &["/nonexistent/out.y4m"]);
}

#[test]
fn a_virtual_camera_that_is_none() {
    let pair = Pair::new();
    let sink = |device: &str| format!("v4l2:{device}");
    let missing = ["the virtual camera /dev/video-none is not there", "modprobe v4l2loopback"];
    run(pair.receiver().args(["--sink", &sink("/dev/video-none")])).check(3, &missing);
    run(pair.receiver().args(["doctor", "--backend", "cpu", "--sink", &sink("/dev/video-none")])).check(3, &missing);
    run(pair.receiver().args(["--sink", &sink("/dev/null")])).check(3, &["is no video device", "v4l2loopback"]);
}

#[test]
fn no_peer() {
    let pair = Pair::new();
    let (identity, _) = pair.folder.identity("receiver.pem");
    run(receiver().args(["--listen", &pair.address, "--identity", &identity, "--sink", "headless"]))
        .check(2, &["no machine may send: `sender invite NAME` prints a ticket", "--peer KEY", "[[peer]]"]);
}

#[test]
fn check_and_doctor_say_what_a_run_would_fail_with() {
    let pair = Pair::new();
    let (identity, own) = pair.folder.identity("receiver.pem");
    let shared = pair.folder.join("shared.toml");
    std::fs::write(&shared, "[network]\nshare_port = true\n").unwrap();
    for command in ["check", "doctor"] {
        let command = || {
            let mut program = pair.receiver();
            program.args([command, "--backend", "cpu"]);
            program
        };
        run(command().args(["--sink", "headless"])).check(0, &[]);
        run(command().args(["--sink", "y4m:/nonexistent/out.y4m"])).check(2, &["/nonexistent/out.y4m"]);
        run(command().args(["--sink", "headless", "--peer", &own])).check(2, &["this machine's own"]);
        run(command().args(["--sink", "headless", "--config"]).arg(&shared)).check(2, &["sender call"]);
        let mut alone = receiver();
        alone.args(["--listen", &pair.address, "--identity", &identity, "--sink", "headless", "check"]);
        run(&mut alone).check(2, &["--peer KEY"]);
    }
    let _taken = UdpSocket::bind(&pair.address).unwrap();
    run(pair.receiver().args(["doctor", "--sink", "headless", "--backend", "cpu"])).check(4, &["in use"]);
}

#[test]
fn doctor_tells_programs_about_all_that_receiving_needs() {
    let pair = Pair::new();
    let doctor = |sink: &str| {
        let path = pair.folder.join("doctor.json");
        let mut command = pair.receiver();
        command.args(["doctor", "--json", "--backend", "cpu", "--sink", sink]).env_remove("WAYLAND_DISPLAY");
        let output = std::fs::File::create(&path).unwrap().into();
        let ended = Daemon::start_with_output("receiver", command.env("DISPLAY", ":9876"), output).wait();
        let lines: Vec<serde_json::Value> = serde_json::from_str(&pair.folder.read("doctor.json")).unwrap();
        (ended, lines)
    };
    let status = |lines: &[serde_json::Value], name: &str| {
        let of_name: Vec<_> = lines.iter().filter(|line| line["name"] == name).collect();
        assert_eq!(of_name.len(), 1, "{name}: {lines:?}");
        assert!(of_name[0]["detail"].is_string(), "{name}: {lines:?}");
        of_name[0]["status"].as_str().unwrap().to_owned()
    };
    let (ended, lines) = doctor("headless");
    ended.check(0, &[]);
    for name in ["identity", "peers", "address", "backend", "display"] {
        assert_eq!(status(&lines, name), "ok", "{name}: {lines:?}");
    }
    // What these find is the machine's.
    for name in ["socket buffers", "real-time priority", "clock", "mtu", "router", "speed"] {
        assert!(["ok", "warn"].contains(&status(&lines, name).as_str()), "{name}: {lines:?}");
    }
    let (ended, lines) = doctor("window");
    ended.check(3, &["display"]);
    assert_eq!((status(&lines, "display").as_str(), status(&lines, "peers").as_str()), ("fail", "ok"), "{lines:?}");
}

#[test]
fn a_key_that_anybody_could_sign_for() {
    let pair = Pair::new();
    let zeros = format!("{}=", "A".repeat(43));
    let path = pair.folder.join("receiver.toml");
    std::fs::write(&path, format!("[[peer]]\npublic_key = \"{zeros}\"\n")).unwrap();
    let sentence = ["public_key", &zeros, "no private key", "`sender identity`"];
    run(pair.receiver().args(["--sink", "headless", "--peer", &zeros])).check(2, &sentence);
    for command in ["doctor", "check"] {
        run(receiver().arg(command).arg("--config").arg(&path)).check(2, &sentence);
        Daemon::start("sender", sender().arg(command).arg("--config").arg(&path)).wait().check(2, &sentence);
    }
}

#[test]
fn no_display() {
    let pair = Pair::new();
    run(pair.receiver().args(["--sink", "window"]).env_remove("DISPLAY")).check(3, &["no window", "--sink headless"]);
    run(pair.receiver().args(["--sink", "window"]).env("DISPLAY", ":9876")).check(3, &["no window", "DISPLAY"]);
}

#[test]
fn no_opencl_platform() {
    let pair = Pair::new();
    let empty = pair.folder.join("vendors");
    std::fs::create_dir(&empty).unwrap();
    run(pair.receiver().args(["--sink", "headless", "--backend", "opencl"]).env("OCL_ICD_VENDORS", &empty))
        .check(3, &[if cfg!(feature = "opencl") { "no OpenCL platform" } else { "built without OpenCL" }]);
}

#[test]
fn help_lists_the_sinks() {
    let output = receiver().arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for sink in ["window[:fullscreen]", "headless", "y4m:PATH", "v4l2:DEVICE"] {
        assert!(text.contains(sink), "{text}");
    }
}
