//! Windows as their events have told.

use std::rc::Rc;

use winit::application::ApplicationHandler;
use winit::dpi::{PhysicalPosition, PhysicalSize};
use winit::event::{ElementState, MouseButton, WindowEvent};
use winit::event_loop::ActiveEventLoop;
use winit::keyboard::{Key as WinitKey, KeyCode, NamedKey, PhysicalKey};
use winit::monitor::MonitorHandle;
use winit::platform::modifier_supplement::KeyEventExtModifierSupplement;
use winit::platform::wayland::WindowAttributesExtWayland;
use winit::window::{Fullscreen, Window, WindowAttributes, WindowId};

use super::composition::fit;
use super::outlet::Area;
use super::pane::{Key, Mouse, News, TITLE, WAITING_SIZE};
use super::second::SecondWindow;
use crate::sink::face::SharedFace;

/// The last letter of the Latin scripts (Unicode, Latin Extended-B).
const LATIN_LAST: char = '\u{24f}';

/// The window, and a second one, as their events have told.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) window: Option<Rc<Window>>,
    pub(super) refused: Option<String>,
    pub(super) face: Option<SharedFace>,
    /// The window again, for the face.
    handle: Option<Rc<Window>>,
    pub(super) screen: Option<(usize, usize)>,
    pub(super) size: (usize, usize),
    pub(super) news: News,
    pub(super) pointer: Option<(f32, f32)>,
    pub(super) is_closed: bool,
    pub(super) second: Option<Second>,
}

impl Watched {
    /// No window yet; `face`: pages over its picture, which hear of what happens first.
    pub(super) fn new(face: Option<SharedFace>) -> Self {
        Self { face, ..Self::default() }
    }
}

/// A second window that is wanted or there.
#[derive(Default)]
pub(super) struct Second {
    /// The window as it is; before it is there, as it is wanted.
    pub(super) now: SecondWindow,
    /// It, until it is taken.
    pub(super) window: Option<Rc<Window>>,
    pub(super) refused: Option<String>,
    handle: Option<Rc<Window>>,
    pub(super) size: (usize, usize),
    /// True if it is to cover its screen, or no longer.
    pub(super) toggles: bool,
    is_x11: bool,
}

impl Second {
    /// A window that is wanted like `left` was.
    pub(super) fn wanted(left: &SecondWindow, is_x11: bool) -> Self {
        Self { now: SecondWindow { is_open: true, ..left.clone() }, is_x11, ..Self::default() }
    }

    /// Returns true until it is there, or refused.
    pub(super) fn is_awaited(&self) -> bool {
        self.handle.is_none() && self.refused.is_none()
    }

    /// Returns the area of the screen on which it is.
    pub(super) fn screen(&self) -> Option<Area> {
        self.handle.as_ref()?.current_monitor().as_ref().map(area)
    }

    fn open(&mut self, event_loop: &ActiveEventLoop, first: Option<&Rc<Window>>) {
        let screens: Vec<_> = event_loop.available_monitors().collect();
        let names: Vec<_> = screens.iter().map(|screen| screen.name().unwrap_or_default()).collect();
        let first = first.and_then(|window| window.current_monitor()).and_then(|screen| screen.name());
        let screen = chosen(&names, first.as_deref(), self.now.screen.as_deref()).and_then(|at| screens.get(at));
        let ((x, y), large) = screen.map_or(((0, 0), WAITING_SIZE), area);
        let size = fit(WAITING_SIZE, (large.0 / 2, large.1 / 2));
        let place = [(x, large.0 - size.0), (y, large.1 - size.1)].map(|(at, free)| at as i32 + free as i32 / 2);
        let wanted = Window::default_attributes()
            .with_title(TITLE)
            .with_inner_size(PhysicalSize::new(size.0 as u32, size.1 as u32))
            .with_position(PhysicalPosition::new(place[0], place[1]));
        // A Wayland compositor lets programs choose a screen in no other way; on X11 some have no window manager to ask.
        let covers = (self.now.is_fullscreen && !self.is_x11).then(|| Fullscreen::Borderless(screen.cloned()));
        match event_loop.create_window(named(wanted.with_fullscreen(covers))) {
            Ok(window) => {
                self.size = pixels(window.inner_size());
                let window = Rc::new(window);
                self.handle = Some(Rc::clone(&window));
                self.window = Some(window);
            }
            Err(error) => self.refused = Some(error.to_string()),
        }
    }

