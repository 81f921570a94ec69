//! Where decoded pictures go. One sink or several; all run on the main thread, since a window must.

#[allow(unsafe_code, reason = "Xlib is told what to do at the end of the X server")]
mod display_loss;
mod headless;
mod keys;
mod overlay;
mod recorder;
mod self_view;
mod snapshot;
mod text;
mod window;
mod x11;
mod y4m;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use common::units::FrameId;
use kernels::Picture;
use picture::params::StreamParams;

use crate::own::OwnSide;
use crate::report::Status;

pub use self::headless::Headless;
pub use self::recorder::Recorder;
pub use self::window::Window;

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
    /// A window on the display that `DISPLAY` names.
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

/// Errors of opening or using a sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// There is no display to open a window on.
    #[error(
        "no window can be opened: {0}; start this under X11 with DISPLAY set, or use --sink headless or --sink y4m:PATH"
    )]
    NoDisplay(String),
    /// The window could not be drawn.
    #[error("the window cannot be drawn any more: {0}")]
    Window(String),
    /// A file could not be made or written.
    #[error("cannot write {path}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        reason: String,
    },
    /// A Y4M file holds one size, rate and sampling; the sender came back with another.
    #[error("{path} holds {held} and cannot go on with {new}: start again with another file", path = path.display())]
    StreamChanged {
        /// The file.
        path: PathBuf,
        /// Its pictures.
        held: String,
        /// The new stream's pictures.
        new: String,
    },
}

/// The user's wish to go on or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Continue,
    /// The window was closed.
    Close,
}

/// Something that shows or keeps pictures.
pub trait Sink {
    /// Begins a stream, for the first time or again.
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError>;

    /// Shows the picture of frame `id`; ids only grow within a stream.
    fn show(&mut self, id: FrameId, picture: &Picture) -> Result<(), SinkError>;

    /// Takes the figures of the stream, once a second.
    fn status(&mut self, _status: &Status) {}

    /// What there is to say while no picture comes; none: pictures come. Called whenever that changes.
    fn notice(&mut self, _notice: Option<&str>) {}

    /// Called every few milliseconds between pictures: the place to handle keys.
    fn poll(&mut self) -> Result<Wish, SinkError> {
        Ok(Wish::Continue)
    }

    /// Ends: no picture follows. `last` is the stream's last frame if the sender said so.
    fn finish(&mut self, _last: Option<FrameId>) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Opens a sink. `status_line`: whether a window shows its line from the start. `records`: whether all sinks are files.
/// `own`: what a window shows of the other direction.
pub fn open(
    spec: &SinkSpec,
    status_line: bool,
    records: bool,
    own: Option<&OwnSide>,
) -> Result<Box<dyn Sink>, SinkError> {
    Ok(match spec {
        SinkSpec::Window { fullscreen } => Box::new(Window::open(*fullscreen, status_line, own.cloned())?),
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
