//! The sender daemon.

#![forbid(unsafe_code)]

mod cli;
mod devices;
mod latency;
mod linktest;
mod run;
mod sound_test;

use std::process::ExitCode;

use calling::{Band, Call};
use common::config::SenderConfig;
use net::failure::Failure;
use sending::source::SourceSpec;
use shell::cli::Command;
use shell::commands;
use shell::exit::report;
use shell::signals;
use showing::Resolved as Receiving;

use crate::cli::{Cli, Resolved, Task, resolve};
use crate::sound_test::SoundTest;

fn main() -> ExitCode {
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("sender", parsed.and_then(|cli| dispatch(&cli)))
}

/// Calls until both directions have ended.
fn call(
    config: &SenderConfig,
    source: &SourceSpec,
    receiving: &Receiving,
    frames_max: Option<u64>,
) -> Result<(), Failure> {
    Call::open(config, source, &receiving.config, frames_max)?.run(&receiving.sinks)
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    if let Some(Task::SoundTest { card, period, seconds, tied }) = &cli.command {
        let test = SoundTest { card: card.clone(), frames: *period, seconds: *seconds, is_tied: *tied };
        return sound_test::run(&test);
    }
    if let Some(Task::Common(command)) = &cli.command {
        commands::hide(command)?;
    }
    let Resolved { config, source, receiving, others } = resolve(cli)?;
    let command = match cli.command.clone() {
        Some(Task::Common(command)) => command,
        Some(Task::Call { .. } | Task::SoundTest { .. }) | None => Command::Run,
    };
    match command {
        Command::Run => {
            shell::log::init();
            shell::hang::watch("sender", &config.shared);
            if let Some(target) = &cli.link_test {
                return linktest::run(&config, &source, target);
            }
            signals::serve();
            match receiving {
                Some(receiving) if cli.latency_test => latency::run(&config, &source, &receiving),
                Some(receiving) if !others.is_empty() => {
                    Band::open(&config, &source, &receiving, &others, cli.common.frames)?.run()
                }
                Some(receiving) => call(&config, &source, &receiving, cli.common.frames),
                None => run::run(&config, &source, cli.common.frames),
            }
        }
        Command::Devices { json } => {
            devices::print_devices(&config, json);
            Ok(())
        }
        Command::Doctor { json } => {
            if let Some(receiving) = receiving.as_ref().filter(|_| config.shared.share_port) {
                showing::check::files(&receiving.config, &receiving.sinks)?;
            }
            devices::examine(&config, &source, receiving.as_ref(), json)
        }
        Command::Check => {
            devices::configured(&config, &source)?;
            if let Some(receiving) = receiving {
                showing::check::files(&receiving.config, &receiving.sinks)?;
            }
            println!("the configuration is right");
            Ok(())
        }
        command => commands::run(&command, "sender", &cli.common, &config.shared),
    }
}
