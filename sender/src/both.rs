//! `--also-receive`: this machine's both directions in one process, over one connection.

use common::config::SenderConfig;
use receiver::cli::Resolved;
use receiver::{Network, run_over};
use shell::cli::CommonFlags;
use shell::exit::Failure;
use shell::link::{BothWays, HangUp, Waker};
use shell::tls::Protocol;

use crate::cli::Cli;
use crate::run::Sending;
use crate::source::SourceSpec;

/// Sends and receives until both directions have ended, a window is closed or a signal comes. Call it on the main
/// thread, on which a window must live.
///
/// The connection, the identity and the peers are those of `config`; `receiving` says what to do with the pictures that
/// come.
pub fn run(
    config: &SenderConfig,
    spec: &SourceSpec,
    receiving: &Resolved,
    frames_max: Option<u64>,
) -> Result<(), Failure> {
    let waker = Waker::default();
    let sending = Sending::start(config, spec, frames_max, &waker)?;
    let options = sending.options(config, Protocol::BothWays)?;
    let hang_up = HangUp::new(waker.clone());
    let network = Network { waker: waker.clone(), hang_up: Some(hang_up.clone()), pulses: vec![sending.pulse.clone()] };
    let Sending { link, threads, .. } = sending;
    let turn = move |receiver_link| {
        let mut both = BothWays::new(link, receiver_link, hang_up);
        let linked = shell::link::run(options, &waker, &mut both);
        both.sending().report_final();
        threads.end(linked)
    };
    run_over(network, &receiving.config, &receiving.sinks, frames_max, turn).map(drop)
}

/// The receiver's configuration that `--also-receive` names, with the connection of `config`.
pub fn resolve(cli: &Cli, config: &SenderConfig) -> Result<Option<Resolved>, Failure> {
    let Some(path) = &cli.also_receive else { return Ok(None) };
    let common = CommonFlags {
        config: Some(path.clone()),
        backend: cli.common.backend.clone(),
        device: cli.common.device.clone(),
        ..CommonFlags::default()
    };
    let mut resolved = receiver::cli::resolve(&receiver::cli::Cli { command: None, sink: Vec::new(), common })?;
    resolved.config.shared.mode = config.shared.mode.clone();
    resolved.config.shared.peers.clone_from(&config.shared.peers);
    Ok(Some(resolved))
}
