//! Damaged `.duet` files: every damage is noticed, and what is whole is decoded.

use std::fs;
use std::path::Path;

use crate::errors::fail_in_lines;
use crate::support::{Folder, golden, succeed, wavelet, y4m, y4m_samples};

const FRAMES: usize = 4;
const FRAME_BYTES: usize = 97 * 131 + 2 * 49 * 66;
/// Bytes before the first frame.
const HEAD_BYTES: usize = 36;

/// A coded clip, its pictures, and where another one of its kind can go.
fn clip(folder: &Folder, options: &[&str]) -> (Vec<u8>, Vec<u8>, String) {
    let (input, coded) = (folder.file("a.y4m", &y4m(97, 131, "420jpeg", FRAMES)), folder.path("a.duet"));
    let output = folder.path("b.y4m");
    succeed(&[&["encode", &input, &coded, "--backend", "cpu"], options].concat());
    succeed(&["decode", &coded, &output, "--backend", "cpu"]);
    let pictures = y4m_samples(&fs::read(&output).unwrap(), FRAME_BYTES).1;
    (fs::read(&coded).unwrap(), pictures, output)
}

#[test]
fn flipped_bits_are_noticed_and_the_other_frames_are_decoded() {
    let folder = Folder::new("flipped");
    for options in [&["--step", "3"][..], &["--profile", "pcwt"]] {
        let (bytes, whole, output) = clip(&folder, options);
        let mut seed = 7_u64;
        let flips = (0..100).map(|at| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Each bit of the head of the file and of a frame, and others.
            if at < 50 { 8 * at + at % 8 } else { (seed >> 33) as usize % (8 * bytes.len()) }
        });
        for bit in flips {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = fs::remove_file(&output);
            let result = wavelet(&["decode", &folder.file("b.duet", &flipped), &output, "--backend", "cpu"]);
            let said = String::from_utf8(result.stderr).unwrap();
            match result.status.code() {
                // Magic and version.
                Some(2) => assert!(bit / 8 < 6, "bit {bit}: {said}"),
                code => assert_eq!(code, Some(1), "bit {bit}: {said}"),
            }
            assert!(said.contains("b.duet"), "bit {bit}: {said}");
            if bit / 8 >= HEAD_BYTES {
                let pictures = y4m_samples(&fs::read(&output).unwrap(), FRAME_BYTES).1;
                assert!(pictures.len() == whole.len(), "bit {bit}: {said}");
                let same = pictures.chunks(FRAME_BYTES).zip(whole.chunks(FRAME_BYTES)).filter(|(a, b)| a == b).count();
                assert!(same + 1 >= FRAMES, "bit {bit}: {same} pictures are right: {said}");
            }
        }
    }
}

#[test]
fn a_clip_without_its_end_gives_what_is_there() {
    let folder = Folder::new("end");
    let (bytes, whole, output) = clip(&folder, &["--step", "3"]);
    for (length, least) in [(bytes.len() - 1, FRAMES), (bytes.len() * 2 / 3, FRAMES / 2)] {
        let cut = folder.file("cut.duet", &bytes[..length]);
        fail_in_lines(&["decode", &cut, &output, "--backend", "cpu"], 1, &["cut.duet: ", "the rest of it is decoded"]);
        let pictures = y4m_samples(&fs::read(&output).unwrap(), FRAME_BYTES).1;
        assert!(pictures[..least * FRAME_BYTES] == whole[..least * FRAME_BYTES]);
        fail_in_lines(&["info", &cut], 1, &["cut.duet is damaged in"]);
    }
    fs::remove_file(&output).unwrap();
    for length in 0..HEAD_BYTES + 40 {
        let code = if length < 31 { 2 } else { 1 };
        let cut = folder.file("cut.duet", &bytes[..length]);
        fail_in_lines(&["decode", &cut, &output, "--backend", "cpu"], code, &["cut.duet"]);
        assert!(!Path::new(&output).exists(), "{length}");
    }
}

#[test]
fn a_file_without_checksums_is_read_and_a_bad_block_costs_no_picture() {
    let folder = Folder::new("old");
    let old = format!("{}/../golden/grey_64x64_v2.duet", env!("CARGO_MANIFEST_DIR"));
    let output = folder.path("a.pgm");
    succeed(&["decode", &old, &output, "--backend", "cpu"]);
    assert!(succeed(&["info", &old]).contains("without checksums"));
    let bytes = fs::read(&old).unwrap();
    let mut noticed = 0;
    for at in (200..bytes.len()).step_by(30) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        fs::remove_file(&output).unwrap();
        let result = wavelet(&["decode", &folder.file("b.duet", &changed), &output, "--backend", "cpu"]);
        noticed += u32::from(result.status.code() == Some(1));
        assert!(matches!(result.status.code(), Some(0 | 1)) && Path::new(&output).exists(), "byte {at}");
    }
    assert!(noticed > 0);
}

#[test]
fn info_says_what_a_file_holds() {
    let folder = Folder::new("info");
    let (bytes, ..) = clip(&folder, &["--step", "3"]);
    let said = succeed(&["info", &folder.path("a.duet")]);
    for words in
        ["with checksums", "97x131, C420", "29.97 a second", "4 pictures, 4 frames", &format!("{} bytes", bytes.len())]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let still = folder.path("b.duet");
    succeed(&["encode", &golden("camera_64x64.pgm"), &still, "--lossless", "--backend", "cpu"]);
    assert!(succeed(&["info", &still]).contains("Cdf53"));
}
