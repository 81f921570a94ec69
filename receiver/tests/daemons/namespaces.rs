//! Both daemons across two network namespaces, from a Y4M file to a Y4M file.

use std::path::Path;

use crate::support::{Daemon, Pair, has, read_y4m, receiver, sender, until_nothing_is_lost};

const FRAMES: usize = 60;
const SIZE: (usize, usize) = (320, 180);

/// Returns a moving gradient.
fn clip() -> Vec<u8> {
    let (width, height) = SIZE;
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n").into_bytes();
    for frame in 0..FRAMES {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend((0..height).flat_map(|y| (0..width).map(move |x| ((x + y + 4 * frame) % 256) as u8)));
        bytes.extend(std::iter::repeat_n(128, width.div_ceil(2) * height.div_ceil(2) * 2));
    }
    bytes
}

#[test]
fn a_file_crosses_two_namespaces_whole() {
    until_nothing_is_lost(cross);
}

fn cross() -> Result<(), String> {
    let pair = Pair::new();
    let folder = &pair.folder;
    let (input, output) = (folder.join("a.y4m"), folder.join("b.y4m"));
    std::fs::write(&input, clip()).unwrap();
    let mut script =
        std::process::Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemons/namespaces.sh"));
    script.arg(sender().get_program()).arg(receiver().get_program()).arg(&input).arg(&output).arg(FRAMES.to_string());
    let ended = Daemon::start("namespaces.sh", &mut script).wait();
    if ended.code == Some(77) {
        // Not a failure of the daemons: containers without CAP_SYS_ADMIN have no namespaces.
        eprintln!("NOT TESTED: {}", ended.sentence());
        return Ok(());
    }
    ended.check(0, &[]);
    let stats = folder.stats("b.y4m.receiver.jsonl").pop().unwrap();
    has(&stats, &[("frames_complete", FRAMES as u64), ("frames_lost", 0)])?;

    let (header, pictures) = read_y4m(&output);
    assert_eq!((header.size.width(), header.size.height(), pictures.len()), (SIZE.0, SIZE.1, FRAMES));
    let source = clip();
    let header = source.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let luma = SIZE.0 * SIZE.1;
    let picture = 6 + luma * 3 / 2;
    for (index, received) in pictures.iter().enumerate() {
        let sent = &source[header + index * picture + 6..][..luma];
        let error: u64 = sent.iter().zip(received).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
        assert!((error as f64 / luma as f64) < 20.0, "frame {index}: mean squared error {error} / {luma}");
    }
    Ok(())
}
