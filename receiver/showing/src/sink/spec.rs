//! From the words of the command line or the configuration to a sink.

use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(feature = "window")]
use super::Window;
use super::window_parts::WindowParts;
use super::{Headless, Recorder, Sink, SinkError, VirtualCamera};

/// The text of `--help` about sinks.
pub const HELP: &str = "\
Sinks (--sink may be given several times):
  window[:fullscreen]  a window; H lists its keys, Esc twice closes
  headless             show nothing, count and measure everything
  y4m:PATH             a Y4M file, - for standard output; the picture before fills in for frames
                       that never came and for outages of up to ten minutes, so that the file
                       keeps time with a recording of the sound
  v4l2:DEVICE          a virtual camera for OBS, Zoom and others, such as v4l2:/dev/video10: a
                       video device that takes pictures, made by
                       `sudo modprobe v4l2loopback video_nr=10 exclusive_caps=1`";

/// A sink asked for on the command line or in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkSpec {
    /// A window on the display that `DISPLAY` or `WAYLAND_DISPLAY` names.
    Window {
        /// Without borders, as large as the screen.
        fullscreen: bool,
    },
    /// Nothing is shown.
    Headless,
    /// A file.
    Y4m(PathBuf),
    /// A virtual camera: a video device that takes pictures.
    V4l2(PathBuf),
}

/// A text that names no sink.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no sink: use window, window:fullscreen, headless, y4m:PATH or v4l2:DEVICE")]
pub struct UnknownSink(String);

impl SinkSpec {
    /// Returns its kind, as written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Window { .. } => "window",
            Self::Headless => "headless",
            Self::Y4m(_) => "y4m",
            Self::V4l2(_) => "v4l2",
        }
    }

    /// Returns the file that it writes, if it writes one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Y4m(path) => Some(path),
            Self::Window { .. } | Self::Headless | Self::V4l2(_) => None,
        }
    }
}

impl FromStr for SinkSpec {
    type Err = UnknownSink;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "window" => Ok(Self::Window { fullscreen: false }),
            None if text == "headless" => Ok(Self::Headless),
            Some(("window", "fullscreen")) => Ok(Self::Window { fullscreen: true }),
            Some(("y4m", "-")) => Ok(Self::Y4m(PathBuf::from("/dev/stdout"))),
            Some(("y4m", path)) if !path.is_empty() => Ok(Self::Y4m(PathBuf::from(path))),
            // No file's name has a zero in it.
            Some(("v4l2", device)) if !device.is_empty() && !device.contains('\0') => {
                Ok(Self::V4l2(PathBuf::from(device)))
            }
            _ => Err(UnknownSink(text.to_owned())),
        }
    }
}

/// Opens a sink. `records`: whether all sinks are files.
pub fn open(spec: &SinkSpec, window: &WindowParts, records: bool) -> Result<Box<dyn Sink>, SinkError> {
    Ok(match spec {
        #[cfg(feature = "window")]
        SinkSpec::Window { fullscreen } => Box::new(Window::open(*fullscreen, window.clone())?),
        #[cfg(not(feature = "window"))]
        SinkSpec::Window { .. } => {
            let _ = window;
            return Err(SinkError::WithoutWindow);
        }
        SinkSpec::Headless => Box::new(Headless),
        SinkSpec::Y4m(path) => Box::new(Recorder::create(path, records)?),
        SinkSpec::V4l2(path) => Box::new(VirtualCamera::open(path)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_parse() {
        assert_eq!("window".parse(), Ok(SinkSpec::Window { fullscreen: false }));
        assert_eq!("window:fullscreen".parse(), Ok(SinkSpec::Window { fullscreen: true }));
        assert_eq!("headless".parse(), Ok(SinkSpec::Headless));
        assert_eq!("y4m:a:b.y4m".parse(), Ok(SinkSpec::Y4m(PathBuf::from("a:b.y4m"))));
        assert_eq!("y4m:-".parse(), Ok(SinkSpec::Y4m(PathBuf::from("/dev/stdout"))));
        assert_eq!("v4l2:/dev/video10".parse(), Ok(SinkSpec::V4l2(PathBuf::from("/dev/video10"))));
        for wrong in ["", "y4m", "y4m:", "windows", "window:full", "headless:1", "v4l2", "v4l2:", "v4l2:/dev/\0"] {
            let error = wrong.parse::<SinkSpec>().unwrap_err();
            assert!(error.to_string().contains("is no sink: use window, window:fullscreen, "), "{error}");
        }
    }
}
