//! Recordings: what is in them is what was shown, and nothing that befalls them befalls the call.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kernels::{BackendChoice, ClipDecoder, Picture};
use picture::container::{ContainerReader, Content, Damage, Entry, FileFrame};
use picture::params::StreamParams;

use crate::support::{Daemon, Pair, has, pattern_numbers, read_y4m, until, until_nothing_is_lost};

const FRAMES: u64 = 12;

/// Contents of a recording.
pub(crate) struct Read {
    params: StreamParams,
    pub(crate) frames: Vec<FileFrame>,
    pub(crate) has_end: bool,
}

/// Reads a recording of which nothing but the end may be missing, and gives the frames that are whole.
pub(crate) fn read(path: &Path) -> Read {
    let mut reader = ContainerReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let (mut frames, mut has_end) = (Vec::new(), true);
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Entry::Frame(frame) => frames.push(frame),
            Entry::Damage(Damage::End(_)) => {
                has_end = false;
                // The end may be missing from inside a frame on.
                frames.pop_if(|frame| matches!(frame.content, Content::Blocks { damaged: 1.., .. }));
            }
            Entry::Damage(damage) => panic!("{}: {damage}", path.display()),
        }
    }
    Read { params: *reader.params(), frames, has_end }
}

/// Decodes the frames of a recording.
fn decoded(read: &Read) -> Vec<Vec<u8>> {
    let (params, mut next) = (read.params, 0);
    let mut picture = Picture::for_stream(params.chroma, params.size);
    let mut decoder = ClipDecoder::open(&params, BackendChoice::Cpu).unwrap();
    let mut pictures = Vec::new();
    for FileFrame { number, content } in &read.frames {
        let Content::Blocks { reference, frame, damaged: 0 } = content else { panic!("picture {number} is damaged") };
        (next..*number).for_each(|_| decoder.hold(&mut picture).unwrap());
        decoder.decode(*reference, frame, &mut picture).unwrap();
        assert_eq!(decoder.held_frames(), 0);
        next = number + 1;
        pictures.push(picture.data().to_vec());
    }
    pictures
}

fn source(frames: u64) -> Vec<String> {
    let texts = ["--source", "pattern:size=160x90:fps=30", "--rate", "8M", "--backend", "cpu", "--frames"];
    texts.into_iter().map(str::to_owned).chain([frames.to_string()]).collect()
}

/// Runs a call of some frames into `out.y4m`, with more arguments for both sides.
fn call(pair: &Pair, sending: &[&str], receiving: &[&str]) -> Result<[String; 2], String> {
    let sink = format!("y4m:{}", pair.folder.join("out.y4m").display());
    let mut receiver = pair.receiver();
    let frames = FRAMES.to_string();
    receiver.args(["--sink", &sink, "--backend", "cpu", "--frames", &frames]).args(receiving);
    let receiver = Daemon::start("receiver", &mut receiver);
    let sender = Daemon::start("sender", pair.sender().args(source(FRAMES)).args(sending));
    let (sent, received) = (sender.wait(), receiver.wait());
    sent.check(0, &[]);
    received.check(0, &[]);
    let wanted = [("frames_complete", FRAMES), ("frames_partial", 0), ("frames_lost", 0), ("frames_shown", FRAMES)];
    has(pair.folder.stats("receiver.jsonl").last().unwrap(), &wanted)?;
    Ok([sent.stderr, received.stderr])
}

#[test]
fn a_recording_holds_what_was_shown_and_what_was_sent_and_can_be_sent_again() {
    until_nothing_is_lost(|| {
        let pair = Pair::new();
        let [sent, received] = ["sent.duet", "received.duet"].map(|name| pair.folder.join(name));
        call(&pair, &["--record", sent.to_str().unwrap()], &["--record", received.to_str().unwrap()])?;
        let (_, shown) = read_y4m(&pair.folder.join("out.y4m"));
        let recordings = [read(&sent), read(&received)];
        for recording in &recordings {
            assert!(recording.has_end);
            assert!(decoded(recording) == shown, "{} frames of {}", recording.frames.len(), shown.len());
        }
        std::fs::remove_file(pair.folder.join("receiver.jsonl")).unwrap();
        let again = pair.folder.join("again.y4m");
        let sink = format!("y4m:{}", again.display());
        let receiver = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", "cpu"]));
        let film = format!("duet:{}:fps=30", received.display());
        let mut sender = pair.sender();
        sender.args(["--source", &film, "--rate", "8M", "--backend", "cpu"]);
        Daemon::start("sender", &mut sender).wait().check(0, &[]);
        receiver.wait().check(0, &[]);
        let lossless = pair.folder.stats("receiver.jsonl");
        has(lossless.last().unwrap(), &[("frames_partial", 0), ("frames_lost", 0)])?;
        let mut numbers = pattern_numbers(&again);
        assert_eq!(numbers.len(), recordings[1].frames.last().unwrap().number as usize + 1);
        numbers.dedup();
        assert_eq!(numbers, pattern_numbers(&pair.folder.join("out.y4m")));
        Ok(())
    });
}

