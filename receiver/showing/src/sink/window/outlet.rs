//! A window of winit's with the way of its frames to the display server.

use std::fs::File;
use std::io;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use raw_window_handle::{HasWindowHandle, RawWindowHandle};
use softbuffer::{Context, Rect, SoftBufferError, Surface};
use winit::event_loop::OwnedDisplayHandle;
use winit::window::{Fullscreen, Window};

use super::composition::Composition;
use super::painter::Painter;
use super::unbroken::unbroken;
use crate::sink::SinkError;
use crate::sink::x11::{self, Display, PixelLayout};

/// Parts in which a frame goes to an X server, besides the one with texts.
pub(super) const PARTS: usize = 8;

/// Folder of the memory that softbuffer shares with an X server.
const SHARED_FOLDER: &str = "/dev/shm";
/// Bytes of softbuffer's memory for a pixel of the screen: a frame, and rows with texts once more.
const SHARED_PIXEL_BYTES: usize = 8;

/// A place on the screen and the size of what is there, pixels.
pub(super) type Area = ((isize, isize), (usize, usize));

/// A window with the way of its frames.
pub(super) struct Outlet {
    /// Memory that is shared with the display server: on X11 for each part of a frame, otherwise for the whole.
    surfaces: Vec<Surface<OwnedDisplayHandle, Rc<Window>>>,
    pub(super) window: Rc<Window>,
    /// On an X11 display, what winit lacks there.
    pub(super) x11: Option<X11Window>,
}

/// A window on an X11 display.
pub(super) struct X11Window {
    /// Its number there.
    pub(super) id: u32,
    /// Place and size before full screen.
    before: Area,
    /// Shows frames where softbuffer does not.
    pub(super) painter: Option<Painter>,
}

impl Outlet {
    /// Lets frames go to `window`; `x11`: a connection to the X server, if it is on one, and its pixels.
    pub(super) fn new(
        window: Rc<Window>,
        handle: OwnedDisplayHandle,
        x11: Option<&(Display, PixelLayout)>,
    ) -> Result<Self, SinkError> {
        let x11 = match (x11, window.window_handle().map(|handle| handle.as_raw())) {
            (Some((display, layout)), Ok(RawWindowHandle::Xlib(handle))) => {
                let id = u32::try_from(handle.window).map_err(no_display)?;
                let shares = layout.is_usual() && display.shares_memory(id, layout).map_err(x11::failed)?;
                let is_softbuffers = shares && has_room(Path::new(SHARED_FOLDER), display.size());
                let painter = (!is_softbuffers).then(|| Painter::new(id, layout.clone()));
                Some(X11Window { id, before: Area::default(), painter })
            }
            _ => None,
        };
        let count = match &x11 {
            Some(X11Window { painter: Some(_), .. }) => 0,
            Some(_) => PARTS + 1,
            None => 1,
        };
        let mut surfaces = Vec::with_capacity(count);
        if count > 0 {
            let context = Context::new(handle).map_err(no_display)?;
            let surface = |_| Surface::new(&context, Rc::clone(&window)).map_err(no_display);
            surfaces = (0..count).map(surface).collect::<Result<_, _>>()?;
        }
        Ok(Self { surfaces, window, x11 })
    }

    /// Makes `rows` of a frame of `size` in the memory of part `number` and asks the display server to show them. Texts are on
    /// those that end after row `written`.
    pub(super) fn put(
        &mut self,
        composition: &mut Composition,
        size: (NonZeroU32, NonZeroU32),
        (number, rows): (usize, Range<usize>),
        written: usize,
    ) -> Result<(), SoftBufferError> {
        let Some(surface) = self.surfaces.get_mut(number) else { return Ok(()) };
        surface.resize(size.0, size.1)?;
        let mut frame = surface.buffer_mut()?;
        let width = size.0.get() as usize;
        composition.make(&mut frame[rows.start * width..rows.end * width], rows.start);
        if rows.end > written {
            composition.write(&mut frame);
        }
        let height = NonZeroU32::new(rows.len() as u32).unwrap_or(NonZeroU32::MIN);
        frame.present_with_damage(&[Rect { x: 0, y: rows.start as u32, width: size.0, height }])
    }

    /// Waits until an X server has read all memory that it has been given.
    pub(super) fn finish(&mut self) -> Result<(), SoftBufferError> {
        // What was asked last is answered last, so that there is one wait.
        self.surfaces.iter_mut().rev().try_for_each(|surface| surface.buffer_mut().map(drop))
    }

    /// Covers `area` of an X server's screen, and elsewhere the screen on which the window is, or takes the place of before.
    /// `size`: the window's.
    pub(super) fn set_fullscreen(
        &mut self,
        on: bool,
        size: (usize, usize),
        x11: Option<(&Display, Area)>,
    ) -> Result<(), SinkError> {
        // Some X servers have no window manager, which winit leaves it to.
        let (Some(window), Some((display, area))) = (&mut self.x11, x11) else {
            self.window.set_fullscreen(on.then_some(Fullscreen::Borderless(None)));
            return Ok(());
        };
        let done = if on {
            display.position(window.id).and_then(|place| {
                window.before = (place, size);
                display.fullscreen(window.id, area)
            })
        } else {
            display.leave_fullscreen(window.id, window.before)
        };
        done.map_err(x11::failed)
    }

    /// Closes the window.
    pub(super) fn close(self) {
        let Self { surfaces, window, .. } = self;
        // Each by itself: one that breaks down while another does would end the process.
        for surface in surfaces {
            let _ = unbroken(|| drop(surface));
        }
        let _ = unbroken(|| drop(window));
    }
}

/// Returns true if softbuffer can have its memory for windows up to the size of the screen in `folder`. Where it could not,
/// it would send whole frames for parts of them; where it could not have all, the system would end the process.
fn has_room(folder: &Path, (width, height): (usize, usize)) -> bool {
    let file = folder.join(format!("duet-{}", std::process::id()));
    let tried = || -> io::Result<u64> {
        File::create_new(&file)?;
        std::fs::remove_file(&file)?;
        let found = rustix::fs::statvfs(folder)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    };
    match tried() {
        Ok(free) => free >= (SHARED_PIXEL_BYTES * width * height) as u64,
        Err(error) => {
            tracing::debug!("{}: {error}", folder.display());
            false
        }
    }
}

pub(super) fn no_display(error: impl ToString) -> SinkError {
    SinkError::NoDisplay(error.to_string())
}
