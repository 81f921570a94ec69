//! A window on a Wayland or X11 display, opened by winit, whose pixels softbuffer hands over.
//!
//! softbuffer and not wgpu: it gives out memory that the display server shares (`wl_shm`, MIT-SHM), so that the scaler writes where
//! the server reads; there is no swap chain whose images could wait in a row, and no driver of a GPU that must work. wgpu would
//! scale on the GPU, for a tenfold of crates; its present modes that do not queue (mailbox, immediate) are not on every driver, and
//! its usual one (fifo) lets two or three frames wait. Here nothing waits: on X11 a frame is on the screen when [`Pane::show`]
//! returns. On Wayland it replaces the one before, which the compositor has not shown yet, and waits for the next refresh.
//!
//! winit draws a plain frame with buttons where a Wayland desktop leaves that to programs; one with a title would need fonts.

use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use raw_window_handle::{HasWindowHandle, RawWindowHandle};
use softbuffer::{Context, Rect, SoftBufferError, Surface};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{KeyEvent, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop, OwnedDisplayHandle};
use winit::keyboard::{Key as WinitKey, NamedKey};
use winit::platform::modifier_supplement::KeyEventExtModifierSupplement;
use winit::platform::pump_events::{EventLoopExtPumpEvents, PumpStatus};
use winit::platform::wayland::{EventLoopBuilderExtWayland, WindowAttributesExtWayland};
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::{Fullscreen, Window, WindowId};

use super::composition::{Composition, fit};
use super::pane::{Key, News, Pane};
use super::{TITLE, WAITING_SIZE};
use crate::sink::x11::{self, Display};
use crate::sink::{SinkError, display_loss};

/// Message about a compositor that has gone.
const ENDED: &str = "the Wayland compositor has ended";

/// Parts in which a frame goes to an X server.
const PARTS: usize = 6;

pub(super) struct WinitPane {
    /// On X11 two, which take turns: the server shows a part from the memory of one while the next part is made in the other's.
    surfaces: Vec<Surface<OwnedDisplayHandle, Rc<Window>>>,
    window: Rc<Window>,
    /// On an X11 display, what winit lacks there.
    x11: Option<X11>,
    seen: Seen,
    event_loop: EventLoop<()>,
}

/// A second connection to the X server.
struct X11 {
    display: Display,
    window: u32,
    /// Place and size before full screen.
    place: ((isize, isize), (usize, usize)),
}

/// The window as its events have told.
#[derive(Default)]
struct Seen {
    window: Option<Rc<Window>>,
    refused: Option<String>,
    screen: Option<(usize, usize)>,
    size: (usize, usize),
    news: News,
    pointer: Option<(f32, f32)>,
    is_closed: bool,
}

impl WinitPane {
    /// Opens the window: on Wayland if `WAYLAND_DISPLAY` or `WAYLAND_SOCKET` names a compositor, otherwise on X11.
    pub(super) fn open() -> Result<Self, SinkError> {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let mut builder = EventLoop::builder();
        let mut seen = Seen::default();
        let display = match is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET") {
            true => {
                EventLoopBuilderExtWayland::with_any_thread(builder.with_wayland(), true);
                None
            }
            false => {
                EventLoopBuilderExtX11::with_any_thread(builder.with_x11(), true);
                let display = Display::connect().map_err(no_display)?;
                seen.screen = Some(display.size());
                Some(display)
            }
        };
        let mut event_loop = builder.build().map_err(no_display)?;
        display_loss::survive(&event_loop);
        let _ = event_loop.pump_app_events(Some(Duration::ZERO), &mut seen);
        let window = seen.window.clone().ok_or_else(|| {
            SinkError::NoDisplay(seen.refused.take().unwrap_or_else(|| "the desktop has given none".to_owned()))
        })?;
        let context = Context::new(event_loop.owned_display_handle()).map_err(no_display)?;
        let surface = |_| Surface::new(&context, Rc::clone(&window)).map_err(no_display);
        let surfaces = (0..if display.is_some() { 2 } else { 1 }).map(surface).collect::<Result<_, _>>()?;
        let x11 = match (display, window.window_handle().map(|handle| handle.as_raw())) {
            (Some(display), Ok(RawWindowHandle::Xlib(handle))) => {
                let window = u32::try_from(handle.window).map_err(no_display)?;
                Some(X11 { display, window, place: ((0, 0), seen.size) })
            }
            _ => None,
        };
        Ok(Self { surfaces, window, x11, seen, event_loop })
    }

    /// Returns what softbuffer says as an error of the window.
    fn failed(&self, error: &SoftBufferError) -> SinkError {
        let Some(x11) = &self.x11 else {
            tracing::debug!("Wayland: {error}");
            return SinkError::Window(ENDED.to_owned());
        };
        match x11.display.check() {
            Ok(()) => SinkError::Window(error.to_string()),
            Err(error) => x11::failed(error),
        }
    }

    fn compose(&mut self, composition: &mut Composition) -> Result<(), SoftBufferError> {
        let size = self.seen.size;
        let side = |pixels: usize| u32::try_from(pixels).ok().and_then(NonZeroU32::new);
        let (Some(width), Some(height)) = (side(size.0), side(size.1)) else { return Ok(()) };
        for surface in &mut self.surfaces {
            surface.resize(width, height)?;
        }
        let written = composition.begin(size);
        let is_x11 = self.x11.is_some();
        // What the own picture and texts are drawn on is one part, and on Wayland all is.
        let (free, rows) = if is_x11 { (written, size.1.div_ceil(PARTS)) } else { (0, size.1) };
        let (mut first, mut turn) = (0, 0);
        while first < size.1 {
            let last = if first < free { (first + rows).min(free) } else { size.1 };
            // softbuffer gives memory out when the server does not read it any more.
            let mut frame = self.surfaces[turn].buffer_mut()?;
            composition.make(&mut frame[first * size.0..last * size.0], first);
            if last > written {
                composition.write(&mut frame);
            }
            let height = side(last - first).unwrap_or(NonZeroU32::MIN);
            frame.present_with_damage(&[Rect { x: 0, y: first as u32, width, height }])?;
            turn = (turn + 1) % self.surfaces.len();
            first = last;
        }
        if is_x11 {
            self.surfaces.iter_mut().try_for_each(|surface| surface.buffer_mut().map(drop))?;
        }
        Ok(())
    }
}

