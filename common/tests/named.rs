//! A public item of the codec is one that somebody outside of it names: another package, a test, an example or the README.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod"];

/// Returns the Rust files below a folder, without those that are built.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the words of a text, comments left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

/// Returns the name that a line declares for everybody.
fn declared(line: &str) -> Option<&str> {
    let mut rest = words(line.trim_start().strip_prefix("pub ")?).skip_while(|word| !KINDS.contains(word));
    rest.next()?;
    rest.find(|word| !["fn", "unsafe", ""].contains(word))
}

#[test]
fn declarations_are_recognised() {
    assert_eq!(declared("    pub const fn of(wavelet: Wavelet) -> Self {"), Some("of"));
    assert_eq!(declared("pub static START: [u16; 4] = starts();"), Some("START"));
    assert_eq!(declared("pub(crate) struct Hidden;"), None);
    assert_eq!(declared("pub use crate::lifting::CDF53;"), None);
}

#[test]
fn a_public_item_of_the_codec_is_named_by_somebody_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let own = root.join("kernels/src");
    let (inside, outside): (Vec<_>, Vec<_>) = sources(&root).into_iter().partition(|path| path.starts_with(&own));
    let readme = fs::read_to_string(root.join("kernels/README.md")).unwrap();
    let outside: Vec<_> = outside.iter().map(|path| fs::read_to_string(path).unwrap()).chain([readme]).collect();
    let named: BTreeSet<&str> = outside.iter().flat_map(|text| words(text)).collect();
    let inside: Vec<_> = inside.iter().map(|path| (path, fs::read_to_string(path).unwrap())).collect();
    let lines = || {
        let code = inside.iter().filter(|(path, _)| !path.to_string_lossy().ends_with("tests.rs"));
        code.flat_map(|(path, text)| text.split("mod tests {").next().unwrap().lines().map(move |line| (path, line)))
    };
    // A type is also public because it stands in what is.
    let mut said: Vec<(&str, &str)> = Vec::new();
    for (_, line) in lines().filter(|(_, line)| ["pub ", "type "].iter().any(|word| line.trim().starts_with(word))) {
        if !line.trim().starts_with("pub use") {
            said.extend(words(line).map(|word| (word, line)));
        }
    }
    let mut unnamed = BTreeSet::new();
    let mut count = 0;
    for (path, line) in lines() {
        let Some(name) = declared(line) else { continue };
        count += 1;
        if !named.contains(name) && !said.iter().any(|(word, by)| *word == name && *by != line) {
            unnamed.insert(format!("{}: {name}", path.strip_prefix(&root).unwrap().display()));
        }
    }
    assert!(count > 100, "only {count} items found");
    let unnamed: Vec<_> = unnamed.into_iter().collect();
    assert!(unnamed.is_empty(), "make these `pub(crate)`, nobody else names them:\n{}", unnamed.join("\n"));
}
