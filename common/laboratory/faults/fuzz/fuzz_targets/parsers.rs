//! The parser that the environment variable `PARSER` names.

#![no_main]
#![allow(dead_code, reason = "shared with the example, which does more with it")]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../examples/fuzz_parsers/parsers.rs"]
mod parsers;

static PARSER: LazyLock<&parsers::Parser> = LazyLock::new(|| {
    let name = std::env::var("PARSER").expect("PARSER names a parser");
    parsers::ALL.iter().find(|parser| parser.name == name).expect("PARSER names a parser")
});

fuzz_target!(|input: &[u8]| (PARSER.read)(input));
