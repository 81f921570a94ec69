//! Two machines that send and receive over one connection each: `sender --also-receive`, `share_port`.

use std::path::PathBuf;
use std::process::Command;

use picture::frame::{FrameRate, FrameSize};
use sending::source::pattern::Pattern;

use crate::display::Display;
use crate::support::{Daemon, PATTERN, Pair, has, pattern_numbers, sender, until, until_nothing_is_lost};

const FRAMES: u64 = 45;

/// One end of a call; the pair's sender dials, its receiver listens.
struct End<'a> {
    pair: &'a Pair,
    name: &'static str,
    sink: String,
}

impl<'a> End<'a> {
    fn new(pair: &'a Pair, name: &'static str) -> Self {
        Self { pair, name, sink: format!("y4m:{}", pair.folder.join(&format!("{name}.y4m")).display()) }
    }

    fn shown(&self) -> PathBuf {
        self.pair.folder.join(&format!("{}.y4m", self.name))
    }

    /// Writes the receiver's part as a file, with statistics of its own. It waits long for each frame, so that a busy
    /// machine shows them whole too.
    fn receiver_file(&self) -> PathBuf {
        let path = self.pair.folder.join(&format!("{}.toml", self.name));
        let stats = self.pair.folder.join(&format!("{}-received.jsonl", self.name));
        let text = format!(
            "[display]\nsink = \"{}\"\nlatency_max_ms = 1000\n[network]\nshare_port = true\n[stats]\nfile = \"{}\"\n",
            self.sink,
            stats.display()
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, peer: &str) -> Command {
        self.command_of(peer, &self.clip())
    }

    fn command_of(&self, peer: &str, source: &str) -> Command {
        let mut command = sender();
        command.args([
            "--peer",
            peer,
            "--identity",
            &self.pair.folder.join(&format!("{}.pem", self.name)).to_string_lossy(),
        ]);
        command.arg("--stats").arg(self.pair.folder.join(&format!("{}-sent.jsonl", self.name)));
        command.args(["--source", source, "--rate", "4M", "--backend", "cpu"]);
        command
    }

    /// Returns numbered pictures as a source that waits until each has been sent.
    fn clip(&self) -> String {
        let path = self.pair.folder.join(&format!("{}-clip.y4m", self.name));
        let (size, rate) = (FrameSize::new(320, 180).unwrap(), FrameRate::USUAL);
        let mut bytes = b"YUV4MPEG2 W320 H180 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n".to_vec();
        let (pattern, mut data) = (Pattern::new(size, rate), Vec::new());
        for number in 0..FRAMES as u32 {
            pattern.draw(number, number, &mut data);
            bytes.extend_from_slice(b"FRAME\n");
            bytes.extend_from_slice(&data);
        }
        std::fs::write(&path, bytes).unwrap();
        format!("y4m:{}", path.display())
    }

    fn both(&self, peer: &str) -> Command {
        self.both_of(peer, &self.clip())
    }

    fn both_of(&self, peer: &str, source: &str) -> Command {
        let mut command = self.command_of(peer, source);
        command.arg("--also-receive").arg(self.receiver_file());
        command
    }

    /// Checks that the other's frames were shown here, in order. An error is what was lost.
    fn check(&self) -> Result<(), String> {
        let sent = self.pair.folder.stats(&format!("{}-sent.jsonl", self.name)).pop().unwrap();
        has(&sent, &[("frames_sent", FRAMES)])?;
        assert!(sent["rtt_us"].is_u64(), "{}: {sent}", self.name);
        let received = self.pair.folder.stats(&format!("{}-received.jsonl", self.name)).pop().unwrap();
        assert_eq!(received["datagrams_malformed"], 0, "{}: {received}", self.name);
        has(&received, &[("frames_lost", 0), ("frames_partial", 0), ("frames_complete", FRAMES)])?;
        let numbers = pattern_numbers(&self.shown());
        assert_eq!(numbers, (0..FRAMES as u32).collect::<Vec<_>>(), "{}", self.name);
        Ok(())
    }
}

#[test]
fn video_goes_both_ways_over_the_connection_that_one_side_dials() {
    until_nothing_is_lost(call);
}

fn call() -> Result<(), String> {
    let pair = Pair::new();
    // The dialler has no address that could be dialled: its port is the system's choice.
    let (dialler, listener) = (End::new(&pair, "sender"), End::new(&pair, "receiver"));
    let mut command = listener.both(&pair.sender_key);
    command.args(["--listen", &pair.address, "--frames", &FRAMES.to_string()]);
    let listening = Daemon::start("listener", &mut command);
    let mut command = dialler.both(&pair.receiver_key);
    command.args(["--to", &pair.address, "--frames", &FRAMES.to_string()]);
    Daemon::start("dialler", &mut command).wait().check(0, &[]);
    listening.wait().check(0, &[]);
    dialler.check()?;
    listener.check()
}

#[test]
fn both_must_do_it() {
    let pair = Pair::new();
    let (dialler, listener) = (End::new(&pair, "sender"), End::new(&pair, "receiver"));
    let mut command = listener.both(&pair.sender_key);
    let mut listening = Daemon::start("listener", command.args(["--listen", &pair.address]));
    let mut command = dialler.command(&pair.receiver_key);
    let sending = Daemon::start("sender", command.args(["--to", &pair.address]));
    sending.says(&["WARN", "sender call", "alike", "trying again"]);
    assert!(listening.is_running());
    sending.stop();
    listening.stop();
}

#[test]
fn a_call_begins_without_its_camera_and_the_other_side_is_told() {
    let pair = Pair::new();
    let (dialler, listener) = (End::new(&pair, "sender"), End::new(&pair, "receiver"));
    let both = |end: &End<'_>, peer: &str, source: &str, mode: [&str; 2]| {
        Daemon::start(end.name, end.both_of(peer, source).args(mode))
    };
    let listening = both(&listener, &pair.sender_key, "camera:index=99:size=320x180", ["--listen", &pair.address]);
    listening.says(&["WARN", "camera", "the call goes on without it until it is there"]);
    let dialling = both(&dialler, &pair.receiver_key, PATTERN, ["--to", &pair.address]);
    dialling.says(&["camera lost, says the sender"]);
    // The way back works all the same.
    let shown = || std::fs::metadata(listener.shown()).is_ok_and(|file| file.len() > 500_000).then_some(());
    until("the other's pictures", shown);
    [dialling, listening].into_iter().for_each(Daemon::stop);
}

