//! The settings that a window is opened with.

use common::config::{SnapshotFile, WindowBackend};
use shell::settings::{LatencyLimit, OwnSide};

use crate::sound::Audible;

/// The settings that a window is opened with, and what its keys change.
#[derive(Clone, Debug)]
pub struct WindowParts {
    /// The library that opens it.
    pub backend: WindowBackend,
    /// True if it has a line about the stream from the start.
    pub status_line: bool,
    /// The kind of file that a picture is kept in.
    pub snapshot: SnapshotFile,
    /// The other direction of a call.
    pub own: Option<OwnSide>,
    /// Time for which missing parts of a frame are waited for.
    pub latency_limit: LatencyLimit,
    /// The sound of the call, where there is any.
    pub sound: Option<Audible>,
}
