//! Both daemons on the loopback, on each back end.

use std::fs::File;
use std::io::BufReader;

use crate::support::{Daemon, Pair};

const FRAMES: u64 = 60;

/// Streams the pattern and checks that every frame is there, in order and readable.
fn every_frame_arrives(backend: &str, size: &str, rate: &str) {
    let pair = Pair::new();
    let output = pair.folder.join("out.y4m");
    let sink = format!("y4m:{}", output.display());
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", backend]));
    let source = format!("pattern:size={size}:fps=30");
    let mut command = pair.sender();
    command.args(["--source", &source, "--rate", rate, "--backend", backend, "--frames", &FRAMES.to_string()]);
    Daemon::start("sender", &mut command).wait().check(0, &[]);
    receiving.wait().check(0, &[]);

    let sent = pair.folder.stats("sender.jsonl").pop().unwrap();
    let received = pair.folder.stats("receiver.jsonl").pop().unwrap();
    for (report, key, wanted) in [
        (&sent, "frames_sent", FRAMES),
        (&sent, "frames_dropped", 0),
        (&received, "frames_complete", FRAMES),
        (&received, "frames_partial", 0),
        (&received, "frames_lost", 0),
        (&received, "frames_shown", FRAMES),
    ] {
        assert_eq!(report[key], wanted, "{key} in {report}");
    }
    assert_eq!((&sent["backend"], &received["backend"]), (&backend.into(), &backend.into()));
    for stage in ["network", "reassemble", "decode", "inverse", "present"] {
        assert!(received["stages_us"][stage]["p99"].is_u64(), "{stage} in {received}");
    }
    assert!(received["latency_us"]["p50"].as_u64().unwrap() > 0 && received["clock_offset_us"].is_i64(), "{received}");

    let mut decoder = y4m::decode(BufReader::new(File::open(&output).unwrap())).unwrap();
    let (width, height) = (decoder.get_width(), decoder.get_height());
    assert_eq!(format!("{width}x{height}"), size);
    for expected in 0..FRAMES {
        let frame = decoder.read_frame().unwrap();
        let number = frame_number(frame.get_y_plane(), width);
        assert_eq!(number, Some(expected as u32), "picture {expected}");
    }
    assert!(decoder.read_frame().is_err(), "more than {FRAMES} pictures");
}

#[test]
fn every_frame_arrives_with_the_reference() {
    every_frame_arrives("reference", "96x64", "1M");
}

#[test]
fn every_frame_arrives_with_the_processor() {
    every_frame_arrives("cpu", "320x180", "4M");
}

#[test]
fn every_frame_arrives_with_opencl() {
    every_frame_arrives("opencl", "320x180", "4M");
}
