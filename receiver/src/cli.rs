//! Flags to a checked configuration.

use std::path::Path;

use clap::Parser;
use common::config::raw::ReceiverFile;
use common::config::{ReceiverConfig, parse_receiver, resolve_receiver};
use net::failure::Failure;
use shell::cli::{Command, CommonFlags, read_config};

use crate::sink::{self, SinkSpec};

/// Duet's receiver: shows the video that a sender sends.
#[derive(Debug, Parser)]
#[command(name = "receiver", version, after_help = sink::HELP)]
pub struct Cli {
    /// Command to run
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Destination of the pictures; may be repeated. See below
    #[arg(long, global = true, value_name = "SPEC")]
    pub sink: Vec<String>,
    /// Send every picture back once it is shown, for `sender --latency-test` at the other side; no call can be taken meanwhile
    #[arg(long, conflicts_with = "frames")]
    pub bounce: bool,
    /// Flags of both daemons.
    #[command(flatten)]
    pub common: CommonFlags,
}

/// A configuration with its sinks.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// File and flags together.
    pub config: ReceiverConfig,
    /// All sinks, those for the eye first.
    pub sinks: Vec<SinkSpec>,
}

/// Reads the configuration file, lays the flags over it and checks everything.
pub fn resolve(cli: &Cli) -> Result<Resolved, Failure> {
    let path = cli.common.config_file("receiver.toml");
    let path = path.as_deref();
    let text = read_config(path)?;
    let mut file: ReceiverFile = parse_receiver(&text).map_err(|error| Failure::in_file(path, &error))?;
    let ReceiverFile { compute, network, identity, peers, stats, record, .. } = &mut file;
    cli.common.apply(compute, network, identity, peers, stats, record)?;
    if cli.command.as_ref().is_some_and(Command::introduces) {
        network.mode = None;
    }
    resolve_file(file, &cli.sink, path)
}

/// Checks a configuration, from `path` if it is a file's; `sinks` given win over its own.
pub fn resolve_file(file: ReceiverFile, sinks: &[String], path: Option<&Path>) -> Result<Resolved, Failure> {
    let mut config = resolve_receiver(&file).map_err(|error| Failure::in_file(path, &error))?;
    config.shared.file = path.map(Path::to_owned);
    if config.shared.tuned {
        kernels::tune::use_tuned_settings();
    }
    let texts = if sinks.is_empty() { &[file.display.sink.unwrap_or_else(|| "window".to_owned())] } else { sinks };
    let mut sinks =
        texts.iter().map(|text| text.parse()).collect::<Result<Vec<SinkSpec>, _>>().map_err(Failure::usage)?;
    sinks.sort_by_key(|spec| !matches!(spec, SinkSpec::Window { .. }));
    if sinks.iter().filter(|spec| matches!(spec, SinkSpec::Window { .. })).count() > 1 {
        return Err(Failure::usage("one window is enough: give --sink window once"));
    }
    Ok(Resolved { config, sinks })
}
