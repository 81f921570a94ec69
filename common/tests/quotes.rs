//! The sentences that `config/trouble.md` quotes are in the programs: people look for what they read.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

/// Fewest quotes that the page has; without them this test looks at nothing.
const QUOTES_MIN: usize = 60;

/// Appends the text of all programs below `folder` without tests.
fn collect(folder: &Path, text: &mut String) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["target", "tests", "examples", "benches", "fuzz", "faults"].contains(&name) {
            collect(&path, text);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let source = fs::read_to_string(&path).unwrap();
            text.push_str(source.split("#[cfg(test)]\nmod tests").next().unwrap());
        }
    }
}

/// Joins strings that go on in the next line, and puts one space for all.
fn plain(source: &str) -> String {
    let lines: Vec<_> = source.lines().map(str::trim_start).collect();
    let joined = lines.join("\n").replace("\\\n", "").replace("\\\"", "\"");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if `words` stand in the source, as they are or with a part that is put in.
fn is_said(source: &str, words: &str) -> bool {
    let put_in = |at: usize| {
        let (before, after) = (&words[..at], &words[at + 1..]);
        source.contains(after) && source.contains(&format!("{before} {{"))
            || source.contains(before) && source.contains(&format!("}} {after}"))
    };
    source.contains(words) || words.match_indices(' ').any(|(at, _)| put_in(at))
}

#[test]
fn what_is_put_in_may_stand_between() {
    let source = plain("say(format!(\"held up {ms} ms by {who} \\\n    now\")); [\"the line\", \"this computer\"]");
    for said in ["held up", "ms by", "ms by this computer", "the line"] {
        assert!(is_said(&source, said), "{said} in {source}");
    }
    for other in ["held down", "ms by that computer", "line computer"] {
        assert!(!is_said(&source, other), "{other} in {source}");
    }
}

#[test]
fn every_quoted_sentence_is_in_the_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut source = String::new();
    for folder in ["sender/src", "sender/calling/src", "sender/sending/src", "receiver", "common", "kernels/src"] {
        collect(&root.join(folder), &mut source);
    }
    let source = plain(&source);
    let page = fs::read_to_string(root.join("config/trouble.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let quotes: Vec<_> = page.split("**").skip(1).step_by(2).collect();
    assert!(quotes.len() >= QUOTES_MIN, "only {} quotes", quotes.len());
    let mut missing = Vec::new();
    for quote in quotes {
        let parts = quote.split(['…', ';', ':', ',', '(', ')']).map(str::trim);
        let of_words = parts.filter(|part| part.chars().filter(|c| c.is_alphanumeric()).count() > 1);
        missing.extend(of_words.filter(|part| !is_said(&source, part)).map(|part| format!("`{part}` of: {quote}")));
    }
    assert!(missing.is_empty(), "no program says\n{}", missing.join("\n"));
}
