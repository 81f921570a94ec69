//! `encode` of JPEG, of files under any name, of several files and of folders.

use std::fs;
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};

use crate::errors::{fail, fail_in_lines};
use crate::support::{Folder, golden, pgm, ppm, samples, succeed, wavelet, y4m};

/// Pixels of a left half that is dark and a right one that is bright, 32x16.
fn halves() -> Vec<u8> {
    (0..32 * 16).flat_map(|at| if at % 32 < 16 { [30, 40, 60] } else { [220, 200, 190] }).collect()
}

fn jpeg(exif: Option<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 95);
    if let Some(exif) = exif {
        encoder.set_exif_metadata(exif).unwrap();
    }
    encoder.write_image(&halves(), 32, 16, ExtendedColorType::Rgb8).unwrap();
    bytes
}

/// Metadata of a camera that was held turned to the right: orientation 6.
fn turned() -> Vec<u8> {
    let entry = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0];
    [&b"II*\0\x08\0\0\0\x01\0"[..], &entry, &[0; 4]].concat()
}

#[test]
fn jpeg_is_coded_and_a_photo_stands_upright() {
    let folder = Folder::new("jpeg");
    let (coded, out) = (folder.path("a.duet"), folder.path("a.ppm"));
    for (exif, size) in [(None, "32x16"), (Some(turned()), "16x32")] {
        let input = folder.file("photo.JPG", &jpeg(exif.clone()));
        let said = succeed(&["encode", &input, &coded, "--backend", "cpu", "--step", "1"]);
        assert!(said.contains(size), "{said}");
        succeed(&["decode", &coded, &out, "--backend", "cpu"]);
        let pixels = samples(&out, 3 * 32 * 16);
        // Upright, the dark half is above.
        let (dark, bright) = if exif.is_some() { (0, 31 * 16 + 15) } else { (32 * 5, 32 * 5 + 31) };
        assert!(
            pixels[3 * dark] < 60 && pixels[3 * bright] > 190,
            "{size}: {} {}",
            pixels[3 * dark],
            pixels[3 * bright]
        );
    }
}

#[test]
fn content_decides_and_not_the_name() {
    let folder = Folder::new("content");
    let coded = folder.path("a.duet");
    let png = fs::read(golden("../../../../receiver/assets/missing.png")).unwrap();
    for (name, bytes) in [
        ("a.png", jpeg(None)),
        ("b.jpg", png),
        ("c", ppm(8, 8)),
        ("d.dat", pgm(8, 8)),
        ("e.png", y4m(8, 8, "420jpeg", 2)),
    ] {
        succeed(&["encode", &folder.file(name, &bytes), &coded, "--backend", "cpu"]);
    }
    let array = folder.path("a.npy");
    succeed(&["forward", &folder.path("a.png"), &array, "--backend", "cpu"]);
}

#[test]
fn each_of_several_becomes_a_file_in_a_folder() {
    let folder = Folder::new("several");
    fs::create_dir(folder.path("in")).unwrap();
    let photo = folder.file("in/photo.jpg", &jpeg(None));
    let clip = folder.file("clip.y4m", &y4m(8, 8, "420jpeg", 2));
    folder.file("in/grey.pgm", &pgm(9, 7));
    let all = ["photo.duet", "grey.duet"];
    let out = folder.path("out");
    let said = succeed(&["encode", &folder.path("in"), &out, "--backend", "cpu"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    for name in all {
        assert!(said.contains(name) && Path::new(&out).join(name).exists(), "{said}");
    }
    let said = succeed(&["encode", &clip, &photo, &folder.path("both"), "--backend", "cpu", "--quality", "40"]);
    assert!(said.contains("clip.duet: 2 frames of 8x8") && said.contains("photo.duet: 1 frame of 32x16"), "{said}");
    // A folder that is there takes one file, too.
    succeed(&["encode", &clip, &out, "--backend", "cpu"]);
    assert!(Path::new(&out).join("clip.duet").exists());
    // What holds no pictures is told and left out.
    folder.file("in/notes.txt", b"hello");
    let output = wavelet(&["encode", &folder.path("in"), &out, "--backend", "cpu"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("left out: 1"), "{told}");
}

#[test]
fn what_cannot_be_coded_is_told_and_the_others_are() {
    let folder = Folder::new("some");
    let (good, bad) = (folder.file("good.pgm", &pgm(8, 8)), folder.file("bad.png", b"hello"));
    let out = folder.path("out");
    let words = ["bad.png", "1 of 2 files could not be coded"];
    let (told, printed) = fail_in_lines(&["encode", &bad, &good, &out, "--backend", "cpu"], 2, &words);
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(String::from_utf8_lossy(&printed).contains("good.duet") && Path::new(&out).join("good.duet").exists());
    assert!(!Path::new(&out).join("bad.duet").exists());
}

#[test]
fn several_files_that_cannot_be_are_refused_before_anything_is_coded() {
    let folder = Folder::new("many-errors");
    let (one, other) = (folder.file("a.pgm", &pgm(8, 8)), folder.file("a.ppm", &ppm(8, 8)));
    let out = folder.path("out");
    fs::create_dir(folder.path("empty")).unwrap();
    fail(&["encode", &one, &other, &folder.path("b.duet")], 2, &["b.duet is one file", "folder"]);
    fail(&["encode", &one, &other, &out], 2, &["a.pgm", "a.ppm", "both become"]);
    fail(&["encode", &folder.path("empty"), &out], 2, &["no PNG, JPEG", "empty"]);
    fail(&["encode", &one, &folder.path("empty"), &out, "--bpp", "0"], 2, &["--bpp 0"]);
    assert!(!Path::new(&out).exists());
    assert_eq!(wavelet(&["encode", &one]).status.code(), Some(2));
}
