//! Everything that people get wrong: one sentence on standard error, the right exit code, no panic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A key that belongs to nobody.
const PEER: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const LIMIT: Duration = Duration::from_secs(60);

/// A directory with an identity in it; goes away with the value.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("duet-sender-{}-{count}", std::process::id()));
        std::fs::create_dir_all(path.join(".config/duet")).unwrap();
        let home = Self(path);
        // Nobody outside is asked for an address, and no router.
        home.write(".config/duet/duet.toml", b"[expert]\nstun = []\nopen_port = false\n");
        let made = home.run(&["identity"]);
        assert_eq!((made.status.code(), made.stdout.len()), (Some(0), 58), "{made:?}");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs the sender to its end, which must come in time.
    fn run(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, b"")
    }

    fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sender"))
            .args(arguments)
            .env_clear()
            .env("HOME", &self.0)
            .env("DUET_LOG", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A sender that does not read its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input);
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > LIMIT {
                child.kill().unwrap();
                panic!("{arguments:?} did not end: {:?}", child.wait_with_output());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    }

    /// Checks that the sender ends with `code` and one line that contains `says`.
    #[track_caller]
    fn check(&self, arguments: &[&str], code: i32, says: &str) {
        check(arguments, &self.run(arguments), code, says);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check(arguments: &[&str], output: &Output, code: i32, says: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    assert!(text.starts_with("sender: ") && text.contains(says), "{arguments:?}: {text}");
}

fn with_peer<'a>(source: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // Somebody to call, where nothing else is said.
    let to: &[&str] = if more.contains(&"--listen") { &[] } else { &["--to", "127.0.0.1"] };
    [&["--peer", PEER, "--source", source, "--backend", "cpu"], to, more].concat()
}

#[test]
fn flags() {
    let home = Home::new();
    home.check(&["--sorce", "pattern"], 2, "--source");
    home.check(&["runn"], 2, "did you mean `run` or `sender call runn`?");
    home.check(&["clara"], 2, "there is no command `clara` here: did you mean `sender call clara`?");
    home.check(&["set"], 2, "<KEY=VALUE>... is missing: write `sender set <KEY=VALUE>...`");
    home.check(&["call", "clara", "--mute"], 2, "unexpected argument '--mute' found\n");
    home.check(&["--to", "a:1", "--listen", "b:2"], 2, "--listen");
    home.check(&["--frames", "0"], 2, "--frames");
    home.check(&["--frames", "many"], 2, "--frames");
    home.check(&["--rate", "fast"], 2, "20M");
    home.check(&["--to", "no where"], 2, "HOST:PORT");
    home.check(&["--peer", PEER, "--source", "pattern"], 2, "there is nobody to call: give --to HOST");
    home.check(&["--listen", "home:4820"], 2, "IP:PORT");
    home.check(&["--backend", "cuda"], 2, "`opencl`");
    home.check(&["--peer", "secret"], 2, "begins with `duet-key-`");
    home.check(
        &["--peer", "duet-key-11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo_ogaz"],
        2,
        "copy the whole line again",
    );
    for arguments in [&["--source", "pattern"][..], &[], &["check"], &["--latency-test"], &["--link-test", "nobody"]] {
        home.check(arguments, 2, "no machine may receive: `sender invite NAME` prints a ticket");
        home.check(arguments, 2, "--peer KEY");
    }
    // No host of this name can be.
    home.check(&["--peer", PEER, "--link-test", "cl@ra"], 2, "nobody called \"cl@ra\" is known here, only: ");
    home.check(&with_peer("pattern:size=16385x1", &[]), 2, "16384");
    home.check(&with_peer("webcam", &[]), 2, "mjpeg:PATH");
    home.check(&with_peer("pattern:size=64x64", &["--rate", "1k"]), 2, "--rate");
    home.check(&with_peer("pattern:size=64x64", &["--rate", "10"]), 2, "did you mean 10M?");
    home.check(&with_peer("pattern:size=64x64", &["--device", "H200"]), 2, "H200");
    home.check(&with_peer("pattern:size=64x64", &["--publish", "relay.example"]), 2, "https://relay.example/duet/anna");
    // {"put":"duet/bert"}
    let foreign = "https://relay.example/duet/anna?jwt=e30.eyJwdXQiOiJkdWV0L2JlcnQifQ.c2ln";
    home.check(&with_peer("pattern:size=64x64", &["--publish", foreign]), 2, "not \"duet/anna\"");
    home.check(&with_peer("pattern:size=64x64", &["--stats", "/nowhere/stats"]), 2, "/nowhere/stats");
}

