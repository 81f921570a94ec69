//! Exit of a daemon: an exit code and one sentence on standard error.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::config::ConfigError;

use crate::{apart, log};

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

    /// Returns the failure of a coder: exit code 3 if the device is at fault, 2 if what was asked of it is.
    pub fn codec(error: &impl kernels::CodecError) -> Self {
        if error.is_of_device() { Self::device(error) } else { Self::usage(error) }
    }

    /// Returns the failure of the network or an identity: exit code 4.
    pub fn network(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Network, message: message.to_string() }
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

/// Prints the failure, if there is one, as one line on standard error and gives the exit code. If a driver still holds
/// a thread, the process ends here.
pub fn report(program: &str, result: Result<(), Failure>) -> ExitCode {
    let code = match result {
        Ok(()) => {
            log::flush();
            0
        }
        Err(failure) => {
            log::last_words(&format!("{program}: {}", in_one_line(&failure.message)));
            failure.code()
        }
    };
    if apart::has_left() {
        now(i32::from(code));
    }
    ExitCode::from(code)
}

/// Prints the failure and ends the process at once, where the caller cannot go on and a library would end it otherwise. What is
/// open stays as it is.
pub fn at_once(failure: &Failure) -> ! {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    log::last_words(&format!("{name}: {}", in_one_line(&failure.message)));
    now(i32::from(failure.code()))
}

fn in_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ends the process at once, whatever its threads do; only the log is written. Drivers get no chance to clean up, since
/// some wait for ever then.
#[allow(unsafe_code, reason = "ending without what drivers do at the end has no other way")]
pub(crate) fn now(code: i32) -> ! {
    log::flush();
    // SAFETY: it ends the process and touches nothing of it.
    unsafe { libc::_exit(code) }
}
