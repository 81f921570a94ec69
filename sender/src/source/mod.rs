//! Sources of pictures: a camera, a test pattern, files.

mod camera;
mod duet;
mod file;
mod jpeg;
mod mjpeg;
pub mod pattern;
mod spec;

use common::config::SenderConfig;
use common::units::Timestamp;
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat};
use shell::exit::Failure;

pub use camera::{CameraDescription, cameras};
pub use mjpeg::MjpegReader;
pub use spec::{FORMS, Layout, Pace, SourceSpec};

/// A picture taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Order of the samples.
    pub format: PixelFormat,
    /// The samples.
    pub data: Vec<u8>,
    /// Time at which it was taken.
    pub capture: Timestamp,
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
    /// True if new pictures come whether or not older ones were taken: the newest counts. Otherwise none may be
    /// lost, and the source waits.
    pub is_live: bool,
}

/// Gives pictures one after another, on the thread that opened it.
pub trait FrameSource {
    /// Returns the properties of its pictures.
    fn info(&self) -> SourceInfo;

    /// Waits for the next picture; `None` at the end. `buffer` is memory to use again.
    fn next(&mut self, buffer: Vec<u8>) -> Result<Option<SourceFrame>, Failure>;

    /// Pauses the source: a camera is switched off. The next call of [`Self::next`] switches it on.
    fn rest(&mut self) {}

    /// Returns the pictures that could not be used so far, such as broken JPEGs.
    fn skipped(&self) -> u64 {
        0
    }
}

/// Opens the source that `spec` names; `config` gives what it leaves open.
pub fn open(spec: &SourceSpec, config: &SenderConfig) -> Result<Box<dyn FrameSource>, Failure> {
    let default_rate = || config.frame_rate.or(FrameRate::new(30, 1)).ok_or_else(|| Failure::usage("no frame rate"));
    Ok(match spec {
        SourceSpec::Camera { index, size, rate } => {
            let wanted = size.or(config.size);
            Box::new(camera::Camera::open(*index, wanted, rate.map_or_else(default_rate, Ok)?)?)
        }
        SourceSpec::Pattern { size, rate } => {
            let size = size.or(config.size).map_or_else(|| FrameSize::new(1280, 720), Ok).map_err(Failure::usage)?;
            Box::new(pattern::Pattern::new(size, rate.map_or_else(default_rate, Ok)?))
        }
        SourceSpec::File { layout, path, repeat, is_live, pace } => {
            file::open(*layout, path, *repeat, (*is_live, *pace), config.frame_rate, default_rate()?)?
        }
    })
}