#[test]
fn configuration() {
    let home = Home::new();
    home.check(&["--config", "/nowhere.toml", "check"], 2, "/nowhere.toml");
    let path = home.write("duet.toml", b"[video]\nsorce = \"pattern\"\n");
    home.check(&["check", "--config", &path], 2, "line 2: there is no key `sorce` here; did you mean `source`?");
    let path = home.write("sender.toml", b"[network]\nport = 4821\n");
    home.check(&["check", "--config", &path], 2, "line 2: there is no key `port` here; did you mean `address`?");
    let path = home.write("sender.toml", b"[source]\n");
    home.check(&["check", "--config", &path], 2, "did you mean `source` in [video]?");
    let path = home.write("sender.toml", b"[[peer]]\nname = \"clara\"\n");
    home.check(&["check", "--config", &path], 2, "a [[peer]] section of `clara` has none");
    let path = home.write("sender.toml", b"[video\n");
    home.check(&["check", "--config", &path], 2, "line 1");
    let path = home.write("sender.toml", b"[codec]\nrate = \"20M\"\n");
    let right = ["check", "--config", &path, "--peer", PEER, "--to", "home.example"];
    assert_eq!(home.run(&right).status.code(), Some(0));
    home.check(&["check", "--config", &path, "--rate", "x"], 2, "codec.rate");
}

#[test]
fn a_file_of_before_is_read_and_it_is_said_once_what_to_write_now() {
    let home = Home::new();
    let arguments = ["check", "--peer", PEER, "--to", "127.0.0.1", "--source", "pattern"];
    let right = |more: &[&str], says: &str| {
        let arguments = [&arguments[..], more].concat();
        let output = home.run(&arguments);
        match says {
            "" => assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{output:?}"),
            _ => check(&arguments, &output, 0, says),
        }
    };
    right(&[], "");
    home.write(".config/duet/sender.toml", b"[nonsense]\n");
    right(&[], "sender.toml beside it is not read any more");
    std::fs::remove_file(home.path(".config/duet/duet.toml")).unwrap();
    home.write(".config/duet/sender.toml", b"[codec]\nwavelet = \"cdf97\"\n[network]\ngso = false\n");
    let told = "sender.toml: `wavelet` (line 2) has no other value: leave it out; `gso` (line 4) is in [expert] now; \
                put what it says into duet.toml there, which both programs read\n";
    right(&[], told);
    // As a unit names it.
    let folder = home.path(".config/duet");
    right(&["--config", folder.to_str().unwrap()], told);
    home.write(".config/duet/duet.toml", b"[receiver.stats]\nfile = \"/nowhere/x\"\n");
    std::fs::remove_file(folder.join("sender.toml")).unwrap();
    right(&["--config", folder.to_str().unwrap()], "");
    std::fs::remove_file(folder.join("duet.toml")).unwrap();
    home.check(&["check", "--config", folder.to_str().unwrap()], 2, "duet.toml: No such file");
}

