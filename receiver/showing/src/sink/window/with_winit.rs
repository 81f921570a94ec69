//! A window on a Wayland or X11 display, opened by winit, whose pixels softbuffer hands over.
//!
//! softbuffer and not wgpu: it gives out memory that the display server shares (`wl_shm`, MIT-SHM), so that the scaler writes where
//! the server reads; there is no swap chain whose images could wait in a row, and no driver of a GPU that must work. wgpu would
//! scale on the GPU, for a tenfold of crates; its present modes that do not queue (mailbox, immediate) are not on every driver, and
//! its usual one (fifo) lets two or three frames wait. Here nothing waits: on X11 a frame is on the screen when [`Pane::show`]
//! returns. On Wayland it replaces the one before, which the compositor has not shown yet, and waits for the next refresh.
//!
//! To an X server a frame goes in parts: the server copies one while the next is made. Each part has memory of its own, so that
//! nobody waits for the server before the frame is complete. softbuffer knows one kind of screen and its memory is in `/dev/shm`:
//! on other screens, and where that is not to be had, frames go past it ([`Painter`]).
//!
//! winit draws a plain frame with buttons where a Wayland desktop leaves that to programs; one with a title would need fonts.

use std::num::NonZeroU32;
use std::time::Duration;

use softbuffer::SoftBufferError;
use winit::dpi::PhysicalSize;
use winit::event_loop::{EventLoop, EventLoopBuilder};
use winit::platform::pump_events::{EventLoopExtPumpEvents, PumpStatus};
use winit::platform::wayland::EventLoopBuilderExtWayland;
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::UserAttentionType;

use super::composition::{Composition, parts};
use super::outlet::{Outlet, PARTS, no_display};
use super::pane::{News, Pane, WAITING_SIZE};
use super::second::SecondWindow;
use super::unbroken::unbroken;
use super::watched::{Second, Watched, pixels};
use crate::sink::face::{Press, Said, SharedFace};
use crate::sink::x11::{self, Display, PixelLayout};
use crate::sink::{SinkError, display_loss};

/// Message about a compositor that has gone.
const ENDED: &str = "the Wayland compositor has ended";

/// Extensions of an X server without which winit breaks down.
const EXTENSIONS: [&str; 3] = ["RANDR", "XInputExtension", "XKEYBOARD"];

/// Waits for a second window at most, and each of them: other events may come before.
const LOOKS: usize = 50;
const LOOK: Duration = Duration::from_millis(20);

pub(super) struct WinitPane {
    /// None once winit has broken down, or is not asked any more.
    parts: Option<Parts>,
    /// On an X11 display, a second connection to the server, for what winit lacks, and its pixels.
    x11: Option<(Display, PixelLayout)>,
    watched: Watched,
}

/// The windows as winit and softbuffer have them.
struct Parts {
    first: Outlet,
    second: Option<Outlet>,
    event_loop: EventLoop<()>,
}

/// One of the windows.
#[derive(Clone, Copy)]
enum Which {
    First,
    Second,
}

impl Parts {
    fn outlet(&mut self, which: Which) -> Option<&mut Outlet> {
        match which {
            Which::First => Some(&mut self.first),
            Which::Second => self.second.as_mut(),
        }
    }
}

