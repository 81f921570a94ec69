//! Recording of the frames that are sent.

use std::sync::Arc;

use common::units::{FrameId, Timestamp};
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::params::StreamParams;
use shell::record::{KeptFrame, Recorded, Switch};

/// A recording of the frames that are sent, which runs or not; of a stream with prediction it has none, since each frame is coded from what
/// has reached the receiver.
pub(crate) struct Recorder {
    recording: Switch,
    stream: Arc<Recorded>,
    next: FrameId,
}

impl Recorder {
    pub(crate) fn new(recording: Switch, params: StreamParams) -> Self {
        let stream = Arc::new(Recorded { serial: 0, params, start: FrameId(0) });
        Self { recording, stream, next: FrameId(0) }
    }

    /// Returns the recording.
    pub(crate) fn recording(&self) -> Switch {
        self.recording.clone()
    }

    /// Notes that a receiver has begun.
    pub(crate) fn on_stream(&mut self) {
        self.stream = Arc::new(Recorded { serial: self.stream.serial + 1, ..(*self.stream).clone() });
    }

    /// Notes that frames are of other parameters from now on.
    pub(crate) fn on_params(&mut self, params: StreamParams) {
        self.stream = Arc::new(Recorded { serial: self.stream.serial + 1, params, start: self.next });
    }

    /// Keeps a copy of a frame that leaves.
    pub(crate) fn on_frame(&mut self, frame: &CodedFrame, capture: Timestamp, now: Timestamp) {
        let is_predicted = self.stream.params.codec.profile.states() > 0;
        if let Some(tap) = self.recording.tap().filter(|_| !is_predicted) {
            let kept = KeptFrame { id: self.next, reference: 0, frame: ReceivedFrame::from(frame), capture };
            tap.frame(&self.stream, kept, now);
        }
        self.next = self.next.next();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.recording.finish();
    }
}
