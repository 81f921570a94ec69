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

use std::fs::File;
use std::io;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use raw_window_handle::{HasWindowHandle, RawWindowHandle};
use softbuffer::{Context, Rect, SoftBufferError, Surface};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, MouseButton, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop, EventLoopBuilder, OwnedDisplayHandle};
use winit::keyboard::{Key as WinitKey, KeyCode, NamedKey, PhysicalKey};
use winit::platform::modifier_supplement::KeyEventExtModifierSupplement;
use winit::platform::pump_events::{EventLoopExtPumpEvents, PumpStatus};
use winit::platform::wayland::{EventLoopBuilderExtWayland, WindowAttributesExtWayland};
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::{Fullscreen, UserAttentionType, Window, WindowId};

use super::composition::{Composition, fit, parts};
use super::painter::Painter;
use super::pane::{Key, Mouse, News, Pane, TITLE, WAITING_SIZE};
use super::unbroken::unbroken;
use crate::sink::face::{Press, Said, SharedFace};
use crate::sink::x11::{self, Display, PixelLayout};
use crate::sink::{SinkError, display_loss};

/// Message about a compositor that has gone.
const ENDED: &str = "the Wayland compositor has ended";

/// Parts in which a frame goes to an X server, besides the one with texts.
const PARTS: usize = 8;

/// The last letter of the Latin scripts (Unicode, Latin Extended-B).
const LATIN_LAST: char = '\u{24f}';

/// Extensions of an X server without which winit breaks down.
const EXTENSIONS: [&str; 3] = ["RANDR", "XInputExtension", "XKEYBOARD"];
/// Folder of the memory that softbuffer shares with an X server.
const SHARED_FOLDER: &str = "/dev/shm";
/// Bytes of softbuffer's memory for a pixel of the screen: a frame, and rows with texts once more.
const SHARED_PIXEL_BYTES: usize = 8;

pub(super) struct WinitPane {
    /// None once winit has broken down, or is not asked any more.
    parts: Option<Parts>,
    /// On an X11 display, what winit lacks there.
    x11: Option<X11>,
    seen: Seen,
}

/// The window as winit and softbuffer have it.
struct Parts {
    /// Memory that is shared with the display server: on X11 for each part of a frame, otherwise for the whole.
    surfaces: Vec<Surface<OwnedDisplayHandle, Rc<Window>>>,
    window: Rc<Window>,
    event_loop: EventLoop<()>,
}

/// A second connection to the X server.
struct X11 {
    display: Display,
    window: u32,
    /// Place and size before full screen.
    place: ((isize, isize), (usize, usize)),
    /// Shows frames where softbuffer does not.
    painter: Option<Painter>,
}

/// The window as its events have told.
#[derive(Default)]
struct Seen {
    window: Option<Rc<Window>>,
    refused: Option<String>,
    face: Option<SharedFace>,
    /// The window again, for the face.
    handle: Option<Rc<Window>>,
    screen: Option<(usize, usize)>,
    size: (usize, usize),
    news: News,
    pointer: Option<(f32, f32)>,
    is_closed: bool,
}

