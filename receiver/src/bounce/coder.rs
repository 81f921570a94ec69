//! The thread that codes what was shown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::latency::OneWay;
use common::session::FrameTimes;
use kernels::{BackendChoice, EncodeError, Encoder, PictureRef, Target, open_encoder};
use net::clock;
use net::failure::Failure;
use net::link::Waker;
use net::lock::lock;
use picture::coded::CodedFrame;
use picture::frame::PixelFormat;
use picture::params::{CodecParams, Profile, StreamParams};
use shell::exit::codec_failure;
use shell::slot::{Slot, Taken};

use super::Shared;

/// Longest wait for a picture before the thread looks whether there will be any.
const WAIT: Duration = Duration::from_millis(250);

/// A picture that was shown.
#[derive(Debug)]
pub(super) struct ShownPicture {
    /// Serial number of its stream.
    pub(super) serial: u64,
    pub(super) params: StreamParams,
    pub(super) format: PixelFormat,
    pub(super) data: Vec<u8>,
    pub(super) way: OneWay,
}

/// The same, coded.
#[derive(Debug)]
pub(super) struct Coded {
    pub(super) frame: CodedFrame,
    pub(super) times: FrameTimes,
    pub(super) way: OneWay,
}

/// Parts of the thread.
pub(super) struct Coder {
    pub(super) choice: BackendChoice,
    pub(super) device: Option<String>,
    pub(super) shared: Arc<Shared>,
    pub(super) pictures: Slot<ShownPicture>,
    pub(super) coded: Slot<Coded>,
    pub(super) waker: Waker,
}

/// An open encoder.
struct OpenEncoder {
    serial: u64,
    params: StreamParams,
    encoder: Box<dyn Encoder>,
}

impl Coder {
    /// Codes pictures until the slot is closed. A failure is left for the network thread, which ends with it.
    pub(super) fn run(&self) {
        if let Err(failure) = self.pump() {
            *lock(&self.shared.failed) = Some(failure);
            self.waker.wake();
        }
    }

    fn pump(&self) -> Result<(), Failure> {
        let mut opened: Option<OpenEncoder> = None;
        loop {
            let shown = match self.pictures.take_timeout(WAIT) {
                Taken::Item(shown) => shown,
                Taken::Timeout => continue,
                Taken::Closed => return Ok(()),
            };
            let mut open = match opened.take().filter(|open| open.params == of_return(&shown.params)) {
                Some(open) => open,
                None => self.open(&shown)?,
            };
            if std::mem::replace(&mut open.serial, shown.serial) != shown.serial {
                *lock(&self.shared.stream) = Some((shown.serial, open.params));
                self.waker.wake();
            }
            if self.shared.is_open.load(Ordering::Relaxed) {
                let budget_bytes = self.shared.budget_bytes.load(Ordering::Relaxed);
                let frame = code(open.encoder.as_mut(), &shown, Target::Bytes(budget_bytes))?;
                let times = FrameTimes { capture: shown.way.shown, coded: clock::now() };
                self.coded.replace(Coded { frame, times, way: shown.way });
                self.waker.wake();
            }
            opened = Some(open);
        }
    }

    /// Opens an encoder and codes the picture, so that the first one that goes back finds everything in its place.
    fn open(&self, shown: &ShownPicture) -> Result<OpenEncoder, Failure> {
        let params = of_return(&shown.params);
        let encoder = open_encoder(&params, self.choice, self.device.as_deref());
        let mut encoder = encoder.map_err(|error| codec_failure(&error))?;
        code(encoder.as_mut(), shown, Target::Bytes(FIRST_BYTES))?;
        Ok(OpenEncoder { serial: 0, params, encoder })
    }
}

/// Size of the first picture, which goes nowhere, bytes.
const FIRST_BYTES: usize = 32 << 10;

fn code(encoder: &mut dyn Encoder, shown: &ShownPicture, target: Target) -> Result<CodedFrame, Failure> {
    let picture = PictureRef::new(shown.format, shown.params.size, &shown.data).map_err(EncodeError::from);
    picture.and_then(|picture| encoder.encode(picture, target)).map_err(|error| codec_failure(&error))
}

/// Returns the parameters of the stream that goes back: without prediction, whose states the other side would have to report.
fn of_return(params: &StreamParams) -> StreamParams {
    StreamParams { codec: CodecParams { profile: Profile::Quad, ..params.codec }, ..*params }
}
