//! The encode thread: pictures to coded frames.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use common::coded::CodedFrame;
use common::session::FrameTimes;
use kernels::{BackendInfo, EncodeTimes, Encoder, Error, PictureRef, Target};
use shell::clock;
use shell::exit::Failure;
use shell::link::Waker;
use shell::slot::{Slot, Taken};

use crate::gate::Gate;
use crate::source::{SourceFrame, SourceInfo};

/// A coded frame on its way to the network thread.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) frame: CodedFrame,
    pub(crate) times: FrameTimes,
    /// From the capture to the start of the coding.
    pub(crate) waited: Duration,
    pub(crate) stages: EncodeTimes,
    /// What coded it.
    pub(crate) backend: Arc<BackendInfo>,
}

/// What the encode thread works with.
pub(crate) struct Encode {
    pub(crate) encoder: Box<dyn Encoder>,
    pub(crate) info: SourceInfo,
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    pub(crate) coded: Slot<Encoded>,
    pub(crate) used: Sender<Vec<u8>>,
    pub(crate) waker: Waker,
    /// Frames after which the stream ends.
    pub(crate) frames_max: Option<u64>,
}

impl Encode {
    /// Runs until the source has ended or the network thread has closed its slot. Both slots are closed in every
    /// case.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let result = self.pump();
        self.pictures.close();
        self.coded.close();
        self.waker.wake();
        result
    }

    fn pump(&mut self) -> Result<(), Failure> {
        let mut count = 0;
        let mut backend = Arc::new(self.encoder.backend().clone());
        while self.frames_max.is_none_or(|max| count < max) {
            let picture = match self.pictures.take_timeout(Duration::from_secs(1)) {
                Taken::Item(picture) => picture,
                Taken::Timeout if self.coded.is_closed() => return Ok(()),
                Taken::Timeout => continue,
                Taken::Closed => return Ok(()),
            };
            if self.info.is_live && !self.gate.is_open() {
                self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let began = clock::now();
            let target = Target::Bytes(self.gate.budget_bytes());
            let frame = PictureRef::new(picture.format, self.info.size, &picture.data)
                .and_then(|borrowed| self.encoder.encode(borrowed, target))
                .map_err(|error| failure(&error))?;
            let times = FrameTimes { capture: picture.capture, coded: clock::now() };
            if *backend != *self.encoder.backend() {
                backend = Arc::new(self.encoder.backend().clone());
                tracing::warn!("{} on {} from now on: {}", backend.name, backend.device, backend.reason);
            }
            let waited = began.since(picture.capture);
            let backend = Arc::clone(&backend);
            let encoded = Encoded { frame, times, waited, stages: self.encoder.times(), backend };
            // Without a capture thread there is nobody to use the memory again.
            let _ = self.used.send(picture.data);
            count += 1;
            if self.info.is_live {
                self.coded.replace(encoded);
            } else {
                self.waker.wake();
                if self.coded.put_wait(encoded).is_err() {
                    return Ok(());
                }
            }
            self.waker.wake();
        }
        Ok(())
    }
}

/// What an encoder's error means to the person at the terminal.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::BudgetTooSmall { .. } => Failure::usage(format!(
            "the bit rate is too low for pictures of this size: {error}; raise --rate or lower the frame rate"
        )),
        Error::DeviceNotApplicable { .. } => Failure::usage(error),
        _ => Failure::device(error),
    }
}
