//! `config/duet.toml` and the list of keys in `config/README.md` are those of the table; files of before are read.
//!
//! `WRITE=1 cargo test -p duet-common --test config_files` writes both anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use common::config::table::{Program, SECTIONS};
use common::config::{parse_receiver, parse_sender, read, resolve_receiver, resolve_sender};

fn path(of: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(of)
}

fn text_of(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Fails unless the file has this text, which it then gets if that is asked for.
#[track_caller]
fn check_file(file: &str, wanted: &str) {
    if std::env::var_os("WRITE").is_some() {
        fs::write(path(file), wanted).unwrap();
    }
    let found = text_of(file);
    let differs = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    assert!(found == wanted, "{file} is not that of the table, from line {differs:?} on: WRITE=1 writes it anew");
}

const HEAD: &str = "\
# Duet. The sender and the receiver both read this file. Every key is here with its default; lines that begin with \"#key\" show keys
# that are unset by default. Flags win over this file. `sender check` and `receiver check` tell whether it is right.
#
# What only one of the two programs shall have stands in sections of its own, such as [sender.network] or [receiver.stats], and wins
# there over what both have. A call in both directions is the sender's.
";

fn listing() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        let off = if section.name == "peer" { "#" } else { "" };
        text.push('\n');
        section.about.iter().for_each(|line| writeln!(text, "#{line}").unwrap());
        writeln!(text, "{off}{}", section.header()).unwrap();
        for key in section.keys {
            key.why.iter().for_each(|line| writeln!(text, "#{line}").unwrap());
            writeln!(text, "{}{} = {}", if key.has_default { "" } else { "#" }, key.name, key.shown).unwrap();
        }
    }
    text
}

#[test]
fn the_file_lists_the_table() {
    check_file("config/duet.toml", &listing());
}

const LIST: [&str; 2] = ["<!-- keys: made from the table -->\n", "<!-- end of keys -->\n"];

#[test]
fn the_readme_lists_the_musicians_keys() {
    let text = text_of("config/README.md");
    let (head, rest) = text.split_once(LIST[0]).unwrap();
    let (_, tail) = rest.split_once(LIST[1]).unwrap();
    let mut list = "\n| key | default | program | |\n|---|---|---|---|\n".to_owned();
    for section in SECTIONS.into_iter().filter(|section| section.name != "expert") {
        for key in section.keys {
            let default = if key.has_default { format!("`{}`", key.shown) } else { String::new() };
            let program = if key.program == Program::Both { "both" } else { "sender" };
            let (why, header) = (key.why[0].trim(), section.header());
            writeln!(list, "| `{header}` `{}` | {default} | {program} | {} |", key.name, why.replace('|', "\\|"))
                .unwrap();
        }
    }
    list.push('\n');
    check_file("config/README.md", &[head, LIST[0], &list, LIST[1], tail].concat());
}

#[test]
fn each_key_says_what_it_is() {
    for (section, key) in SECTIONS.iter().flat_map(|section| section.keys.iter().map(move |key| (section, key))) {
        assert!(key.why[0].len() > 20 && key.why.iter().all(|line| line.starts_with(' ')), "{}", key.name);
        assert!(key.why.iter().all(|line| line.ends_with(['.', ')'])), "{} ends in the middle of a sentence", key.name);
        let was = key.was.rsplit_once('.').map_or(key.name, |(_, was)| was);
        let is_other = [("window", "backend"), ("identity", "file")].contains(&(key.name, was));
        assert!(was == key.name || is_other, "{} was not {was}", key.name);
        assert!(key.program != Program::Receiver || section.name == "expert", "{} would be in the list", key.name);
    }
    // [publish] is for whoever has an audience; nobody else meets it.
    let sections = SECTIONS.iter().filter(|section| !["expert", "publish"].contains(&section.name));
    let keys = sections.flat_map(|section| section.keys.iter().map(move |key| (section.name, key.name)));
    // The programs write these: an introduction and calls, and the desktop program what its first page asks for.
    let written = [("peer", "addresses"), ("peer", "found"), ("peer", "port"), ("network", "name")];
    let musicians = keys.filter(|key| !written.contains(key)).count();
    assert!(musicians <= 33, "{musicians} keys for musicians");
}

#[test]
fn the_file_states_the_defaults() {
    for text in [listing(), listing().replace('\n', "\r\n")] {
        assert_eq!(read(&text, Program::Both), read("", Program::Both));
    }
}

/// A public key.
const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

/// Returns `text` with the lines of unset keys (`#key = ..`, `#[[peer]]`) switched on.
fn with_unset_keys(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') && !key.is_empty() => key.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn keys_that_are_unset_are_shown_with_right_values() {
    let text = with_unset_keys(&text_of("config/duet.toml"));
    // All but one: an example of a key would let somebody in.
    let refusal = resolve_sender(&parse_sender(&text).unwrap()).unwrap_err().to_string();
    assert!(refusal.contains("peer.public_key") && refusal.contains("identity` prints"), "{refusal}");
    let text = text.replace("\"the line\"", &format!("\"{KEY}\""));
    let sender = resolve_sender(&parse_sender(&text).unwrap()).unwrap();
    assert_eq!(sender.shared.peers[0].name, "Clara");
    assert!(sender.shared.metrics.is_some_and(|address| address.ip().is_loopback()));
    assert_eq!(sender.shared.mode, resolve_receiver(&parse_receiver(&text).unwrap()).unwrap().shared.mode);
}

/// The files that came with the programs before there was one for both.
#[test]
fn files_of_before_are_read_as_they_were_and_it_is_said_what_to_write_now() {
    for (name, program, moved) in [("sender", Program::Sender, 21), ("receiver", Program::Receiver, 13)] {
        let text = text_of(&format!("common/tests/config_files/{name}.toml"));
        let (mut file, told) = read(&text, program).unwrap();
        assert_eq!(told.len(), moved, "{told:#?}");
        file.video.size = None;
        let unset = read("", program).unwrap().0;
        match program {
            Program::Receiver => assert_eq!(resolve_receiver(&file), resolve_receiver(&unset)),
            _ => assert_eq!(resolve_sender(&file), resolve_sender(&unset)),
        }
        let text = with_unset_keys(&text).replace("\"the line\"", &format!("\"{KEY}\""));
        let (file, told) = read(&text, program).unwrap();
        assert!(
            told.iter().any(|told| told.starts_with("`dscp` (line ") && told.ends_with(" is in [expert] now")),
            "{told:#?}"
        );
        let (sender, receiver) = (resolve_sender(&file).unwrap(), resolve_receiver(&file).unwrap());
        assert_eq!((sender.shared.dscp, receiver.latency_max), (Some(34), Some(Duration::from_millis(25))));
        assert!(sender.shared.metrics.is_some() && sender.shared.peers.len() == 1);
    }
}
