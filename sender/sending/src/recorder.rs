//! Recording of the frames that are sent.

use std::sync::Arc;

use common::units::{FrameId, Timestamp};
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::params::StreamParams;
use shell::record::{KeptFrame, Recorded, Recording, Tap};

/// A recording of the frames that are sent; each of them is coded alone.
pub(crate) struct Recorder {
    recording: Recording,
    stream: Arc<Recorded>,
    next: FrameId,
}

impl Recorder {
    pub(crate) fn new(recording: Recording, params: StreamParams) -> Self {
        let stream = Arc::new(Recorded { serial: 0, params, start: FrameId(0) });
        Self { recording, stream, next: FrameId(0) }
    }

    /// Returns the way into the recording.
    pub(crate) fn tap(&self) -> Tap {
        self.recording.tap()
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
        let kept = KeptFrame { id: self.next, reference: 0, frame: ReceivedFrame::from(frame), capture };
        self.recording.tap().frame(&self.stream, kept, now);
        self.next = self.next.next();
    }
}
