//! Each attack against the daemons of this build: none costs more than its bar.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::PathBuf;

use faults::attack::ALL;
use faults::daemons::programs;

/// One test runs them one after the other: a small machine cannot be attacked in several ways at once.
#[test]
fn every_attack_is_held() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let programs = programs(None).unwrap();
    let mut failed = Vec::new();
    for attack in ALL {
        let outcome = attack.hold(&programs, &folder.join(attack.name));
        if let Some(lacks) = outcome.lacks {
            eprintln!("NOT TESTED: {}: {lacks}", attack.name);
        }
        failed.extend(outcome.bars.0.iter().map(|fault| format!("{}: {fault}", attack.name)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
