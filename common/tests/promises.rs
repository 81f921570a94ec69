//! Every promise of SECURITY.md names a test or an attack that is there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Fewest promises that the page has; without them this test looks at nothing.
const PROMISES_MIN: usize = 20;

/// Adds the names of all functions that follow `#[test]` below `folder`, and those of all attacks.
fn collect(folder: &Path, known: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, known);
        } else if name.ends_with(".rs") {
            let source = fs::read_to_string(&path).unwrap();
            known.extend(source.split("#[test]").skip(1).filter_map(function).map(str::to_owned));
            if path.ends_with("attack/mod.rs") {
                known.extend(source.split("    attack(").skip(1).filter_map(|row| attack(row.split('"').nth(1)?)));
            }
        }
    }
}

/// Returns the name of the first function of a source.
fn function(source: &str) -> Option<&str> {
    source.split("fn ").nth(1)?.split('(').next()
}

/// Returns the words by which the page names an attack.
fn attack(name: &str) -> Option<String> {
    Some(format!("attack `{name}`"))
}

/// Returns those of the names in `text` that may be tests or attacks: `a_function`, attack `name`.
fn named(text: &str) -> Vec<String> {
    let mut parts = text.split('`');
    let mut before = parts.next().unwrap_or_default();
    let mut names = Vec::new();
    while let (Some(name), Some(after)) = (parts.next(), parts.next()) {
        if before.ends_with("attack ") {
            names.extend(attack(name));
        } else if name.contains('_') && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            names.push(name.to_owned());
        }
        before = after;
    }
    names
}

#[test]
fn names_of_tests_and_attacks_are_found_in_prose() {
    let text = "Nothing is believed: `no_byte_is`, attack `many-bytes`; `make test`, `[expert] house = false`, `x`.";
    assert_eq!(named(text), ["no_byte_is", "attack `many-bytes`"]);
}

#[test]
fn each_promise_names_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = BTreeSet::new();
    for folder in ["common", "sender", "receiver", "kernels"] {
        collect(&root.join(folder), &mut known);
    }
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let promised = page.split("## What is promised").nth(1).unwrap().split("\n## ").next().unwrap();
    let promises: Vec<_> = promised.split("\n- ").skip(1).collect();
    assert!(promises.len() >= PROMISES_MIN, "only {} promises", promises.len());
    for promise in promises {
        let promise = promise.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_elsewhere =
            ["`.ci/", "`make deny`", "is C; no such picture"].iter().any(|place| promise.contains(place));
        let names = named(&promise);
        assert!(!names.is_empty() || is_elsewhere, "nothing holds: {promise}");
        let missing: Vec<_> = names.iter().filter(|name| !known.contains(*name)).collect();
        assert!(missing.is_empty(), "there is no {missing:?}, of: {promise}");
    }
}
