//! The kept inputs of everything that reads bytes or text from outside, and some thousand changes of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(dead_code, reason = "shared with the example, which does more with it")]

#[path = "../examples/fuzz_parsers/changes.rs"]
mod changes;
#[path = "../examples/fuzz_parsers/corpus.rs"]
mod corpus;
#[path = "../examples/fuzz_parsers/parsers.rs"]
mod parsers;

use std::collections::BTreeSet;

use changes::{Random, changed};

const CHANGES: usize = 4_000;

#[test]
fn no_input_makes_a_parser_panic() {
    let mut random = Random(1);
    for parser in parsers::ALL {
        let inputs = corpus::inputs(parser.name).unwrap();
        let changes = (0..CHANGES).map(|_| changed(&inputs, parser.is_text, &mut random));
        for input in inputs.iter().cloned().chain(changes) {
            let read = std::panic::catch_unwind(|| (parser.read)(&input));
            assert!(read.is_ok(), "{} panics on {input:02x?}", parser.name);
        }
    }
}

#[test]
fn every_parser_has_inputs_and_every_input_a_parser() {
    let folders = std::fs::read_dir(corpus::folder("")).unwrap();
    let folders: BTreeSet<_> = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let parsers: BTreeSet<_> = parsers::ALL.iter().map(|parser| parser.name.to_owned()).collect();
    assert_eq!(folders, parsers);
    assert!(parsers.iter().all(|name| !corpus::inputs(name).unwrap().is_empty()));
}
