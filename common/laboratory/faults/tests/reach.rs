//! Two homes behind routers meet and call each other, with the programs of this build: the short form of `make reach`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn two_homes_behind_routers_call_each_other() {
    reach(&["port-port", "symmetric-symmetric", "upnp-symmetric"]);
}

#[test]
fn routers_open_ports_when_asked_by_nat_pmp_or_pcp_and_homes_with_ipv6_alone_meet() {
    reach(&["nat-pmp-symmetric", "pcp-port", "ipv6-ipv6"]);
}

#[test]
fn hostile_servers_and_routers_cost_a_call_nothing_that_has_another_way() {
    reach(&["stun", "names", "password", "quota", "mapping"]);
}

#[test]
fn a_line_is_tested_by_name_over_the_way_of_a_call() {
    reach(&["test:port-port"]);
}

#[test]
fn running_calls_take_other_ways() {
    reach(&["opens", "blocked", "address"]);
}

#[test]
fn by_the_dht_two_homes_meet_without_an_answer_and_again_when_both_addresses_have_changed() {
    reach(&["dht"]);
}

/// Runs the script with these arguments.
fn reach(arguments: &[&str]) {
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_faults")).parent().unwrap().to_owned();
    for program in ["sender", "receiver", "examples/stun", "examples/nodes"] {
        let path = programs.join(program);
        assert!(
            path.exists(),
            "{} is not built: cargo build --workspace --bins --example stun --example nodes",
            path.display()
        );
    }
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("reach"));
    // On a busy machine nothing is measured.
    script
        .arg(programs)
        .args(arguments)
        .env("PATIENCE", "60")
        .env("LATE", "1")
        .env("ROLES", "waits")
        .env("GAP", "60000")
        .env("BACK", "60000")
        .env("DHT_STATES", "works")
        .env("CHANGES", "1")
        .env("AGAIN", "60");
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{}{said}", String::from_utf8_lossy(&output.stdout));
    if output.status.code() == Some(77) {
        // Not a failure of the programs: containers without CAP_SYS_ADMIN have no namespaces.
        return eprintln!("NOT TESTED: {said}");
    }
    assert!(output.status.success(), "{said}");
}
