//! No two files import each other, however many lie between them. A module and those below it count as one another's own: what
//! they share stands in the upper one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Module = Vec<String>;

/// Returns the files below a `src` with their modules.
fn modules(src: &Path) -> BTreeMap<Module, PathBuf> {
    let (mut found, mut open) = (BTreeMap::new(), vec![src.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = path.strip_prefix(src).unwrap().with_extension("");
                let names = module.iter().map(|name| name.to_string_lossy().into_owned());
                found.insert(names.filter(|name| !["lib", "main", "mod"].contains(&name.as_str())).collect(), path);
            }
        }
    }
    found
}

/// Returns the paths of a `use`, braces expanded.
fn paths(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else { return vec![text.trim().to_owned()] };
    let (mut depth, mut all, mut part) = (0, Vec::new(), String::new());
    for c in rest[..rest.rfind('}').unwrap()].chars().chain([',']) {
        match c {
            ',' if depth == 0 => {
                all.extend(paths(&std::mem::take(&mut part)).iter().map(|it| format!("{}{it}", before.trim())))
            }
            _ => part.push(c),
        }
        depth += i32::from(c == '{') - i32::from(c == '}');
    }
    all
}

/// Returns the modules that a file imports from, tests left out.
fn imports(own: &Module, text: &str, known: &BTreeMap<Module, PathBuf>) -> BTreeSet<Module> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().replace("#[cfg(test)]\nuse ", "");
    let mut found = BTreeSet::new();
    for (at, word) in text.match_indices("use ") {
        let before = text[..at].rsplit('\n').next().unwrap();
        if !before.is_empty() && !before.starts_with("pub") {
            continue;
        }
        for path in paths(text[at + word.len()..].split(';').next().unwrap()) {
            let names: Vec<_> = path.split("::").map(str::to_owned).collect();
            let up = names.iter().take_while(|name| *name == "super").count();
            let (base, rest) = match names[0].as_str() {
                "crate" => (&own[..0], &names[1..]),
                "self" => (&own[..], &names[1..]),
                // One of its own modules, or another crate.
                _ => (&own[..own.len().saturating_sub(up)], &names[up..]),
            };
            let mut module = [base, rest].concat();
            while !known.contains_key(&module) {
                module.pop();
            }
            if !own.starts_with(&module) && !module.starts_with(own) {
                found.insert(module);
            }
        }
    }
    found
}

#[test]
fn paths_are_expanded() {
    assert_eq!(
        paths("crate::a::{self, b::{C, D}, e}"),
        ["crate::a::self", "crate::a::b::C", "crate::a::b::D", "crate::a::e"]
    );
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let packages = [
        "common",
        "common/picture",
        "common/laboratory/faults",
        "common/laboratory/film",
        "common/net",
        "common/shell",
        "kernels",
        "kernels/device",
        "kernels/lab",
        "kernels/wavelet",
        "receiver",
        "receiver/showing",
        "sender",
        "sender/sending",
    ];
    let (mut circles, mut found) = (Vec::new(), 0);
    for package in packages {
        let known = modules(&root.join(package).join("src"));
        assert!(known.len() > 2, "{package}: only {} files found", known.len());
        let arrows: BTreeMap<_, _> = known
            .iter()
            .map(|(module, path)| (module, imports(module, &fs::read_to_string(path).unwrap(), &known)))
            .collect();
        found += arrows.values().map(BTreeSet::len).sum::<usize>();
        for start in known.keys() {
            let (mut seen, mut open) = (BTreeSet::new(), arrows[start].iter().collect::<Vec<_>>());
            while let Some(module) = open.pop() {
                if seen.insert(module) {
                    open.extend(&arrows[module]);
                }
            }
            if seen.contains(start) {
                let through: Vec<_> = seen.iter().map(|module| module.join("::")).collect();
                circles.push(format!("{package}: {} reaches itself through {}", start.join("::"), through.join(", ")));
            }
        }
    }
    assert!(found > 300, "only {found} imports are found");
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}
