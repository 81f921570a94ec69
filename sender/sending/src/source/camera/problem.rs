//! Reasons for which a camera does not give pictures.

use std::io;

use picture::frame::FrameSize;

use super::device::Code;

/// A camera's problem, with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum CameraError {
    /// There is none.
    #[error("it is not there")]
    Missing,
    /// EBUSY.
    #[error("another program uses it: end that one")]
    Busy,
    /// EACCES and EPERM.
    #[error("this user may not open it: `sudo usermod -aG video $USER` allows it from the next login on")]
    Forbidden,
    /// ENODEV and ENXIO.
    #[error("it has gone: it was unplugged, or its driver was unloaded")]
    Gone,
    /// A device of another kind.
    #[error("it is no camera: {0}")]
    NoCamera(&'static str),
    /// Nothing that can be used.
    #[error("it gives pictures as {} only, and none of {} is among them", names(.0), known())]
    Formats(Vec<Code>),
    /// Not the size that was asked for.
    #[error("has no pictures of {0}; it has {1}")]
    Sizes(FrameSize, String),
    /// No size that can be used.
    #[error("it names no size of its pictures that can be used")]
    NoSize,
    /// The driver takes a format and gives another.
    #[error("it gives {given} where {asked} was asked for")]
    Other {
        /// As it was asked for.
        asked: String,
        /// As it is.
        given: String,
    },
    /// Any other error of the system.
    #[error("its driver fails to {task}: {error}")]
    Driver {
        /// The task that was given to the driver.
        task: &'static str,
        /// The answer.
        error: io::Error,
    },
}

impl CameraError {
    /// Returns the problem that an answer of the driver's shows, which was to do `task`.
    pub(super) fn of(task: &'static str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT) => Self::Missing,
            Some(libc::EBUSY) => Self::Busy,
            Some(libc::EACCES | libc::EPERM) => Self::Forbidden,
            Some(libc::ENODEV | libc::ENXIO) => Self::Gone,
            Some(libc::ENOTTY | libc::EISDIR) if task == OPEN => Self::NoCamera("it answers no camera's questions"),
            _ => Self::Driver { task, error },
        }
    }
}

/// The first task of a driver.
pub(super) const OPEN: &str = "say what it is";

/// Returns the names of formats.
pub(super) fn names(codes: &[Code]) -> String {
    let names: Vec<_> = codes.iter().map(|code| name(*code)).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Returns a format's name, as people write it.
pub(super) fn name(code: Code) -> String {
    code.escape_ascii().to_string().trim_end().to_owned()
}

fn known() -> String {
    names(&super::layout::LAYOUTS.map(|(code, _)| *code))
}
