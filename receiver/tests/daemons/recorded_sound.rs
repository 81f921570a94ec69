//! Recordings of a call's sound: over a line that loses, what is recorded at both ends is the same, sample for sample.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::netsim::{Bursts, NetConditions, Scenario};
use faults::relay::Relay;

use crate::record;
use crate::sound::{Server, count};
use crate::support::{Daemon, PATTERN, Pair, until, with_memory};

const SEED: u64 = 3;
/// Bytes before the samples.
const HEADER_BYTES: usize = 730;

/// A metronome on the JACK server, which a sender takes for its card.
struct Metronome(Child);

impl Metronome {
    fn start(server: &Server) -> Self {
        // It ends where the server does not answer yet.
        let ports = || server.of(&mut Command::new("jack_lsp")).stderr(Stdio::null()).output().unwrap().stdout;
        until("the server", || (!ports().is_empty()).then_some(()));
        let mut command = Command::new("jack_metro");
        command.args(["--name", "metro", "--bpm", "397", "--frequency", "523", "--duration", "120"]);
        let child = server.of(&mut command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let metronome = Self(child);
        until("the metronome", || String::from_utf8_lossy(&ports()).contains("metro:").then_some(()));
        metronome
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the samples of a WAV file of two channels at 16 bits.
fn read(path: &Path) -> Vec<[i16; 2]> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!((&bytes[..4], &bytes[58..60], &bytes[70..72]), (&b"RIFF"[..], &[2, 0][..], &[16, 0][..]));
    let len = u32::from_le_bytes(bytes[HEADER_BYTES - 4..HEADER_BYTES].try_into().unwrap()) as usize;
    assert_eq!(bytes.len(), HEADER_BYTES + len);
    let frames = bytes[HEADER_BYTES..].chunks_exact(4);
    frames.map(|frame| [[frame[0], frame[1]], [frame[2], frame[3]]].map(i16::from_le_bytes)).collect()
}

#[test]
fn both_ends_record_the_same_samples_over_a_line_that_loses() {
    let Some(server) = Server::start("record") else { return };
    eprintln!("seed {SEED}");
    let _metronome = Metronome::start(&server);
    let pair = Pair::new();
    let bursts = Some(Bursts { average: 0.05, mean_length: 3.0 });
    let far = NetConditions { bursts, ..NetConditions::perfect(Duration::from_millis(25)) };
    let relay = Relay::start(([127, 0, 0, 1], 0).into(), pair.address.parse().unwrap(), far.delay).unwrap();
    relay.begin(Scenario::from(far).with_seed(SEED), Scenario::from(far).with_seed(SEED + 1));
    let config = pair.folder.join("sender.toml");
    std::fs::write(&config, "[sound]\ncard = \"jack:metro\"\ncoding = \"pcm16\"\n").unwrap();

    let [sent, received] = ["sent.duet", "received.duet"].map(|name| pair.folder.join(name));
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu", "--record"]).arg(&received);
    let receiver = Daemon::start("receiver", server.of(&mut receiver));
    let mut sender = pair.sender_that(["--to", &relay.address().to_string()]);
    sender.args(["--source", PATTERN, "--rate", "4M", "--backend", "cpu", "--config"]).arg(&config);
    let sender = Daemon::start("sender", server.of(sender.arg("--record").arg(&sent)));
    sender.says(&["the other side records the sound"]);
    until("sound", || (count(&pair, "receiver.jsonl", "sound_packets_received") >= 2_500).then_some(()));
    // The sender hangs up; what is lost until then is filled in.
    sender.terminate();
    let ended = sender.wait();
    ended.check(0, &[]);
    receiver.terminate();
    let ended = receiver.wait();
    ended.check(0, &[]);
    let line = ended.stderr.lines().find(|line| line.contains("received.wav has"));
    assert!(line.is_some_and(|line| line.contains("sound complete")), "{}", ended.stderr);
    let passed = relay.stop();
    assert!(passed.there.lost > 100, "{passed:?}");

    let [sent, received] = [sent, received].map(|path| read(&path.with_extension("wav")));
    assert!(received.iter().filter(|frame| frame[0] != 0).count() > 48_000, "the metronome is heard");
    // The receiver's first picture may be a later one; its sound begins as much later.
    let is_at = |begin: usize| received.iter().zip(&sent[begin..]).all(|(received, sent)| received == sent);
    let begin = (0..sent.len().min(10 * 48_000)).find(|&begin| is_at(begin));
    let begin = begin
        .unwrap_or_else(|| panic!("what is received is no part of what is sent: {}", difference(&sent, &received)));
    assert!(received.len() + begin + 48_000 > sent.len(), "{} {begin} {}", received.len(), sent.len());
}

/// Returns in which samples the two differ, where a stretch of the middle of what is received is at the same place of both.
fn difference(sent: &[[i16; 2]], received: &[[i16; 2]]) -> String {
    let loud = (received.len() / 2..received.len().saturating_sub(4_800)).find(|&at| received[at][0] != 0);
    let Some(loud) = loud else { return "it is silent".to_owned() };
    let stretch = &received[loud..loud + 4_800];
    let Some(there) = sent.windows(stretch.len()).position(|window| window == stretch) else {
        return "its middle is nowhere".to_owned();
    };
    let at = |place: usize| (place + there).checked_sub(loud).and_then(|place| sent.get(place));
    let places: Vec<_> = (0..received.len()).filter(|&place| at(place) != Some(&received[place])).collect();
    let edges: Vec<_> = places.iter().filter(|&&place| place == 0 || !places.contains(&(place - 1))).take(8).collect();
    format!(
        "{} of {} samples differ, {loud} is at {there} of {}, from {edges:?} to {:?}",
        places.len(),
        received.len(),
        sent.len(),
        places.last()
    )
}

#[test]
fn a_call_without_sound_has_no_file_of_it_and_neither_has_a_device() {
    let Some(server) = Server::start("silent") else { return };
    let pair = Pair::new();
    let folder = pair.folder.join("recordings");
    std::fs::create_dir(&folder).unwrap();
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu", "--no-sound", "--record"]).arg(&folder);
    let receiver = Daemon::start("receiver", server.of(&mut receiver));
    let mut sender = pair.sender();
    sender.args(["--source", PATTERN, "--backend", "cpu", "--record", "/dev/null"]);
    let sender = Daemon::start("sender", server.of(&mut sender));
    let shown = || count(&pair, "receiver.jsonl", "frames_shown");
    until("pictures", || (shown() > 40).then_some(()));
    [sender, receiver].into_iter().for_each(Daemon::stop);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(files.len() == 1 && files[0].to_string_lossy().ends_with("-received.duet"), "{files:?}");
}

#[test]
fn a_full_disk_ends_pictures_and_sound_in_one_sentence_both_are_whole_as_far_as_they_go_and_the_call_goes_on() {
    let Some(server) = Server::start("full") else { return };
    // The one and the other takes the last room.
    for rate in ["300k", "3M"] {
        let pair = Pair::new();
        let disk = pair.folder.join("disk");
        std::fs::create_dir(&disk).unwrap();
        let file = disk.join("call.duet");
        let mut receiver = pair.receiver();
        receiver.args(["--sink", "headless", "--backend", "cpu", "--record"]).arg(&file);
        let Some(mut receiver) = with_memory(&receiver, &disk, "size=3m") else { return };
        let receiver = Daemon::start("receiver", server.of(&mut receiver));
        let mut sender = pair.sender();
        sender.args(["--source", PATTERN, "--backend", "cpu", "--rate", rate]);
        let sender = Daemon::start("sender", server.of(&mut sender));
        receiver.says(&["the recording ends, the call goes on: cannot write", "No space left"]);
        receiver.says(&["call.wav has", "lacks its end"]);
        let keys = ["frames_shown", "sound_packets_received"];
        let before = keys.map(|key| count(&pair, "receiver.jsonl", key));
        let goes_on = || (0..2).all(|kind| count(&pair, "receiver.jsonl", keys[kind]) > before[kind] + [60, 400][kind]);
        until("the call", || goes_on().then_some(()));

        let samples = read(&receiver.place(&file.with_extension("wav"))).len();
        let pictures = record::read(&receiver.place(&file));
        assert!(samples > 48_000, "{samples}");
        assert!(pictures.frames.len() > 60 && pictures.has_end, "{} {}", pictures.frames.len(), pictures.has_end);
        sender.stop();
        receiver.terminate();
        let ended = receiver.wait();
        ended.check(0, &[]);
        let said = ended.stderr.lines().filter(|line| line.contains("WARN") && line.contains("record"));
        assert_eq!(said.count(), 1, "{}", ended.stderr);
    }
}
