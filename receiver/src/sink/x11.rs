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
        let atom = |name: &[u8]| -> Result<u32> { Ok(self.connection.intern_atom(false, name)?.reply()?.atom) };
        let (state, fullscreen, atoms) = (atom(b"_NET_WM_STATE")?, atom(b"_NET_WM_STATE_FULLSCREEN")?, atom(b"ATOM")?);
        self.connection.change_property32(PropMode::REPLACE, window, state, atoms, &[fullscreen])?.check()?;
        let root = self.connection.setup().roots[self.screen].root;
        let (add, from_application) = (1, 1);
        let message = ClientMessageEvent::new(32, window, state, [add, fullscreen, 0, from_application, 0]);
        let managers = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection.send_event(false, root, managers, message)?.check()?;
        let (width, height) = self.size();
        let place = ConfigureWindowAux::new()
            .x(0)
            .y(0)
            .width(u32::try_from(width)?)
            .height(u32::try_from(height)?)
            .stack_mode(StackMode::ABOVE);
        self.connection.configure_window(window, &place)?.check()?;
        Ok(())
    }
}
