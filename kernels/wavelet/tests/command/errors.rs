//! Bad input: one sentence on standard error that names the cause, the right exit code, nothing left behind.

use std::fs;
use std::path::Path;

use crate::support::{Folder, golden, ppm, succeed, wavelet, y4m};

/// Checks that the command fails with `code` and one line that has all of `words`.
#[track_caller]
pub(crate) fn fail(arguments: &[&str], code: i32, words: &[&str]) {
    let (stderr, stdout) = fail_in_lines(arguments, code, words);
    assert_eq!((stderr.lines().count(), stdout.len()), (1, 0), "{stderr}");
}

/// Runs the command, which must exit with `code` and say all `words`, in any number of lines; returns what it wrote to
/// standard error and to standard output.
#[track_caller]
pub(crate) fn fail_in_lines(arguments: &[&str], code: i32, words: &[&str]) -> (String, Vec<u8>) {
    let output = wavelet(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "wavelet {}: {stderr}", arguments.join(" "));
    for word in words {
        assert!(stderr.contains(word), "wavelet {}: `{word}` is not in: {stderr}", arguments.join(" "));
    }
    (stderr, output.stdout)
}

/// `encode` of a file of these bytes must fail and leave no output.
#[track_caller]
fn encode_fails(folder: &Folder, name: &str, bytes: &[u8], words: &[&str]) {
    let (input, output) = (folder.file(name, bytes), folder.path("out.duet"));
    fail(&["encode", &input, &output, "--backend", "cpu"], 2, &[&[name], words].concat());
    assert!(!Path::new(&output).exists(), "{name} left an output");
}

/// A grey PNG of 16385x1.
const WIDE_PNG: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x40\x01\x00\x00\x00\x01\x08\
    \x00\x00\x00\x00\xec\x36\x82\xba\x00\x00\x00\x27\x49\x44\x41\x54\x78\xda\xed\xc1\x31\x01\x00\x00\x00\
    \xc2\xa0\xf5\x4f\x6d\x0c\x1f\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\xbf\
    \x01\x40\x02\x00\x01\x59\xad\x81\xa8\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

#[test]
fn unusable_pictures_are_named() {
    let folder = Folder::new("unusable");
    let picture = ppm(8, 8);
    encode_fails(&folder, "empty.png", b"", &["cannot be read"]);
    encode_fails(&folder, "text.png", b"hello", &["cannot be read"]);
    encode_fails(&folder, "short.ppm", &picture[..picture.len() - 1], &["cannot be read"]);
    encode_fails(&folder, "wide.pgm", &[b"P5\n16385 1\n255\n".as_slice(), &[0; 16385]].concat(), &["16385x1", "16384"]);
    encode_fails(&folder, "wide.png", WIDE_PNG, &["16385x1", "16384"]);
    encode_fails(
        &folder,
        "high.ppm",
        &[b"P6\n1 16385\n255\n".as_slice(), &[0; 3 * 16385]].concat(),
        &["1x16385", "16384"],
    );
    encode_fails(
        &folder,
        "deep.pgm",
        &[b"P5\n16385 1\n1023\n".as_slice(), &[0; 2 * 16385]].concat(),
        &["16385x1", "16384"],
    );
    encode_fails(&folder, "huge.pgm", b"P5\n4000000000 4000000000\n255\n", &[]);
    encode_fails(&folder, "a.jpg", b"", &["PNG, JPEG, PPM, PGM and Y4M"]);
    encode_fails(&folder, "a", b"", &["PNG, JPEG, PPM, PGM and Y4M"]);
    encode_fails(&folder, "a.gif", b"GIF89a\x01\0\x01\0\0\0\0", &["PNG, JPEG, PPM, PGM and Y4M"]);
}

