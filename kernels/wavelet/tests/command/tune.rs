//! `wavelet tune` and `--no-tune`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::errors::fail;
use crate::support::{Folder, golden, wavelet};

/// Runs the command with `cache` as the user's cache directory.
fn with_cache(cache: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavelet"));
    // The driver's own cache stays where it is.
    let compiled = std::env::temp_dir().join("duet-test-pocl");
    command.args(arguments).env("XDG_CACHE_HOME", cache).env("POCL_CACHE_DIR", compiled).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn settings_are_measured_kept_and_used() {
    let folder = Folder::new("tune");
    let cache = folder.path("cache");
    let output = with_cache(&cache, &["tune", "--sizes", "64x48"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "a progress bar was drawn though standard error is no terminal");
    for word in ["candidates in", "strip", "min_segment", "64x48", "forward", "inverse"] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    let kept = text.lines().last().unwrap().strip_prefix("kept in ").unwrap().to_owned();
    assert!(kept.starts_with(&cache) && fs::read_to_string(&kept).unwrap().contains("[settings]"), "{text}");

    // Other settings, and settings that cannot be: the coefficients are always the same.
    let picture = golden("camera_37x21.pgm");
    let coefficients = |name: &str, arguments: &[&str]| {
        let array = folder.path(name);
        let output = with_cache(&cache, &[&["forward", &picture, &array, "--backend", "opencl"], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read(array).unwrap()
    };
    let built_in = coefficients("built-in.npy", &["--no-tune"]);
    let settings = fs::read_to_string(&kept).unwrap();
    let strip = settings.lines().find(|line| line.starts_with("strip = ")).unwrap();
    for other in ["strip = 16", "strip = 0", "strip = \"wide\""] {
        fs::write(&kept, settings.replace(strip, other)).unwrap();
        assert!(coefficients("tuned.npy", &[]) == built_in, "{other}");
    }
}

#[test]
fn what_cannot_be_tuned_or_kept_is_an_error() {
    let folder = Folder::new("tune-errors");
    fail(&["tune", "--device", "no such device"], 3, &["no such device"]);
    fail(&["tune", "--sizes", "0x7"], 2, &["0x7 pixels"]);
    fail(&["tune", "--sizes", "hd,square"], 2, &["12 sizes are too many"]);
    assert_eq!(wavelet(&["tune", "--size", "64x48"]).status.code(), Some(2));
    let file = folder.file("file", b"");
    let output = with_cache(&file, &["tune", "--sizes", "64x48"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot be written") && !Path::new(&file).is_dir(), "{}", stderr(&output));
}
