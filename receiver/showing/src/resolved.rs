//! A checked configuration of what is received.

use std::path::Path;

use common::config::{ConfigFile, Program, ReceiverConfig, resolve_receiver};
use net::failure::Failure;
use shell::cli::CommonFlags;
use shell::config::load;

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
        let (mut file, path) = load(flags.config.as_deref(), Program::Receiver)?;
        flags.apply(&mut file)?;
        if introduces {
            file.network.mode = None;
        }
        Self::of_file(file, sinks, path.as_deref())
    }

    /// Checks a configuration, from `path` if it is a file's; `sinks` given win over its own.
    pub fn of_file(file: ConfigFile, sinks: &[String], path: Option<&Path>) -> Result<Self, Failure> {
        let mut config = resolve_receiver(&file).map_err(|error| Failure::in_file(path, &error))?;
        config.shared.file = path.map(Path::to_owned);
        if config.shared.tuned {
            kernels::tune::use_tuned_settings();
        }
        let texts = if sinks.is_empty() { &[file.display.sink] } else { sinks };
        let mut sinks =
            texts.iter().map(|text| text.parse()).collect::<Result<Vec<SinkSpec>, _>>().map_err(Failure::usage)?;
        sinks.sort_by_key(|spec| !matches!(spec, SinkSpec::Window { .. }));
        if sinks.iter().filter(|spec| matches!(spec, SinkSpec::Window { .. })).count() > 1 {
            return Err(Failure::usage("one window is enough: give --sink window once"));
        }
        Ok(Self { config, sinks })
    }
}
