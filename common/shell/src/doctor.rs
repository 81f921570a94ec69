//! `doctor`: checks that this machine has what streaming needs.

mod card;
mod check;
mod graphics;
mod machine;
pub mod speed;

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;

use common::config::{LinkMode, SharedConfig};
use common::reach::{Finding, Place};
use kernels::tune::{NotUsed, Origin, SETTINGS};
use kernels::{Backend, BackendChoice};
use net::failure::Failure;
use net::identity::{Identity, IdentityError};
use net::link::NOBODY;
use net::{reach, zones};

pub use self::card::card;
pub use self::check::{Check, Status};
use crate::{cli, outlet, record};

/// Examines what both daemons need: identity, peers, an address, socket buffers, files, the computer, the router, a back end
/// and its settings.
pub fn shared(config: &SharedConfig) -> Vec<Check> {
    let mut checks = vec![identity(config), peers(config), address(config), buffers(config.socket_buffer_bytes)];
    if let Some(path) = &config.stats_file {
        checks.push(Check::of("statistics", writable(path).map(|()| path.display().to_string())));
    }
    if let Some(metrics) = config.metrics {
        let bound = TcpListener::bind(metrics).map(|_| format!("{metrics} is free"));
        checks.push(Check::of("metrics", bound.map_err(|error| Failure::network(format!("{metrics}: {error}")))));
    }
    checks.extend(machine::checks());
    checks.extend(outside(config));
    checks.extend(dht(config));
    let backend = backend(config);
    if config.backend == BackendChoice::Auto && !backend.detail.starts_with(Backend::Opencl.name()) {
        checks.extend(graphics::check());
    }
    checks.extend([backend, tuning(config)]);
    checks
}

/// Fails if a run with this configuration would end at once whatever the network and the devices do: it lacks a peer to
/// call, lists this machine itself, or names a file that cannot be written. The caller checks that a peer may connect.
pub fn configured(config: &SharedConfig) -> Result<(), Failure> {
    not_itself(config)?;
    if config.mode == LinkMode::DialNobody {
        return Err(Failure::usage(NOBODY));
    }
    config.stats_file.as_deref().map_or(Ok(()), writable)
}

/// Fails if this machine's own key is among those that may connect. Without a key there is nothing to compare.
fn not_itself(config: &SharedConfig) -> Result<(), Failure> {
    let Ok(own) = Identity::path_of(config).and_then(|path| Ok(Identity::load(&path)?.public_key())) else {
        return Ok(());
    };
    match config.peers.iter().find(|peer| peer.key == own) {
        None => Ok(()),
        Some(peer) => Err(Failure::usage(format!(
            "the key of the peer {} is this machine's own: put the one there that `identity` prints on the other machine",
            peer.name
        ))),
    }
}

/// Fails if the file at `path` cannot be written; what it has stays. `-` is standard output.
pub fn writable(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let opened = match path.exists() {
        true => outlet::append(path).map(drop),
        false => File::create_new(path).and_then(|_| std::fs::remove_file(path)),
    };
    opened.map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

/// Fails if no recording can be made at `path`, a file or a folder. Nothing of the recordings there is touched.
pub fn recordable(path: &Path) -> Result<(), Failure> {
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(());
    }
    let folder = if record::is_folder(path) { Some(path) } else { path.parent() };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // One that is not there yet is made, in one that is there.
    let there = folder.ancestors().find(|folder| folder.is_dir()).filter(|it| *it == folder || record::is_folder(path));
    match there {
        Some(there) => writable(&there.join(".duet-can-record")),
        None => {
            Err(Failure::usage(format!("cannot record to {}: there is no folder {}", path.display(), folder.display())))
        }
    }
}

/// Returns what the way outside is like, and what follows for a call. Never a failure: within the house, and from a
/// forwarded port, calls work whatever it is.
fn outside(config: &SharedConfig) -> Vec<Check> {
    match reach::outside(config) {
        Ok(Some(outside)) => {
            let answers = matches!(outside.relay, Place::At(_) | Place::Refused(_));
            let is_open = answers && reach::relay_takes_the_example(config).unwrap_or(false);
            outside.findings().into_iter().map(finding).chain(is_open.then(open_relay)).collect()
        }
        Ok(None) => vec![Check::new(
            "router",
            Status::Ok,
            "not looked at: no servers are named, neither in `[expert] stun` nor in `[reach] turn`",
            None,
        )],
        Err(failure) => vec![Check::new("router", Status::Warn, failure.message, None)],
    }
}

