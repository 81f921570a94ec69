//! Two machines on one cable: addresses that mean something on it only, and what is said where packets do not get through.

use std::path::Path;
use std::process::Command;

use crate::support::{Daemon, Folder, receiver, sender};

/// Returns the words of the left and the right machine; none where there are no network namespaces.
fn run(what: &str) -> Option<[String; 2]> {
    let folder = Folder::new();
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemons/cable.sh"));
    script.arg(what).arg(sender().get_program()).arg(receiver().get_program()).arg(folder.join(""));
    let ended = Daemon::start("cable.sh", &mut script).wait();
    if ended.code == Some(77) {
        // Not a failure of the daemons: containers without CAP_SYS_ADMIN have no namespaces.
        eprintln!("NOT TESTED: {}", ended.sentence());
        return None;
    }
    let said = ["left.log", "right.log"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
    eprintln!("left:\n{}\nright:\n{}", said[0], said[1]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    Some(said)
}

#[test]
fn machines_on_one_cable_connect_by_the_addresses_that_it_gives_itself() {
    for what in ["link-local", "call"] {
        let Some([left, right]) = run(what) else { return };
        assert!(left.contains("connected to ") && left.contains("[fe80::"), "{what}: {left}");
        assert!(right.contains("connected to ") && right.contains("[fe80::"), "{what}: {right}");
    }
}

#[test]
fn a_way_that_carries_too_little_is_told_as_such() {
    let Some([left, _]) = run("narrow") else { return };
    let words = "packets of 1200 bytes do not get through, since the way there carries 1200 bytes at most and a call needs 1228";
    assert!(left.contains(words), "{left}");
}

#[test]
fn a_machine_without_a_network_says_so_once() {
    let Some([left, _]) = run("alone") else { return };
    let lines = |words: &str| left.lines().filter(|line| line.contains(words)).count();
    assert_eq!((lines("this computer has no network"), lines("sendmsg"), lines("Os {")), (1, 0, 0), "{left}");
    assert!(left.lines().count() <= 8, "{left}");
}
