//! The part of the program that has the window.

use std::sync::Arc;

use calling::{BandView, Handle};
use net::failure::Failure;
use showing::sink::{Sink, SinkError, WindowParts};

/// Opens the sinks of a call, on the thread that shows its pictures.
pub type OpenSinks = Arc<dyn Fn(&Handle, WindowParts) -> Result<Vec<Box<dyn Sink>>, SinkError> + Send + Sync>;

/// Shows a band, on the thread of the window.
pub type ShowBand = Arc<dyn Fn(BandView) -> Result<(), Failure> + Send + Sync>;

/// The part of a program that has the window.
#[derive(Clone)]
pub struct Host {
    /// Opens the sinks of each call.
    pub open_sinks: OpenSinks,
    /// Hands a band to the thread of the window.
    pub show_band: ShowBand,
    /// Called after each event, on any thread, so that the window looks.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}
