//! Reads a film.

use std::path::Path;

use common::config::{parse_sender, resolve_sender};
use net::failure::Failure;
use picture::frame::{FrameSize, PixelFormat};
use sending::source::{self, FrameSource, Layout, SourceFrame, SourceSpec, Speed};

use crate::find::Luma;

/// The pictures of a film.
pub struct Film {
    source: Box<dyn FrameSource>,
    used: Vec<u8>,
}

impl Film {
    /// Opens the file at `path`; its name's ending says what it holds.
    ///
    /// Errors: of usage, if it cannot be read or is of another kind.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let layout = match ending.as_str() {
            "y4m" => Layout::Y4m,
            "mjpeg" | "mjpg" | "avi" => Layout::Mjpeg,
            _ => {
                let shown = path.display();
                return Err(Failure::usage(format!(
                    "{shown} is neither Y4M (.y4m) nor Motion JPEG (.mjpeg, .avi): make one of it with \
                     `ffmpeg -i {shown} -an -q:v 3 film.mjpeg`"
                )));
            }
        };
        let spec = SourceSpec::File { layout, path: path.to_owned(), repeat: false, is_live: false, pace: Speed::Free };
        let config = parse_sender("").and_then(|file| resolve_sender(&file)).map_err(Failure::usage)?;
        Ok(Self { source: source::open(&spec, &config)?, used: Vec::new() })
    }

    /// Reads the next picture: its brightness, small enough to be searched; none at the end.
    pub fn read(&mut self) -> Result<Option<Luma>, Failure> {
        let size = self.source.info().size;
        let frame = self.source.next(std::mem::take(&mut self.used))?;
        Ok(frame.map(|frame| {
            let luma = luma(&frame, size);
            self.used = frame.data.into_memory().unwrap_or_default();
            luma.reduced()
        }))
    }
}

/// Returns the brightness of a picture. A source gives all its samples.
fn luma(frame: &SourceFrame, size: FrameSize) -> Luma {
    let (first, step) = match frame.format {
        PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8 => (0, 1),
        PixelFormat::YCbCr8 => (0, 3),
        PixelFormat::Yuyv => (0, 2),
        // Green is most of the brightness.
        PixelFormat::Rgb8 => (1, 3),
    };
    let mut samples: Vec<u8> = frame.data.iter().skip(first).step_by(step).take(size.pixels()).copied().collect();
    samples.resize(size.pixels(), 0);
    Luma { width: size.width(), height: size.height(), samples }
}