#[test]
fn unusable_clips_are_named() {
    let folder = Folder::new("clips");
    let clip = y4m(8, 8, "420jpeg", 2);
    encode_fails(&folder, "empty.y4m", b"", &["not a Y4M"]);
    encode_fails(&folder, "text.y4m", b"hello\n", &["not a Y4M"]);
    encode_fails(&folder, "cut.y4m", &clip[..clip.len() - 1], &["in the middle of frame 2"]);
    encode_fails(&folder, "cut2.y4m", &clip[..clip.len() - 100], &["in the middle of frame 2"]);
    encode_fails(&folder, "head.y4m", &y4m(8, 8, "420jpeg", 0), &["no picture"]);
    encode_fails(&folder, "frame.y4m", &[&y4m(8, 8, "mono", 1)[..], b"FRAMF\n"].concat(), &["frame 2"]);
    for (header, words) in [
        ("W8 H8 F30:1 C422p10", "C422p10"),
        ("W8 H8 F30:1 C420p12", "C420p12"),
        ("W8 H8 F30:1 C411", "colour space"),
        ("W8 H8 F0:1 C420", "frame rate"),
        ("W8 H8 F1:0 C420", "frame rate"),
        ("W8 H8 F99999999999999999999:1 C420", "frame rate"),
        ("W0 H8 F30:1 C420", "0x8"),
        ("W16385 H1 F30:1 C420", "16385x1"),
        ("W18446744073709551615 H18446744073709551615 F30:1 C420", "4294967295x4294967295"),
        ("W4294967296 H4294967296 F30:1", "4294967295"),
        ("F30:1 C420", "width and height"),
    ] {
        encode_fails(&folder, "a.y4m", format!("YUV4MPEG2 {header}\nFRAME\n").as_bytes(), &[words]);
    }
    encode_fails(
        &folder,
        "long.y4m",
        &[b"YUV4MPEG2 W8 H8 X".as_slice(), &[b'a'; 5000], b"\n"].concat(),
        &["not a Y4M"],
    );
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = Folder::new("absent");
    let picture = golden("camera_37x21.pgm");
    let output = folder.path("out.duet");
    for input in ["absent.png", "absent.y4m"] {
        fail(&["encode", &folder.path(input), &output], 2, &[input, "cannot be opened", "No such file"]);
    }
    fail(&["decode", &folder.path("absent.duet"), &folder.path("a.png")], 2, &["absent.duet", "cannot be read"]);
    fail(&["encode", &picture, &folder.path("no/folder.duet"), "--backend", "cpu"], 2, &["folder.duet", "written"]);
    fail(&["forward", &picture, &folder.path("no/a.npy"), "--backend", "cpu"], 2, &["a.npy", "written"]);
    fail(&["encode", &picture, &folder.path("a.mkv")], 2, &["a.mkv", ".duet"]);
    fail(&["inverse", &folder.path("absent.npy"), &folder.path("a.png")], 2, &["absent.npy.json"]);
}

#[test]
fn a_clip_does_not_become_a_picture() {
    let folder = Folder::new("still");
    let (input, coded) = (folder.file("a.y4m", &y4m(8, 8, "420jpeg", 2)), folder.path("a.duet"));
    succeed(&["encode", &input, &coded, "--backend", "cpu"]);
    fail(&["decode", &coded, &folder.path("a.png"), "--backend", "cpu"], 2, &["more than one frame", ".y4m"]);
    let colour = folder.file("b.ppm", &ppm(8, 8));
    succeed(&["encode", &colour, &coded, "--backend", "cpu"]);
    fail(&["decode", &coded, &folder.path("a.pgm"), "--backend", "cpu"], 2, &["a.pgm", ".png"]);
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let folder = Folder::new("arrays");
    let (array, output) = (folder.path("a.npy"), folder.path("a.pgm"));
    succeed(&["forward", &golden("camera_37x21.pgm"), &array, "--backend", "cpu"]);
    let (bytes, side) = (fs::read(&array).unwrap(), fs::read_to_string(format!("{array}.json")).unwrap());
    let inverse = ["inverse", &array, &output, "--backend", "cpu"];
    for (from, to, words) in [
        ("37", "99", "shape"),
        ("37", "99999", "99999x21"),
        ("cdf97", "haar", "`haar` is not known: there is cdf97"),
        ("full", "99", "levels `99`"),
        ("\"Y\"", "\"R\"", "channels"),
        ("width", "breadth", "breadth"),
        ("\"f32\"", "\"f16\"", "`f16`"),
        ("\"f32\"", "\"i32\"", "cdf97 cannot be computed in i32"),
        ("cdf97", "cdf53", "cdf53 cannot be computed in f32"),
        ("\"wavelet\": \"cdf97\",", "", "either a wavelet or a filter_bank"),
        ("}", "", "a.npy.json"),
    ] {
        fs::write(format!("{array}.json"), side.replacen(from, to, 1)).unwrap();
        fail(&inverse, 2, &[words]);
    }
    fs::write(format!("{array}.json"), &side).unwrap();
    for (option, value) in [
        ("--boundary", "zero"),
        ("--padding", "zero"),
        ("--levels", "3"),
        ("--wavelet", "dd137"),
        ("--wavelet", "cdf53"),
        ("--precision", "f64"),
    ] {
        fail(&[&inverse[..], &[option, value]].concat(), 2, &[option, "leave it out"]);
    }
    let mut complex = bytes.clone();
    let at = complex.windows(3).position(|text| text == b"<f4").unwrap();
    complex[at..at + 3].copy_from_slice(b"<c8");
    for (changed, words) in [
        (bytes[..bytes.len() - 1].to_vec(), "ends in the middle"),
        (bytes[..40].to_vec(), "not a .npy"),
        (b"hello".to_vec(), "not a .npy"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "too long"),
        (complex, "float32"),
    ] {
        fs::write(&array, changed).unwrap();
        fail(&inverse, 2, &["a.npy", words]);
    }
}