impl WinitPane {
    /// Opens the window: on Wayland if `WAYLAND_DISPLAY` or `WAYLAND_SOCKET` names a compositor, otherwise on X11.
    /// `face`: pages over the picture, which hear of what happens first.
    pub(super) fn open(face: Option<SharedFace>) -> Result<Self, SinkError> {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let mut builder = EventLoop::builder();
        let mut watched = Watched::new(face);
        // Without these winit would panic.
        if xkbcommon_dl::xkbcommon_option().is_none() {
            return Err(no_display("the library libxkbcommon.so.0 is missing"));
        }
        let display = match is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET") {
            true => {
                EventLoopBuilderExtWayland::with_any_thread(builder.with_wayland(), true);
                None
            }
            false => {
                if xkbcommon_dl::x11::xkbcommon_x11_option().is_none() {
                    return Err(no_display("the library libxkbcommon-x11.so.0 is missing"));
                }
                EventLoopBuilderExtX11::with_any_thread(builder.with_x11(), true);
                let display = Display::connect().map_err(no_display)?;
                let layout = display.layout().map_err(no_display)?;
                if let Some(lacking) = display.lacks(&EXTENSIONS).map_err(no_display)? {
                    return Err(no_display(format!("the X server lacks the extension {lacking}")));
                }
                watched.screen = Some(display.size());
                Some((display, layout))
            }
        };
        let is_x11 = display.is_some();
        let opening = is_x11.then(display_loss::Opening::begin);
        let opened = unbroken(|| Self::open_on(builder, &mut watched, display.as_ref()));
        drop(opening);
        let broken_down = |broke| match is_x11.then(Display::connect) {
            Some(Err(gone)) => no_display(gone),
            _ => no_display(format!("winit has broken down: {broke}")),
        };
        let parts = opened.map_err(broken_down)??;
        Ok(Self { parts: Some(parts), x11: display, watched })
    }

    /// Opens the window with `builder`; `x11`: a connection to the X server, if it is on one, and its pixels.
    fn open_on(
        mut builder: EventLoopBuilder<()>,
        watched: &mut Watched,
        x11: Option<&(Display, PixelLayout)>,
    ) -> Result<Parts, SinkError> {
        let mut event_loop = builder.build().map_err(no_display)?;
        display_loss::survive(&event_loop);
        let _ = event_loop.pump_app_events(Some(Duration::ZERO), watched);
        let window = watched.window.take().ok_or_else(|| {
            SinkError::NoDisplay(watched.refused.take().unwrap_or_else(|| "the desktop has given none".to_owned()))
        })?;
        let first = Outlet::new(window, event_loop.owned_display_handle(), x11)?;
        Ok(Parts { first, second: None, event_loop })
    }

    /// Returns what `act` does with winit and softbuffer. Where they break down the window has gone.
    fn with<T>(&mut self, act: impl FnOnce(&mut Parts, &mut Watched) -> T) -> Result<T, SinkError> {
        let Self { parts: Some(parts), watched, .. } = self else {
            return Err(SinkError::Window(self.ended().to_owned()));
        };
        unbroken(|| act(parts, watched)).map_err(|broke| self.broken_down(&broke))
    }

    /// Lets go of winit, which has broken down with these words; returns why.
    fn broken_down(&mut self, broke: &str) -> SinkError {
        let gone = self.gone();
        self.abandon();
        gone.unwrap_or_else(|| SinkError::Window(format!("winit has broken down: {broke}")))
    }

    /// Returns the sentence about the end of the display server.
    fn ended(&self) -> &'static str {
        if self.x11.is_some() { x11::ENDED } else { ENDED }
    }

    /// Returns the error of a display server that has gone; none: it is there, as far as is known.
    fn lost(&self) -> Option<SinkError> {
        let checked = self.x11.as_ref().map_or(Ok(()), |(display, _)| display.check()).map_err(x11::failed);
        let lost = || display_loss::has_happened().then(|| SinkError::Window(self.ended().to_owned()));
        checked.err().or_else(lost)
    }

    /// Returns the same for sure, after something has failed.
    fn gone(&self) -> Option<SinkError> {
        let asked = self.x11.as_ref().map_or(Ok(()), |(display, _)| display.ask()).map_err(x11::failed);
        asked.err().or_else(|| self.lost())
    }

    /// Lets go of winit where the display server has gone.
    fn abandon(&mut self) {
        let parts = self.parts.take();
        match self.x11 {
            // What is left would break down while it tells the server of its end.
            Some(_) => std::mem::forget(parts),
            None => parts.into_iter().for_each(close),
        }
    }

    /// Returns what softbuffer says as an error of the window.
    fn failed(&mut self, error: &SoftBufferError) -> SinkError {
        if self.x11.is_none() {
            tracing::debug!("Wayland: {error}");
            self.abandon();
            return SinkError::Window(ENDED.to_owned());
        }
        self.gone().unwrap_or_else(|| SinkError::Window(error.to_string()))
    }

    /// Takes what the display server says, and sends it what waits in the connection.
    fn pump(&mut self) -> Result<(), SinkError> {
        self.pump_for(Duration::ZERO)
    }

    /// Brings the window before others, where the desktop lets a program do that; else it draws attention to it.
    pub(super) fn raise(&mut self) -> Result<(), SinkError> {
        self.with(|parts, _| {
            let window = &parts.first.window;
            window.set_minimized(false);
            window.focus_window();
            window.request_user_attention(Some(UserAttentionType::Informational));
        })
    }

    /// Does the same, and waits for something to happen for `most` at most.
    fn pump_for(&mut self, most: Duration) -> Result<(), SinkError> {
        if let Some(lost) = self.lost() {
            self.abandon();
            return Err(lost);
        }
        let status = self.with(|parts, watched| parts.event_loop.pump_app_events(Some(most), watched))?;
        if matches!(status, PumpStatus::Exit(_)) || display_loss::has_happened() {
            self.abandon();
            return Err(SinkError::Window(self.ended().to_owned()));
        }
        Ok(())
    }

    /// Shows a frame of `size` in one of the windows.
    fn show_in(&mut self, which: Which, composition: &mut Composition, size: (usize, usize)) -> Result<(), SinkError> {
        if let (Some(parts), Some((display, _))) = (&mut self.parts, &self.x11)
            && let Some(painter) = parts.outlet(which).and_then(|outlet| outlet.x11.as_mut()?.painter.as_mut())
        {
            return painter.show(display, composition, size);
        }
        self.show_with_softbuffer(which, composition, size)
    }

    /// Does the same with softbuffer.
    fn show_with_softbuffer(
        &mut self,
        which: Which,
        composition: &mut Composition,
        size: (usize, usize),
    ) -> Result<(), SinkError> {
        let side = |pixels: usize| u32::try_from(pixels).ok().and_then(NonZeroU32::new);
        let (Some(columns), Some(rows)) = (side(size.0), side(size.1)) else { return Ok(()) };
        let written = composition.begin(size);
        // On Wayland all rows are one part, and may carry texts.
        let written = if self.x11.is_some() { written } else { 0 };
        for part in parts(size.1, written, size.1.div_ceil(PARTS)).enumerate() {
            self.put(which, |outlet| outlet.put(composition, (columns, rows), part, written))?;
            if self.x11.is_some() {
                self.pump()?;
            }
        }
        if self.x11.is_some() {
            self.put(which, Outlet::finish)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        which: Which,
        put: impl FnOnce(&mut Outlet) -> Result<(), SoftBufferError>,
    ) -> Result<(), SinkError> {
        let done = self.with(|parts, _| parts.outlet(which).map_or(Ok(()), put))?;
        done.map_err(|error| self.failed(&error))
    }

    /// Lets one of the windows cover its screen, or no longer.
    fn cover_screen(&mut self, which: Which, on: bool) -> Result<(), SinkError> {
        let Self { parts: Some(parts), x11, watched } = self else {
            return Err(SinkError::Window(self.ended().to_owned()));
        };
        let display = x11.as_ref().map(|(display, _)| display);
        let whole = display.map(|display| ((0, 0), display.size())).unwrap_or_default();
        let (size, area) = match (which, &watched.second) {
            (Which::Second, Some(second)) => (second.size, second.screen().unwrap_or(whole)),
            _ => (watched.size, whole),
        };
        let Some(outlet) = parts.outlet(which) else { return Ok(()) };
        let done = unbroken(|| outlet.set_fullscreen(on, size, display.zip(Some(area))));
        done.map_err(|broke| self.broken_down(&broke))?
    }

    /// Does what has been wished in the second window.
    fn look_at_second(&mut self) -> Result<(), SinkError> {
        let Some(second) = &mut self.watched.second else { return Ok(()) };
        if std::mem::take(&mut second.toggles) {
            let on = !second.now.is_fullscreen;
            second.now.is_fullscreen = on;
            self.cover_screen(Which::Second, on)?;
        }
        if self.watched.second.as_ref().is_some_and(|second| !second.now.is_open) {
            self.close_second()?;
        }
        Ok(())
    }
}

