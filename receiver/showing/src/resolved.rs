//! A checked configuration of what is received.

use std::path::Path;

use common::config::raw::ReceiverFile;
use common::config::{ReceiverConfig, parse_receiver, resolve_receiver};
use net::failure::Failure;
use shell::cli::{CommonFlags, read_config};

use crate::sink::SinkSpec;

/// A configuration with its sinks.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// File and flags together.
    pub config: ReceiverConfig,
    /// All sinks, those for the eye first.
    pub sinks: Vec<SinkSpec>,
}

impl Resolved {
    /// Reads the configuration file, lays the flags over it and checks everything. `introduces`: it is to make two machines known
    /// to each other, so how they find each other later is no matter.
    pub fn read(flags: &CommonFlags, sinks: &[String], introduces: bool) -> Result<Self, Failure> {
        let path = flags.config_file("receiver.toml");
        let path = path.as_deref();
        let text = read_config(path)?;
        let mut file: ReceiverFile = parse_receiver(&text).map_err(|error| Failure::in_file(path, &error))?;
        let ReceiverFile { compute, network, identity, peers, stats, record, .. } = &mut file;
        flags.apply(compute, network, identity, peers, stats, record)?;
        if introduces {
            network.mode = None;
        }
        Self::of_file(file, sinks, path)
    }

    /// Checks a configuration, from `path` if it is a file's; `sinks` given win over its own.
    pub fn of_file(file: ReceiverFile, sinks: &[String], path: Option<&Path>) -> Result<Self, Failure> {
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
        Ok(Self { config, sinks })
    }
}
