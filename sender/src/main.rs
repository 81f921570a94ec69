//! The sender daemon.

use std::process::ExitCode;

use sender::cli::{Cli, resolve};
use sender::devices;
use shell::cli::Command;
use shell::exit::{Failure, report};

fn main() -> ExitCode {
    report("sender", shell::cli::parse::<Cli>().and_then(|cli| dispatch(&cli)))
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    let (config, spec) = resolve(cli)?;
    match cli.command.unwrap_or_default() {
        Command::Run => {
            shell::log::init();
            sender::run(&config, &spec, cli.common.frames)
        }
        Command::Identity => shell::cli::print_identity(&config.shared),
        Command::Devices { json } => {
            devices::print_devices(json);
            Ok(())
        }
        Command::Doctor { json } => devices::examine(&config, &spec, json),
        Command::Check => {
            println!("the configuration is right");
            Ok(())
        }
    }
}
