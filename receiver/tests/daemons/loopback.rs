//! Both daemons on the loopback, on each back end, from a Y4M file to a Y4M file.

use crate::support::{Daemon, PATTERN, Pair, has, pattern_numbers, read_y4m, until_nothing_is_lost};

const FRAMES: u64 = 60;
/// Side of a square that is one bit of a picture's number, pixels.
const BIT_SIDE: usize = 8;
const BITS: usize = 8;

/// Returns pictures that carry their number as black and white squares in the top left corner, above a moving gradient.
fn numbered_clip(width: usize, height: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n").into_bytes();
    for number in 0..FRAMES as usize {
        let sample = |x: usize, y: usize| match (x / BIT_SIDE, y / BIT_SIDE) {
            (bit @ 0..BITS, 0) if number >> bit & 1 == 1 => 230,
            (0..BITS, 0) => 25,
            _ => ((x + y + 3 * number) % 256) as u8,
        };
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend((0..height).flat_map(|y| (0..width).map(move |x| sample(x, y))));
        bytes.extend(std::iter::repeat_n(128, 2 * width.div_ceil(2) * height.div_ceil(2)));
    }
    bytes
}

/// Returns the number in a received luma plane; none if a square is neither black nor white.
fn number_in(luma: &[u8], width: usize) -> Option<u64> {
    let middle = |bit: usize| luma[BIT_SIDE / 2 * width + bit * BIT_SIDE + BIT_SIDE / 2];
    (0..BITS).try_fold(0, |number, bit| match middle(bit) {
        0..=75 => Some(number),
        180..=255 => Some(number | 1 << bit),
        _ => None,
    })
}

fn every_frame_arrives(backend: &str, size: (usize, usize), rate: &str) {
    until_nothing_is_lost(|| stream_clip(backend, "off", size, rate));
}

/// Streams a clip and checks that every picture is there, in order and readable. An error is what was lost.
fn stream_clip(backend: &str, prediction: &str, (width, height): (usize, usize), rate: &str) -> Result<(), String> {
    let pair = Pair::new();
    let input = pair.folder.join("in.y4m");
    std::fs::write(&input, numbered_clip(width, height)).unwrap();
    let output = pair.folder.join("out.y4m");
    let sink = format!("y4m:{}", output.display());
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", backend]));
    let source = format!("y4m:{}", input.display());
    let mut command = pair.sender();
    command.args(["--source", &source, "--rate", rate, "--backend", backend, "--frames", &FRAMES.to_string()]);
    command.args(["--prediction", prediction]);
    Daemon::start("sender", &mut command).wait().check(0, &[]);
    receiving.wait().check(0, &[]);

    let sent = pair.folder.stats("sender.jsonl").pop().unwrap();
    let received = pair.folder.stats("receiver.jsonl").pop().unwrap();
    has(&sent, &[("frames_sent", FRAMES), ("frames_dropped", 0)])?;
    has(
        &received,
        &[("frames_complete", FRAMES), ("frames_partial", 0), ("frames_lost", 0), ("frames_shown", FRAMES)],
    )?;
    let [predicted, mismatches] = ["frames_predicted", "state_mismatches"].map(|key| sent[key].as_u64().unwrap());
    // The first frames always are: how fast this machine is shows later.
    let least = match prediction {
        "on" => FRAMES / 2,
        "auto" => 2,
        _ => 0,
    };
    assert_eq!((predicted > 0, mismatches), (least > 0, 0), "{predicted} predicted");
    // What the receiver holds is told later by a starved machine, and fewer frames can refer to it.
    if predicted < least {
        return Err(format!("{predicted} of {FRAMES} frames were predicted"));
    }
    assert_eq!((&sent["backend"], &received["backend"]), (&backend.into(), &backend.into()));
    for stage in ["network", "reassemble", "decode", "inverse", "present"] {
        assert!(received["stages_us"][stage]["p99"].is_u64(), "{stage} in {received}");
    }
    assert!(received["latency_us"]["p50"].as_u64().unwrap() > 0 && received["clock_offset_us"].is_i64(), "{received}");

    let (header, pictures) = read_y4m(&output);
    assert_eq!((header.size.width(), header.size.height()), (width, height));
    let numbers: Vec<_> = pictures.iter().map(|picture| number_in(picture, width)).collect();
    assert_eq!(numbers, (0..FRAMES).map(Some).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn without_its_virtual_camera_a_call_goes_on() {
    let pair = Pair::new();
    let mut command = pair.receiver();
    command.args(["--sink", "headless", "--sink", "v4l2:/dev/video-none", "--backend", "cpu", "--frames", "10"]);
    let receiving = Daemon::start("receiver", &mut command);
    let mut command = pair.sender();
    command.args(["--source", "pattern:size=320x180", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut command);
    receiving.says(&["WARN", "the virtual camera /dev/video-none is not there", "the call goes on without it"]);
    receiving.wait().check(3, &["the virtual camera /dev/video-none is not there"]);
    sending.stop();
    let received = pair.folder.stats("receiver.jsonl").pop().unwrap();
    assert!(received["frames_shown"].as_u64() >= Some(10), "{received}");
}

#[test]
fn every_frame_arrives_with_the_reference() {
    every_frame_arrives("reference", (97, 64), "1M");
}

#[test]
fn every_frame_arrives_with_the_processor() {
    every_frame_arrives("cpu", (320, 180), "4M");
}

#[test]
fn every_frame_arrives_that_is_coded_from_the_one_before() {
    until_nothing_is_lost(|| stream_clip("cpu", "on", (320, 180), "4M"));
}

#[test]
fn every_frame_arrives_while_the_machine_decides_on_prediction() {
    until_nothing_is_lost(|| stream_clip("cpu", "auto", (320, 180), "500k"));
}

#[cfg(feature = "opencl")]
#[test]
fn every_frame_arrives_with_opencl() {
    every_frame_arrives("opencl", (320, 180), "4M");
}

#[cfg(feature = "opencl")]
#[test]
fn every_frame_arrives_that_opencl_codes_from_the_one_before() {
    until_nothing_is_lost(|| stream_clip("opencl", "on", (320, 180), "4M"));
}

#[test]
fn the_pattern_arrives_readable_and_in_order() {
    until_nothing_is_lost(stream_pattern);
}

fn stream_pattern() -> Result<(), String> {
    let pair = Pair::new();
    let output = pair.folder.join("out.y4m");
    let sink = format!("y4m:{}", output.display());
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", "cpu"]));
    let mut command = pair.sender();
    command.args(["--source", PATTERN, "--rate", "6M", "--backend", "cpu"]);
    Daemon::start("sender", command.args(["--frames", &FRAMES.to_string()])).wait().check(0, &[]);
    receiving.wait().check(0, &[]);

    has(&pair.folder.stats("receiver.jsonl").pop().unwrap(), &[("frames_partial", 0), ("frames_lost", 0)])?;
    let numbers = pattern_numbers(&output);
    // A live source may skip pictures on a busy machine, never go back.
    assert!(numbers.is_sorted(), "{numbers:?}");
    if numbers.len() as u64 == FRAMES { Ok(()) } else { Err(format!("{} of {FRAMES} pictures", numbers.len())) }
}
