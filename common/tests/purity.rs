//! This crate stays pure: nothing that reads a clock, opens a socket or file or starts a thread, neither in its
//! source nor among its dependencies.
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
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 20, "only {} files found", files.len());
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

/// Returns the names in `cargo tree`'s output for this crate without its tests.
fn dependencies() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--all-features",
            "--target",
            "all",
        ])
        .args(["--package", "common", "--format", "{p}"])
        // On ARM it reads through libc what the processor can do, and nothing else: reed-solomon-simd chooses by it.
        .args(["--prune", "cpufeatures@0.2"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn no_dependency_reaches_the_system() {
    let dependencies = dependencies();
    assert!(dependencies.contains("bincode") && dependencies.contains("serde"), "not a tree: {dependencies:?}");
    let found: Vec<_> = BANNED_CRATES.iter().filter(|name| dependencies.contains(**name)).collect();
    assert!(found.is_empty(), "the dependencies of common have {found:?}");
}
