//! Files of JPEG 2000: to and from other programs, and what is refused. OpenJPEG's programs must be there (`.ci/setup test`).

use std::fs;
use std::process::Command;

use crate::support::{BACKENDS, Folder, pgm, ppm, psnr, samples, succeed, wavelet, y4m};

/// Runs one of OpenJPEG's programs; returns whether it succeeded.
fn openjpeg(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}: .ci/setup test installs it")).status.success()
}

/// Returns the samples of a PPM or PGM that OpenJPEG wrote, at its end as in ours.
fn decoded_by_openjpeg(folder: &Folder, coded: &str, ending: &str, count: usize) -> Vec<u8> {
    let path = folder.path(&format!("theirs.{ending}"));
    let _ = fs::remove_file(&path);
    assert!(openjpeg("opj_decompress", &["-i", coded, "-o", &path]), "{coded} is not read");
    samples(&path, count)
}

#[test]
fn openjpeg_reads_what_is_written() {
    let folder = Folder::new("jpeg2000-ours");
    for (width, height) in [(1, 1), (2, 3), (1, 40), (57, 1), (131, 70)] {
        for (ending, picture) in [("ppm", ppm(width, height)), ("pgm", pgm(width, height))] {
            let count = width * height * if ending == "ppm" { 3 } else { 1 };
            let source = folder.file(&format!("a.{ending}"), &picture);
            let ours = folder.path(&format!("b.{ending}"));
            for (name, options) in [
                ("a.j2k", "--lossless"),
                ("a.jp2", "--lossless --progression quality --code-block 32 --levels 3"),
                ("b.jp2", "--step 2"),
                ("b.j2k", "--step 5 --levels full --progression quality"),
            ] {
                let coded = folder.path(name);
                let options: Vec<_> = options.split(' ').collect();
                succeed(&[&["encode", &source, &coded], &options[..]].concat());
                succeed(&["decode", &coded, &ours]);
                let (ours, theirs) = (samples(&ours, count), decoded_by_openjpeg(&folder, &coded, ending, count));
                if options[0] == "--lossless" {
                    assert!(ours == samples(&source, count) && theirs == ours, "{width}x{height} {name}");
                } else {
                    // Half a grey level rounds up or down, and that in few samples.
                    let differences = ours.iter().zip(&theirs).map(|(ours, theirs)| ours.abs_diff(*theirs));
                    assert!(differences.clone().all(|difference| difference <= 1), "{width}x{height} {name}");
                    assert!(differences.filter(|&difference| difference > 0).count() <= 3 + count / 100);
                }
            }
        }
    }
}

