//! Feeds inputs that were changed at random to everything that reads bytes or text from outside, and stops at the first
//! on which one of them panics. Runs with the toolchain of the project.
//!
//! ```text
//! fuzz_parsers [SECONDS [SEED]]     all parsers in turn, for so long altogether
//! fuzz_parsers seeds                writes the inputs that are made by this version's encoders to the corpus anew
//! ```

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use changes::{Random, changed};

mod changes;
mod corpus;
mod parsers;
mod seeds;

/// Inputs of one parser before it is the next one's turn.
const ROUND: u64 = 10_000;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == "seeds").is_some() {
        return seeds::write();
    }
    let mut numbers = arguments.map(|text| text.parse::<u64>());
    let seconds = numbers.next().transpose()?.unwrap_or(600);
    let seed = numbers.next().transpose()?.unwrap_or(1);
    let mut random = Random(seed);
    let mut parsers = parsers::ALL
        .iter()
        .map(|parser| {
            let inputs = corpus::inputs(parser.name).with_context(|| format!("the corpus of {}", parser.name))?;
            Ok((parser, inputs, Duration::ZERO, Duration::ZERO))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (start, mut rounds) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        for (parser, inputs, all, slowest) in &mut parsers {
            let began = Instant::now();
            for _ in 0..ROUND {
                let input = changed(inputs, parser.is_text, &mut random);
                let began = Instant::now();
                if catch_unwind(AssertUnwindSafe(|| (parser.read)(&input))).is_err() {
                    bail!("{} panics (seed {seed}) on the bytes {}", parser.name, hex(&input));
                }
                let took = began.elapsed();
                if took > *slowest {
                    // The machine may have been busy with something else.
                    let again = Instant::now();
                    (parser.read)(&input);
                    *slowest = took.min(again.elapsed()).max(*slowest);
                }
            }
            *all += began.elapsed();
        }
        rounds += 1;
    }
    println!("| parser | inputs | a second | slowest, ms |\n|---|---|---|---|");
    for (parser, _, all, slowest) in &parsers {
        let inputs = rounds * ROUND;
        let rate = inputs as f64 / all.as_secs_f64().max(1e-9);
        println!("| {} | {inputs} | {rate:.0} | {:.2} |", parser.name, slowest.as_secs_f64() * 1e3);
    }
    println!(
        "seed {seed}: {} inputs, no panic; largest resident memory {}",
        rounds * ROUND * parsers.len() as u64,
        peak()
    );
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the most memory that this process has had, as the system tells it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
