//! A window on an X11 display, opened by minifb. Its pixels go to the X server past minifb, which knows one kind of screen only.

use std::time::Duration;

use std::cell::RefCell;
use std::rc::Rc;

use minifb::{InputCallback, MouseMode, ScaleMode, WindowOptions};

use super::composition::{Composition, fit};
use super::painter::Painter;
use super::pane::{Key, Mouse, News, Pane, TITLE, WAITING_SIZE};
use crate::sink::x11::{self, Display};
use crate::sink::{SinkError, display_loss};

pub(super) struct MinifbPane {
    window: minifb::Window,
    display: Display,
    /// Place and size before full screen.
    place: ((isize, isize), (usize, usize)),
    painter: Painter,
    keyboard: Keyboard,
    /// The pointer's button is down.
    is_held: bool,
}

/// Bytes of the pixels that minifb knows.
const PIXEL_BYTES: usize = 4;

/// Keys as minifb tells of them, one after the other: its own list has none of those that went down and up between two looks.
#[derive(Clone, Default)]
struct Keyboard(Rc<RefCell<Keys>>);

#[derive(Default)]
struct Keys {
    /// Those that are down.
    held: Vec<minifb::Key>,
    /// The meanings of those that went down since the last look.
    pressed: Vec<Key>,
}

impl InputCallback for Keyboard {
    fn add_char(&mut self, _: u32) {}

    fn set_key_state(&mut self, key: minifb::Key, is_down: bool) {
        let mut keys = self.0.borrow_mut();
        // One that is held down is told of again and again.
        let was_down = keys.held.contains(&key);
        keys.held.retain(|&held| held != key);
        if is_down {
            keys.held.push(key);
            keys.pressed.extend(meaning(key).filter(|_| !was_down));
        }
    }
}

impl MinifbPane {
    /// Opens the window.
    pub(super) fn open(fullscreen: bool) -> Result<Self, SinkError> {
        // minifb needs libX11 and a display; asking for the display first gives the better sentence.
        let display = Display::connect().map_err(no_display)?;
        let layout = display.layout().map_err(no_display)?;
        // On any other minifb breaks down while it says so.
        if layout.pixel_bytes() != PIXEL_BYTES {
            return Err(no_display("minifb knows no pixels but those of 32 bits, and this screen's are of fewer"));
        }
        let size = fit(WAITING_SIZE, display.size());
        let options = WindowOptions {
            resize: true,
            borderless: fullscreen,
            // The frame always has the window's size.
            scale_mode: ScaleMode::UpperLeft,
            ..WindowOptions::default()
        };
        let opening = display_loss::Opening::begin();
        let mut window = minifb::Window::new(TITLE, size.0, size.1, options).map_err(no_display)?;
        display_loss::survive(&window);
        drop(opening);
        let keyboard = Keyboard::default();
        window.set_input_callback(Box::new(keyboard.clone()));
        let painter = Painter::new(id(&window), layout);
        Ok(Self { place: (window.get_position(), size), window, display, painter, keyboard, is_held: false })
    }

    /// Returns the window's number on the X server.
    fn id(&self) -> u32 {
        id(&self.window)
    }
}

fn id(window: &minifb::Window) -> u32 {
    // minifb hands the XID out as a pointer.
    window.get_window_handle() as usize as u32
}

fn no_display(error: impl ToString) -> SinkError {
    SinkError::NoDisplay(error.to_string())
}

impl Pane for MinifbPane {
    fn size(&self) -> (usize, usize) {
        self.window.get_size()
    }

    fn screen(&self) -> (usize, usize) {
        self.display.size()
    }

    fn resize(&mut self, (width, height): (usize, usize)) -> Result<(), SinkError> {
        self.display.resize(self.id(), width, height).map_err(x11::failed)
    }

    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError> {
        let done = if on {
            self.place = (self.window.get_position(), self.window.get_size());
            self.display.fullscreen(self.id(), ((0, 0), self.display.size()))
        } else {
            self.display.leave_fullscreen(self.id(), self.place)
        };
        done.map_err(x11::failed)
    }

