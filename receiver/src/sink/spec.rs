//! From the words of the command line or the configuration to a sink.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use common::config::WindowBackend;

use super::{Headless, Recorder, Sink, SinkError, Window};
use crate::own::OwnSide;

/// The text of `--help` about sinks.
pub const HELP: &str = "\
Sinks (--sink may be given several times):
  window[:fullscreen]  a window; H lists its keys, Esc twice closes
  headless             show nothing, count and measure everything
  y4m:PATH             a Y4M file, - for standard output; the picture before fills in for frames that never came and for
                       outages of up to ten minutes, so that the file keeps time with a recording of the sound";

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
}

/// A text that names no sink.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no sink: use window, window:fullscreen, headless or y4m:PATH")]
pub struct UnknownSink(String);

impl SinkSpec {
    /// Returns its kind, as written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Window { .. } => "window",
            Self::Headless => "headless",
            Self::Y4m(_) => "y4m",
        }
    }
}

impl SinkSpec {
    /// Returns the file that it writes, if it writes one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Y4m(path) => Some(path),
            Self::Window { .. } | Self::Headless => None,
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
            _ => Err(UnknownSink(text.to_owned())),
        }
    }
}

/// Opens a sink. `backend`: what opens a window. `status_line`: whether a window shows its line from the start. `records`: whether all sinks are files.
/// `own`: what a window shows of the other direction.
pub fn open(
    spec: &SinkSpec,
    backend: WindowBackend,
    status_line: bool,
    records: bool,
    own: Option<&OwnSide>,
) -> Result<Box<dyn Sink>, SinkError> {
    Ok(match spec {
        SinkSpec::Window { fullscreen } => Box::new(Window::open(backend, *fullscreen, status_line, own.cloned())?),
        SinkSpec::Headless => Box::new(Headless),
        SinkSpec::Y4m(path) => Box::new(Recorder::create(path, records)?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn specifications_parse() {
        assert_eq!("window".parse(), Ok(SinkSpec::Window { fullscreen: false }));
        assert_eq!("window:fullscreen".parse(), Ok(SinkSpec::Window { fullscreen: true }));
        assert_eq!("headless".parse(), Ok(SinkSpec::Headless));
        assert_eq!("y4m:a:b.y4m".parse(), Ok(SinkSpec::Y4m(PathBuf::from("a:b.y4m"))));
        assert_eq!("y4m:-".parse(), Ok(SinkSpec::Y4m(PathBuf::from("/dev/stdout"))));
        for wrong in ["", "y4m", "y4m:", "windows", "window:full", "headless:1"] {
            let error = wrong.parse::<SinkSpec>().unwrap_err();
            assert!(error.to_string().contains("window:fullscreen, headless or y4m:PATH"), "{error}");
        }
    }
}
