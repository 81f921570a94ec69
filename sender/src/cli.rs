//! Flags to a checked configuration.

use std::path::{Path, PathBuf};

use cards::CardSpec;
use clap::{Parser, Subcommand};
use common::config::table::help;
use common::config::{Program, SenderConfig, resolve_sender};
use net::failure::Failure;
use sending::source::{FORMS, SourceSpec};
use shell::cli::{Command, CommonFlags, call, call_all, replace};
use shell::config::load;
use showing::Resolved as Receiving;

/// The first thing that people look for.
const EXAMPLE: &str = "Example: `sender invite clara` prints a ticket, with which clara types `sender join TICKET robert`. From then on \
                       `sender call clara --rate 10M` there and here is a call.";

/// Duet's sender: streams video to a receiver, or both ways in a call.
#[derive(Debug, Parser)]
#[command(name = "sender", version, after_help = format!("{EXAMPLE}\nSources: {FORMS}"))]
pub(crate) struct Cli {
    /// Task; without one, `run`
    #[command(subcommand)]
    pub(crate) command: Option<Task>,
    #[arg(long, global = true, value_name = "SPEC", help = help("video.source"))]
    pub(crate) source: Option<String>,
    #[arg(long, global = true, value_name = "RATE", help = help("codec.rate"))]
    pub(crate) rate: Option<String>,
    #[arg(long, global = true, value_name = "RATE", help = help("network.beside"))]
    pub(crate) beside: Option<String>,
    #[arg(long, global = true, value_name = "on|off|auto", help = help("codec.prediction"))]
    pub(crate) prediction: Option<String>,
    /// Measure the line in both directions, say which way packets took and what pictures it can carry, and end: to a machine
    /// that was introduced, over the way that a call would take (the receiver or `sender call` must run there), or to a
    /// receiver that listens at HOST
    #[arg(long, value_name = "NAME|HOST[:PORT]", conflicts_with_all = ["to", "listen", "frames", "stats"])]
    pub(crate) link_test: Option<String>,
    /// Send pictures to a machine that runs `receiver --bounce`, receive them back, and say after some ten seconds how long
    /// each part of the way takes: one way by both clocks, and there and back by this clock alone
    #[arg(long, conflicts_with_all = ["link_test", "also_receive", "frames"])]
    pub(crate) latency_test: bool,
    /// Receive as well, over the same connection and UDP port; the receiver's file says where the pictures go. The
    /// other side must do the same, or `call`
    #[arg(long, value_name = "FILE", conflicts_with = "link_test")]
    pub(crate) also_receive: Option<PathBuf>,
    #[arg(long, global = true, value_name = "URL", help = help("publish.url"))]
    pub(crate) publish: Option<String>,
    /// Flags of both daemons.
    #[command(flatten)]
    pub(crate) common: CommonFlags,
}

/// Commands of a sender.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Task {
    /// Commands of both daemons.
    #[command(flatten)]
    Common(Command),
    /// Call a machine that was introduced, or up to three at once, a band: both pictures over one connection with each, again and
    /// again until you end it. Everybody types the same, with the names of all others
    #[command(after_help = format!("Sources: {FORMS}\n{}", showing::sink::HELP))]
    Call {
        /// Whom: names from `invite` or `join`, three at most. If only one is known, it may be left out
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Sink of the other's pictures; may be repeated. See below
        #[arg(long, value_name = "SPEC")]
        sink: Vec<String>,
    },
    /// Measure the sound card: noise is played and captured again, through a cable from the first output to the first input, or
    /// through JACK; prints the round trip, exact to the frame, and dropouts
    SoundTest {
        /// Sound card: auto, jack, jack:NAME or alsa:NAME, as `devices` lists them
        #[arg(long, value_name = "SPEC", default_value = "auto")]
        card: CardSpec,
        /// Frames of a period to ask for; a JACK server has its own
        #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(16..=8192))]
        period: u32,
        /// Time to measure
        #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
        seconds: u64,
        /// With JACK: tie the output to the input, without a cable: the round trip is that of the server alone
        #[arg(long)]
        tied: bool,
    },
}

/// A configuration with what it names.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// File and flags together.
    pub(crate) config: SenderConfig,
    /// Source of pictures.
    pub(crate) source: SourceSpec,
    /// Description of the picture that is received over the same connection, if one is.
    pub(crate) receiving: Option<Receiving>,
    /// The further members of a band, each with the description of what is received of it.
    pub(crate) others: Vec<(SenderConfig, Receiving)>,
}

/// Reads the configuration file, lays the flags over it and checks everything.
pub(crate) fn resolve(cli: &Cli) -> Result<Resolved, Failure> {
    let called = match &cli.command {
        Some(Task::Call { names, sink }) => Some((names, sink)),
        _ => None,
    };
    let (mut file, path) = load(cli.common.config.as_deref(), Program::Sender)?;
    let path = path.as_deref();
    replace(&mut file.video.source, cli.source.clone());
    replace(&mut file.codec.rate, cli.rate.clone());
    replace(&mut file.network.beside, cli.beside.clone());
    replace(&mut file.codec.prediction, cli.prediction.clone());
    replace(&mut file.publish.url, cli.publish.clone());
    cli.common.apply(&mut file)?;
    let members = match called {
        Some((names, _)) => call_all(&cli.common, names, &file)?,
        None => Vec::new(),
    };
    let members: Vec<_> = match &members[..] {
        [only] => vec![only.clone()],
        several => several.iter().zip(0..).map(|(member, place)| calling::of_member(member, place)).collect(),
    };
    if let Some(first) = members.first() {
        file = first.clone();
    }
    let is_known = |name: &&str| file.peers.iter().any(|peer| peer.name.as_deref() == Some(*name));
    if let Some(name) = cli.link_test.as_deref().filter(is_known) {
        let shares = file.network.share_port;
        call(&cli.common, Some(name), &mut file)?;
        file.network.share_port = shares;
    }
    if matches!(&cli.command, Some(Task::Common(command)) if command.introduces()) {
        file.network.mode = None;
    }
    let mut config = resolve_sender(&file).map_err(|error| Failure::in_file(path, &error))?;
    config.shared.file = path.map(Path::to_owned);
    if config.shared.tuned {
        kernels::tune::use_tuned_settings();
    }
    calling::check_audience(&config)?;
    let source = SourceSpec::parse(&file.video.source)?;
    let sinks = called.map_or(&[][..], |(_, sinks)| sinks.as_slice());
    // It looks at what a call would need.
    let examines = matches!(&cli.command, Some(Task::Common(Command::Doctor { .. })));
    let receiving = match &cli.also_receive {
        Some(path) => Some(calling::of_other_file(path, sinks, &cli.common, &config)?),
        None if config.shared.share_port || cli.latency_test || examines => {
            Some(calling::of_one_file(&file, sinks, path)?)
        }
        None => None,
    };
    let others = members.iter().skip(1).map(|member| {
        let mut config = resolve_sender(member).map_err(|error| Failure::in_file(path, &error))?;
        config.shared.file = path.map(Path::to_owned);
        Ok((config, calling::of_one_file(member, sinks, path)?))
    });
    let others = others.collect::<Result<_, Failure>>()?;
    Ok(Resolved { config, source, receiving, others })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Those of keys have that of the table; one of a key that is not there would have none.
    #[test]
    fn each_flag_has_a_help() {
        for flag in Cli::command().get_arguments() {
            assert!(flag.get_help().is_some_and(|help| help.to_string().len() > 10), "{}", flag.get_id());
        }
    }
}