/// Returns whether BitTorrent's network answers, and what its use shows; none if it is not used. Never a failure.
fn dht(config: &SharedConfig) -> Option<Check> {
    const NAME: &str = "dht";
    match reach::dht_answers(config) {
        Ok(None) => None,
        Ok(Some(0)) => {
            let detail = "BitTorrent's network does not answer, as where it is forbidden: calls go on without it";
            let advice = "nothing needs to be done; `dht = false` in [network] asks it no more";
            Some(Check::new(NAME, Status::Warn, detail, Some(advice.to_owned())))
        }
        Ok(Some(nodes)) => {
            let detail = format!(
                "BitTorrent's network answers ({nodes} nodes): some 20 kB each time that somebody is looked for; what is left there is sealed, \
                 and its nodes see this machine's address"
            );
            Some(Check::new(NAME, Status::Ok, detail, None))
        }
        Err(failure) => Some(Check::new(NAME, Status::Warn, failure.message, None)),
    }
}

fn finding(finding: Finding) -> Check {
    let status = if finding.is_bad { Status::Warn } else { Status::Ok };
    Check::new(finding.name, status, finding.sentence, finding.advice.map(str::to_owned))
}

/// A relay that everybody can use.
fn open_relay() -> Check {
    let detail = "the one in `[reach] turn` is everybody's: it takes the name `band` with the password `CHANGE-ME`, which stood in an \
                  example";
    let advice =
        "whoever runs it starts it with docker/meet/start, which makes a password, and tells that to all who use it";
    Check::new("relay", Status::Warn, detail, Some(advice.to_owned()))
}

/// The other way to list a machine, which needs no introduction.
const KEY_BY_HAND: &str = "give what `identity` prints there as --peer KEY or in a [[peer]] section";

/// Checks that the name to dial has an address, or that the address to listen at is free.
fn address(config: &SharedConfig) -> Check {
    let result = match &config.mode {
        // The line about peers says what to do.
        LinkMode::DialNobody if config.peers.is_empty() => {
            return Check::new("address", Status::Warn, "there is nobody yet whose address could be looked at", None);
        }
        LinkMode::DialNobody => Err(Failure::usage(NOBODY)),
        LinkMode::Dial(target) => match zones::look_up_now(target).map(|found| found.first().copied()) {
            Ok(Some(found)) => Ok(format!("calls {target}, which is {}", found.ip())),
            Ok(None) => Err(Failure::network(format!("{target} has no address"))),
            Err(error) => Err(Failure::network(format!("the address of {target} cannot be found: {error}"))),
        },
        LinkMode::Listen(at) => match net::can_listen(*at) {
            Ok(()) => Ok(format!("waits for calls at {at}")),
            Err(error) => Err(error),
        },
        LinkMode::Meet(meet) => match net::can_meet(meet) {
            Ok(()) => Ok(format!("looks for {} from UDP port {}", meet.peer.name, meet.port)),
            Err(error) => Err(error),
        },
    };
    Check::of("address", result)
}

fn identity(config: &SharedConfig) -> Check {
    let name = "identity";
    let path = match Identity::path_of(config) {
        Ok(path) => path,
        Err(failure) => return Check::new(name, Status::Fail, failure.to_string(), None),
    };
    match Identity::load(&path) {
        Ok(identity) => Check::new(name, Status::Ok, format!("{} in {}", identity.public_key(), path.display()), None),
        Err(IdentityError::Absent(path)) if config.peers.is_empty() => {
            let detail = format!("there is no key at {} yet: `invite` and `join` make it", path.display());
            Check::new(name, Status::Warn, detail, None)
        }
        Err(error) => Check::new(name, Status::Fail, error.to_string(), None),
    }
}

fn peers(config: &SharedConfig) -> Check {
    let names: Vec<_> = config.peers.iter().map(|peer| peer.name.as_str()).collect();
    if names.is_empty() {
        let advice = format!("{}; or {KEY_BY_HAND}", cli::INTRODUCE);
        return Check::new("peers", Status::Fail, "no machine may connect yet", Some(advice));
    }
    Check::of("peers", not_itself(config).map(|()| names.join(", ")))
}

fn buffers(bytes: usize) -> Check {
    match net::buffer_sizes(bytes) {
        Ok((receive, send)) if receive.min(send) >= bytes => {
            Check::new("socket buffers", Status::Ok, format!("{bytes} bytes each way"), None)
        }
        Ok((receive, send)) => {
            let detail =
                format!("{receive} bytes to receive and {send} to send instead of {bytes}: bursts may be lost");
            let advice = format!("as root: sysctl -w net.core.rmem_max={bytes} net.core.wmem_max={bytes}");
            Check::new("socket buffers", Status::Warn, detail, Some(advice))
        }
        Err(error) => Check::new("socket buffers", Status::Fail, format!("no UDP socket can be opened: {error}"), None),
    }
}

