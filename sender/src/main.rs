//! The sender daemon.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use common::config::SenderConfig;
use receiver::cli::Resolved;
use sender::cli::{Cli, resolve};
use sender::devices;
use shell::cli::Command;
use shell::exit::{Failure, report};
use shell::reach::{self, PeersFile};
use shell::signals;

const ONE_PORT: &str = "share_port in [network] means that this machine sends and receives over one connection: \
                        start `sender --also-receive FILE` with the receiver's configuration, or set it to false";

fn main() -> ExitCode {
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("sender", parsed.and_then(|cli| dispatch(&cli)))
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    let (config, spec) = resolve(cli)?;
    match cli.command.clone().unwrap_or_default() {
        Command::Run => {
            shell::log::init();
            shell::hang::watch("sender", &config.shared);
            if let Some(target) = &cli.link_test {
                return sender::linktest::run(&config, &spec, target);
            }
            signals::serve();
            match receiving(cli, &config)? {
                Some(receiving) => sender::both::run(&config, &spec, &receiving, cli.common.frames),
                None => sender::run(&config, &spec, cli.common.frames),
            }
        }
        Command::Identity => shell::cli::print_identity(&config.shared),
        Command::Invite { name } => {
            shell::log::init();
            let shared = &config.shared;
            reach::invite(shared, &PeersFile::of(&cli.common, shared)?, name.as_deref())
        }
        Command::Join { ticket, name } => {
            shell::log::init();
            let shared = &config.shared;
            reach::join(shared, &PeersFile::of(&cli.common, shared)?, &ticket, name.as_deref())
        }
        Command::Devices { json } => {
            devices::print_devices(json);
            Ok(())
        }
        Command::Doctor { json } => {
            if let Some(receiving) = receiving(cli, &config)? {
                receiver::doctor::files(&receiving.config, &receiving.sinks)?;
            }
            devices::examine(&config, &spec, json)
        }
        Command::Check => {
            devices::configured(&config, &spec)?;
            if let Some(receiving) = receiving(cli, &config)? {
                receiver::doctor::files(&receiving.config, &receiving.sinks)?;
            }
            println!("the configuration is right");
            Ok(())
        }
    }
}

/// What is received over the same connection, if anything is.
fn receiving(cli: &Cli, config: &SenderConfig) -> Result<Option<Resolved>, Failure> {
    match sender::both::resolve(cli, config)? {
        None if config.shared.share_port => Err(Failure::usage(ONE_PORT)),
        receiving => Ok(receiving),
    }
}