#[test]
fn what_openjpeg_writes_is_read_or_refused_by_name() {
    let folder = Folder::new("jpeg2000-theirs");
    let (width, height) = (300, 170);
    let (count, source) = (width * height * 3, folder.file("a.ppm", &ppm(width, height)));
    let [coded, ours] = ["a.j2k", "b.ppm"].map(|name| folder.path(name));
    let original = samples(&source, count);
    let mut kinds = Vec::new();
    for order in ["LRCP", "RLCP", "RPCL", "PCRL", "CPRL"] {
        kinds.push(format!("-p {order} -r 20,10,1"));
        kinds.push(format!("-p {order} -I -r 40,20,10 -c [128,128],[64,64],[32,32]"));
        kinds.push(format!("-p {order} -t 128,64 -n 4"));
        kinds.push(format!("-p {order} -TP R -c [64,64]"));
    }
    // Bypass, resets, terminations, causal contexts, segment marks, and all of them.
    kinds.extend([1, 2, 4, 8, 32, 47].map(|mode| format!("-M {mode} -r 3")));
    kinds.extend([1, 2, 4, 8, 32, 47].map(|mode| format!("-M {mode} -I -r 6")));
    kinds.extend(["-SOP -EPH", "-n 1", "-n 8", "-b 16,16", "-b 4,1024", "-b 1024,4", "-mct 0 -I"].map(str::to_owned));
    for kind in &kinds {
        let options: Vec<_> = kind.split(' ').collect();
        assert!(openjpeg("opj_compress", &[&["-i", &source, "-o", &coded], &options[..]].concat()), "{kind}");
        let colours: &[&str] = if kind.starts_with("-mct 0") { &["--colours", "rgb"] } else { &[] };
        succeed(&[&["decode", &coded, &ours], colours].concat());
        let (ours, theirs) = (samples(&ours, count), decoded_by_openjpeg(&folder, &coded, "ppm", count));
        let is_same = match kind.contains("-I") {
            true => ours.iter().zip(&theirs).all(|(ours, theirs)| ours.abs_diff(*theirs) <= 1),
            // OpenJPEG 2.5.0 misreads its own tile-parts in the orders PCRL and CPRL, so that there the original counts, too.
            false => ours == theirs || kind.contains("-TP") && ours == original,
        };
        assert!(is_same, "{kind}");
    }
    for (kind, name) in [("-ROI c=0,U=8", "ROI"), ("-t 100,100 -n 6", "begins at")] {
        let options: Vec<_> = kind.split(' ').collect();
        assert!(openjpeg("opj_compress", &[&["-i", &source, "-o", &coded], &options[..]].concat()), "{kind}");
        let output = wavelet(&["decode", &coded, &ours]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(name), "{kind}: {error}");
    }
}

#[test]
fn a_picture_without_its_finest_levels_is_that_of_openjpeg() {
    let folder = Folder::new("jpeg2000-reduced");
    let source = folder.file("a.ppm", &ppm(131, 70));
    let [coded, ours, theirs] = ["a.j2k", "b.ppm", "c.ppm"].map(|name| folder.path(name));
    for options in ["--lossless", "--lossless --levels 3 --progression quality", "--step 0.25"] {
        let options: Vec<_> = options.split(' ').collect();
        succeed(&[&["encode", &source, &coded], &options[..]].concat());
        for (levels, size) in [("1", 66 * 35), ("2", 33 * 18)] {
            succeed(&["decode", &coded, &ours, "--drop-levels", levels]);
            assert!(openjpeg("opj_decompress", &["-i", &coded, "-o", &theirs, "-r", levels]));
            let (ours, theirs) = (samples(&ours, 3 * size), samples(&theirs, 3 * size));
            let differences = || ours.iter().zip(&theirs).map(|(ours, theirs)| ours.abs_diff(*theirs));
            match options[0] {
                "--lossless" => assert!(ours == theirs, "{options:?} without {levels}"),
                _ => assert!(differences().all(|difference| difference <= 1), "{options:?} without {levels}"),
            }
        }
    }
}

