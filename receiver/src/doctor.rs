//! `devices` and `doctor`: what this machine has, and whether it is enough to receive.

use common::config::ReceiverConfig;
use kernels::DeviceInfo;
use serde_json::{Value, json};
use shell::doctor::{Check, Status};
use shell::exit::Failure;
use shell::identity::Identity;

use crate::decode;
use crate::sink::{self, SinkSpec};

/// Lists the devices that can decode, one a line or as a JSON array.
pub fn print_devices(as_json: bool) -> Result<(), Failure> {
    let devices = kernels::devices();
    if as_json {
        let list: Vec<_> = devices.iter().map(device_json).collect();
        println!("{}", Value::from(list));
        return Ok(());
    }
    for device in devices {
        println!("{:8} {}  ({:?}, {} compute units)", device.backend, device.name, device.kind, device.compute_units);
    }
    Ok(())
}

fn device_json(device: &DeviceInfo) -> Value {
    json!({
        "backend": device.backend.name(),
        "name": device.name,
        "platform": device.platform,
        "driver": device.driver,
        "kind": format!("{:?}", device.kind).to_lowercase(),
        "memory_bytes": device.memory_bytes,
        "compute_units": device.compute_units,
    })
}

/// Checks what receiving needs and prints one line for each; a failed check is a failure of the same kind.
pub fn examine(config: &ReceiverConfig, sinks: &[SinkSpec], as_json: bool) -> Result<(), Failure> {
    let results = [
        ("identity", identity(config)),
        ("peers", peers(config)),
        ("backend", backend(config)),
        ("sink", sinks_open(sinks)),
    ];
    let mut checks: Vec<_> = results.iter().map(|(name, result)| check(name, result)).collect();
    checks.push(shell::doctor::tuning(&config.shared));
    if as_json {
        println!("{}", json!(checks));
    } else {
        for Check { name, status, detail, advice } in &checks {
            println!("{:4} {name}: {detail}", format!("{status:?}").to_lowercase());
            if let Some(advice) = advice {
                println!("       {advice}");
            }
        }
    }
    results.into_iter().find_map(|(_, result)| result.err()).map_or(Ok(()), Err)
}

fn check(name: &'static str, result: &Result<String, Failure>) -> Check {
    let (status, detail) = match result {
        Ok(detail) => (Status::Ok, detail.clone()),
        Err(failure) => (Status::Fail, failure.message.clone()),
    };
    Check { name, status, detail, advice: None }
}

fn identity(config: &ReceiverConfig) -> Result<String, Failure> {
    let path = shell::cli::identity_path(&config.shared)?;
    let identity = Identity::load(&path)?;
    Ok(format!("{} ({})", identity.public_key(), path.display()))
}

fn peers(config: &ReceiverConfig) -> Result<String, Failure> {
    match config.shared.peers.as_slice() {
        [] => Err(Failure::usage(crate::NO_PEER)),
        peers => Ok(format!("{} may send", peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(", "))),
    }
}

fn backend(config: &ReceiverConfig) -> Result<String, Failure> {
    let backend = decode::probe(config.shared.backend, config.shared.device.as_deref())?;
    Ok(format!("{} on {}: {}", backend.kind, backend.device, backend.reason))
}

/// Only a window is opened: opening a file would empty it.
fn sinks_open(sinks: &[SinkSpec]) -> Result<String, Failure> {
    for spec in sinks.iter().filter(|spec| matches!(spec, SinkSpec::Window { .. })) {
        drop(sink::open(spec, false, true).map_err(Failure::device)?);
    }
    Ok(format!("{} in use", sinks.iter().map(SinkSpec::name).collect::<Vec<_>>().join(" and ")))
}