#[test]
fn check_and_doctor_say_what_a_run_would_fail_with() {
    let home = Home::new();
    let own = String::from_utf8(home.run(&["identity"]).stdout).unwrap();
    let own = own.trim();
    let shared =
        home.write("shared.toml", b"[network]\nshare_port = true\n[display]\nsink = \"y4m:/nowhere/out.y4m\"\n");
    for command in ["check", "doctor"] {
        home.check(&[command, "--to", "127.0.0.1", "--source", "pattern"], 2, "no machine may");
        home.check(&[command, "--to", "127.0.0.1", "--source", "pattern", "--peer", own], 2, "this machine's own");
        home.check(&[command, "--source", "pattern", "--peer", PEER], 2, "there is nobody to call");
        let with = |source, more: &[&str]| {
            let arguments = [&[command], with_peer(source, more).as_slice()].concat();
            arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>()
        };
        let fails = |arguments: Vec<String>, code, says| {
            home.check(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), code, says);
        };
        fails(with("y4m:/nowhere.y4m", &[]), 2, "/nowhere.y4m: No such file");
        fails(with("pattern", &["--stats", "/nowhere/stats"]), 2, "/nowhere/stats");
        fails(with("pattern", &["--config", &shared]), 2, "/nowhere/out.y4m");
    }
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let doctor = |more: &[&str], says: &str| {
        home.check(&[&["doctor", "--peer", PEER, "--source", "pattern"], more].concat(), 4, says)
    };
    doctor(&["--listen", &address], "in use");
    doctor(&["--to", "nowhere.invalid"], "the address of nowhere.invalid:4820 cannot be found");
}

#[test]
fn before_the_introduction_doctor_fails_for_one_thing() {
    let home = Home::new();
    std::fs::remove_file(home.path(".local/state/duet/identity.pem")).unwrap();
    let arguments = ["doctor", "--json", "--source", "pattern:size=64x64", "--backend", "cpu"];
    let output = home.run(&arguments);
    check(&arguments, &output, 2, "peers: no machine may connect yet");
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
    let failed: Vec<_> = lines.iter().filter(|line| line["status"] == "fail").map(|line| &line["name"]).collect();
    assert_eq!(failed, ["peers"], "{lines:?}");
    assert!(of("peers")["advice"].as_str().unwrap().starts_with("`sender invite NAME` prints a ticket"), "{lines:?}");
    let identity = &of("identity")["detail"];
    assert!(identity.as_str().unwrap().contains("`invite` and `join` make it"), "{identity}");
    // A call codes and decodes; whoever has an address may only send.
    let speed = |lines: &[serde_json::Value]| {
        lines.iter().find(|line| line["name"] == "speed").unwrap()["detail"].as_str().unwrap().to_owned()
    };
    assert!(speed(&lines).contains("both in a call at"), "{}", speed(&lines));
    assert!(home.run(&["identity"]).status.success());
    let output = home.run(&[&["doctor", "--json"], with_peer("pattern:size=64x64", &[]).as_slice()].concat());
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!speed(&lines).contains("in a call"), "{}", speed(&lines));
}

