//! Each attack against the daemons of this build: none costs more than its bar.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use faults::attack::ALL;
use faults::daemons::programs;

/// One test runs them one after the other: a small machine cannot be attacked in several ways at once.
#[test]
fn every_attack_is_held() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let programs = programs(None).unwrap();
    let mut failed = Vec::new();
    for attack in ALL {
        let mut outcome = attack.hold(&programs, &folder.join(attack.name));
        if !outcome.bars.0.is_empty() {
            // glibc once kept 1.7 times the memory of the states, of 1.4 in ten other runs: what is ours comes again.
            note_repetition(&format!("{}: {}", attack.name, outcome.bars.0.join(", ")));
            outcome = attack.hold(&programs, &folder.join(format!("{}-again", attack.name)));
        }
        if let Some(lacks) = outcome.lacks {
            eprintln!("NOT TESTED: {}: {lacks}", attack.name);
        }
        failed.extend(outcome.bars.0.iter().map(|fault| format!("{}: {fault}", attack.name)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Notes in the list that `make test` prints that an attack was repeated, and why.
fn note_repetition(why: &str) {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("repeated");
    let _ = OpenOptions::new().create(true).append(true).open(list).and_then(|mut list| writeln!(list, "{why}"));
}
