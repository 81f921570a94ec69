//! Flags of the receiver.

use clap::Parser;
use common::config::table::help;
use shell::cli::{Command, CommonFlags};
use showing::sink;

/// Duet's receiver: shows the video that a sender sends.
#[derive(Debug, Parser)]
#[command(name = "receiver", version, after_help = sink::HELP)]
pub(crate) struct Cli {
    /// Command to run
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[arg(long, global = true, value_name = "SPEC", help = format!("{}. May be repeated", help("display.sink")))]
    pub(crate) sink: Vec<String>,
    /// Send every picture back once it is shown, for `sender --latency-test` at the other side; no call can be taken meanwhile
    #[arg(long, conflicts_with = "frames")]
    pub(crate) bounce: bool,
    /// Flags of both daemons.
    #[command(flatten)]
    pub(crate) common: CommonFlags,
}