impl WinitPane {
    /// Opens the window: on Wayland if `WAYLAND_DISPLAY` or `WAYLAND_SOCKET` names a compositor, otherwise on X11.
    /// `face`: pages over the picture, which hear of what happens first.
    pub(super) fn open(face: Option<SharedFace>) -> Result<Self, SinkError> {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let mut builder = EventLoop::builder();
        let mut seen = Seen { face, ..Seen::default() };
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
                seen.screen = Some(display.size());
                Some((display, layout))
            }
        };
        let is_x11 = display.is_some();
        let opening = is_x11.then(display_loss::Opening::begin);
        let opened = unbroken(|| Self::open_on(builder, &mut seen, display));
        drop(opening);
        let broken_down = |broke| match is_x11.then(Display::connect) {
            Some(Err(gone)) => no_display(gone),
            _ => no_display(format!("winit has broken down: {broke}")),
        };
        let (parts, x11) = opened.map_err(broken_down)??;
        Ok(Self { parts: Some(parts), x11, seen })
    }

    /// Opens the window with `builder`; `display`: a connection to the X server, if it is on one, and its pixels.
    fn open_on(
        mut builder: EventLoopBuilder<()>,
        seen: &mut Seen,
        display: Option<(Display, PixelLayout)>,
    ) -> Result<(Parts, Option<X11>), SinkError> {
        let mut event_loop = builder.build().map_err(no_display)?;
        display_loss::survive(&event_loop);
        let _ = event_loop.pump_app_events(Some(Duration::ZERO), seen);
        let window = seen.window.take().ok_or_else(|| {
            SinkError::NoDisplay(seen.refused.take().unwrap_or_else(|| "the desktop has given none".to_owned()))
        })?;
        let x11 = match (display, window.window_handle().map(|handle| handle.as_raw())) {
            (Some((display, layout)), Ok(RawWindowHandle::Xlib(handle))) => {
                let window = u32::try_from(handle.window).map_err(no_display)?;
                let shares = layout.is_usual() && display.shares_memory(window, &layout).map_err(x11::failed)?;
                let is_softbuffers = shares && has_room(Path::new(SHARED_FOLDER), display.size());
                let painter = (!is_softbuffers).then(|| Painter::new(window, layout));
                Some(X11 { display, window, place: ((0, 0), seen.size), painter })
            }
            _ => None,
        };
        let count = match &x11 {
            Some(X11 { painter: Some(_), .. }) => 0,
            Some(_) => PARTS + 1,
            None => 1,
        };
        let mut surfaces = Vec::with_capacity(count);
        if count > 0 {
            let context = Context::new(event_loop.owned_display_handle()).map_err(no_display)?;
            let surface = |_| Surface::new(&context, Rc::clone(&window)).map_err(no_display);
            surfaces = (0..count).map(surface).collect::<Result<_, _>>()?;
        }
        Ok((Parts { surfaces, window, event_loop }, x11))
    }

    /// Returns what `act` does with winit and softbuffer. Where they break down the window has gone.
    fn with<T>(&mut self, act: impl FnOnce(&mut Parts, &mut Seen) -> T) -> Result<T, SinkError> {
        let Self { parts: Some(parts), seen, .. } = self else {
            return Err(SinkError::Window(self.ended().to_owned()));
        };
        unbroken(|| act(parts, seen)).map_err(|broke| {
            let gone = self.gone();
            self.abandon();
            gone.unwrap_or_else(|| SinkError::Window(format!("winit has broken down: {broke}")))
        })
    }

    /// Returns the sentence about the end of the display server.
    fn ended(&self) -> &'static str {
        if self.x11.is_some() { x11::ENDED } else { ENDED }
    }

    /// Returns the error of a display server that has gone; none: it is there, as far as is known.
    fn lost(&self) -> Option<SinkError> {
        let checked = self.x11.as_ref().map_or(Ok(()), |x11| x11.display.check()).map_err(x11::failed);
        let lost = || display_loss::has_happened().then(|| SinkError::Window(self.ended().to_owned()));
        checked.err().or_else(lost)
    }

    /// Returns the same for sure, after something has failed.
    fn gone(&self) -> Option<SinkError> {
        let asked = self.x11.as_ref().map_or(Ok(()), |x11| x11.display.ask()).map_err(x11::failed);
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
            parts.window.set_minimized(false);
            parts.window.focus_window();
            parts.window.request_user_attention(Some(UserAttentionType::Informational));
        })
    }

    /// Does the same, and waits for something to happen for `most` at most.
    fn pump_for(&mut self, most: Duration) -> Result<(), SinkError> {
        if let Some(lost) = self.lost() {
            self.abandon();
            return Err(lost);
        }
        let status = self.with(|parts, seen| parts.event_loop.pump_app_events(Some(most), seen))?;
        if matches!(status, PumpStatus::Exit(_)) || display_loss::has_happened() {
            self.abandon();
            return Err(SinkError::Window(self.ended().to_owned()));
        }
        Ok(())
    }

    /// Shows a frame of `size` with softbuffer.
    fn show_with_softbuffer(&mut self, composition: &mut Composition, size: (usize, usize)) -> Result<(), SinkError> {
        let side = |pixels: usize| u32::try_from(pixels).ok().and_then(NonZeroU32::new);
        let (Some(columns), Some(rows)) = (side(size.0), side(size.1)) else { return Ok(()) };
        let written = composition.begin(size);
        // On Wayland all rows are one part, and may carry texts.
        let written = if self.x11.is_some() { written } else { 0 };
        for part in parts(size.1, written, size.1.div_ceil(PARTS)).enumerate() {
            let put = self.with(|parts, _| put(&mut parts.surfaces, composition, (columns, rows), part, written))?;
            put.map_err(|error| self.failed(&error))?;
            if self.x11.is_some() {
                self.pump()?;
            }
        }
        if self.x11.is_some() {
            self.with(|parts, _| finish(&mut parts.surfaces))?.map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }
}

