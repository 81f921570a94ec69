//! This crate, `picture` and `sound` stay pure: nothing that reads a clock, opens a socket or file or starts a thread, neither in
//! their source nor among their dependencies.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const BANNED_IN_SOURCE: [&str; 8] = [
    "Instant::now",
    "SystemTime",
    "std::net::Udp",
    "std::net::Tcp",
    "std::thread",
    "std::fs",
    "ToSocketAddrs",
    "println!",
];
const BANNED_CRATES: [&str; 10] =
    ["tokio", "quinn", "quinn-proto", "quinn-udp", "mio", "socket2", "libc", "rustls", "ocl", "rayon"];
/// Crates of calls, which a program that only codes pictures does not need.
const BANNED_IN_CODEC: [&str; 5] = ["duet-common", "reed-solomon-simd", "bincode", "curve25519-dalek", "hdrhistogram"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_source_names_nothing_impure() {
    let mut files = Vec::new();
    for folder in ["src", "picture/src", "sound/src"] {
        let already = files.len();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
        assert!(files.len() > already + 10, "only {} files found", files.len());
    }
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(banned) = BANNED_IN_SOURCE.iter().find(|banned| code.contains(**banned)) {
                found.push(format!("{}:{}: {banned}", file.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "impure: {found:#?}");
}

/// Returns the names in `cargo tree`'s output for a package without its tests and what is pruned.
fn dependencies(package: &str, pruned: &[&str]) -> BTreeSet<String> {
    dependencies_with(package, &["--all-features"], pruned)
}

/// As [`dependencies`], with the features that these flags choose.
fn dependencies_with(package: &str, features: &[&str], pruned: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--target", "all"])
        .args(["--package", package, "--format", "{p}"])
        .args(features)
        .args(pruned.iter().flat_map(|pruned| ["--prune", *pruned]))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn no_dependency_reaches_the_system() {
    // On ARM it reads through libc what the processor can do, and nothing else: reed-solomon-simd chooses by it.
    let dependencies = dependencies("duet-common", &["cpufeatures@0.2"]);
    assert!(dependencies.contains("bincode") && dependencies.contains("serde"), "not a tree: {dependencies:?}");
    let found: Vec<_> = BANNED_CRATES.iter().filter(|name| dependencies.contains(**name)).collect();
    assert!(found.is_empty(), "the dependencies of common have {found:?}");
}

#[test]
fn the_codec_and_what_it_codes_need_nothing_of_a_call() {
    for package in ["duet-picture", "duet-kernels"] {
        let dependencies = dependencies(package, &[]);
        assert!(dependencies.contains("crc32fast"), "not a tree: {dependencies:?}");
        let found: Vec<_> = BANNED_IN_CODEC.iter().filter(|name| dependencies.contains(**name)).collect();
        assert!(found.is_empty(), "the dependencies of {package} have {found:?}");
    }
}

/// Crates of windows, and the laboratory, whose coder keeps pictures for them.
const BANNED_WITHOUT_WINDOW: [&str; 8] =
    ["duet-lab", "minifb", "softbuffer", "winit", "x11rb", "wayland-client", "xkbcommon-dl", "raw-window-handle"];

#[test]
fn a_program_without_a_window_links_none() {
    for package in ["duet-sender", "duet-receiver"] {
        let with = dependencies(package, &[]);
        let without = dependencies_with(package, &["--no-default-features", "--features", "opencl"], &[]);
        for name in BANNED_WITHOUT_WINDOW {
            assert!(with.contains(name) && !without.contains(name), "{package} without a window links {name}");
        }
    }
}

#[test]
fn the_halves_know_nothing_of_each_other_and_the_net_nothing_of_pictures() {
    for (package, needed, banned) in [
        ("duet-sending", "turbojpeg", &["duet-showing", "winit", "duet-sender"][..]),
        ("duet-showing", "duet-kernels", &["duet-sending", "turbojpeg", "duet-receiver"][..]),
        ("duet-publishing", "moq-net", &["duet-sending", "duet-showing", "duet-calling", "aws-lc-rs"][..]),
        ("duet-calling", "duet-sending", &["duet-sender", "duet-receiver", "duet-room"][..]),
        ("duet-net", "quinn", &["duet-kernels", "duet-shell", "ocl", "clap"][..]),
        ("duet-shell", "duet-net", &["duet-sending", "duet-showing", "winit"][..]),
    ] {
        let dependencies = dependencies(package, &[]);
        assert!(dependencies.contains(needed), "not a tree: {dependencies:?}");
        let found: Vec<_> = banned.iter().filter(|name| dependencies.contains(**name)).collect();
        assert!(found.is_empty(), "the dependencies of {package} have {found:?}");
    }
}
