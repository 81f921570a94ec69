//! A window on a Wayland or X11 display, opened by winit, whose pixels softbuffer hands over.
//!
//! softbuffer and not wgpu: it gives out memory that the display server shares (`wl_shm`, MIT-SHM), so that the scaler writes where
//! the server reads; there is no swap chain whose images could wait in a row, and no driver of a GPU that must work. wgpu would
//! scale on the GPU, for a tenfold of crates; its present modes that do not queue (mailbox, immediate) are not on every driver, and
//! its usual one (fifo) lets two or three frames wait. Here nothing waits: on X11 a frame is on the screen when [`Pane::show`]
//! returns. On Wayland it replaces the one before, which the compositor has not shown yet, and waits for the next refresh.
//!
//! To an X server a frame goes in parts: the server copies one while the next is made. Each part has memory of its own, so that
//! nobody waits for the server before the frame is complete.
//!
//! winit draws a plain frame with buttons where a Wayland desktop leaves that to programs; one with a title would need fonts.

use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use raw_window_handle::{HasWindowHandle, RawWindowHandle};
use softbuffer::{Context, Rect, SoftBufferError, Surface};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop, OwnedDisplayHandle};
use winit::keyboard::{Key as WinitKey, KeyCode, NamedKey, PhysicalKey};
use winit::platform::modifier_supplement::KeyEventExtModifierSupplement;
use winit::platform::pump_events::{EventLoopExtPumpEvents, PumpStatus};
use winit::platform::wayland::{EventLoopBuilderExtWayland, WindowAttributesExtWayland};
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::{Fullscreen, Window, WindowId};

use super::composition::{Composition, fit, parts};
use super::pane::{Key, News, Pane};
use super::{TITLE, WAITING_SIZE};
use crate::sink::x11::{self, Display};
use crate::sink::{SinkError, display_loss};

/// Message about a compositor that has gone.
const ENDED: &str = "the Wayland compositor has ended";

/// Parts in which a frame goes to an X server, besides the one with texts.
const PARTS: usize = 8;

/// The last letter of the Latin scripts (Unicode, Latin Extended-B).
const LATIN_LAST: char = '\u{24f}';

pub(super) struct WinitPane {
    /// Memory that is shared with the display server: on X11 for each part of a frame, otherwise for the whole.
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
        let x11 = match (display, window.window_handle().map(|handle| handle.as_raw())) {
            (Some(display), Ok(RawWindowHandle::Xlib(handle))) => {
                let window = u32::try_from(handle.window).map_err(no_display)?;
                Some(X11 { display, window, place: ((0, 0), seen.size) })
            }
            _ => None,
        };
        let context = Context::new(event_loop.owned_display_handle()).map_err(no_display)?;
        let surface = |_| Surface::new(&context, Rc::clone(&window)).map_err(no_display);
        let count = if x11.as_ref().is_some_and(X11::shares_memory) { PARTS + 1 } else { 1 };
        let surfaces = (0..count).map(surface).collect::<Result<_, _>>()?;
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

    /// Takes what the display server says, and sends it what waits in the connection.
    fn pump(&mut self) -> Result<(), SinkError> {
        // winit would break down on a server that has gone.
        if let Some(x11) = &self.x11 {
            x11.display.check().map_err(x11::failed)?;
        }
        let status = self.event_loop.pump_app_events(Some(Duration::ZERO), &mut self.seen);
        if matches!(status, PumpStatus::Exit(_)) || display_loss::has_happened() {
            let ended = if self.x11.is_some() { x11::ENDED } else { ENDED };
            return Err(SinkError::Window(ended.to_owned()));
        }
        Ok(())
    }