#[test]
fn closing_the_window_hangs_up() {
    let (display, pair) = (Display::start(640, 480), Pair::new());
    let (dialler, listener) =
        (End::new(&pair, "sender"), End { sink: "window".to_owned(), ..End::new(&pair, "receiver") });
    // Whose clip has ended hangs up by itself.
    let mut command = listener.both_of(&pair.sender_key, PATTERN);
    command.args(["--listen", &pair.address]).env("DISPLAY", &display.name);
    let listening = Daemon::start("listener", &mut command);
    let mut command = dialler.both_of(&pair.receiver_key, PATTERN);
    let mut dialling = Daemon::start("dialler", command.args(["--to", &pair.address]));
    let window = until("a window", || display.find("Duet"));
    // The window's own words have none.
    let is_coloured = |pixel: &u32| {
        let [_, r, g, b] = pixel.to_be_bytes();
        r.abs_diff(g).max(g.abs_diff(b)) > 64
    };
    until("the other's picture", || display.screenshot(window).pixels.iter().any(is_coloured).then_some(()));
    display.close(window);
    listening.wait().check(0, &[]);
    assert!(dialling.is_running(), "the other side waits for the next call");
    dialling.stop();
}

#[test]
fn the_key_in_one_file_is_enough_for_a_sender_and_refused_by_a_receiver() {
    let pair = Pair::new();
    let (dialler, listener) = (End::new(&pair, "sender"), End::new(&pair, "receiver"));
    let file = listener.receiver_file();
    let mut command = pair.receiver();
    Daemon::start("receiver", command.arg("--config").arg(&file)).wait().check(2, &["`sender call`"]);
    let frames = FRAMES.to_string();
    let both = |end: &End<'_>, peer: &str, mode: [&str; 2]| {
        let file = pair.folder.join(&format!("{}-both.toml", end.name));
        std::fs::write(&file, "[network]\nshare_port = true\n[display]\nsink = \"headless\"\n").unwrap();
        let mut command = end.command(peer);
        command.args(mode).args(["--frames", &frames]).arg("--config").arg(file);
        Daemon::start(end.name, &mut command)
    };
    let listening = both(&listener, &pair.sender_key, ["--listen", &pair.address]);
    both(&dialler, &pair.receiver_key, ["--to", &pair.address]).wait().check(0, &[]);
    listening.wait().check(0, &[]);
    for name in ["sender", "receiver"] {
        let received = pair.folder.stats(&format!("{name}-sent-received.jsonl")).pop().unwrap();
        assert!(received["frames_shown"].as_u64() > Some(0), "{received}");
    }
}
