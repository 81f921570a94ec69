//! A stranger at a mailbox server behind the limits of docker/meet: the rules of the unit, and the proxy of the containers.

use std::path::Path;
use std::process::Command;

/// Connections that one address has at once.
const AT_ONCE: u64 = 16;
/// Connections that it gets in the first moment, and a few of the next seconds.
const AT_FIRST: u64 = 36;
/// Bytes that are heard of it in some seconds: hundreds of times as many are without a limit.
const HEARD_MAX: u64 = 1_000_000;

fn takes_no_more_than_its_share(front: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemons/mailbox.sh");
    let output = Command::new(script).arg(front).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(77) {
        eprintln!("NOT TESTED: {errors}");
        return;
    }
    assert!(output.status.success(), "{said}{errors}");
    let number = |name: &str| -> u64 {
        let line =
            said.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {said}"));
        line.trim().parse().unwrap()
    };
    assert_eq!(number("at once"), AT_ONCE, "{said}");
    assert!(said.contains("another gets in"), "{said}");
    assert!(number("heard") < HEARD_MAX, "{said}");
    // Those that were refused count, too.
    assert!(number("more") + AT_ONCE <= AT_FIRST, "{said}");
}

#[test]
fn a_stranger_takes_its_share_of_a_mailbox_behind_the_rules() {
    takes_no_more_than_its_share("nft");
}

#[test]
fn a_stranger_takes_its_share_of_a_mailbox_behind_the_proxy() {
    takes_no_more_than_its_share("proxy");
}
