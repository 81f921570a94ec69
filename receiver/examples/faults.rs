//! Both daemons on a bad network: scenarios over a relay, measured where the pictures are shown.
//!
//! `faults [SCENARIO].. [--seconds N] [--seed N] [--control]` prints a table and fails if a picture did not hold. Both
//! daemons must have been built next to it.

#[path = "faults/cases.rs"]
mod cases;
#[path = "faults/daemons.rs"]
mod daemons;
#[path = "faults/flood.rs"]
mod flood;
#[path = "faults/measured.rs"]
mod measured;
#[path = "faults/relay.rs"]
mod relay;
#[path = "faults/run.rs"]
mod run;
#[path = "faults/table.rs"]
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;

use crate::daemons::Stream;
use crate::table::Row;

/// Runs both daemons through scenarios of a bad network and prints what the viewer would have seen.
#[derive(Debug, Parser)]
struct Arguments {
    /// Scenarios, such as T1 or T11b; T11 means T11a and T11b. All if none is named
    scenario: Vec<String>,
    /// Length of each scenario
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(10..))]
    seconds: u64,
    /// Decides the fate of every datagram
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The sender's source
    #[arg(long, default_value = "pattern:size=1280x720:fps=60")]
    source: String,
    /// Video bit rate
    #[arg(long, default_value = "20M")]
    rate: String,
    /// Back end of both daemons
    #[arg(long, default_value = "cpu")]
    backend: String,
    /// Runs each scenario with QUIC's usual congestion controller, too
    #[arg(long)]
    control: bool,
    /// Where the daemons' files go
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("faults: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let length = Duration::from_secs(arguments.seconds);
    let cases = cases::all(length, arguments.seed);
    let is_asked = |name: &str| {
        let parts = |asked: &String| name == asked || name.trim_end_matches(['a', 'b']) == asked;
        arguments.scenario.is_empty() || arguments.scenario.iter().any(parts)
    };
    if let Some(unknown) = arguments
        .scenario
        .iter()
        .find(|asked| !cases.iter().any(|case| case.name == *asked || case.name.trim_end_matches(['a', 'b']) == *asked))
    {
        let names: Vec<_> = cases.iter().map(|case| case.name).collect();
        bail!("there is no scenario `{unknown}`: there are {}", names.join(", "));
    }
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => std::env::temp_dir().join(format!("duet-faults-{}", std::process::id())),
    };
    println!("{}, {}, {} s each, seed {}\n", arguments.source, arguments.rate, arguments.seconds, arguments.seed);
    println!("{}", table::HEAD);
    let (mut clean, mut failed) = (None, Vec::new());
    for case in cases.iter().filter(|case| is_asked(case.name)) {
        let controllers: &[&str] = if arguments.control { &["duet", "cubic"] } else { &["duet"] };
        for controller in controllers {
            let stream = Stream {
                source: arguments.source.clone(),
                rate: arguments.rate.clone(),
                backend: arguments.backend.clone(),
                controller: (*controller).to_owned(),
            };
            let folder = out.join(format!("{}-{controller}", case.name));
            let (mut measured, passed) = run::run(case, &stream, &folder, length)?;
            measured.clean = clean;
            if case.name == "clean" && *controller == "duet" {
                clean = Some(measured.latency());
            }
            let mut faults = (case.check)(&measured);
            if !(case.fired)(&passed) {
                faults.push(format!("the fault has not happened: there {:?}, back {:?}", passed.there, passed.back));
            }
            if *controller == "duet" && !faults.is_empty() {
                failed.push(case.name);
            }
            println!("{}", Row { case, controller, seed: arguments.seed, measured: &measured, faults: &faults });
        }
    }
    println!("\nFiles of each run: {}", out.display());
    if !failed.is_empty() {
        bail!("the picture did not hold in {}", failed.join(", "));
    }
    Ok(())
}