#[test]
fn doctor_has_a_line_for_all_that_sending_and_a_call_need() {
    let home = Home::new();
    let arguments = with_peer("pattern:size=64x64", &["--listen", "127.0.0.1:0"]);
    let output = home.run(&[&["doctor", "--json"], arguments.as_slice()].concat());
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of =
        |name: &str| lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no {name}: {lines:?}"));
    for name in ["identity", "peers", "address", "socket buffers", "real-time priority", "clock", "mtu", "router"] {
        of(name);
    }
    for name in ["backend", "tuning", "source", "display", "speed"] {
        of(name);
    }
    assert!(
        lines.iter().all(|line| ["ok", "warn", "fail"].iter().any(|status| line["status"] == *status)),
        "{lines:?}"
    );
    // Sending alone needs no display.
    let display = of("display");
    assert!(display["status"] == "warn" && display["advice"].is_string(), "{display}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn files() {
    let home = Home::new();
    for layout in ["y4m", "mjpeg"] {
        let source = |path: &str| format!("{layout}:{path}");
        home.check(&with_peer(&source("/nowhere.clip"), &[]), 2, "/nowhere.clip: No such file");
        home.check(&with_peer(&source("/tmp"), &[]), 2, "/tmp: it is a directory");
        // Its first byte cannot be read, not even by root.
        home.check(&with_peer(&source("/proc/self/mem"), &[]), 2, "/proc/self/mem: ");
        let secret = home.write("secret", b"YUV4MPEG2 W4 H4 F30:1\n");
        std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        // Root reads it nevertheless.
        if std::fs::File::open(&secret).is_err() {
            home.check(&with_peer(&source(&secret), &[]), 2, "secret: Permission denied");
        }
        std::fs::remove_file(&secret).unwrap();
    }
    let text = home.write("text", b"hello");
    home.check(&with_peer(&format!("y4m:{text}"), &[]), 2, "Y4M header");
    home.check(&with_peer(&format!("mjpeg:{text}"), &[]), 2, "no JPEG picture");
    let wide = home.write("wide.y4m", b"YUV4MPEG2 W16385 H1 F30:1\n");
    home.check(&with_peer(&format!("y4m:{wide}"), &[]), 2, "16384");
    // A picture of 8x8 that says to be of 16385x1: the place of its size is behind the frame marker.
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new(&mut jpeg).encode(&[128; 64], 8, 8, image::ExtendedColorType::L8).unwrap();
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0, 1, 0x40, 1]);
    let wide = home.write("wide.mjpeg", &jpeg);
    home.check(&with_peer(&format!("mjpeg:{wide}"), &[]), 2, "16385x1");
    let deep = home.write("deep.y4m", b"YUV4MPEG2 W16 H16 F30:1 C420p10\n");
    home.check(&with_peer(&format!("y4m:{deep}"), &[]), 2, "10 bits");
    let fast = home.write("fast.y4m", b"YUV4MPEG2 W16 H16 F1001:1\n");
    home.check(&with_peer(&format!("y4m:{fast}"), &[]), 2, "frame rate");
    let cut = home.write("cut.y4m", b"YUV4MPEG2 W16 H");
    home.check(&with_peer(&format!("y4m:{cut}"), &[]), 2, "Y4M header");
    let broken = home.write("broken.mjpeg", b"\xff\xd8\xff\xe0\x00\x04ab\xff\xd9");
    home.check(&with_peer(&format!("mjpeg:{broken}"), &[]), 2, "no JPEG picture");
    let arguments = with_peer("y4m:-", &[]);
    check(&arguments, &home.run_with_input(&arguments, b"no video"), 2, "Y4M header");
}

#[test]
fn devices() {
    let home = Home::new();
    if !Path::new("/dev/video0").exists() {
        home.check(&with_peer("camera", &["--frames", "3"]), 3, "no camera");
    }
    // The loader finds no platform in an empty directory; a build without OpenCL has no loader.
    let empty = home.path("vendors");
    std::fs::create_dir(&empty).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sender"))
        .args(["--peer", PEER, "--to", "127.0.0.1", "--source", "pattern:size=64x64", "--backend", "opencl"])
        .env("HOME", &home.0)
        .env("DUET_LOG", "off")
        .env("OCL_ICD_VENDORS", &empty)
        .output()
        .unwrap();
    check(&["--backend", "opencl"], &output, 3, "OpenCL");
}

#[test]
fn network_and_identity() {
    let home = Home::new();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    home.check(&with_peer("pattern:size=64x64", &["--listen", &address]), 4, "in use");
    home.check(&with_peer("pattern", &["--identity", "/nowhere/key.pem"]), 4, "sender identity");
    // A folder in which nobody can make a key, also not root.
    for command in [&["identity"][..], &["invite", "clara"]] {
        home.check(
            &[command, &["--identity", "/proc/duet/key.pem"]].concat(),
            4,
            "/proc/duet/key.pem cannot be written",
        );
    }
    let key = home.path(".local/state/duet/identity.pem");
    let mut text = std::fs::read(&key).unwrap();
    let middle = text.len() / 2;
    text[middle] = if text[middle] == b'A' { b'B' } else { b'A' };
    std::fs::write(&key, &text).unwrap();
    home.check(&with_peer("pattern", &[]), 4, "not a valid Ed25519 private key");
    std::os::unix::fs::chown(&key, None, None).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    home.check(&with_peer("pattern", &[]), 4, "chmod 600");
}

#[test]
fn smallest_picture_streams_until_told_to_stop() {
    let home = Home::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sender"))
        .args(with_peer("pattern:size=1x1", &["--listen", "127.0.0.1:0"]))
        .env("HOME", &home.0)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("listening at")), "it has ended");
    let terminated = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(terminated.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
