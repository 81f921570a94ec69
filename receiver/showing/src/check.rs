//! Checks that pictures can be shown and written where they shall go.

use common::config::{ReceiverConfig, SnapshotFile, WindowBackend};
use net::failure::Failure;
use shell::doctor::{self, Check};
use shell::settings::LatencyLimit;

use crate::sink::{self, SinkSpec, WindowParts};

/// Checks that pictures can be shown where they shall go.
pub fn display(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Check {
    Check::of("display", sinks_open(config.window, sinks))
}

/// Fails if a file that receiving writes cannot be written.
pub fn files(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<(), Failure> {
    config.record.as_deref().map_or(Ok(()), doctor::recordable)?;
    let sinks = sinks.iter().filter_map(SinkSpec::file);
    sinks.chain(config.pictures_file.as_deref()).try_for_each(doctor::writable)
}

/// Opens the window, and no file: opening one would empty it.
fn sinks_open(backend: WindowBackend, sinks: &[SinkSpec]) -> Result<String, Failure> {
    let (own, latency_limit) = (None, LatencyLimit::new(None));
    let snapshot = SnapshotFile::default();
    let window = WindowParts { backend, status_line: false, snapshot, own, latency_limit, sound: None };
    for spec in sinks {
        match spec.file() {
            Some(path) => doctor::writable(path)?,
            None => drop(sink::open(spec, &window, true).map_err(Failure::device)?),
        }
    }
    Ok(format!("{} can be opened", sinks.iter().map(SinkSpec::name).collect::<Vec<_>>().join(" and ")))
}