#[test]
fn colours_are_those_that_a_file_has_or_is_said_to_have() {
    let folder = Folder::new("jpeg2000-colours");
    let [j2k, jp2, back, clip] = ["a.j2k", "a.jp2", "b.ppm", "b.y4m"].map(|name| folder.path(name));
    let planes = |path: &str| {
        let bytes = fs::read(path).unwrap();
        let start = bytes.windows(6).position(|window| window == b"FRAME\n").unwrap();
        bytes[start + 6..].to_vec()
    };
    // Red, as BT.709 in limited range says it.
    let red = folder.file("red.ppm", &[b"P6\n3 2\n255\n", &[255, 0, 0].repeat(6)[..]].concat());
    let deep = [&b"P6\n3 2\n1023\n"[..], &[3, 255, 0, 0, 0, 0].repeat(6)].concat();
    let deep = folder.file("deep.ppm", &deep);
    for (source, wanted) in [
        (&red, [63, 102, 240].map(|value: u8| vec![value; 6]).concat()),
        (&deep, [250_u16, 409, 960].map(|value| value.to_le_bytes().repeat(6)).concat()),
    ] {
        for coded in [&j2k, &jp2] {
            succeed(&["encode", source, coded, "--lossless"]);
            succeed(&["decode", coded, &clip]);
            assert_eq!(planes(&clip), wanted, "{coded}");
        }
    }
    // Without boxes nobody knows what three whole components are.
    let mut of_red = b"YUV4MPEG2 W3 H2 F30:1 Ip A1:1 C444\nFRAME\n".to_vec();
    of_red.extend([63, 102, 240].map(|value: u8| vec![value; 6]).concat());
    let source = folder.file("red.y4m", &of_red);
    succeed(&["encode", &source, &j2k, "--lossless"]);
    for output in [&back, &clip] {
        let output = wavelet(&["decode", &j2k, output]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains("--colours rgb or --colours ycbcr"), "{error}");
    }
    succeed(&["decode", &j2k, &back, "--colours", "ycbcr"]);
    assert_eq!(samples(&back, 18), [255, 1, 0].repeat(6));
    succeed(&["decode", &j2k, &back, "--colours", "rgb"]);
    assert_eq!(samples(&back, 18), [63, 102, 240].repeat(6));
    succeed(&["decode", &j2k, &clip, "--colours", "ycbcr"]);
    assert_eq!(planes(&clip), planes(&source));
    let output = wavelet(&["decode", &jp2, &back, "--colours", "ycbcr"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("says itself"), "{error}");
}

#[test]
fn a_picture_is_as_good_as_openjpeg_makes_it_of_as_many_bytes() {
    let folder = Folder::new("jpeg2000-psnr");
    let (width, height) = (512, 384);
    let (count, source) = (width * height * 3, folder.file("a.ppm", &ppm(width, height)));
    let [ours, theirs] = ["a.j2k", "b.j2k"].map(|name| folder.path(name));
    let back = folder.path("b.ppm");
    for bytes in [6_000, 20_000] {
        let rate = format!("{}", count as f64 / f64::from(bytes));
        assert!(openjpeg("opj_compress", &["-i", &source, "-o", &theirs, "-I", "-r", &rate]));
        let length = fs::metadata(&theirs).unwrap().len().to_string();
        succeed(&["encode", &source, &ours, "--bytes-per-frame", &length]);
        assert!(fs::metadata(&ours).unwrap().len() <= length.parse().unwrap());
        succeed(&["decode", &ours, &back]);
        let original = samples(&source, count);
        let found = psnr(&samples(&back, count), &original);
        let wanted = psnr(&decoded_by_openjpeg(&folder, &theirs, "ppm", count), &original);
        assert!(found > wanted - 0.05, "{found} dB, not {wanted}, of {length} bytes");
    }
}

#[test]
fn every_back_end_writes_the_same_file() {
    let folder = Folder::new("jpeg2000-backends");
    let source = folder.file("a.ppm", &ppm(200, 99));
    for options in [&["--lossless"][..], &["--bpp", "1"]] {
        let files = BACKENDS.map(|backend| {
            let coded = folder.path(&format!("{backend}.j2k"));
            succeed(&[&["encode", &source, &coded, "--backend", backend], options].concat());
            fs::read(coded).unwrap()
        });
        assert!(files.iter().all(|file| *file == files[0]), "{options:?}");
    }
}

#[test]
fn deep_pictures_and_clips_of_one_picture_come_back() {
    let folder = Folder::new("jpeg2000-deep");
    let coded = folder.path("a.j2k");
    for most in [1023_u32, 4095, 65535] {
        let mut picture = format!("P5\n37 20\n{most}\n").into_bytes();
        picture.extend((0..37 * 20_u32).flat_map(|at| ((at * at * 37 % (most + 1)) as u16).to_be_bytes()));
        let source = folder.file("a.pgm", &picture);
        succeed(&["encode", &source, &coded, "--lossless"]);
        let back = folder.path("b.pgm");
        succeed(&["decode", &coded, &back]);
        assert!(fs::read(&back).unwrap() == picture, "{most}");
    }
    for chroma in ["420jpeg", "444", "mono"] {
        let source = folder.file("a.y4m", &y4m(37, 21, chroma, 1));
        succeed(&["encode", &source, &coded, "--lossless"]);
        let back = folder.path("b.y4m");
        let colours: &[&str] = if chroma == "444" { &["--colours", "ycbcr"] } else { &[] };
        succeed(&[&["decode", &coded, &back], colours].concat());
        let planes = |path: &str| {
            let bytes = fs::read(path).unwrap();
            let start = bytes.windows(6).position(|window| window == b"FRAME\n").unwrap();
            bytes[start..].to_vec()
        };
        assert!(planes(&source) == planes(&back), "{chroma}");
    }
}

#[test]
fn a_cut_file_is_decoded_as_far_as_it_goes_with_exit_code_1() {
    let folder = Folder::new("jpeg2000-cut");
    let source = folder.file("a.ppm", &ppm(200, 120));
    let [coded, back] = ["a.jp2", "b.ppm"].map(|name| folder.path(name));
    succeed(&["encode", &source, &coded, "--step", "2", "--progression", "quality"]);
    let bytes = fs::read(&coded).unwrap();
    let cut = folder.file("cut.jp2", &bytes[..bytes.len() / 2]);
    let output = wavelet(&["decode", &cut, &back]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("what is whole is decoded"), "{error}");
    assert!(psnr(&samples(&back, 200 * 120 * 3), &samples(&source, 200 * 120 * 3)) > 25.0);
    let head = folder.file("head.jp2", &bytes[..100]);
    let output = wavelet(&["decode", &head, &back]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let other = folder.file("other.jp2", b"GIF89a");
    let output = wavelet(&["decode", &other, &back]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("no JPEG 2000"), "{error}");
}

#[test]
fn what_these_files_do_not_have_is_refused() {
    let folder = Folder::new("jpeg2000-refused");
    let source = folder.file("a.ppm", &ppm(20, 12));
    let clip = folder.file("a.y4m", &y4m(16, 16, "420jpeg", 2));
    let one = folder.file("b.y4m", &y4m(16, 16, "420jpeg", 1));
    let [j2k, jp2, duet, png] = ["a.j2k", "a.jp2", "a.duet", "a.png"].map(|name| folder.path(name));
    for (arguments, wanted) in [
        (vec!["encode", &source, &j2k, "--profile", "pcwt"], "--profile pcwt"),
        (vec!["encode", &source, &j2k, "--prediction", "on"], "--prediction"),
        (vec!["encode", &source, &j2k, "--chroma", "420"], "--chroma"),
        (vec!["encode", &source, &j2k, "--wavelet", "dd137"], "--levels only"),
        (vec!["encode", &source, &j2k, "--step", "0.001"], "--step"),
        (vec!["encode", &source, &j2k, "--quality", "0"], "--quality"),
        (vec!["encode", &source, &j2k, "--bytes-per-frame", "10"], "at least"),
        (vec!["encode", &source, &duet, "--progression", "quality"], "--progression"),
        (vec!["encode", &clip, &j2k], "more than one picture"),
        (vec!["encode", &one, &jp2], "full range"),
        (vec!["encode", &source, &j2k, "--bytes-per-frame", "150", "--progression", "quality"], "at least"),
        (vec!["encode", &source, &j2k, "--seed", "3"], "--seed"),
        (vec!["encode", &source, &j2k, "--feedback-delay", "3"], "--feedback-delay"),
        (vec!["encode", &source, &j2k, "--shown", "b.y4m"], "--shown"),
        (vec!["decode", &j2k, &png, "--fill-pauses"], "--fill-pauses"),
        (vec!["decode", &duet, &png, "--colours", "rgb"], "--colours"),
        (vec!["decode", &j2k, &png], "cannot be read"),
    ] {
        let output = wavelet(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(wanted), "{arguments:?}: {error}");
    }
}