#[test]
fn what_this_version_does_not_have_is_said_in_a_sentence() {
    let folder = Folder::new("later");
    let (picture, coded) = (golden("camera_37x21.pgm"), folder.path("a.duet"));
    for (option, value) in [
        ("--wavelet", "cdf53"),
        ("--wavelet", "dd137"),
        ("--scheme", "sweldens"),
        ("--scheme", "rowcolumn"),
        ("--precision", "f64"),
    ] {
        fail(&["encode", &picture, &coded, option, value], 2, &["frames are not coded", value]);
    }
    fail(&["encode", &picture, &coded, "--lossless", "--wavelet", "cdf97"], 2, &["use --wavelet cdf53"]);
    fail(&["encode", &picture, &coded, "--lossless", "--chroma", "420"], 2, &["--chroma does not go with --lossless"]);
}

#[test]
fn what_the_profile_pcwt_does_not_have_is_said_in_a_sentence() {
    let folder = Folder::new("pcwt-errors");
    let (picture, coded) = (golden("camera_37x21.pgm"), folder.path("a.duet"));
    for (options, wanted) in [
        (&["--bpp", "1"][..], "no rate control"),
        (&["--step", "8"], "no rate control"),
        (&["--qmin", "11"], "ask for 0 to 10"),
        (&["--weights", "psnr"], "leave them out"),
        (&["--chroma", "420"], "leave them out"),
        (&["--wavelet", "cdf97"], "use --wavelet cdf53"),
    ] {
        fail(&[&["encode", &picture, &coded, "--profile", "pcwt"], options].concat(), 2, &[wanted]);
    }
    fail(&["encode", &picture, &coded, "--qmin", "2"], 2, &["--qmin goes with --profile pcwt only"]);
}

#[test]
fn transforms_that_cannot_be_are_refused() {
    let folder = Folder::new("transforms");
    let (picture, array) = (golden("camera_37x21.pgm"), folder.path("a.npy"));
    for precision in ["f32", "f64"] {
        let options = ["--wavelet", "cdf53", "--precision", precision];
        fail(&[&["forward", &picture, &array], &options[..]].concat(), 2, &["--precision", "integers"]);
    }
    for backend in ["reference", "cpu"] {
        let options = ["--scheme", "monolithic*", "--backend", backend];
        fail(&[&["forward", &picture, &array], &options[..]].concat(), 2, &["monolithic*", backend, "`opencl`"]);
    }
    for (name, text) in [("none.toml", ""), ("text.toml", "hello"), ("keys.toml", "[analysis]\n[synthesis]\n")] {
        let bank = folder.file(name, text.as_bytes());
        fail(&["forward", &picture, &array, "--filter-bank", &bank], 2, &[name, "cannot be used: line 1 is wrong"]);
    }
    fail(&["forward", &picture, &array, "--filter-bank", "absent.toml"], 2, &["absent.toml", "cannot be read"]);
    assert!(!Path::new(&array).exists());
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let folder = Folder::new("rates");
    let (picture, coded) = (golden("camera_37x21.pgm"), folder.path("a.duet"));
    for (option, value) in [
        ("--bpp", "0"),
        ("--bpp", "NaN"),
        ("--bpp", "65"),
        ("--step", "0"),
        ("--step", "1e9"),
        ("--bpp", "0.001"),
        ("--bytes-per-frame", "0"),
        ("--bytes-per-frame", "38"),
    ] {
        fail(&["encode", &picture, &coded, option, value, "--backend", "cpu"], 2, &[]);
        assert!(!Path::new(&coded).exists());
    }
}

