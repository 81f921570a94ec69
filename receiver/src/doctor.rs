//! `devices` and `doctor`: what this machine has, and whether it is enough to receive.

use common::config::ReceiverConfig;
use shell::devices;
use shell::doctor::{self, Check};
use shell::exit::Failure;

use crate::sink::{self, SinkSpec};

/// Lists the devices that can decode, one a line or as a JSON array.
pub fn print_devices(as_json: bool) {
    let found = kernels::devices();
    if as_json { println!("{}", devices::as_json(&found)) } else { devices::print(&found) }
}

/// Checks what receiving needs and prints one line for each; a failed check is a failure of the same kind.
pub fn examine(config: &ReceiverConfig, sinks: &[SinkSpec], as_json: bool) -> Result<(), Failure> {
    let mut checks = doctor::shared(&config.shared);
    checks.push(Check::of("sink", sinks_open(sinks)));
    doctor::print(&checks, as_json)
}

/// Fails if a run would end at once whatever network and devices do.
pub fn configured(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<(), Failure> {
    if config.shared.peers.is_empty() {
        return Err(Failure::usage(crate::NO_PEER));
    }
    doctor::configured(&config.shared)?;
    files(config, sinks)
}

/// Fails if a file that receiving writes cannot be written.
pub fn files(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<(), Failure> {
    config.record.as_deref().map_or(Ok(()), doctor::recordable)?;
    let sinks = sinks.iter().filter_map(SinkSpec::file);
    sinks.chain(config.pictures_file.as_deref()).try_for_each(doctor::writable)
}

/// Opens the window, and no file: opening one would empty it.
fn sinks_open(sinks: &[SinkSpec]) -> Result<String, Failure> {
    for spec in sinks {
        match spec.file() {
            Some(path) => doctor::writable(path)?,
            None => drop(sink::open(spec, false, true, None).map_err(Failure::device)?),
        }
    }
    Ok(format!("{} in use", sinks.iter().map(SinkSpec::name).collect::<Vec<_>>().join(" and ")))
}
