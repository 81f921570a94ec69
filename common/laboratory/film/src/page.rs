//! The strip in a window, to be filmed.

use common::config::{SnapshotFile, WindowBackend};
use common::units::FrameId;
use kernels::Picture;
use net::failure::Failure;
use picture::frame::{Chroma, FrameRate, FrameSize, PixelFormat};
use picture::params::StreamParams;
use sending::source::FrameSource;
use sending::source::strip::Strip;
use shell::settings::LatencyLimit;
use showing::sink::{Sink, Window, WindowParts, Wish};

/// Pictures a second: as many as most screens show.
const RATE: u32 = 60;

/// Shows the strip until its window is closed.
///
/// Errors: of a device, if there is no display.
pub fn show() -> Result<(), Failure> {
    let size = FrameSize::USUAL;
    let rate = FrameRate::new(RATE, 1).ok_or_else(|| Failure::usage("no such rate"))?;
    let mut strip = Strip::new(size, rate);
    let params =
        StreamParams { frame_rate: rate, colour: strip.info().colour, ..StreamParams::new(size, Chroma::C420) };
    let parts = WindowParts {
        backend: WindowBackend::default(),
        status_line: false,
        snapshot: SnapshotFile::default(),
        own: None,
        latency_limit: LatencyLimit::new(None),
        sound: None,
    };
    let mut window = Window::open(false, parts).map_err(Failure::device)?;
    window.start(&params).map_err(Failure::device)?;
    let mut picture = Picture::new(PixelFormat::I420, size);
    let (mut used, mut number) = (Vec::new(), 0);
    while window.poll().map_err(Failure::device)? == Wish::Continue {
        let Some(frame) = strip.next(used)? else { break };
        picture.data_mut().copy_from_slice(&frame.data);
        window.show(FrameId(number), &picture).map_err(Failure::device)?;
        number = number.wrapping_add(1);
        used = frame.data.into_memory().unwrap_or_default();
    }
    Ok(())
}
