//! A coded frame between the encode thread and the links.

use std::sync::Arc;
use std::time::Duration;

use common::stream::video::FrameTimes;
use common::units::FrameId;
use kernels::{BackendInfo, EncodeTimes};
use picture::coded::CodedFrame;
use picture::params::StreamParams;

/// A coded frame on its way to the network thread.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// The frame's number.
    pub(crate) id: FrameId,
    /// The stream that it is of.
    pub(crate) params: StreamParams,
    pub(crate) frame: Arc<CodedFrame>,
    pub(crate) times: FrameTimes,
    /// Time from the capture until this thread has taken it up.
    pub(crate) waited: Duration,
    /// Time of its effects; zero without any.
    pub(crate) effects: Duration,
    pub(crate) stages: EncodeTimes,
    /// Back end that coded it.
    pub(crate) backend: Arc<BackendInfo>,
}
