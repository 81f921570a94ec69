//! The files in `config/` are right, say what the defaults are, and leave no key out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::PathBuf;

use common::config::{parse_receiver, parse_sender, resolve_receiver, resolve_sender};
use picture::frame::FrameSize;

/// Keys that a section has in one program's file only.
const ONLY: [(&str, &str); 4] =
    [("rate_max", "sender"), ("fec", "sender"), ("controller", "sender"), ("pictures", "receiver")];

fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns `text` with the lines of unset keys (`#key = ..`, `#[[peer]]`) switched on.
fn with_unset_keys(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') && !key.is_empty() => key.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_sender_file_states_the_defaults() {
    let file = resolve_sender(&parse_sender(&read("config/sender.toml")).unwrap()).unwrap();
    let mut defaults = resolve_sender(&parse_sender("").unwrap()).unwrap();
    defaults.size = Some(FrameSize::new(1280, 720).unwrap());
    assert_eq!(file, defaults);
}

#[test]
fn the_receiver_file_states_the_defaults() {
    let file = resolve_receiver(&parse_receiver(&read("config/receiver.toml")).unwrap()).unwrap();
    assert_eq!(file, resolve_receiver(&parse_receiver("").unwrap()).unwrap());
}

/// A public key.
const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

#[test]
fn keys_that_are_unset_are_shown_with_right_values() {
    // All but one: an example of a key would let somebody in.
    let mut file = parse_sender(&with_unset_keys(&read("config/sender.toml"))).unwrap();
    let refusal = resolve_sender(&file).unwrap_err().to_string();
    assert!(refusal.contains("peer.public_key") && refusal.contains("`receiver identity` prints"), "{refusal}");
    file.peers[0].public_key = Some(KEY.to_owned());
    let sender = resolve_sender(&file).unwrap();
    assert_eq!(sender.shared.peers[0].name, "Clara");
    assert!(sender.shared.metrics.is_some_and(|address| address.ip().is_loopback()));

    let mut file = parse_receiver(&with_unset_keys(&read("config/receiver.toml"))).unwrap();
    let refusal = resolve_receiver(&file).unwrap_err().to_string();
    assert!(refusal.contains("peer.public_key") && refusal.contains("`sender identity`"), "{refusal}");
    file.peers[0].public_key = Some(KEY.to_owned());
    let receiver = resolve_receiver(&file).unwrap();
    assert_eq!(receiver.shared.peers[0].name, "Robert");
    assert!(receiver.shared.metrics.is_some_and(|address| address.ip().is_loopback()));
    assert_ne!(receiver.shared.metrics, sender.shared.metrics, "both daemons run on one machine");
}

/// Names of the public fields of every struct in the source of `common::config::raw`, by the struct's name.
fn fields_by_struct() -> Vec<(String, Vec<String>)> {
    let mut structs: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_skipped = false;
    for line in read("common/src/config/raw.rs").lines() {
        // Set by a program, not by a file.
        if std::mem::replace(&mut is_skipped, line.trim() == "#[serde(skip)]") {
            continue;
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            structs.push((rest.trim_end_matches(" {").to_owned(), Vec::new()));
        } else if let (Some(rest), Some((_, fields))) = (line.strip_prefix("    pub "), structs.last_mut()) {
            fields.push(rest.split(':').next().unwrap().to_owned());
        }
    }
    structs
}

/// Keys of `[section]` or `[[section]]` in a file with all keys switched on.
fn keys_of(text: &str, section: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| line.trim_matches(['[', ']']) != section || !line.starts_with('['));
    lines.next()?;
    let lines = lines.take_while(|line| !line.starts_with('['));
    Some(
        lines
            .filter_map(|line| line.split_once(" = ").filter(|_| !line.starts_with('#')))
            .map(|(key, _)| key.to_owned())
            .collect(),
    )
}

#[test]
fn every_key_is_listed() {
    let sender = with_unset_keys(&read("config/sender.toml"));
    let receiver = with_unset_keys(&read("config/receiver.toml"));
    let sections: Vec<_> = fields_by_struct().into_iter().filter(|(name, _)| !name.ends_with("File")).collect();
    assert!(sections.len() >= 8, "found only {sections:?}");
    for (name, fields) in sections {
        assert!(!fields.is_empty(), "no fields found in {name}");
        let section = name.trim_end_matches("Section").to_lowercase();
        let listed = [keys_of(&sender, &section), keys_of(&receiver, &section)];
        assert!(listed.iter().any(Option::is_some), "no file has the section [{section}]");
        for (keys, program) in listed.iter().zip(["sender", "receiver"]) {
            let Some(keys) = keys else { continue };
            for field in &fields {
                if ONLY.iter().all(|(key, only)| key != field || *only == program) {
                    assert!(keys.contains(field), "config/{program}.toml lacks `{field}` in [{section}]");
                }
            }
        }
    }
}
