//! An X server without a screen, and what a person at it sees and does.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ClientMessageEvent, ConnectionExt as _, CreateWindowAux,
    EventMask, ImageFormat, InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, MapState, Window,
    WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

const SIZE: (u16, u16) = (1280, 720);
/// Rows of a button at least.
const AREA: usize = 14;
/// Time for which a button is held.
const HELD: Duration = Duration::from_millis(80);

pub(crate) struct Screen {
    server: Child,
    pub(crate) name: String,
    connection: RustConnection,
    root: Window,
}

/// Contents of a screen: 0x00RRGGBB row by row.
pub(crate) struct Shot {
    pixels: Vec<u32>,
}

impl Screen {
    pub(crate) fn start() -> Self {
        let size = format!("{}x{}x24", SIZE.0, SIZE.1);
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", &size, "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb (Debian: xvfb) is needed for this test");
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let name = format!(":{}", number.trim());
        let (connection, screen) = x11rb::connect(Some(&name)).unwrap();
        let root = connection.setup().roots[screen].root;
        Self { server, name, connection, root }
    }

    /// Returns what is on the screen now.
    pub(crate) fn shot(&self) -> Option<Shot> {
        let image = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, SIZE.0, SIZE.1, !0).unwrap();
        Some(Shot::of(&image.reply().ok()?.data))
    }

    /// Moves the pointer there.
    pub(crate) fn point(&self, x: usize, y: usize) {
        self.fake(MOTION_NOTIFY_EVENT, 0, (x as i16, y as i16));
    }

    /// Presses the first button of the mouse there, as long as a person does.
    pub(crate) fn click(&self, x: usize, y: usize) {
        self.point(x, y);
        std::thread::sleep(HELD);
        self.fake(BUTTON_PRESS_EVENT, 1, (0, 0));
        std::thread::sleep(HELD);
        self.fake(BUTTON_RELEASE_EVENT, 1, (0, 0));
    }

    /// Returns the windows that are seen, the lowest first.
    pub(crate) fn windows(&self) -> Vec<Window> {
        let windows = self.connection.query_tree(self.root).unwrap().reply().unwrap().children;
        let is_seen = |window: &Window| {
            let attributes = self.connection.get_window_attributes(*window).unwrap().reply();
            attributes.is_ok_and(|attributes| attributes.map_state == MapState::VIEWABLE)
        };
        windows.into_iter().filter(is_seen).collect()
    }

    /// Returns the left upper corner of a window, and its width and height.
    pub(crate) fn place(&self, window: Window) -> Option<(i16, i16, u16, u16)> {
        let place = self.connection.get_geometry(window).unwrap().reply().ok()?;
        Some((place.x, place.y, place.width, place.height))
    }

    /// Returns what is on the screen at a window's place.
    pub(crate) fn shot_of(&self, window: Window) -> Option<Shot> {
        let (_, _, width, height) = self.place(window)?;
        let image = self.connection.get_image(ImageFormat::Z_PIXMAP, window, 0, 0, width, height, !0).unwrap();
        Some(Shot::of(&image.reply().ok()?.data))
    }

    /// Gives the keyboard to the window that is seen, as a window manager does.
    pub(crate) fn give_keyboard(&self) {
        self.give_keyboard_to(*self.windows().first().expect("there is no window"));
    }

    pub(crate) fn give_keyboard_to(&self, window: Window) {
        let given = self.connection.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME);
        given.unwrap().check().unwrap();
    }

    /// Asks a window to close, as its cross does.
    pub(crate) fn close(&self, window: Window) {
        let [protocols, delete] = [&b"WM_PROTOCOLS"[..], b"WM_DELETE_WINDOW"].map(|name| self.atom(name));
        let message = ClientMessageEvent::new(32, window, protocols, [delete, x11rb::CURRENT_TIME, 0, 0, 0]);
        self.connection.send_event(false, window, EventMask::NO_EVENT, message).unwrap().check().unwrap();
    }

    /// Presses a key of the usual keyboard, by its number, as long as a person does.
    pub(crate) fn press(&self, key: u8) {
        self.fake(KEY_PRESS_EVENT, key, (0, 0));
        std::thread::sleep(HELD);
        self.fake(KEY_RELEASE_EVENT, key, (0, 0));
        std::thread::sleep(HELD);
    }

    fn fake(&self, event: u8, detail: u8, (x, y): (i16, i16)) {
        self.connection.xtest_fake_input(event, detail, 0, self.root, x, y, 0).unwrap().check().unwrap();
    }

    fn atom(&self, name: &[u8]) -> Atom {
        self.connection.intern_atom(false, name).unwrap().reply().unwrap().atom
    }

    /// Returns the text in the clipboard, if there is one.
    pub(crate) fn clipboard(&self) -> Option<String> {
        let window = self.connection.generate_id().unwrap();
        let attributes = CreateWindowAux::new();
        self.connection
            .create_window(0, window, self.root, 0, 0, 1, 1, 0, WindowClass::INPUT_OUTPUT, 0, &attributes)
            .unwrap();
        let [clipboard, text, place] = [&b"CLIPBOARD"[..], b"UTF8_STRING", b"DUET_TEST"].map(|name| self.atom(name));
        self.connection.convert_selection(window, clipboard, text, place, x11rb::CURRENT_TIME).unwrap();
        self.connection.flush().unwrap();
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            match self.connection.poll_for_event().unwrap() {
                Some(Event::SelectionNotify(told)) if told.requestor == window => {
                    if told.property == x11rb::NONE {
                        return None;
                    }
                    let property = self
                        .connection
                        .get_property(true, window, place, AtomEnum::ANY, 0, 4096)
                        .unwrap()
                        .reply()
                        .ok()?;
                    return String::from_utf8(property.value).ok();
                }
                Some(_) => {}
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        None
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Shot {
    fn of(data: &[u8]) -> Self {
        let pixel = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap()) & 0x00ff_ffff;
        Self { pixels: data.chunks_exact(4).map(pixel).collect() }
    }

    /// Returns a place in the widest area of one colour that is at least thirty pixels wide.
    pub(crate) fn centre_of(&self, colour: u32) -> Option<(usize, usize)> {
        let width = usize::from(SIZE.0);
        let mut best: Option<(usize, usize, usize)> = None;
        for (y, row) in self.pixels.chunks_exact(width).enumerate() {
            let mut start = 0;
            for x in 0..=width {
                if x < width && row[x] == colour {
                    continue;
                }
                let run = x - start;
                // The frame of a field is of that colour, too, and is no area.
                let is_area = (0..AREA).all(|row| self.pixels.get((y + row) * width + start + 4) == Some(&colour));
                if is_area && run > best.map_or(30, |(run, ..)| run) {
                    best = Some((run, start + run / 2, y));
                }
                start = x + 1;
            }
        }
        let (_, x, y) = best?;
        // The first such row is the upper edge of the button.
        Some((x, y + 8))
    }

    /// Returns where that colour is: the first pixel that has it, and how many have.
    pub(crate) fn place_of(&self, colour: u32) -> (Option<usize>, usize) {
        (self.pixels.iter().position(|&pixel| pixel == colour), self.count(colour))
    }

    /// Returns how many pixels have that colour.
    pub(crate) fn count(&self, colour: u32) -> usize {
        self.pixels.iter().filter(|&&pixel| pixel == colour).count()
    }

    /// Returns how many colours it has.
    pub(crate) fn colours(&self) -> usize {
        self.pixels.iter().collect::<HashSet<_>>().len()
    }

    /// Saves it as a PNG file.
    pub(crate) fn save(&self, path: &Path) {
        let bytes: Vec<u8> = self.pixels.iter().flat_map(|pixel| pixel.to_be_bytes()[1..].to_vec()).collect();
        let picture = image::RgbImage::from_raw(u32::from(SIZE.0), u32::from(SIZE.1), bytes).unwrap();
        picture.save(path).unwrap();
    }
}