impl Pane for WinitPane {
    fn size(&self) -> (usize, usize) {
        self.seen.size
    }

    fn screen(&self) -> (usize, usize) {
        self.seen.screen.unwrap_or(WAITING_SIZE)
    }

    fn resize(&mut self, (width, height): (usize, usize)) -> Result<(), SinkError> {
        match &self.x11 {
            Some(x11) => x11.display.resize(x11.window, width, height).map_err(x11::failed)?,
            None => {
                let now = self.window.request_inner_size(PhysicalSize::new(width as u32, height as u32));
                self.seen.size = now.map_or(self.seen.size, pixels);
            }
        }
        Ok(())
    }

    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError> {
        // Some X servers have no window manager, which winit leaves it to.
        let Some(x11) = &mut self.x11 else {
            self.window.set_fullscreen(on.then_some(Fullscreen::Borderless(None)));
            return Ok(());
        };
        let done = if on {
            x11.display.position(x11.window).and_then(|place| {
                x11.place = (place, self.seen.size);
                x11.display.fullscreen(x11.window)
            })
        } else {
            x11.display.leave_fullscreen(x11.window, x11.place)
        };
        done.map_err(x11::failed)
    }

    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        self.compose(composition).map_err(|error| self.failed(&error))
    }

    fn look(&mut self) -> Result<News, SinkError> {
        // winit would break down on a server that has gone.
        if let Some(x11) = &self.x11 {
            x11.display.check().map_err(x11::failed)?;
        }
        let status = self.event_loop.pump_app_events(Some(Duration::ZERO), &mut self.seen);
        if matches!(status, PumpStatus::Exit(_)) || display_loss::has_happened() {
            let ended = if self.x11.is_some() { x11::ENDED } else { ENDED };
            return Err(SinkError::Window(ended.to_owned()));
        }
        Ok(std::mem::take(&mut self.seen.news))
    }

    fn pointer(&self) -> Option<(f32, f32)> {
        self.seen.pointer
    }

    fn show_pointer(&mut self, visible: bool) {
        self.window.set_cursor_visible(visible);
    }

    fn is_open(&self) -> bool {
        !self.seen.is_closed
    }

    fn hold_saver(&self, on: bool) {
        // winit has no function for a Wayland compositor's; the desktop's is asked on D-Bus.
        if let Some(x11) = &self.x11 {
            x11.display.hold_saver(on);
        }
    }
}

impl ApplicationHandler for Seen {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        self.screen = self.screen.or_else(|| monitor.map(|monitor| pixels(monitor.size())));
        self.size = fit(WAITING_SIZE, self.screen.unwrap_or(WAITING_SIZE));
        let size = PhysicalSize::new(self.size.0 as u32, self.size.1 as u32);
        let wanted = Window::default_attributes().with_title(TITLE).with_inner_size(size);
        // The name is that of both systems.
        match event_loop.create_window(WindowAttributesExtWayland::with_name(wanted, "duet", "duet")) {
            Ok(window) => {
                self.size = pixels(window.inner_size());
                self.window = Some(Rc::new(window));
            }
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::Resized(size) => self.size = pixels(size),
            WindowEvent::RedrawRequested => self.news.is_bare = true,
            WindowEvent::CloseRequested => self.is_closed = true,
            WindowEvent::CursorMoved { position, .. } => self.pointer = Some((position.x as f32, position.y as f32)),
            WindowEvent::CursorLeft { .. } => self.pointer = None,
            WindowEvent::KeyboardInput { event, is_synthetic: false, .. }
                if event.state.is_pressed() && !event.repeat =>
            {
                self.news.keys.extend(key(&event));
            }
            _ => {}
        }
    }
}

fn no_display(error: impl ToString) -> SinkError {
    SinkError::NoDisplay(error.to_string())
}

fn pixels(size: PhysicalSize<u32>) -> (usize, usize) {
    (size.width as usize, size.height as usize)
}

fn key(event: &KeyEvent) -> Option<Key> {
    Some(match event.key_without_modifiers() {
        WinitKey::Named(NamedKey::ArrowUp) => Key::Faster,
        WinitKey::Named(NamedKey::ArrowDown) => Key::Slower,
        WinitKey::Named(NamedKey::Escape) => Key::Escape,
        WinitKey::Character(letter) => match letter.as_str() {
            "h" => Key::Keys,
            "i" => Key::Line,
            "d" => Key::Details,
            "f" => Key::Fullscreen,
            "m" => Key::Mirror,
            "s" => Key::Save,
            "v" => Key::Own,
            "e" => Key::Effects,
            _ => return None,
        },
        _ => return None,
    })
}
