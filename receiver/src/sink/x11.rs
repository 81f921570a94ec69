//! What minifb does not offer on X11: the screen's size, a window's size, full screen.

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConfigureWindowAux, ConnectionExt, EventMask, PropMode, StackMode, Window,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A second connection to the display that `DISPLAY` names.
pub(super) struct Display {
    connection: RustConnection,
    screen: usize,
}

impl Display {
    /// Connects. The error text names what the display server said.
    pub(super) fn connect() -> Result<Self> {
        let (connection, screen) = x11rb::connect(None)?;
        Ok(Self { connection, screen })
    }

    /// Width and height of the screen, pixels.
    pub(super) fn size(&self) -> (usize, usize) {
        let screen = &self.connection.setup().roots[self.screen];
        (screen.width_in_pixels.into(), screen.height_in_pixels.into())
    }

    /// Makes `window` `width` x `height` pixels, unless the window manager knows better.
    pub(super) fn resize(&self, window: Window, width: usize, height: usize) -> Result<()> {
        let size = ConfigureWindowAux::new().width(u32::try_from(width)?).height(u32::try_from(height)?);
        self.connection.configure_window(window, &size)?.check()?;
        Ok(())
    }

    /// Makes `window` cover the screen: asks the window manager (EWMH `_NET_WM_STATE`), and sets place and size for
    /// a display that has none.
    pub(super) fn fullscreen(&self, window: Window) -> Result<()> {
        let (state, fullscreen, atoms) =
            (self.atom(b"_NET_WM_STATE")?, self.atom(b"_NET_WM_STATE_FULLSCREEN")?, self.atom(b"ATOM")?);
        self.connection.change_property32(PropMode::REPLACE, window, state, atoms, &[fullscreen])?.check()?;
        self.ask_for_state(window, 1)?;
        let place = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.place(window, &place, ((0, 0), self.size()))
    }

    /// Gives `window` back the place and size that it had, where no window manager does so.
    pub(super) fn leave_fullscreen(&self, window: Window, place: ((isize, isize), (usize, usize))) -> Result<()> {
        self.ask_for_state(window, 0)?;
        let (manager, root) = (self.atom(b"_NET_SUPPORTING_WM_CHECK")?, self.root());
        if self.connection.get_property(false, root, manager, x11rb::NONE, 0, 1)?.reply()?.type_ == x11rb::NONE {
            self.connection.delete_property(window, self.atom(b"_NET_WM_STATE")?)?.check()?;
            self.place(window, &ConfigureWindowAux::new(), place)?;
        }
        Ok(())
    }

    /// Asks the window manager to add (1) or remove (0) full screen.
    fn ask_for_state(&self, window: Window, action: u32) -> Result<()> {
        let (state, fullscreen) = (self.atom(b"_NET_WM_STATE")?, self.atom(b"_NET_WM_STATE_FULLSCREEN")?);
        let from_application = 1;
        let message = ClientMessageEvent::new(32, window, state, [action, fullscreen, 0, from_application, 0]);
        let managers = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection.send_event(false, self.root(), managers, message)?.check()?;
        Ok(())
    }

    fn place(
        &self,
        window: Window,
        configuration: &ConfigureWindowAux,
        ((x, y), (width, height)): ((isize, isize), (usize, usize)),
    ) -> Result<()> {
        let place = configuration.x(i32::try_from(x)?).y(i32::try_from(y)?);
        let place = place.width(u32::try_from(width)?).height(u32::try_from(height)?);
        self.connection.configure_window(window, &place)?.check()?;
        Ok(())
    }

    fn atom(&self, name: &[u8]) -> Result<u32> {
        Ok(self.connection.intern_atom(false, name)?.reply()?.atom)
    }

    fn root(&self) -> Window {
        self.connection.setup().roots[self.screen].root
    }
}
