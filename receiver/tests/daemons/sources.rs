//! Sources that are damaged or small: what is whole arrives.

use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use picture::frame::{FrameRate, PixelAspect, Raster, Siting};
use serde_json::Value;

use crate::support::{Daemon, Ended, Pair, has, read_y4m, until_nothing_is_lost};

/// Returns a grey picture whose samples all say which it is.
const fn level(number: usize) -> u8 {
    60 + 20 * number as u8
}

/// Streams `source` into `out.y4m`; the receiver must end well. Returns how the sender ended.
fn stream(pair: &Pair, source: &str) -> Ended {
    let sink = format!("y4m:{}", pair.folder.join("out.y4m").display());
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", "cpu"]));
    let ended = pair.stream(source).wait();
    receiving.wait().check(0, &[]);
    ended
}

/// Returns the numbers of the pictures in `out.y4m`, by [`level`] of their first sample.
fn numbers(path: &Path) -> Vec<usize> {
    let (_, pictures) = read_y4m(path);
    let number = |picture: &Vec<u8>| (0..10).find(|&number| picture[0].abs_diff(level(number)) <= 4);
    pictures.iter().map(|picture| number(picture).unwrap_or_else(|| panic!("a picture of {}", picture[0]))).collect()
}

fn last(pair: &Pair, name: &str) -> Value {
    pair.folder.stats(name).pop().unwrap()
}

fn y4m(size: (usize, usize), frames: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{} H{} F30:1 Cmono XCOLORRANGE=FULL\n", size.0, size.1).into_bytes();
    for number in 0..frames {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend(std::iter::repeat_n(level(number), size.0 * size.1));
    }
    bytes
}

#[test]
fn a_sender_whose_camera_is_missing_waits_for_it_and_the_receiver_is_told() {
    let pair = Pair::new();
    let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    let source = ["--source", "camera:index=99:size=320x180", "--backend", "cpu"];
    let sending = Daemon::start("sender", pair.sender().args(source));
    sending.says(&["WARN", "camera", "the call goes on without it until it is there"]);
    receiving.says(&["camera lost, says the sender"]);
    [sending, receiving].into_iter().for_each(Daemon::stop);
}

#[test]
fn of_a_truncated_clip_the_whole_pictures_arrive() {
    until_nothing_is_lost(truncated);
}

fn truncated() -> Result<(), String> {
    let pair = Pair::new();
    let input = pair.folder.join("cut.y4m");
    let mut bytes = y4m((64, 48), 5);
    bytes.truncate(bytes.len() - 64 * 48 * 3 / 2);
    std::fs::write(&input, bytes).unwrap();
    let ended = stream(&pair, &format!("y4m:{}", input.display()));
    ended.check(2, &["sender: ", input.to_str().unwrap(), "in the middle of frame 4"]);
    has(&last(&pair, "sender.jsonl"), &[("frames_sent", 3)])?;
    has(&last(&pair, "receiver.jsonl"), &[("frames_complete", 3), ("frames_shown", 3)])?;
    assert_eq!(numbers(&pair.folder.join("out.y4m")), [0, 1, 2]);
    Ok(())
}

/// Returns JPEG pictures in a row. Each of `broken` keeps its markers, but lacks half of its coded data.
fn mjpeg(frames: usize, broken: &[usize]) -> Vec<u8> {
    let (width, height) = (64, 48);
    let mut stream = Vec::new();
    for number in 0..frames {
        let mut jpeg = Vec::new();
        // Texture away from the first sample gives the scan a length.
        let sample = |at: usize| if at % width < 8 { level(number) } else { (at * at % 251) as u8 };
        let samples: Vec<u8> = (0..width * height).map(sample).collect();
        let encoder = JpegEncoder::new_with_quality(&mut jpeg, 95);
        encoder.write_image(&samples, width as u32, height as u32, ExtendedColorType::L8).unwrap();
        if broken.contains(&number) {
            jpeg.truncate(jpeg.len() / 2);
            jpeg.extend_from_slice(&[0xff, 0xd9]);
        }
        stream.extend(jpeg);
    }
    stream
}

#[test]
fn a_broken_jpeg_is_skipped_and_counted() {
    until_nothing_is_lost(broken);
}

fn broken() -> Result<(), String> {
    let pair = Pair::new();
    let input = pair.folder.join("broken.mjpeg");
    // Also the last one, after which no picture comes that could count it.
    std::fs::write(&input, mjpeg(9, &[3, 4, 8])).unwrap();
    stream(&pair, &format!("mjpeg:{}", input.display())).check(0, &[]);
    has(&last(&pair, "sender.jsonl"), &[("frames_sent", 6), ("frames_dropped", 3), ("frames_damaged", 3)])?;
    has(&last(&pair, "receiver.jsonl"), &[("frames_complete", 6), ("frames_shown", 6)])?;
    assert_eq!(numbers(&pair.folder.join("out.y4m")), [0, 1, 2, 5, 6, 7]);
    Ok(())
}

#[test]
fn the_smallest_picture_arrives() {
    until_nothing_is_lost(smallest);
}

fn smallest() -> Result<(), String> {
    let pair = Pair::new();
    let input = pair.folder.join("small.y4m");
    std::fs::write(&input, y4m((1, 1), 5)).unwrap();
    stream(&pair, &format!("y4m:{}", input.display())).check(0, &[]);
    has(&last(&pair, "receiver.jsonl"), &[("frames_complete", 5), ("frames_shown", 5)])?;
    assert_eq!(numbers(&pair.folder.join("out.y4m")), [0, 1, 2, 3, 4]);
    Ok(())
}

#[test]
fn where_samples_lie_is_kept_from_end_to_end() {
    until_nothing_is_lost(kept);
}

fn kept() -> Result<(), String> {
    let pair = Pair::new();
    let input = pair.folder.join("old.y4m");
    let frame = [b"FRAME\n".as_slice(), &[90; 8 * 6 * 3 / 2]].concat();
    let header = b"YUV4MPEG2 W8 H6 F30000:1001 Ip A10:11 C420mpeg2\n".as_slice();
    std::fs::write(&input, [header, &frame.repeat(3), b"\n"].concat()).unwrap();
    stream(&pair, &format!("y4m:{}", input.display())).check(0, &[]);
    has(&last(&pair, "receiver.jsonl"), &[("frames_complete", 3), ("frames_shown", 3)])?;
    let (header, _) = read_y4m(&pair.folder.join("out.y4m"));
    let raster = Raster { siting: Siting::Left, aspect: PixelAspect::new(10, 11).unwrap() };
    assert_eq!((header.raster, header.rate), (raster, FrameRate::new(30_000, 1001)));
    Ok(())
}
