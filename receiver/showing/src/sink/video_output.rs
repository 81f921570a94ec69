//! A video device that takes pictures (V4L2 output): the only file that names `v4l`.
//!
//! Pictures are handed over with `write`, as v4l2loopback takes them. It copies once more than streaming buffers do, and in
//! return no memory is shared with a driver. The device is open without waiting, so that a picture for which it has no room is left
//! out. Drivers whose `write` is the kernel's own (videobuf2), such as the test driver vivid, refuse pictures in some kernels (6.1
//! loses the number of their bytes).

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use picture::frame::FrameRate;
use v4l::capability::Flags;
use v4l::format::{Colorspace, FieldOrder, Quantization};
use v4l::video::Output;
use v4l::video::output::Parameters;
use v4l::{Device, Format, FourCC, Fraction};

use super::camera_picture::{Layout, Shape};

/// Layouts that can be written, best first: every program that opens a camera takes YUYV.
const LAYOUTS: [(&[u8; 4], Layout); 2] = [(b"YUYV", Layout::Yuyv), (b"YU12", Layout::Yu12)];
/// Linux' number of the error "no such device".
const ENODEV: i32 = 19;
/// Linux' number of the error "no such device or address".
const ENXIO: i32 = 6;

/// Takes a virtual camera's pictures.
pub(super) trait Pictures {
    /// Begins with pictures of `size` or, if they must have another, of the shape that is returned.
    fn begin(&mut self, size: (usize, usize), rate: FrameRate) -> Result<Shape, VideoOutputError>;

    /// Writes a picture, without waiting.
    fn write(&mut self, picture: &[u8]) -> Result<Written, VideoOutputError>;
}

/// The fate of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// All of it was taken.
    Whole,
    /// There was no room.
    NoRoom,
}

/// Reasons for which a virtual camera takes no pictures.
#[derive(Debug, thiserror::Error)]
#[error("the virtual camera {path} {problem}", path = path.display())]
pub struct VideoOutputError {
    /// The device.
    pub path: PathBuf,
    /// Its problem, and what would be right.
    pub problem: VideoOutputProblem,
}

/// Problems of a video device, each with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VideoOutputProblem {
    /// There is none.
    #[error(
        "is not there: `sudo modprobe v4l2loopback` makes one (package v4l2loopback-dkms), `ls /dev/video*` lists what there is"
    )]
    Missing,
    /// The user is not allowed to.
    #[error("may not be opened by this user: `sudo usermod -aG video $USER` allows it from the next login on")]
    Forbidden,
    /// Something else has this name.
    #[error("is no video device: give one that v4l2loopback has made, such as --sink v4l2:/dev/video10")]
    NoDevice,
    /// A camera, or a device that belongs to another writer.
    #[error(
        "takes no pictures: it is a camera ({0}), or another program writes to it; give a device that v4l2loopback has made"
    )]
    NoOutput(String),
    /// Another program writes to it.
    #[error(
        "is in use by another program: end that one, or have another device made (`sudo modprobe v4l2loopback devices=2`)"
    )]
    Busy,
    /// It stays at a format that cannot be made.
    #[error(
        "stays at pictures of {0}, where YUYV or YU12 is needed: end the program that has it open, then begin again"
    )]
    Format(String),
    /// It was there.
    #[error("has vanished: it was unplugged, or its driver was unloaded")]
    Gone,
    /// Its driver or thread does not answer.
    #[error("does not answer: {0}")]
    Lost(String),
    /// Any other error of the system.
    #[error("fails: {0}")]
    Failed(io::Error),
}

/// An open device.
pub(super) struct VideoOutput {
    path: PathBuf,
    device: Device,
}

impl VideoOutput {
    /// Opens the device `path`.
    pub(super) fn open(path: &Path) -> Result<Self, VideoOutputError> {
        let error = |problem| VideoOutputError { path: path.to_owned(), problem };
        let device = Device::with_path(path).map_err(|reason| {
            error(match reason.kind() {
                ErrorKind::NotFound => VideoOutputProblem::Missing,
                ErrorKind::PermissionDenied => VideoOutputProblem::Forbidden,
                ErrorKind::ResourceBusy => VideoOutputProblem::Busy,
                ErrorKind::IsADirectory => VideoOutputProblem::NoDevice,
                // A name whose driver has gone.
                _ if is_gone(&reason) => VideoOutputProblem::Missing,
                _ => VideoOutputProblem::Failed(reason),
            })
        })?;
        let capabilities = device.query_caps().map_err(|_| error(VideoOutputProblem::NoDevice))?;
        if !capabilities.capabilities.contains(Flags::VIDEO_OUTPUT) {
            return Err(error(VideoOutputProblem::NoOutput(capabilities.card)));
        }
        Ok(Self { path: path.to_owned(), device })
    }