#[test]
fn a_recording_with_prediction_holds_what_was_shown() {
    until_nothing_is_lost(|| {
        let pair = Pair::new();
        let received = pair.folder.join("received.duet");
        call(&pair, &["--prediction", "on"], &["--record", received.to_str().unwrap()])?;
        let recording = read(&received);
        let (_, shown) = read_y4m(&pair.folder.join("out.y4m"));
        let is_predicted = |frame: &FileFrame| matches!(frame.content, Content::Blocks { reference: 1.., .. });
        assert!(recording.frames.iter().any(is_predicted));
        assert!(decoded(&recording) == shown);
        Ok(())
    });
    let pair = Pair::new();
    let mut sender = pair.sender();
    sender.args(source(FRAMES)).args(["--prediction", "on", "--record", "x.duet"]);
    let ended = Daemon::start("sender", &mut sender).wait();
    ended.check(2, &["what is sent with prediction cannot be recorded", "record it there"]);
}

#[test]
fn a_full_disk_a_wrong_path_and_a_pipe_that_nobody_reads_leave_the_call_alone() {
    until_nothing_is_lost(|| {
        let pair = Pair::new();
        let said = call(&pair, &["--record", "/dev/full"], &["--record", "/proc/no/such/place.duet"])?;
        for (said, words) in said.iter().zip(["space", "/proc/no/such/place.duet"]) {
            let lines: Vec<_> = said.lines().filter(|line| line.contains("the recording ends")).collect();
            assert!(matches!(lines[..], [line] if line.contains("the call goes on") && line.contains(words)), "{said}");
        }
        Ok(())
    });
    until_nothing_is_lost(|| {
        let pair = Pair::new();
        let pipe = pair.folder.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        call(&pair, &[], &["--record", pipe.to_str().unwrap()]).map(drop)
    });
}

#[test]
fn a_recording_keeps_the_time_of_an_outage_and_is_read_after_a_kill() {
    let pair = Pair::new();
    let folder = pair.folder.join("rehearsals");
    std::fs::create_dir(&folder).unwrap();
    let mut receiver = pair.receiver();
    receiver.args(["--sink", "headless", "--backend", "cpu", "--record"]).arg(&folder);
    let receiver = Daemon::start("receiver", &mut receiver);
    let file = || -> Option<PathBuf> { std::fs::read_dir(&folder).unwrap().next().map(|file| file.unwrap().path()) };
    let frames = |least: usize| {
        until("frames in the file", || {
            let read = file().filter(|file| file.metadata().unwrap().len() > 1000).map(|file| read(&file))?;
            (read.frames.len() >= least).then_some(read)
        })
    };
    let sender = Daemon::start("sender", pair.sender().args(source(1_000_000)));
    frames(5);
    sender.kill();
    let outage = Duration::from_secs(2);
    std::thread::sleep(outage);
    let before = frames(5).frames.len();
    let sender = Daemon::start("sender", pair.sender().args(source(1_000_000)));
    let last = frames(before + 5);
    receiver.kill();
    drop(sender);
    assert!(!last.has_end);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let name = file().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("duet-20") && name.ends_with("Z-received.duet"), "{name}");
    let numbers: Vec<u32> = last.frames.iter().map(|frame| frame.number).collect();
    let pause = numbers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(f64::from(pause) >= 0.9 * 30.0 * outage.as_secs_f64(), "{numbers:?}");
    decoded(&read(&file().unwrap()));
}

#[test]
fn a_recording_of_what_is_sent_keeps_the_time_of_an_outage_that_began_with_a_goodbye() {
    let pair = Pair::new();
    let file = pair.folder.join("sent.duet");
    let mut sender = pair.sender();
    // Large enough that a frame is being coded when the receiver leaves, which then waits for the next one.
    sender.args(["--source", "pattern:size=1280x720:fps=30", "--rate", "4M", "--backend", "cpu"]);
    sender.args(["--prediction", "off", "--record"]).arg(&file);
    let sender = Daemon::start("sender", &mut sender);
    let frames = |least: usize| {
        until("frames in the file", || {
            let read = Some(&file).filter(|file| file.metadata().is_ok_and(|it| it.len() > 1000)).map(|it| read(it))?;
            (read.frames.len() >= least).then_some(read)
        })
    };
    let watch = || Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    let receiver = watch();
    frames(5);
    receiver.stop();
    let outage = Duration::from_secs(2);
    std::thread::sleep(outage);
    let before = frames(5).frames.len();
    let receiver = watch();
    frames(before + 5);
    sender.stop();
    drop(receiver);
    let read = read(&file);
    let numbers: Vec<u32> = read.frames.iter().map(|frame| frame.number).collect();
    let pause = numbers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(f64::from(pause) >= 0.9 * 30.0 * outage.as_secs_f64(), "{numbers:?}");
}
