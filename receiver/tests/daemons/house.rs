//! Two machines in one house that know each other's keys and a wrong address: they find each other by mDNS, unless told not to.

use std::path::Path;
use std::process::Command;

use crate::support::{Daemon, Pair, sender};

/// Runs the script; returns what both programs have said, none where there are no namespaces.
fn call_in_a_house(house: bool) -> Option<[String; 2]> {
    let pair = Pair::new();
    for name in ["a.pem", "b.pem"] {
        let _ = pair.folder.identity(name);
    }
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemons/house.sh"));
    script.arg(sender().get_program()).arg(pair.folder.join(".")).arg(house.to_string());
    let ended = Daemon::start("house.sh", &mut script).wait();
    if ended.code == Some(77) {
        // Not a failure of the programs: containers without CAP_SYS_ADMIN have no namespaces.
        eprintln!("NOT TESTED: {}", ended.sentence());
        return None;
    }
    let said = ["a.log", "b.log"].map(|name| pair.folder.read(name));
    assert_eq!(ended.code, Some(0), "{}\n{said:?}", ended.stderr);
    Some(said)
}

const ANNOUNCES: &str = "the other machine announces itself in this house";

#[test]
fn two_machines_in_a_house_find_each_other_though_the_address_they_know_is_wrong() {
    let Some(said) = call_in_a_house(true) else { return };
    // Whichever hears the other first knocks, and the knock shows the way back.
    assert!(said.iter().any(|said| said.contains(ANNOUNCES)), "{said:?}");
    assert!(said.iter().all(|said| said.contains("connected to")), "{said:?}");
}

#[test]
fn who_is_told_not_to_look_in_the_house_does_not() {
    let Some(said) = call_in_a_house(false) else { return };
    assert!(said.iter().all(|said| !said.contains("house") && !said.contains("connected to")), "{said:?}");
}