    fn error(&self, reason: io::Error) -> VideoOutputError {
        let problem = match reason.kind() {
            ErrorKind::ResourceBusy => VideoOutputProblem::Busy,
            _ if is_gone(&reason) || self.has_gone() => VideoOutputProblem::Gone,
            _ => VideoOutputProblem::Failed(reason),
        };
        VideoOutputError { path: self.path.clone(), problem }
    }

    /// Returns true if the driver has gone, which a write that is under way then tells by any error.
    fn has_gone(&self) -> bool {
        self.device.query_caps().is_err_and(|reason| is_gone(&reason))
    }

    /// Asks for `format`; returns the one that stands then.
    fn agree_on(&self, format: &Format) -> io::Result<Format> {
        let before = Output::format(&self.device);
        Output::set_format(&self.device, format).or_else(|refused| {
            // v4l2loopback refuses another size while a program reads, and has noted it all the same: it is given its own one back.
            let before = before.map_err(|_| refused)?;
            Output::set_format(&self.device, &before).or_else(|_| Output::format(&self.device))
        })
    }
}

impl Pictures for VideoOutput {
    fn begin(&mut self, (width, height): (usize, usize), rate: FrameRate) -> Result<Shape, VideoOutputError> {
        let even = |side: usize| side.next_multiple_of(2) as u32;
        let wanted = Format {
            field_order: FieldOrder::Progressive,
            // With it goes the matrix of BT.601, as cameras have it.
            colorspace: Colorspace::SRGB,
            quantization: Quantization::LimitedRange,
            ..Format::new(even(width), even(height), FourCC::new(LAYOUTS[0].0))
        };
        let stands = self.agree_on(&wanted).map_err(|reason| self.error(reason))?;
        // It only tells readers what to expect.
        let interval = Fraction::new(rate.denominator(), rate.numerator());
        if let Err(reason) = Output::set_params(&self.device, &Parameters::new(interval)) {
            tracing::debug!("{} takes no frame rate: {reason}", self.path.display());
        }
        let layout = LAYOUTS.iter().find(|(code, _)| stands.fourcc == FourCC::new(code)).map(|(_, layout)| *layout);
        let shape = layout.and_then(|layout| {
            Shape::new(layout, (stands.width, stands.height), stands.stride as usize, stands.size as usize)
        });
        shape.ok_or_else(|| {
            let text = format!("{}x{} {}", stands.width, stands.height, stands.fourcc);
            VideoOutputError { path: self.path.clone(), problem: VideoOutputProblem::Format(text) }
        })
    }

    fn write(&mut self, picture: &[u8]) -> Result<Written, VideoOutputError> {
        match self.device.write_all(picture) {
            Ok(()) => Ok(Written::Whole),
            Err(reason) if reason.kind() == ErrorKind::WouldBlock => Ok(Written::NoRoom),
            Err(reason) => Err(self.error(reason)),
        }
    }
}

fn is_gone(reason: &io::Error) -> bool {
    matches!(reason.raw_os_error(), Some(ENODEV | ENXIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(path: &Path) -> String {
        VideoOutput::open(path).err().unwrap().to_string()
    }

    #[test]
    fn what_is_no_video_device_is_told_with_what_would_be_right() {
        let missing = refused(Path::new("/dev/video-none"));
        assert!(missing.starts_with("the virtual camera /dev/video-none is not there: "), "{missing}");
        assert!(missing.contains("modprobe v4l2loopback"), "{missing}");
        let file = std::env::temp_dir().join(format!("duet-video-output-{}", std::process::id()));
        std::fs::write(&file, "kept").unwrap();
        for path in [file.as_path(), Path::new("/dev/null"), Path::new("/")] {
            let text = refused(path);
            assert!(text.contains(" is no video device: "), "{text}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        std::fs::remove_file(&file).unwrap();
    }
}