/// Checks the back end by opening an encoder of a small picture.
fn backend(config: &SharedConfig) -> Check {
    let opened = smallest_stream().ok_or("no stream".to_owned()).and_then(|params| {
        kernels::Encoder::open(&params, (config.backend, config.device.as_deref())).map_err(|error| error.to_string())
    });
    match opened {
        Ok(encoder) => {
            let info = encoder.backend();
            Check::new("backend", Status::Ok, format!("{} on {}: {}", info.kind, info.device, info.reason), None)
        }
        Err(error) => {
            Check::new("backend", Status::Fail, error, Some("leave the device out and use `--backend auto`".to_owned()))
        }
    }
}

/// Returns the OpenCL device's work-group shapes, if one is used. Never a failure: the built-in ones always do.
pub fn tuning(config: &SharedConfig) -> Check {
    let name = "tuning";
    let Some(settings) = kernels::settings_of(config.backend, config.device.as_deref()) else {
        return Check::new(name, Status::Ok, "no OpenCL device is used, there is nothing to tune", None);
    };
    let values: Vec<_> = SETTINGS.iter().map(|s| format!("{} {}", s.name, s.value(&settings.tuning))).collect();
    let (device, values) = (&settings.device.name, values.join(", "));
    let advice = Some(format!("run `wavelet tune --device \"{device}\"`, which takes 10 seconds"));
    match settings.origin {
        Origin::Cache(path) => {
            Check::new(name, Status::Ok, format!("{device}: {values}; from {}", path.display()), None)
        }
        Origin::BuiltIn => Check::new(name, Status::Ok, format!("{device}: {values}; built in, as configured"), None),
        Origin::NotTuned(why @ (NotUsed::Absent(_) | NotUsed::NoPlace)) => {
            Check::new(name, Status::Ok, format!("{device}: {values}; built in: {why}"), advice)
        }
        Origin::NotTuned(why) => Check::new(name, Status::Warn, format!("{device}: {values}; built in: {why}"), advice),
    }
}

fn smallest_stream() -> Option<picture::params::StreamParams> {
    use picture::frame::{Chroma, FrameSize};
    Some(picture::params::StreamParams::new(FrameSize::new(16, 16).ok()?, Chroma::C420))
}

/// Prints the checks, one a line with its advice below it or as a JSON array. Returns the failure of the first check
/// that failed: of the kind that a run would end with, or else of the network kind for identity and sockets, of usage
/// for peers, of a device otherwise.
pub fn print(checks: &[Check], as_json: bool) -> Result<(), Failure> {
    if as_json {
        println!("{}", serde_json::to_string(checks).map_err(Failure::usage)?);
    } else {
        for Check { name, status, detail, advice, .. } in checks {
            println!("{:4} {name}: {detail}", format!("{status:?}").to_lowercase());
            if let Some(advice) = advice {
                println!("       {advice}");
            }
        }
    }
    let Some(failed) = checks.iter().find(|check| check.status == Status::Fail) else { return Ok(()) };
    let message = format!("{}: {}", failed.name, failed.detail);
    if let Some(Failure { kind, .. }) = failed.failure {
        return Err(Failure { kind, message });
    }
    Err(match failed.name {
        "identity" | "socket buffers" | "mtu" => Failure::network(message),
        "peers" => Failure::usage(message),
        _ => Failure::device(message),
    })
}

#[cfg(test)]
mod tests {
    use common::config::{parse_sender, resolve_sender};

    use super::*;

    fn tuning_of(backend: &str) -> Check {
        let file = parse_sender(&format!("[expert]\nbackend = \"{backend}\"\n")).unwrap();
        tuning(&resolve_sender(&file).unwrap().shared)
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn the_settings_of_an_opencl_device_are_shown() {
        let check = tuning_of("opencl");
        assert_eq!((check.name, check.status), ("tuning", Status::Ok));
        for setting in SETTINGS {
            assert!(check.detail.contains(setting.name), "{}", check.detail);
        }
        let json: serde_json::Value = serde_json::to_value(&check).unwrap();
        assert_eq!(json["detail"], check.detail);
    }

    #[test]
    fn the_processor_has_none() {
        let check = tuning_of("cpu");
        assert!(check.detail.contains("nothing to tune") && check.advice.is_none(), "{}", check.detail);
    }
}
