//! `forward` and `inverse` with a filter bank.

use std::fs;

use crate::errors::fail;
use crate::support::{BACKENDS, Folder, golden, read_npy, samples, succeed};

/// Returns a bank that comes with the crate.
fn bank(name: &str) -> String {
    format!("{}/../lab/banks/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn any_bank_takes_a_picture_apart_and_together() {
    let folder = Folder::new("banks");
    let (input, array, back) = (golden("camera_37x21.pgm"), folder.path("a.npy"), folder.path("b.pgm"));
    let samples = samples(&input, 37 * 21);
    for backend in BACKENDS {
        for (name, options) in [
            ("haar", &[][..]),
            ("haar", &["--boundary", "zero", "--padding", "zero"]),
            ("daubechies4", &["--boundary", "periodic", "--padding", "zero", "--precision", "f64"]),
            ("dd137", &["--levels", "2"]),
        ] {
            // The coefficients carry the bank with them.
            let file = folder.file("bank.toml", &fs::read(bank(name)).unwrap());
            let forward = ["forward", &input, &array, "--filter-bank", &file, "--backend", backend];
            succeed(&[&forward, options].concat());
            fs::remove_file(&file).unwrap();
            succeed(&["inverse", &array, &back, "--backend", backend]);
            assert!(fs::read(&back).unwrap().ends_with(&samples), "{backend} {name} {options:?}");
        }
    }
}

#[test]
fn the_bank_of_the_9_7_makes_its_coefficients() {
    let folder = Folder::new("bank97");
    let (input, lifted, filtered) = (golden("camera_37x21.pgm"), folder.path("a.npy"), folder.path("b.npy"));
    succeed(&["forward", &input, &lifted, "--backend", "reference"]);
    let (shape, expected) = read_npy(&lifted);
    let peak = expected.iter().fold(0.0_f32, |peak, value| peak.max(value.abs()));
    for backend in BACKENDS {
        for scheme in ["convolution", "rowcolumn", "none"] {
            let mut arguments = vec!["forward", &input, &filtered, "--filter-bank"];
            let file = bank("cdf97");
            arguments.extend([&file, "--backend", backend]);
            match (backend, scheme) {
                (_, "none") => {}
                ("opencl", scheme) => arguments.extend(["--scheme", scheme]),
                _ => continue,
            }
            succeed(&arguments);
            let (there, values) = read_npy(&filtered);
            assert_eq!(there, shape);
            for (value, expected) in values.iter().zip(&expected) {
                assert!((value - expected).abs() <= 2e-5 * peak, "{backend} {scheme}: {value} for {expected}");
            }
        }
    }
}

#[test]
fn a_bank_that_does_not_reconstruct_is_refused_with_the_residual() {
    let folder = Folder::new("badbank");
    let (input, output) = (golden("camera_37x21.pgm"), folder.path("a.npy"));
    let haar = fs::read_to_string(bank("haar")).unwrap();
    let forward = |file: &str, more: &[&str], words: &[&str]| {
        fail(
            &[&["forward", &input, &output, "--backend", "reference", "--filter-bank", file], more].concat(),
            2,
            words,
        );
        assert!(fs::metadata(&output).is_err(), "{more:?} left an output");
    };
    let wrong = folder.file("wrong.toml", haar.replacen("0.7071067811865475", "0.75", 1).as_bytes());
    forward(&wrong, &[], &["wrong.toml", "do not reconstruct", "3.033e-2"]);
    for (text, words) in [
        (String::new(), &["line 1"][..]),
        (haar.replacen("taps", "tips", 1), &["line 6", "tips"]),
        (haar.replacen("0.7071067811865475", "nan", 1), &["analysis low", "NaN"]),
        (haar.replacen("first = 0", "first = 4000000000", 1), &["line 5"]),
    ] {
        let file = folder.file("bad.toml", text.as_bytes());
        forward(&file, &[], &[&["bad.toml"], words].concat());
    }
    forward(&folder.file("binary.toml", b"\xff\xfe"), &[], &["binary.toml"]);
    forward(&folder.path("none.toml"), &[], &["none.toml"]);
    forward("/dev/zero", &[], &["/dev/zero"]);
    forward(
        &bank("daubechies4"),
        &[],
        &["`symmetric`", "differs from the identity by up to", "boundary `periodic` with padding `zero` would do"],
    );
    forward(&bank("haar"), &["--scheme", "monolithic"], &["monolithic"]);
}

#[test]
fn a_bank_beside_coefficients_is_checked_like_any_other() {
    let folder = Folder::new("sidebank");
    let (array, back) = (folder.path("a.npy"), folder.path("b.pgm"));
    let input = golden("camera_37x21.pgm");
    succeed(&["forward", &input, &array, "--filter-bank", &bank("haar"), "--backend", "reference"]);
    let side = folder.path("a.npy.json");
    let text = fs::read_to_string(&side).unwrap();
    for (from, to, words) in [
        ("0.7071067811865475", "0.75", &["a.npy.json", "do not reconstruct"][..]),
        ("0.7071067811865475", "1e300", &["a.npy.json", "analysis low"]),
        ("\"symmetric\"", "\"zero\"", &["`zero`", "differs from the identity"]),
        ("\"f32\"", "\"i32\"", &["filter bank"]),
    ] {
        fs::write(&side, text.replacen(from, to, 1)).unwrap();
        fail(&["inverse", &array, &back, "--backend", "reference"], 2, words);
        assert!(fs::metadata(&back).is_err(), "{to} left an output");
    }
    fs::write(&side, text).unwrap();
    let daubechies = bank("daubechies4");
    fail(&["inverse", &array, &back, "--filter-bank", &daubechies, "--backend", "reference"], 2, &["--filter-bank"]);
}
