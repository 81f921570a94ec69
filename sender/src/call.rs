//! This machine's both directions in one process, over one connection: `call`, `share_port` and `--also-receive`.

use std::path::{Path, PathBuf};

use common::config::{ConfigFile, SenderConfig};
use common::path::Directions;
use common::stream::video::VIDEO;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{HangUp, Streams, Waker};
use net::tls::Protocol;
use shell::cli::CommonFlags;
use shell::control;
use shell::record::is_folder;
use shell::settings::{LatencyLimit, OwnSide};
use shell::sound::{Role, hurry};
use showing::Resolved;
use showing::{Network as Loop, run_over};

use sending::source::SourceSpec;
use sending::{Sending, Start};

use crate::sound::Sound;

/// Sends and receives until both directions have ended, a window is closed or a signal comes. Call it on the main
/// thread, on which a window must live.
///
/// The connection, the identity and the peers are those of `config`; `receiving` says what to do with the pictures that
/// come.
pub(crate) fn run(
    config: &SenderConfig,
    spec: &SourceSpec,
    receiving: &Resolved,
    frames_max: Option<u64>,
) -> Result<(), Failure> {
    let waker = Waker::default();
    let mut sound = Sound::start(&config.shared, &waker, true)?;
    let own = OwnSide::new(config.rate, config.rate_most, config.effects);
    let side = sound.as_ref().map(|sound| sound.audible.side.clone());
    let start = Start { frames_max, sound: side, ..Start::new(config, &waker, &own) };
    let sending = Sending::from_spec(config, spec, start)?;
    let latency_limit = LatencyLimit::new(receiving.config.latency_max);
    let mut settings = own.settings();
    settings.push(latency_limit.setting());
    settings.extend(sound.iter().flat_map(|sound| sound.audible.side.settings()));
    let _control = control::serve("sender", &config.shared, settings);
    let options = sending.options(config, Protocol::BothWays)?;
    let hang_up = HangUp::new(waker.clone());
    let network = Loop {
        waker: waker.clone(),
        hang_up: Some(hang_up.clone()),
        pulses: vec![sending.pulse.clone()],
        own: Some(own),
        latency_limit,
        seen: None,
        sound: sound.as_ref().map(|sound| sound.audible.clone()),
    };
    let (Sending { mut link, threads, .. }, rate) = (sending, config.rate);
    let turn = move |mut receiver_link| {
        if sound.is_some() {
            hurry(Role::Network);
        }
        let call = Streams::new(Directions::Both, rate).ended_by(hang_up);
        let call = sound.iter_mut().fold(call, |call, sound| sound.join(call));
        let call = call.with(StreamId::sent(VIDEO), &mut link).with(StreamId::received(VIDEO), &mut receiver_link);
        let linked = net::link::run(options, &waker, &mut [call]);
        link.report_final();
        let silenced = sound.map_or(Ok(()), Sound::end);
        threads.end(linked).and(silenced)
    };
    run_over(network, &receiving.config, &receiving.sinks, frames_max, turn).map(drop)
}

/// The receiver's part of the sender's configuration `file`, which is from `path` if it is a file's. What is received
/// has statistics in a file of its own, beside those of what is sent.
pub(crate) fn of_one_file(file: &ConfigFile, sinks: &[String], path: Option<&Path>) -> Result<Resolved, Failure> {
    let mut receiving = file.clone();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    receiving.stats.file = match file.stats.file.as_str() {
        "" | "-" => String::new(),
        file => text(beside(file)),
    };
    receiving.record.path = text(recording(&file.record.path));
    // The page is that of what is sent.
    receiving.expert.metrics = None;
    Resolved::of_file(receiving, sinks, path)
}

/// The recording of what is received: in the same folder as that of what is sent, or a file beside it.
fn recording(path: &str) -> PathBuf {
    if path.is_empty() || path == "-" || is_folder(Path::new(path)) { PathBuf::from(path) } else { beside(path) }
}

/// The file of what is received beside that of what is sent.
fn beside(file: &str) -> PathBuf {
    let path = Path::new(file);
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-received");
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The receiver's configuration in the file `path`, with the connection of `config`.
pub(crate) fn of_other_file(
    path: &Path,
    sinks: &[String],
    flags: &CommonFlags,
    config: &SenderConfig,
) -> Result<Resolved, Failure> {
    let common = CommonFlags {
        config: Some(path.to_owned()),
        backend: flags.backend.clone(),
        device: flags.device.clone(),
        record: flags.record.as_ref().map(|path| recording(&path.to_string_lossy())),
        ..CommonFlags::default()
    };
    let mut resolved = Resolved::read(&common, sinks, false)?;
    resolved.config.shared.mode = config.shared.mode.clone();
    resolved.config.shared.peers.clone_from(&config.shared.peers);
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_received_is_counted_in_a_file_beside() {
        for (sent, received) in [("call.jsonl", "call-received.jsonl"), ("/tmp/a.b/call", "/tmp/a.b/call-received")] {
            assert_eq!(beside(sent), Path::new(received));
        }
    }
}