    /// Takes what has happened to it; returns a key that was pressed in it and means the same as in the other.
    fn on_event(&mut self, event: &WindowEvent) -> Option<Key> {
        match event {
            WindowEvent::CloseRequested => self.now.is_open = false,
            WindowEvent::Resized(size) => self.size = pixels(*size),
            WindowEvent::KeyboardInput { event, is_synthetic: false, .. }
                if event.state.is_pressed() && !event.repeat =>
            {
                match key(&event.key_without_modifiers(), event.physical_key)? {
                    Key::Escape => self.now.is_open = false,
                    Key::Fullscreen => self.toggles = true,
                    other => return Some(other),
                }
            }
            _ => {}
        }
        if let WindowEvent::Resized(_) | WindowEvent::Moved(_) = event {
            let screen = self.handle.as_ref().and_then(|window| window.current_monitor());
            self.now.screen = screen.and_then(|screen| screen.name()).or(self.now.screen.take());
        }
        None
    }
}

/// Returns which of the screens of these names is for a second window: that of before, else another than the `first` window's.
fn chosen(names: &[String], first: Option<&str>, before: Option<&str>) -> Option<usize> {
    let place = |wanted: Option<&str>| names.iter().position(|name| wanted == Some(name));
    place(before).or_else(|| names.iter().position(|name| first.is_some_and(|first| first != name))).or(place(first))
}

fn area(screen: &MonitorHandle) -> Area {
    let at = screen.position();
    ((at.x as isize, at.y as isize), pixels(screen.size()))
}

/// Returns `wanted` with the name by which a desktop knows this program.
fn named(wanted: WindowAttributes) -> WindowAttributes {
    // The name is that of both systems.
    WindowAttributesExtWayland::with_name(wanted, "duet", "duet")
}

impl ApplicationHandler for Watched {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        self.screen = self.screen.or_else(|| monitor.map(|monitor| pixels(monitor.size())));
        self.size = fit(WAITING_SIZE, self.screen.unwrap_or(WAITING_SIZE));
        let size = PhysicalSize::new(self.size.0 as u32, self.size.1 as u32);
        let wanted = Window::default_attributes().with_title(TITLE).with_inner_size(size);
        // What tells a screen reader of a face must be there first.
        let wanted = wanted.with_visible(self.face.is_none());
        match event_loop.create_window(named(wanted)) {
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

    /// Opens a second window: windows are made within the loop only.
    fn user_event(&mut self, event_loop: &ActiveEventLoop, (): ()) {
        if let Some(second) = self.second.as_mut().filter(|second| second.is_awaited()) {
            second.open(event_loop, self.handle.as_ref());
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, id: WindowId, event: WindowEvent) {
        if self.handle.as_ref().is_none_or(|window| window.id() != id) {
            let is_its = |second: &&mut Second| second.handle.as_ref().is_some_and(|window| window.id() == id);
            if let Some(second) = self.second.as_mut().filter(is_its) {
                self.news.keys.extend(second.on_event(&event));
                self.news.is_bare |= matches!(event, WindowEvent::RedrawRequested | WindowEvent::Resized(_));
            }
            return;
        }
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

pub(super) fn pixels(size: PhysicalSize<u32>) -> (usize, usize) {
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
        KeyCode::KeyW => 'w',
        KeyCode::KeyC => 'c',
        KeyCode::KeyB => 'b',
        KeyCode::KeyP => 'p',
        KeyCode::KeyA => 'a',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pane::check_listed_keys;
    use super::*;

    #[test]
    fn a_second_window_is_on_the_screen_of_before_or_on_another_than_the_first() {
        let names = ["A", "B", "C"].map(str::to_owned);
        for (first, before, wanted) in [
            (Some("A"), None, Some(1)),
            (Some("B"), None, Some(0)),
            (Some("B"), Some("C"), Some(2)),
            (Some("A"), Some("A"), Some(0)),
            (Some("A"), Some("gone"), Some(1)),
            (None, None, None),
        ] {
            assert_eq!(chosen(&names, first, before), wanted, "{first:?} {before:?}");
        }
        assert_eq!(chosen(&names[..1], Some("A"), None), Some(0));
        assert_eq!(chosen(&[], Some("A"), Some("B")), None);
    }

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
        let of_letters = ('a'..='z').filter_map(Key::of_letter);
        let places = [
            [KeyCode::KeyA, KeyCode::KeyB, KeyCode::KeyC, KeyCode::KeyD, KeyCode::KeyE],
            [KeyCode::KeyF, KeyCode::KeyH, KeyCode::KeyI, KeyCode::KeyL, KeyCode::KeyM],
            [KeyCode::KeyP, KeyCode::KeyS, KeyCode::KeyT, KeyCode::KeyV, KeyCode::KeyW],
            [KeyCode::KeyZ; 5],
        ];
        let of_places: Vec<_> = places.as_flattened().iter().filter_map(|place| pressed("й", *place)).collect();
        for meaning in of_letters {
            assert!(of_places.contains(&meaning), "{meaning:?} has no place where letters are of another script");
        }
        assert_eq!(key(&WinitKey::Named(NamedKey::Escape), PhysicalKey::Code(KeyCode::KeyH)), Some(Key::Escape));
    }
}
