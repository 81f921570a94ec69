//! An X server without a screen, and what a person at it would see and do.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::screensaver::{ConnectionExt as _, State};
use x11rb::protocol::xproto::{
    Blanking, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt, EventMask, Exposures, ImageFormat,
    InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MapState, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use crate::support::{Folder, until};

/// Between two looks at what a key has done.
const LOOK: Duration = Duration::from_millis(50);

/// Xvfb on a display number of its own choice.
pub(crate) struct Display {
    server: Child,
    pub(crate) name: String,
    connection: RustConnection,
    root: Window,
}

/// Contents of a window: 0x00RRGGBB row by row.
pub(crate) struct Screenshot {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<u32>,
}

impl Screenshot {
    /// Returns red, green and blue at a point.
    pub(crate) fn rgb(&self, x: usize, y: usize) -> [u8; 3] {
        let [_, r, g, b] = self.pixels[y * self.width + x].to_be_bytes();
        [r, g, b]
    }
}

impl Display {
    pub(crate) fn start(width: u32, height: u32) -> Self {
        Self::start_with(width, height, &[])
    }

    /// Starts one that reads no other program's memory, as one on another machine.
    pub(crate) fn start_without_sharing(width: u32, height: u32) -> Self {
        Self::start_with(width, height, &["-extension", "MIT-SHM"])
    }

    /// Starts one that lacks an extension.
    pub(crate) fn start_lacking(width: u32, height: u32, extension: &str) -> Self {
        Self::start_with(width, height, &["-extension", extension])
    }

    /// Starts one with so many bits of colour for a pixel.
    pub(crate) fn start_deep(width: u32, height: u32, depth: u8, options: &[&str]) -> Self {
        Self::start_as(&format!("{width}x{height}x{depth}"), options)
    }

    fn start_with(width: u32, height: u32, options: &[&str]) -> Self {
        Self::start_as(&format!("{width}x{height}x24"), options)
    }

    fn start_as(screen: &str, options: &[&str]) -> Self {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", screen, "-nolisten", "tcp"])
            .args(options)
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

    /// Ends the server under everybody who uses it.
    pub(crate) fn end(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Returns the window of that title, once it is there.
    pub(crate) fn find(&self, title: &str) -> Option<Window> {
        let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
        tree.children.into_iter().find(|&window| {
            let name = x11rb::protocol::xproto::AtomEnum::WM_NAME;
            let property = self.connection.get_property(false, window, name, x11rb::NONE, 0, 64).unwrap();
            property.reply().is_ok_and(|property| property.value == title.as_bytes())
        })
    }

    /// Returns place and size of a window.
    pub(crate) fn geometry(&self, window: Window) -> (i16, i16, u16, u16) {
        let g = self.connection.get_geometry(window).unwrap().reply().unwrap();
        (g.x, g.y, g.width, g.height)
    }

    /// Listens to what windows ask a window manager for.
    pub(crate) fn manage(&self) {
        let listen = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
        self.connection.change_window_attributes(self.root, &listen).unwrap().check().unwrap();
    }

    /// Returns true or false for the next wish to get or to lose the state of that name, once there is one.
    pub(crate) fn asked_for(&self, state: &[u8]) -> Option<bool> {
        let state = self.connection.intern_atom(false, state).unwrap().reply().unwrap().atom;
        while let Some(event) = self.connection.poll_for_event().unwrap() {
            if let Event::ClientMessage(message) = event
                && let [action, asked, ..] = message.data.as_data32()
                && asked == state
            {
                return Some(action == 1);
            }
        }
        None
    }

    /// Sets the screen saver to come after so many seconds without a key.
    pub(crate) fn set_saver(&self, seconds: i16) {
        self.connection.set_screen_saver(seconds, 0, Blanking::PREFERRED, Exposures::DEFAULT).unwrap().check().unwrap();
    }

    /// Returns true if the screen saver is on, and the time since the last key.
    pub(crate) fn saver(&self) -> (bool, Duration) {
        let found = self.connection.screensaver_query_info(self.root).unwrap().reply().unwrap();
        (found.state == u8::from(State::ON), Duration::from_millis(found.ms_since_user_input.into()))
    }

    /// Returns the present contents of the window.
    pub(crate) fn screenshot(&self, window: Window) -> Screenshot {
        // There is none while it is not on the screen yet, or has shrunk since it was measured.
        let (width, height, data) = until("a picture of the window", || {
            let (_, _, width, height) = self.geometry(window);
            let image = self.connection.get_image(ImageFormat::Z_PIXMAP, window, 0, 0, width, height, !0).unwrap();
            Some((width, height, image.reply().ok()?.data))
        });
        let (width, height) = (usize::from(width), usize::from(height));
        let (bytes, masks) = self.pixels();
        let rows = data.chunks_exact((width * bytes).next_multiple_of(4));
        let pixels = rows.flat_map(|row| row[..width * bytes].chunks_exact(bytes)).map(|pixel| {
            let pixel = pixel.iter().rev().fold(0, |value: u32, &byte| value << 8 | u32::from(byte));
            masks.iter().fold(0, |rgb, &mask| {
                let most = u64::from(mask >> mask.trailing_zeros());
                rgb << 8 | (u64::from((pixel & mask) >> mask.trailing_zeros()) * 255 / most) as u32
            })
        });
        Screenshot { width, height, pixels: pixels.collect() }
    }

    /// Returns the bytes of a pixel on the screen, and the places of red, green and blue in it.
    fn pixels(&self) -> (usize, [u32; 3]) {
        let setup = self.connection.setup();
        let screen = setup.roots.iter().find(|screen| screen.root == self.root).unwrap();
        let format = setup.pixmap_formats.iter().find(|format| format.depth == screen.root_depth).unwrap();
        let mut visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let visual = visuals.find(|visual| visual.visual_id == screen.root_visual).unwrap();
        (usize::from(format.bits_per_pixel / 8), [visual.red_mask, visual.green_mask, visual.blue_mask])
    }

    /// Returns the number of windows on the screen.
    pub(crate) fn windows(&self) -> usize {
        let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
        let attributes = |&window: &Window| self.connection.get_window_attributes(window).unwrap().reply().ok();
        let shown = tree.children.iter().filter_map(attributes).filter(|found| found.map_state == MapState::VIEWABLE);
        shown.count()
    }

    /// Holds the key with this symbol down over the window until `seen` gives something; lets it go and presses again
    /// if that takes long.
    #[track_caller]
    pub(crate) fn press<T>(&self, window: Window, keysym: u32, what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
        until(what, || {
            self.key(KEY_PRESS_EVENT, window, keysym);
            let found = (0..200).find_map(|_| {
                std::thread::sleep(LOOK);
                seen()
            });
            self.key(KEY_RELEASE_EVENT, window, keysym);
            std::thread::sleep(LOOK);
            found
        })
    }

    /// Presses the key for long enough that a window looks at it meanwhile.
    pub(crate) fn tap(&self, window: Window, keysym: u32) {
        self.tap_for(window, keysym, LOOK);
        std::thread::sleep(LOOK);
    }

    /// Presses the key and lets it go after `time`.
    pub(crate) fn tap_for(&self, window: Window, keysym: u32, time: Duration) {
        self.key(KEY_PRESS_EVENT, window, keysym);
        std::thread::sleep(time);
        self.key(KEY_RELEASE_EVENT, window, keysym);
    }

    /// Sends the event of the key with this symbol going down or up over the window.
    fn key(&self, kind: u8, window: Window, keysym: u32) {
        // A window that has closed meanwhile takes no key.
        let _ = self.connection.warp_pointer(x11rb::NONE, window, 0, 0, 0, 0, 8, 8).unwrap().check();
        let focus = self.connection.set_input_focus(InputFocus::POINTER_ROOT, window, x11rb::CURRENT_TIME).unwrap();
        let _ = focus.check();
        let setup = self.connection.setup();
        let (min, max) = (setup.min_keycode, setup.max_keycode);
        let mapping = self.connection.get_keyboard_mapping(min, max - min + 1).unwrap().reply().unwrap();
        let per_code = usize::from(mapping.keysyms_per_keycode);
        let index = mapping.keysyms.chunks(per_code).position(|symbols| symbols.contains(&keysym)).unwrap();
        let code = min + index as u8;
        self.connection.xtest_fake_input(kind, code, 0, self.root, 0, 0, 0).unwrap().check().unwrap();
    }

    /// Sends the message of a window manager when the cross is clicked.
    pub(crate) fn close(&self, window: Window) {
        let atom = |name: &[u8]| self.connection.intern_atom(false, name).unwrap().reply().unwrap().atom;
        let message =
            ClientMessageEvent::new(32, window, atom(b"WM_PROTOCOLS"), [atom(b"WM_DELETE_WINDOW"), 0, 0, 0, 0]);
        self.connection.send_event(false, window, EventMask::NO_EVENT, message).unwrap().check().unwrap();
    }
}

/// Weston without a screen: a Wayland compositor.
pub(crate) struct Compositor {
    server: Child,
    /// Folder of its socket.
    pub(crate) folder: Folder,
}

impl Compositor {
    /// The value of `WAYLAND_DISPLAY` for its programs.
    pub(crate) const NAME: &str = "duet-test";

    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        std::fs::set_permissions(folder.join(""), Permissions::from_mode(0o700)).unwrap();
        let server = Command::new("weston")
            .args(["--backend=headless-backend.so", "--idle-time=0", "--socket", Self::NAME])
            .env("XDG_RUNTIME_DIR", folder.join(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("weston (Debian: weston) is needed for this test");
        until("a compositor", || folder.join(Self::NAME).exists().then_some(()));
        Self { server, folder }
    }

    /// Ends it under everybody who uses it.
    pub(crate) fn end(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

impl Drop for Compositor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
