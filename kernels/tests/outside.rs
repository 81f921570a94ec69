//! A program that is no part of the workspace uses the codec as its documentation says, without OpenCL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;
use std::process::Command;

#[test]
fn a_program_of_somebody_else_codes_a_picture_and_a_clip() {
    let outside = Path::new(env!("CARGO_MANIFEST_DIR")).join("outside");
    // With the versions that are here: nothing is downloaded.
    let versions = std::fs::read(outside.join("../../Cargo.lock")).unwrap();
    std::fs::write(outside.join("Cargo.lock"), versions).unwrap();
    // A folder of its own: cargo holds a lock on that of this build.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    // Cargo's and this test's own settings are not that program's.
    let settings = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO") && !["CARGO", "CARGO_HOME"].contains(&&*name) || name.starts_with("RUSTFLAGS")
    });
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in settings {
        cargo.env_remove(name);
    }
    cargo.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(outside.join("Cargo.toml"));
    let output = cargo.env("CARGO_TARGET_DIR", target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = said.lines().collect();
    let [picture, first, second, third, lossless] = lines[..] else { panic!("{said}") };
    assert!(picture.starts_with("picture: ") && picture.ends_with("I420"), "{said}");
    for (line, grey) in [(first, 50), (second, 100), (third, 150)] {
        assert!(line.ends_with(&format!("{grey} shown as {grey}")), "{said}");
    }
    assert!(lossless.contains("was built without lossless coding"), "{said}");
}
