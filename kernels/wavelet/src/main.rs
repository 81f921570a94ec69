//! The `wavelet` command: Duet's transform and block coder on files, and their measurements.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use fault::{Damaged, is_of_device};
use io::Kind;
use progress::say;

mod args;
mod batch;
mod bench;
mod clip;
mod decode;
mod devices;
mod effects;
mod export;
mod fault;
mod io;
mod jpeg2000;
mod lossy;
mod mesh;
mod options;
mod pcwt;
mod progress;
mod side_file;
mod square;
mod stream;
mod subbands;
#[cfg(feature = "opencl")]
mod tune;

/// A damaged file, of which the rest is decoded.
const EXIT_DAMAGED: u8 = 1;
/// Usage, files, configuration.
const EXIT_USAGE: u8 = 2;
/// The device.
const EXIT_DEVICE: u8 = 3;

fn main() -> ExitCode {
    if let Some(folder) = manual::asked() {
        let Err(error) = manual::write(Cli::command(), &folder) else { return ExitCode::SUCCESS };
        say(error);
        return ExitCode::from(EXIT_USAGE);
    }
    let Cli { command, no_tune } = Cli::parse();
    if !no_tune {
        kernels::tune::use_tuned_settings();
    }
    kernels::on_hang(|sentence| {
        say(sentence);
        std::process::exit(EXIT_DEVICE.into());
    });
    match run(command) {
        Ok(report) => {
            // Nobody may be reading, which is no failure of ours.
            let _ = std::io::stdout().write_all(report.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" "));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Runs a command; what it returns goes to standard output.
fn run(command: Command) -> Result<String> {
    match command {
        Command::Devices { json } => devices::list(json),
        Command::Forward { input, output, transform, compute } => {
            square::forward(&input, &output, &transform, &compute)
        }
        Command::Inverse { input, output, transform, compute } => {
            square::inverse(&input, &output, &transform, &compute)
        }
        Command::Encode { inputs, output, coding, transform, compute } => {
            batch::encode(&inputs, &output, &coding, &transform, &compute)
        }
        Command::Decode { input, output, drop_levels, fill_pauses, colours, compute } => {
            if Kind::of(&input, &jpeg2000::KINDS).is_ok() {
                ensure!(!fill_pauses, "--fill-pauses goes with .duet files only: leave it out");
                return jpeg2000::decode(&input, &output, drop_levels, colours, &compute);
            }
            ensure!(colours.is_none(), "--colours goes with .j2k, .jp2, .j2c and .jph files only: leave it out");
            decode::decode(&input, &output, drop_levels, fill_pauses, &compute)
        }
        Command::Export { inputs, output, fill_pauses, compute } => {
            export::export(&inputs, &output, fill_pauses, &compute)
        }
        Command::Info { input } => decode::info(&input),
        Command::Effects { input, output, effects } => effects::effects(&input, &output, &effects),
        Command::Subbands { input, output, subbands, transform, compute } => {
            subbands::subbands(&input, &output, &subbands, &transform, &compute)
        }
        Command::Bench { kind, bench, transform, compute } => bench::run(kind, &bench, &transform, &compute),
        #[cfg(feature = "opencl")]
        Command::Tune { device, sizes } => tune::run(device.as_deref(), &sizes),
        #[cfg(not(feature = "opencl"))]
        Command::Tune { .. } => Err(kernels::OpenError::BuiltWithoutOpenCl.into()),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Damaged>() {
        return EXIT_DAMAGED;
    }
    if is_of_device(error) { EXIT_DEVICE } else { EXIT_USAGE }
}