    fn keep_above(&mut self, on: bool) -> Result<bool, SinkError> {
        self.display.keep_above(self.id(), on).map_err(x11::failed)?;
        Ok(true)
    }

    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        self.painter.show(&self.display, composition, self.window.get_size())
    }

    fn look(&mut self, _: Duration) -> Result<News, SinkError> {
        self.window.update();
        if display_loss::has_happened() {
            return Err(SinkError::Window(x11::ENDED.to_owned()));
        }
        let keys = std::mem::take(&mut self.keyboard.0.borrow_mut().pressed);
        let is_down = self.window.get_mouse_down(minifb::MouseButton::Left);
        let mouse = match (std::mem::replace(&mut self.is_held, is_down), is_down) {
            (false, true) => self.pointer().map(Mouse::Down),
            (true, false) => Some(Mouse::Up),
            _ => None,
        };
        Ok(News { keys, mouse: mouse.into_iter().collect(), ..News::default() })
    }

    fn pointer(&self) -> Option<(f32, f32)> {
        self.window.get_unscaled_mouse_pos(MouseMode::Pass)
    }

    fn show_pointer(&mut self, visible: bool) {
        self.window.set_cursor_visibility(visible);
    }

    fn is_open(&self) -> bool {
        self.window.is_open()
    }

    fn hold_saver(&self, on: bool) {
        self.display.hold_saver(on);
    }
}

fn meaning(key: minifb::Key) -> Option<Key> {
    let letter = match key {
        minifb::Key::Up => return Some(Key::Faster),
        minifb::Key::Down => return Some(Key::Slower),
        minifb::Key::Space => return Some(Key::Mute),
        minifb::Key::Tab => return Some(Key::NextMember),
        minifb::Key::Right => return Some(Key::Louder),
        minifb::Key::Left => return Some(Key::Softer),
        minifb::Key::Escape => return Some(Key::Escape),
        minifb::Key::H => 'h',
        minifb::Key::I => 'i',
        minifb::Key::D => 'd',
        minifb::Key::F => 'f',
        minifb::Key::W => 'w',
        minifb::Key::T => 't',
        minifb::Key::M => 'm',
        minifb::Key::S => 's',
        minifb::Key::V => 'v',
        minifb::Key::E => 'e',
        minifb::Key::Z => 'z',
        minifb::Key::L => 'l',
        minifb::Key::C => 'c',
        minifb::Key::B => 'b',
        minifb::Key::P => 'p',
        minifb::Key::A => 'a',
        minifb::Key::Key1 => '1',
        minifb::Key::Key2 => '2',
        minifb::Key::Key3 => '3',
        _ => return None,
    };
    Key::of_letter(letter)
}

#[cfg(test)]
mod tests {
    use super::super::pane::check_listed_keys;
    use super::*;

    #[test]
    fn each_key_of_the_list_means_something_of_its_own() {
        use minifb::Key::{A, B, C, D, Down, E, Escape, F, H, I, L, Left, M, P, Right, S, Space, T, Tab, Up, V, W, Z};
        use minifb::Key::{Key1, Key2, Key3};
        check_listed_keys(|name| {
            // A letter before a word that begins with it.
            let keys = [A, B, C, D, E, F, H, I, L, M, P, S, T, V, W, Z, Down, Escape, Left, Right, Space, Tab, Up];
            let keys = keys.into_iter().chain([Key1, Key2, Key3]);
            let is_it = |key: &minifb::Key| format!("{key:?}").trim_start_matches("Key").starts_with(name);
            meaning(keys.into_iter().find(is_it)?)
        });
    }

    #[test]
    fn a_key_counts_once_however_short_or_long_it_is_down() {
        let mut keyboard = Keyboard::default();
        let mut tell = |events: &[(minifb::Key, bool)]| {
            events.iter().for_each(|&(key, is_down)| keyboard.set_key_state(key, is_down));
            std::mem::take(&mut keyboard.0.borrow_mut().pressed)
        };
        let (h, up) = (minifb::Key::H, minifb::Key::Up);
        assert_eq!(tell(&[(h, true), (h, false)]), [Key::Keys]);
        assert_eq!(tell(&[(h, true), (up, true)]), [Key::Keys, Key::Faster]);
        // Held down, which is told again and again.
        assert_eq!(tell(&[(h, true), (up, true)]), []);
        assert_eq!(tell(&[(h, false), (up, false), (h, true)]), [Key::Keys]);
    }
}