#[test]
fn unknown_names_are_usage_errors() {
    let folder = Folder::new("names");
    let (picture, array) = (golden("camera_37x21.pgm"), folder.path("a.npy"));
    for (option, value, hint) in [
        ("--wavelet", "haar", "cdf97"),
        ("--boundary", "mirror", "symmetric"),
        ("--scheme", "polyphase+", "polyphase*"),
        ("--precision", "f16", "f64"),
        ("--levels", "0", "full"),
        ("--levels", "99", "full"),
        ("--backend", "cuda", "opencl"),
    ] {
        let output = wavelet(&["forward", &picture, &array, option, value]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(value) && stderr.contains(hint), "{stderr}");
    }
    assert_eq!(wavelet(&["encode", "a", "b", "--bpp", "1", "--step", "1"]).status.code(), Some(2));
    assert_eq!(wavelet(&[]).status.code(), Some(2));
}

#[cfg(not(feature = "opencl"))]
#[test]
fn what_needs_opencl_says_that_it_was_not_built() {
    let (folder, picture) = (Folder::new("without"), golden("camera_37x21.pgm"));
    let array = folder.path("a.npy");
    for arguments in [
        &["forward", &picture, &array, "--backend", "opencl"][..],
        &["forward", &picture, &array, "--device", "any"],
        &["bench", "transfer"],
        &["bench", "overlap"],
        &["tune"],
    ] {
        fail(arguments, 3, &["built without OpenCL", "`opencl`", "`cpu`"]);
    }
}

#[cfg(feature = "opencl")]
#[test]
fn an_unknown_device_is_a_device_error() {
    let (folder, picture) = (Folder::new("device"), golden("camera_37x21.pgm"));
    let array = folder.path("a.npy");
    fail(&["forward", &picture, &array, "--device", "no such device"], 3, &["no such device"]);
    fail(&["forward", &picture, &array, "--backend", "cpu", "--device", "x"], 2, &["`x`"]);
}

#[cfg(feature = "opencl")]
#[test]
fn a_picture_too_large_for_the_device_is_refused_with_numbers() {
    let folder = Folder::new("memory");
    let input = folder.file("large.pgm", &[b"P5\n8000 8000\n255\n".as_slice(), &vec![90; 8000 * 8000]].concat());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wavelet"));
    command.args(["encode", &input, &folder.path("out.duet"), "--backend", "opencl"]);
    // PoCL then offers 1 GiB, a quarter of it in one piece.
    let output = command.env("POCL_MEMORY_LIMIT", "1").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(3), 1), "{stderr}");
    let numbers: Vec<u64> = stderr.split(' ').filter_map(|word| word.trim().parse().ok()).collect();
    assert!(matches!(numbers[..], [needed, 268_435_456] if needed > 268_435_456), "{stderr}");
    assert!(!Path::new(&folder.path("out.duet")).exists());
}

#[test]
fn a_duet_file_of_too_large_pictures_is_named() {
    let folder = Folder::new("wide-duet");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/grey_64x64_v2.duet");
    let mut bytes = fs::read(golden).unwrap();
    // The width stands behind the magic number and the version.
    bytes[6..10].copy_from_slice(&16385_u32.to_le_bytes());
    let (input, output) = (folder.file("wide.duet", &bytes), folder.path("out.png"));
    fail(&["decode", &input, &output], 2, &["wide.duet", "16385x64", "16384"]);
}
