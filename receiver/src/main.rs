//! The receiver daemon.

#![forbid(unsafe_code)]

mod bounce;
mod cli;
mod doctor;
mod run;
mod sound;

use std::process::ExitCode;

use net::failure::Failure;
use shell::cli::Command;
use shell::commands;
use shell::exit::report;
use shell::signals;
use showing::Resolved;

use crate::cli::Cli;

const ONE_PORT: &str = "share_port in [network] means that this machine sends and receives over one connection: \
                        use `sender call`, or set it to false; for this program alone, in [receiver.network]";

fn main() -> ExitCode {
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("receiver", parsed.and_then(|cli| dispatch(&cli)))
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    if let Some(command) = &cli.command {
        commands::hide(command)?;
    }
    let introduces = cli.command.as_ref().is_some_and(Command::introduces);
    let resolved = Resolved::read(&cli.common, &cli.sink, introduces)?;
    match cli.command.clone().unwrap_or_default() {
        Command::Run => {
            shell::log::init();
            signals::serve();
            shell::hang::watch("receiver", &resolved.config.shared);
            if resolved.config.shared.share_port {
                return Err(Failure::usage(ONE_PORT));
            }
            if cli.bounce {
                return bounce::run(&resolved.config, &resolved.sinks).map(drop);
            }
            run::run(&resolved.config, &resolved.sinks, cli.common.frames).map(drop)
        }
        Command::Devices { json } => {
            doctor::print_devices(json);
            Ok(())
        }
        Command::Doctor { .. } if resolved.config.shared.share_port => Err(Failure::usage(ONE_PORT)),
        Command::Doctor { json } => doctor::examine(&resolved.config, &resolved.sinks, json),
        Command::Check if resolved.config.shared.share_port => Err(Failure::usage(ONE_PORT)),
        Command::Check => {
            doctor::configured(&resolved.config, &resolved.sinks)?;
            println!("the configuration is right");
            Ok(())
        }
        command => commands::run(&command, "receiver", &cli.common, &resolved.config.shared),
    }
}
