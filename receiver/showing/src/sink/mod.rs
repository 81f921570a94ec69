//! Sinks of decoded pictures. There is one or several; all run on the main thread, since a window must.

#[cfg(feature = "window")]
mod awake;
mod camera_picture;
#[cfg(feature = "window")]
#[allow(unsafe_code, reason = "Xlib is told what to do at the end of the X server")]
mod display_loss;
mod enlarged;
#[cfg(feature = "window")]
mod face;
#[cfg(feature = "window")]
mod grid;
mod headless;
#[cfg(feature = "window")]
mod keys;
#[cfg(feature = "window")]
mod levels;
#[cfg(feature = "window")]
mod overlay;
mod recorder;
#[cfg(feature = "window")]
mod self_view;
#[cfg(feature = "window")]
mod session_bus;
#[cfg(feature = "window")]
mod snapshot;
mod spec;
mod text;
mod video_output;
mod virtual_camera;
#[cfg(feature = "window")]
mod window;
mod window_parts;
#[cfg(feature = "window")]
mod x11;
mod y4m;

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use common::units::FrameId;
use kernels::Picture;
use picture::params::StreamParams;

use crate::report::Status;

#[cfg(feature = "window")]
pub use self::face::{Face, Layer, Press, Said, SharedFace};
#[cfg(feature = "window")]
pub use self::grid::{Emphasis, Grid, Says, Sheet, Tile};
pub use self::headless::Headless;
pub use self::recorder::Recorder;
#[cfg(feature = "window")]
pub use self::self_view::{Corner, OwnPlace};
pub use self::spec::{HELP, SinkSpec, UnknownSink, open};
pub use self::video_output::{VideoOutputError, VideoOutputProblem};
pub use self::virtual_camera::VirtualCamera;
#[cfg(feature = "window")]
pub use self::window::{HeldWindow, Pick, SecondPlace, SecondWindow, TITLE, Window};
pub use self::window_parts::WindowParts;

/// Errors of opening or using a sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SinkError {
    /// There is no display to open a window on.
    #[error(
        "no window can be opened: {0}; start this in a terminal of the desktop, where WAYLAND_DISPLAY or DISPLAY is set, or use \
         --sink headless or --sink y4m:PATH"
    )]
    NoDisplay(String),
    /// The program was built without the feature `window`.
    #[error("this program was built without a window: use --sink headless, --sink y4m:PATH or --sink v4l2:DEVICE")]
    WithoutWindow,
    /// The window could not be drawn.
    #[error("the window cannot be drawn any more: {0}")]
    Window(String),
    /// A file could not be made or written.
    #[error("cannot write {path}: {reason}", path = path.display())]
    File { path: PathBuf, reason: String },
    /// A virtual camera takes no pictures.
    #[error(transparent)]
    VirtualCamera(#[from] VideoOutputError),
    /// A Y4M file holds one size, rate and sampling; the sender came back with another.
    #[error("{path} holds {held} and cannot go on with {new}: start again with another file", path = path.display())]
    StreamChanged { path: PathBuf, held: String, new: String },
}

/// The user's wish to go on or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Continue,
    /// The window was closed.
    Close,
}

/// Copies a picture for a thread that gives it back to `used`, into memory that has come back if there is any.
fn copied(picture: &Picture, used: &Receiver<Picture>) -> Picture {
    let fits = |used: &Picture| used.format() == picture.format() && used.size() == picture.size();
    match used.try_iter().find(fits) {
        Some(mut used) => {
            used.data_mut().copy_from_slice(picture.data());
            used
        }
        None => picture.clone(),
    }
}

/// Something that shows or keeps pictures.
pub trait Sink {
    /// Begins a stream, for the first time or again.
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError>;

    /// Shows the picture of frame `id`; ids only grow within a stream.
    fn show(&mut self, id: FrameId, picture: &Picture) -> Result<(), SinkError>;

    /// Takes the figures of the stream, once a second.
    fn status(&mut self, _status: &Status) {}

    /// Sets the sentence to show while no picture comes; none: pictures come. Called whenever that changes.
    fn notice(&mut self, _notice: Option<&str>) {}

    /// Covers the last picture, which is not to be seen any more: the other side hides its own. Its next picture takes that back.
    fn cover(&mut self) {}

    /// Says something for a moment.
    fn say(&mut self, _text: &str) {}

    /// Called every few milliseconds between pictures: the place to handle keys.
    fn poll(&mut self) -> Result<Wish, SinkError> {
        Ok(Wish::Continue)
    }

    /// Ends: no picture follows. `last` is the stream's last frame if the sender said so.
    fn finish(&mut self, _last: Option<FrameId>) -> Result<(), SinkError> {
        Ok(())
    }
}
