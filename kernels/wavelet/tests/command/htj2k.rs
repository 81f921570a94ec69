//! JPEG 2000 of Part 15: to and from OpenJPH's programs, which must be there (`.ci/setup test`), and what is refused.

use std::fs;
use std::process::Command;

use crate::support::{BACKENDS, Folder, pgm, ppm, psnr, samples, succeed, wavelet};

/// Runs another's program; returns whether it succeeded.
fn other(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}: .ci/setup test installs it")).status.success()
}

/// Returns true if no sample differs by more than one and few differ: half a grey level rounds up or down.
fn are_alike(ours: &[u8], theirs: &[u8]) -> bool {
    let differences = ours.iter().zip(theirs).map(|(ours, theirs)| ours.abs_diff(*theirs));
    differences.clone().all(|difference| difference <= 1)
        && differences.filter(|&difference| difference > 0).count() <= 3 + ours.len() / 100
}

#[test]
fn openjph_and_openjpeg_read_what_is_written() {
    let folder = Folder::new("htj2k-ours");
    for (width, height) in [(1, 1), (2, 3), (1, 40), (57, 1), (131, 70)] {
        for (ending, picture) in [("ppm", ppm(width, height)), ("pgm", pgm(width, height))] {
            let count = width * height * if ending == "ppm" { 3 } else { 1 };
            let source = folder.file(&format!("a.{ending}"), &picture);
            let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path(&format!("{name}.{ending}")));
            for (name, options) in [
                ("a.j2c", "--lossless"),
                ("b.j2c", "--lossless --code-block 32 --levels 3"),
                ("c.j2c", "--step 2"),
                ("a.jph", "--lossless"),
                ("b.jph", "--step 5"),
            ] {
                let coded = folder.path(name);
                let options: Vec<_> = options.split(' ').collect();
                succeed(&[&["encode", &source, &coded], &options[..]].concat());
                succeed(&["decode", &coded, &ours]);
                // OpenJPH 0.9.0 reads its own grey pictures of fewer than 32 samples a side wrongly.
                let is_small = width.min(height) < 32;
                let program = if name.ends_with("j2c") && !is_small { "ojph_expand" } else { "opj_decompress" };
                let _ = fs::remove_file(&theirs);
                assert!(other(program, &["-i", &coded, "-o", &theirs]), "{program}: {width}x{height} {name}");
                let (ours, theirs) = (samples(&ours, count), samples(&theirs, count));
                if options[0] == "--lossless" {
                    assert!(ours == samples(&source, count) && theirs == ours, "{program}: {width}x{height} {name}");
                } else {
                    assert!(are_alike(&ours, &theirs), "{program}: {width}x{height} {name}");
                }
            }
        }
    }
}

#[test]
fn what_openjph_writes_is_read() {
    let folder = Folder::new("htj2k-theirs");
    let (width, height) = (300, 170);
    let (count, source) = (width * height * 3, folder.file("a.ppm", &ppm(width, height)));
    let [coded, ours, theirs] = ["a.j2c", "b.ppm", "c.ppm"].map(|name| folder.path(name));
    let mut kinds = Vec::new();
    for order in ["LRCP", "RLCP", "RPCL", "PCRL", "CPRL"] {
        kinds.push(format!("-prog_order {order} -reversible true"));
        kinds.push(format!("-prog_order {order} -qstep 0.02 -precincts {{128,128}},{{64,64}},{{32,32}}"));
        kinds.push(format!("-prog_order {order} -reversible true -tile_size {{128,64}} -num_decomps 4"));
        kinds.push(format!("-prog_order {order} -qstep 0.1 -block_size {{32,32}}"));
    }
    kinds.extend(
        ["{4,1024}", "{1024,4}", "{4,4}", "{128,32}"].map(|size| format!("-reversible true -block_size {size}")),
    );
    kinds.extend([1, 8].map(|levels| format!("-qstep 0.001 -num_decomps {levels}")));
    for kind in &kinds {
        let options: Vec<_> = kind.split(' ').collect();
        assert!(other("ojph_compress", &[&["-i", &source, "-o", &coded], &options[..]].concat()), "{kind}");
        succeed(&["decode", &coded, &ours]);
        assert!(other("ojph_expand", &["-i", &coded, "-o", &theirs]), "{kind}");
        let (ours, theirs) = (samples(&ours, count), samples(&theirs, count));
        match kind.contains("-reversible") {
            true => assert!(ours == theirs && ours == samples(&source, count), "{kind}"),
            false => assert!(are_alike(&ours, &theirs), "{kind}"),
        }
    }
}

#[test]
fn a_picture_is_as_good_as_openjph_makes_it_of_as_many_bytes() {
    let folder = Folder::new("htj2k-psnr");
    let (width, height) = (512, 384);
    let (count, source) = (width * height * 3, folder.file("a.ppm", &ppm(width, height)));
    let [coded, ours, theirs] = ["a.j2c", "a.ppm", "b.ppm"].map(|name| folder.path(name));
    for step in ["0.1", "0.02"] {
        assert!(other("ojph_compress", &["-i", &source, "-o", &coded, "-qstep", step]));
        assert!(other("ojph_expand", &["-i", &coded, "-o", &theirs]));
        let length = fs::metadata(&coded).unwrap().len();
        succeed(&["encode", &source, &coded, "--bytes-per-frame", &length.to_string()]);
        assert!(fs::metadata(&coded).unwrap().len() <= length);
        succeed(&["decode", &coded, &ours]);
        let original = samples(&source, count);
        let [found, wanted] = [&ours, &theirs].map(|path| psnr(&samples(path, count), &original));
        assert!(found > wanted - 0.05, "{found} dB, not {wanted}, of {length} bytes");
    }
}

#[test]
fn layers_are_refused_and_every_back_end_writes_the_same_file() {
    let folder = Folder::new("htj2k-backends");
    let source = folder.file("a.ppm", &ppm(200, 99));
    let coded = folder.path("a.jph");
    let output = wavelet(&["encode", &source, &coded, "--progression", "quality"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("in one layer"), "{error}");
    for options in [&["--lossless"][..], &["--bpp", "1"]] {
        let files = BACKENDS.map(|backend| {
            succeed(&[&["encode", &source, &coded, "--backend", backend], options].concat());
            fs::read(&coded).unwrap()
        });
        assert!(files.iter().all(|file| *file == files[0]), "{options:?}");
    }
}