/// Makes `rows` of a frame of `size` in the memory of part `number` and asks the display server to show them. Texts are on those
/// that end after row `written`.
fn put(
    surfaces: &mut [Surface<OwnedDisplayHandle, Rc<Window>>],
    composition: &mut Composition,
    size: (NonZeroU32, NonZeroU32),
    (number, rows): (usize, Range<usize>),
    written: usize,
) -> Result<(), SoftBufferError> {
    let Some(surface) = surfaces.get_mut(number) else { return Ok(()) };
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
fn finish(surfaces: &mut [Surface<OwnedDisplayHandle, Rc<Window>>]) -> Result<(), SoftBufferError> {
    // What was asked last is answered last, so that there is one wait.
    surfaces.iter_mut().rev().try_for_each(|surface| surface.buffer_mut().map(drop))
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

/// Closes the window.
fn close(Parts { surfaces, window, event_loop }: Parts) {
    // Each by itself: one that breaks down while another does would end the process.
    for surface in surfaces {
        let _ = unbroken(|| drop(surface));
    }
    let _ = unbroken(|| drop(window));
    let _ = unbroken(|| drop(event_loop));
}

impl Drop for WinitPane {
    fn drop(&mut self) {
        self.parts.take().into_iter().for_each(close);
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
                let size = PhysicalSize::new(width as u32, height as u32);
                let now = self.with(|parts, _| parts.window.request_inner_size(size))?;
                self.seen.size = now.map_or(self.seen.size, pixels);
            }
        }
        Ok(())
    }

    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError> {
        // Some X servers have no window manager, which winit leaves it to.
        let Some(x11) = &mut self.x11 else {
            let wanted = on.then_some(Fullscreen::Borderless(None));
            return self.with(|parts, _| parts.window.set_fullscreen(wanted));
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
        let size = self.seen.size;
        match &mut self.x11 {
            Some(X11 { display, painter: Some(painter), .. }) => painter.show(display, composition, size),
            _ => self.show_with_softbuffer(composition, size),
        }
    }

    fn look(&mut self, most: Duration) -> Result<News, SinkError> {
        self.pump_for(most)?;
        Ok(std::mem::take(&mut self.seen.news))
    }

    fn renew(&mut self, said: Option<&Said>) -> Result<(bool, Vec<Press>), SinkError> {
        let Some(SharedFace(face)) = self.seen.face.clone() else { return Ok((false, Vec::new())) };
        self.with(|parts, _| {
            let mut face = face.borrow_mut();
            (face.renew(&parts.window, said), face.pressed())
        })
    }

    fn pointer(&self) -> Option<(f32, f32)> {
        self.seen.pointer
    }

    fn show_pointer(&mut self, visible: bool) {
        // A window that has gone shows it with the next frame.
        let _ = self.with(|parts, _| parts.window.set_cursor_visible(visible));
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
        // What tells a screen reader of a face must be there first.
        let wanted = wanted.with_visible(self.face.is_none());
        match event_loop.create_window(WindowAttributesExtWayland::with_name(wanted, "duet", "duet")) {
            Ok(window) => {
                if let Some(SharedFace(face)) = &self.face {
                    face.borrow_mut().attach(event_loop, &window);
                    window.set_visible(true);
                }
                self.size = pixels(window.inner_size());
                let window = Rc::new(window);
                self.handle = Some(Rc::clone(&window));
                self.window = Some(window);
            }
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let told = self
            .face
            .as_ref()
            .zip(self.handle.as_ref())
            .is_some_and(|(SharedFace(face), window)| face.borrow_mut().on_event(window, &event));
        match event {
            WindowEvent::Resized(size) => self.size = pixels(size),
            WindowEvent::RedrawRequested => self.news.is_bare = true,
            WindowEvent::CloseRequested => self.is_closed = true,
            WindowEvent::CursorMoved { position, .. } => self.pointer = Some((position.x as f32, position.y as f32)),
            WindowEvent::CursorLeft { .. } => self.pointer = None,
            WindowEvent::MouseInput { state: ElementState::Pressed, button: MouseButton::Left, .. } if !told => {
                self.news.mouse.extend(self.pointer.map(Mouse::Down));
            }
            WindowEvent::MouseInput { state: ElementState::Released, button: MouseButton::Left, .. } => {
                self.news.mouse.push(Mouse::Up);
            }
            WindowEvent::KeyboardInput { event, is_synthetic: false, .. }
                if !told && event.state.is_pressed() && !event.repeat =>
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
        WinitKey::Named(NamedKey::Space) => Some(Key::Mute),
        WinitKey::Named(NamedKey::Tab) => Some(Key::NextMember),
        WinitKey::Named(NamedKey::ArrowRight) => Some(Key::Louder),
        WinitKey::Named(NamedKey::ArrowLeft) => Some(Key::Softer),
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
                "Space" => WinitKey::Named(NamedKey::Space),
                "Left" => WinitKey::Named(NamedKey::ArrowLeft),
                "Right" => WinitKey::Named(NamedKey::ArrowRight),
                "Tab" => WinitKey::Named(NamedKey::Tab),
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
