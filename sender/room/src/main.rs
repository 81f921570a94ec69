//! The desktop program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use net::failure::Failure;
use shell::cli::CommonFlags;
use shell::exit::report;
use shell::signals;

/// Duet's window: the people you know, and calls with them. With a link it joins whoever made that.
#[derive(Debug, Parser)]
#[command(name = "duet", version)]
struct Cli {
    /// Link from the other musician: duet:...
    link: Option<String>,
    /// Print what this computer lacks, for the window.
    #[arg(long, hide = true)]
    examine: bool,
    /// Flags of the daemons, too.
    #[command(flatten)]
    common: CommonFlags,
}

fn main() -> ExitCode {
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("duet", parsed.and_then(|cli| start(&cli)))
}

fn start(cli: &Cli) -> Result<(), Failure> {
    shell::log::init();
    signals::serve();
    if cli.examine {
        return room::examine(&cli.common);
    }
    room::run(cli.common.clone(), cli.link.as_deref())
}
