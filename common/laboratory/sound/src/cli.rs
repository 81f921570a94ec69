//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::beside::{self, BesideOptions};
use crate::drift::{self, DriftOptions};
use crate::incidents::{self, IncidentOptions};
use crate::probe::{self, ProbeOptions};
use crate::rivals::{self, TableOptions};
use crate::step::{self, StepOptions};

/// Measures sound between two ends: Duet's beside that of other programs, over the same lines.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Measurement,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    /// Prints the table of programs on lines
    Table(TableOptions),
    /// Prints JackTrip's sound alone and beside Duet's picture on one line
    Beside(BesideOptions),
    /// Prints how far apart a call's sound and picture are, and what the receiver says of it
    Step(StepOptions),
    /// Prints sound between two cards whose clocks differ
    Drift(DriftOptions),
    /// Prints how long after a stall or the end of a server sound is back
    Incidents(IncidentOptions),
    /// Sends a sound to JACK ports and finds it at others
    #[command(hide = true)]
    Probe(ProbeOptions),
}

/// Runs what the command line asks for.
pub fn main() -> ExitCode {
    let run = match Arguments::parse().command {
        Measurement::Table(options) => rivals::run(&options),
        Measurement::Beside(options) => beside::run(&options),
        Measurement::Step(options) => step::run(&options),
        Measurement::Drift(options) => drift::run(&options),
        Measurement::Incidents(options) => incidents::run(&options),
        Measurement::Probe(options) => probe::run(&options),
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rival-sound: {error:#}");
            ExitCode::FAILURE
        }
    }
}