    /// Makes `rows` of a frame of `size` in the memory of part `number` and asks the display server to show them. Texts are on those
    /// that end after row `written`.
    fn put(
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
    fn finish(&mut self) -> Result<(), SoftBufferError> {
        // What was asked last is answered last, so that there is one wait.
        let mut surfaces = self.surfaces.iter_mut().rev();
        surfaces.try_for_each(|surface| surface.buffer_mut().map(drop))
    }
}

impl X11 {
    /// Returns true if the X server can read this program's memory; one on another machine cannot.
    fn shares_memory(&self) -> bool {
        let tried = self.display.share(self.window, 1, 1).and_then(|surface| self.display.unshare(&surface));
        if let Err(error) = &tried {
            tracing::info!("pictures are sent to the X server, which takes longer than to share them: {error}");
        }
        tried.is_ok()
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

    fn keep_above(&mut self, on: bool) -> Result<bool, SinkError> {
        // Wayland has no such request.
        let Some(x11) = &self.x11 else { return Ok(false) };
        x11.display.keep_above(x11.window, on).map_err(x11::failed)?;
        Ok(true)
    }

    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        let side = |pixels: usize| u32::try_from(pixels).ok().and_then(NonZeroU32::new);
        let (width, height) = self.seen.size;
        let (Some(columns), Some(rows)) = (side(width), side(height)) else { return Ok(()) };
        let written = composition.begin((width, height));
        // Without memory for each part all rows are one, and may carry texts.
        let written = if self.surfaces.len() > 1 { written } else { 0 };
        for part in parts(height, written, height.div_ceil(PARTS)).enumerate() {
            self.put(composition, (columns, rows), part, written).map_err(|error| self.failed(&error))?;
            if self.x11.is_some() {
                self.pump()?;
            }
        }
        if self.x11.is_some() {
            self.finish().map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<News, SinkError> {
        self.pump()?;
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
        // A Wayland compositor's (zwp_idle_inhibit_manager_v1) takes winit's own connection and surface, for which winit 0.30 has no
        // function, and which only `unsafe` gets out of it; a second connection could hold it for a surface of its own only, while
        // that is seen. The desktop's is asked on D-Bus; what compositors without one need is in config/trouble.md.
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
                self.news.keys.extend(key(&event.key_without_modifiers(), event.physical_key));
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

/// Returns what a key means: a letter by what it writes. Where that is of another script, the place of the key counts, as on a
/// keyboard of the United States.
fn key(key: &WinitKey, place: PhysicalKey) -> Option<Key> {
    match key {
        WinitKey::Named(NamedKey::ArrowUp) => Some(Key::Faster),
        WinitKey::Named(NamedKey::ArrowDown) => Some(Key::Slower),
        WinitKey::Named(NamedKey::Escape) => Some(Key::Escape),
        WinitKey::Character(text) => match text.parse::<char>().ok()? {
            letter if letter <= LATIN_LAST => Key::of_letter(letter),
            _ => Key::of_letter(letter_at(place)?),
        },
        _ => None,
    }
}

/// Returns the letter at a place of a keyboard of the United States, of those that mean something.
fn letter_at(place: PhysicalKey) -> Option<char> {
    let PhysicalKey::Code(place) = place else { return None };
    Some(match place {
        KeyCode::KeyH => 'h',
        KeyCode::KeyI => 'i',
        KeyCode::KeyD => 'd',
        KeyCode::KeyF => 'f',
        KeyCode::KeyT => 't',
        KeyCode::KeyM => 'm',
        KeyCode::KeyS => 's',
        KeyCode::KeyV => 'v',
        KeyCode::KeyE => 'e',
        KeyCode::KeyZ => 'z',
        KeyCode::KeyL => 'l',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pane::check_listed_keys;
    use super::*;

    #[test]
    fn each_key_of_the_list_means_something_of_its_own() {
        check_listed_keys(|name| {
            let pressed = match name {
                "Up" => WinitKey::Named(NamedKey::ArrowUp),
                "Down" => WinitKey::Named(NamedKey::ArrowDown),
                "Esc" => WinitKey::Named(NamedKey::Escape),
                letter => WinitKey::Character(letter.to_lowercase().into()),
            };
            key(&pressed, PhysicalKey::Code(KeyCode::KeyQ))
        });
    }

    #[test]
    fn letters_count_by_what_they_write_and_other_scripts_by_their_place() {
        let pressed = |text: &str, place| key(&WinitKey::Character(text.into()), PhysicalKey::Code(place));
        // English, and Dvorak, where S is at the place of the semicolon and O at that of S.
        assert_eq!(pressed("s", KeyCode::KeyS), Some(Key::Save));
        assert_eq!(pressed("s", KeyCode::Semicolon), Some(Key::Save));
        assert_eq!(pressed("o", KeyCode::KeyS), None);
        assert_eq!(pressed(".", KeyCode::KeyE), None);
        // French BÉPO has accented letters there.
        assert_eq!(pressed("è", KeyCode::KeyT), None);
        // Russian, Greek, Hebrew; Thai has a mark that is no letter there.
        for text in ["р", "η", "י", "\u{e49}"] {
            assert_eq!(pressed(text, KeyCode::KeyH), Some(Key::Keys), "{text}");
        }
        assert_eq!(pressed("й", KeyCode::KeyQ), None);
        assert_eq!(key(&WinitKey::Named(NamedKey::Escape), PhysicalKey::Code(KeyCode::KeyH)), Some(Key::Escape));
    }
}
