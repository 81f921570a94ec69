//! Flags to a checked configuration.

use std::path::PathBuf;

use clap::Parser;
use common::config::raw::SenderFile;
use common::config::{SenderConfig, parse_sender, resolve_sender};
use shell::cli::{Command, CommonFlags, in_file, read_config, replace};
use shell::exit::Failure;

use crate::source::{FORMS, SourceSpec};

/// Duet's sender: streams video to a receiver.
#[derive(Debug, Parser)]
#[command(name = "sender", version, after_help = format!("Sources: {FORMS}"))]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Where pictures come from; the forms are below
    #[arg(long, global = true, value_name = "SPEC")]
    pub source: Option<String>,
    /// Video bit rate, such as 20M
    #[arg(long, global = true, value_name = "RATE")]
    pub rate: Option<String>,
    /// Code frames from the picture that the receiver holds
    #[arg(long, global = true, value_name = "on|off")]
    pub prediction: Option<String>,
    /// Measure the line to a receiver that waits for a call there, say what pictures it can carry, and end
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["to", "listen", "frames", "stats"])]
    pub link_test: Option<String>,
    /// Receive as well, over the same connection and UDP port; the file says where the pictures go. The other side
    /// must do the same
    #[arg(long, value_name = "FILE", conflicts_with = "link_test")]
    pub also_receive: Option<PathBuf>,
    /// Flags of both daemons.
    #[command(flatten)]
    pub common: CommonFlags,
}

/// Reads the configuration file, lays the flags over it and checks everything.
pub fn resolve(cli: &Cli) -> Result<(SenderConfig, SourceSpec), Failure> {
    let path = cli.common.config.as_deref();
    let mut file: SenderFile = parse_sender(&read_config(path)?).map_err(|error| in_file(path, &error))?;
    let SenderFile { video, codec, compute, network, identity, peers, stats, .. } = &mut file;
    replace(&mut video.source, cli.source.clone());
    replace(&mut codec.rate, cli.rate.clone());
    replace(&mut codec.prediction, cli.prediction.clone());
    cli.common.apply(compute, network, identity, peers, stats)?;
    if cli.command.as_ref().is_some_and(Command::introduces) {
        network.mode = None;
    }
    let config = resolve_sender(&file).map_err(|error| in_file(path, &error))?;
    if config.shared.tuned {
        kernels::tune::use_tuned_settings();
    }
    let spec = SourceSpec::parse(file.video.source.as_deref().unwrap_or("camera"))?;
    Ok((config, spec))
}
