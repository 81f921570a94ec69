//! Sources of pictures: a camera, test pictures, files.

mod camera;
mod duet;
mod file;
mod film;
pub mod health;
mod input;
mod jpeg;
mod mjpeg;
mod nothing;
mod open;
pub mod pattern;
mod samples;
mod spec;
pub mod strip;
mod ticks;

use std::sync::Arc;

use common::units::Timestamp;
use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Raster};

use self::health::Health;

pub use camera::{CameraDescription, Chosen, Examined, Offer, cameras, examine, rate_text};
pub use jpeg::{JpegDecoder, JpegFault, MjpegReader};
pub use open::{asked, open, open_or_await};
pub use samples::Samples;
pub use spec::{FORMS, Layout, SourceSpec, Speed};

/// A picture taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Order of the samples.
    pub format: PixelFormat,
    /// The samples.
    pub data: Samples,
    /// Time at which it was taken.
    pub capture: Timestamp,
    /// Properties of a source that may change; none: those that it had when it was opened.
    pub info: Option<SourceInfo>,
}

/// A source's properties before its first picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// Size of all its pictures.
    pub size: FrameSize,
    /// Their nominal rate.
    pub frame_rate: FrameRate,
    /// Meaning of their samples.
    pub colour: ColourSpace,
    /// Places of their samples, as far as a stream of their chroma keeps it.
    pub raster: Raster,
    /// True if new pictures come whether or not older ones were taken: the newest counts. Otherwise none may be
    /// lost, and the source waits.
    pub is_live: bool,
    /// False for a camera that is waited for.
    pub is_there: bool,
}

/// Gives pictures one after another, on the thread that opened it.
pub trait FrameSource {
    /// Returns the properties of its pictures.
    fn info(&self) -> SourceInfo;

    /// Waits for the next picture; `None` at the end. `buffer` is memory to use again.
    fn next(&mut self, buffer: Vec<u8>) -> Result<Option<SourceFrame>, Failure>;

    /// Pauses the source: a camera is switched off. The next call of [`Self::next`] switches it on.
    fn rest(&mut self) {}

    /// Has `health` tell how the device is, also while [`Self::next`] waits for it, which it does no more once that has ended.
    fn share(&mut self, _health: Arc<Health>) {}

    /// Returns the pictures that could not be used so far, such as broken JPEGs.
    fn skipped(&self) -> u64 {
        0
    }
}