/// Closes the windows.
fn close(Parts { first, second, event_loop }: Parts) {
    second.into_iter().chain([first]).for_each(Outlet::close);
    let _ = unbroken(|| drop(event_loop));
}

impl Drop for WinitPane {
    fn drop(&mut self) {
        self.parts.take().into_iter().for_each(close);
    }
}

impl Pane for WinitPane {
    fn size(&self) -> (usize, usize) {
        self.watched.size
    }

    fn screen(&self) -> (usize, usize) {
        self.watched.screen.unwrap_or(WAITING_SIZE)
    }

    fn resize(&mut self, (width, height): (usize, usize)) -> Result<(), SinkError> {
        let id = self.parts.as_ref().and_then(|parts| Some(parts.first.x11.as_ref()?.id));
        match self.x11.as_ref().zip(id) {
            Some(((display, _), id)) => display.resize(id, width, height).map_err(x11::failed)?,
            None => {
                let size = PhysicalSize::new(width as u32, height as u32);
                let now = self.with(|parts, _| parts.first.window.request_inner_size(size))?;
                self.watched.size = now.map_or(self.watched.size, pixels);
            }
        }
        Ok(())
    }

    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError> {
        self.cover_screen(Which::First, on)
    }

    fn keep_above(&mut self, on: bool) -> Result<bool, SinkError> {
        let id = self.parts.as_ref().and_then(|parts| Some(parts.first.x11.as_ref()?.id));
        // Wayland has no such request.
        let Some(((display, _), id)) = self.x11.as_ref().zip(id) else { return Ok(false) };
        display.keep_above(id, on).map_err(x11::failed)?;
        Ok(true)
    }

    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        self.show_in(Which::First, composition, self.watched.size)
    }

    fn open_second(&mut self, left: &SecondWindow) -> Result<bool, SinkError> {
        self.watched.second = Some(Second::wanted(left, self.x11.is_some()));
        // The loop ends with the window, which is there.
        let _ = self.with(|parts, _| parts.event_loop.create_proxy().send_event(()))?;
        for _ in 0..LOOKS {
            if self.watched.second.as_ref().is_some_and(Second::is_awaited) {
                self.pump_for(LOOK)?;
            }
        }
        let window = self.watched.second.as_mut().and_then(|second| second.window.take());
        let Some(window) = window else {
            let refused = self.watched.second.take().and_then(|second| second.refused);
            tracing::warn!("no second window can be opened: {}", refused.unwrap_or_default());
            return Ok(false);
        };
        let Self { parts: Some(parts), x11, .. } = self else { return Ok(false) };
        let opened = unbroken(|| Outlet::new(window, parts.event_loop.owned_display_handle(), x11.as_ref()));
        let second = match opened.map_err(|broke| self.broken_down(&broke))? {
            Ok(second) => second,
            // The picture in the first window goes on.
            Err(error) => {
                self.watched.second = None;
                tracing::warn!("no second window can be opened: {error}");
                return Ok(false);
            }
        };
        self.with(|parts, _| parts.second = Some(second))?;
        if left.is_fullscreen && self.x11.is_some() {
            self.cover_screen(Which::Second, true)?;
        }
        Ok(true)
    }

    fn close_second(&mut self) -> Result<(), SinkError> {
        self.watched.second = None;
        self.with(|parts, _| parts.second.take().into_iter().for_each(Outlet::close))?;
        // The display server is told of it.
        self.pump()
    }

    fn second(&self) -> Option<SecondWindow> {
        self.watched.second.as_ref().map(|second| second.now.clone())
    }

    fn show_second(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        let Some(size) = self.watched.second.as_ref().map(|second| second.size) else { return Ok(()) };
        self.show_in(Which::Second, composition, size)
    }

    fn look(&mut self, most: Duration) -> Result<News, SinkError> {
        self.pump_for(most)?;
        self.look_at_second()?;
        Ok(std::mem::take(&mut self.watched.news))
    }

    fn renew(&mut self, said: Option<&Said>) -> Result<(bool, Vec<Press>), SinkError> {
        let Some(SharedFace(face)) = self.watched.face.clone() else { return Ok((false, Vec::new())) };
        self.with(|parts, _| {
            let mut face = face.borrow_mut();
            (face.renew(&parts.first.window, said), face.pressed())
        })
    }

    fn pointer(&self) -> Option<(f32, f32)> {
        self.watched.pointer
    }

    fn show_pointer(&mut self, visible: bool) {
        // A window that has gone shows it with the next frame.
        let _ = self.with(|parts, _| parts.first.window.set_cursor_visible(visible));
    }

    fn is_open(&self) -> bool {
        !self.watched.is_closed
    }

    fn hold_saver(&self, on: bool) {
        // A Wayland compositor's (zwp_idle_inhibit_manager_v1) takes winit's own connection and surface, for which winit 0.30 has no
        // function, and which only `unsafe` gets out of it; a second connection could hold it for a surface of its own only, while
        // that is watched. The desktop's is asked on D-Bus; what compositors without one need is in config/trouble.md.
        if let Some((display, _)) = &self.x11 {
            display.hold_saver(on);
        }
    }
}
