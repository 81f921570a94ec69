//! Flags and subcommands that both daemons have.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use common::config::raw;
use common::config::{ConfigError, SharedConfig};

use crate::exit::Failure;
use crate::identity::Identity;

/// Flags of both daemons; they win over the file.
#[derive(Args, Clone, Debug, Default)]
pub struct CommonFlags {
    /// Configuration file (TOML)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Dial this address; without a port, 4820
    #[arg(long, global = true, value_name = "HOST[:PORT]", conflicts_with = "listen")]
    pub to: Option<String>,
    /// Wait for the other side at this address
    #[arg(long, global = true, value_name = "IP:PORT")]
    pub listen: Option<String>,
    /// The machine that may connect: its public key (44 characters, from `identity` there), or the name of one that was
    /// introduced, which is then called wherever it is; may be repeated
    #[arg(long, global = true, value_name = "KEY|NAME")]
    pub peer: Vec<String>,
    /// Back end of the transform: auto, opencl, cpu or reference
    #[arg(long, global = true, value_name = "NAME")]
    pub backend: Option<String>,
    /// Part of the OpenCL device's name
    #[arg(long, global = true, value_name = "NAME")]
    pub device: Option<String>,
    /// End cleanly after this many frames, or when the other side has finished. Without it, and with no file to read or
    /// write, wait for the next call (or go on dialling) whatever the other side does
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    /// Write statistics there, one JSON object a second
    #[arg(long, global = true, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Private key file of this machine
    #[arg(long, global = true, value_name = "FILE")]
    pub identity: Option<PathBuf>,
}

/// The command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Stream (default)
    #[default]
    Run,
    /// Print this machine's public key, making the key if there is none
    Identity,
    /// List devices
    Devices {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check what streaming needs on this machine
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration
    Check,
    /// Get to know another machine: print a ticket for it and wait until it joins
    Invite {
        /// Name for the other machine here
        name: Option<String>,
    },
    /// Get to know the machine that printed this ticket
    Join {
        /// The line that `invite` printed there
        ticket: String,
        /// Name for the other machine here
        name: Option<String>,
    },
}

impl Command {
    /// Returns true if it makes two machines known to each other; how they find each other later is no matter then.
    pub fn introduces(&self) -> bool {
        matches!(self, Self::Invite { .. } | Self::Join { .. })
    }
}

/// Reads the command line. Help and version are printed to standard output and end the process with 0; a mistake
/// is a one-sentence failure with the nearest valid flag.
pub fn parse<P: Parser>() -> Result<P, Failure> {
    P::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => {
            let text = error.render().to_string();
            let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
            let lines: Vec<_> = lines.filter(|line| !line.is_empty() && !line.starts_with("For more")).collect();
            Failure::usage(lines.join("; ").trim_start_matches("error: "))
        }
    })
}

/// Returns the text of the configuration file; empty without one.
pub fn read_config(path: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = path else { return Ok(String::new()) };
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the configuration {}: {error}", path.display())))
}

/// Returns `error` with the file it is in, where it has a line.
pub fn in_file(path: Option<&Path>, error: &ConfigError) -> Failure {
    match (path, error) {
        (Some(path), ConfigError::UnknownKey { .. } | ConfigError::Syntax { .. }) => {
            Failure::usage(format!("{}, {error}", path.display()))
        }
        _ => Failure::usage(error),
    }
}

impl CommonFlags {
    /// Lays the flags over the sections that both files have.
    pub fn apply(
        &self,
        compute: &mut raw::Compute,
        network: &mut raw::Network,
        identity: &mut raw::Identity,
        peers: &mut Vec<raw::Peer>,
        stats: &mut raw::Stats,
    ) -> Result<(), Failure> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        replace(&mut compute.backend, self.backend.clone());
        replace(&mut compute.device, self.device.clone());
        replace(&mut identity.file, self.identity.as_ref().map(text));
        replace(&mut stats.file, self.stats.as_ref().map(text));
        for (mode, address) in [("dial", &self.to), ("listen", &self.listen)] {
            if address.is_some() {
                network.mode = Some(mode.to_owned());
                network.address.clone_from(address);
            }
        }
        if self.config.is_none() {
            *peers = crate::reach::known_peers(identity)?;
        }
        if !self.peer.is_empty() {
            let named = |text: &String| peers.iter().find(|peer| peer.name.as_ref() == Some(text)).cloned();
            let of_key = |text: &String| raw::Peer { public_key: Some(text.clone()), ..raw::Peer::default() };
            *peers = self.peer.iter().map(|text| named(text).unwrap_or_else(|| of_key(text))).collect();
            // Whoever was introduced is called by its name, unless an address is given.
            if self.to.is_none() && self.listen.is_none() && peers.iter().any(|peer| peer.addresses.is_some()) {
                network.mode = Some("meet".to_owned());
            }
        }
        Ok(())
    }
}

/// Puts `value` in `target` if there is one.
pub fn replace<T>(target: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *target = value;
    }
}

/// Returns the key file that the configuration names, or the default one.
pub fn identity_path(shared: &SharedConfig) -> Result<PathBuf, Failure> {
    Ok(shared.identity_file.clone().map_or_else(Identity::default_path, Ok)?)
}

/// Prints the public key, and nothing else, on standard output: the command `identity`.
pub fn print_identity(shared: &SharedConfig) -> Result<(), Failure> {
    let identity = Identity::load_or_create(&identity_path(shared)?)?;
    println!("{}", identity.public_key());
    Ok(())
}
