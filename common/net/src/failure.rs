//! Reason for which a program ends: one sentence, and what kind of thing is wrong.

use std::fmt;
use std::path::Path;

use common::config::ConfigError;

/// Reasons for which a daemon cannot go on, by exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Flags, configuration or an input file: exit code 2.
    Usage,
    /// Camera, OpenCL device, display or recording: exit code 3.
    Device,
    /// Network or identity: exit code 4.
    Network,
}

/// A reason to end, for the person at the terminal: one sentence, no causes chained below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    /// Says what is wrong and what to do about it, without a final full stop or newline.
    pub message: String,
}

impl Failure {
    /// Flags, configuration or an input file are wrong: exit code 2.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Usage, message: message.to_string() }
    }

    /// Returns the failure of a camera, OpenCL device or display: exit code 3.
    pub fn device(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Device, message: message.to_string() }
    }

    /// Returns the failure of the network or an identity: exit code 4.
    pub fn network(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Network, message: message.to_string() }
    }

    /// Returns the failure of a configuration, with the file it is in where the mistake has a line.
    pub fn in_file(path: Option<&Path>, error: &ConfigError) -> Self {
        match (path, error) {
            (Some(path), ConfigError::UnknownKey { .. } | ConfigError::Syntax { .. }) => {
                Self::usage(format!("{}, {error}", path.display()))
            }
            _ => Self::usage(error),
        }
    }

    /// Returns the process's exit code: 2, 3 or 4.
    pub const fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Device => 3,
            Kind::Network => 4,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error)
    }
}
