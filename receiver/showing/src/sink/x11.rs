//! X11 functions that minifb and winit lack: the screen's size, a window's size, full screen, pixels in shared memory, the screen saver.

mod layout;
mod surface;

use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::screensaver::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConfigureWindowAux, ConnectionExt, EventMask, PropMode, ScreenSaver, StackMode, Window,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

pub(super) use self::layout::PixelLayout;
use self::layout::UnknownLayout;
pub(super) use self::surface::{Passage, Surface};
use super::SinkError;

type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// The state of a window that covers the screen (EWMH).
const FULLSCREEN: &[u8] = b"_NET_WM_STATE_FULLSCREEN";

/// Returns true if the X server has gone.
pub(super) fn is_lost(error: &Error) -> bool {
    let error = match error.downcast_ref() {
        Some(ReplyError::ConnectionError(error)) => Some(error),
        _ => match error.downcast_ref() {
            Some(ReplyOrIdError::ConnectionError(error)) => Some(error),
            _ => error.downcast_ref(),
        },
    };
    // One that lacks an extension is there.
    error.is_some_and(|error| !matches!(error, ConnectionError::UnsupportedExtension))
}

/// Message about an X server that has gone.
pub(super) const ENDED: &str = "the X server has ended";

/// Returns the error of a function here as a sink's.
pub(super) fn failed(error: Error) -> SinkError {
    SinkError::Window(if is_lost(&error) { ENDED.to_owned() } else { error.to_string() })
}

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

    /// Returns width and height of the screen, pixels.
    pub(super) fn size(&self) -> (usize, usize) {
        let screen = &self.connection.setup().roots[self.screen];
        (screen.width_in_pixels.into(), screen.height_in_pixels.into())
    }

    /// Returns the way in which the server keeps the pixels of windows that are like the screen.
    pub(super) fn layout(&self) -> std::result::Result<PixelLayout, UnknownLayout> {
        let setup = self.connection.setup();
        PixelLayout::of(setup, &setup.roots[self.screen])
    }

    /// Returns the first of `extensions` that the server lacks.
    pub(super) fn lacks(&self, extensions: &[&'static str]) -> Result<Option<&'static str>> {
        for name in extensions {
            if self.connection.extension_information(name)?.is_none() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns the place of the contents of `window` on the screen.
    pub(super) fn position(&self, window: Window) -> Result<(isize, isize)> {
        let place = self.connection.translate_coordinates(window, self.root(), 0, 0)?.reply()?;
        Ok((place.dst_x.into(), place.dst_y.into()))
    }

    /// Makes `window` `width` x `height` pixels, unless the window manager knows better.
    pub(super) fn resize(&self, window: Window, width: usize, height: usize) -> Result<()> {
        let size = ConfigureWindowAux::new().width(u32::try_from(width)?).height(u32::try_from(height)?);
        self.connection.configure_window(window, &size)?.check()?;
        Ok(())
    }

    /// Makes `window` cover `area` of the screen: asks the window manager (EWMH `_NET_WM_STATE`), and sets place and size for
    /// a display that has none.
    pub(super) fn fullscreen(&self, window: Window, area: ((isize, isize), (usize, usize))) -> Result<()> {
        let (state, fullscreen, atoms) = (self.atom(b"_NET_WM_STATE")?, self.atom(FULLSCREEN)?, self.atom(b"ATOM")?);
        self.connection.change_property32(PropMode::REPLACE, window, state, atoms, &[fullscreen])?.check()?;
        self.ask_for_state(window, FULLSCREEN, true)?;
        let place = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.place(window, &place, area)
    }

    /// Gives `window` back the place and size that it had, where no window manager does so.
    pub(super) fn leave_fullscreen(&self, window: Window, place: ((isize, isize), (usize, usize))) -> Result<()> {
        self.ask_for_state(window, FULLSCREEN, false)?;
        let (manager, root) = (self.atom(b"_NET_SUPPORTING_WM_CHECK")?, self.root());
        if self.connection.get_property(false, root, manager, x11rb::NONE, 0, 1)?.reply()?.type_ == x11rb::NONE {
            self.connection.delete_property(window, self.atom(b"_NET_WM_STATE")?)?.check()?;
            self.place(window, &ConfigureWindowAux::new(), place)?;
        }
        Ok(())
    }

    /// Keeps `window` above others, or no longer: asks the window manager. Without one it is raised once.
    pub(super) fn keep_above(&self, window: Window, on: bool) -> Result<()> {
        self.ask_for_state(window, b"_NET_WM_STATE_ABOVE", on)?;
        if on {
            let raised = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
            self.connection.configure_window(window, &raised)?.check()?;
        }
        Ok(())
    }

    /// Asks the window manager to give `window` a state (EWMH `_NET_WM_STATE`) or to take it.
    fn ask_for_state(&self, window: Window, wanted: &[u8], on: bool) -> Result<()> {
        let (state, wanted) = (self.atom(b"_NET_WM_STATE")?, self.atom(wanted)?);
        let from_application = 1;
        let message = ClientMessageEvent::new(32, window, state, [on.into(), wanted, 0, from_application, 0]);
        let managers = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection.send_event(false, self.root(), managers, message)?.check()?;
        Ok(())
    }

    /// Returns an error once the X server has gone.
    pub(super) fn check(&self) -> Result<()> {
        // None is asked for.
        while self.connection.poll_for_event()?.is_some() {}
        Ok(())
    }

    /// Asks the server for something and waits for the answer; an error says that it has gone.
    pub(super) fn ask(&self) -> Result<()> {
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Holds the server's screen saver and power saving, or lets them go; with this connection they go, too. A screen that
    /// was dark is lit.
    pub(super) fn hold_saver(&self, on: bool) {
        // A window without this is a window all the same; that the server has gone shows elsewhere.
        if let Err(error) = self.suspend_saver(on) {
            tracing::debug!("the X server's screen saver cannot be held: {error}");
        }
    }

    fn suspend_saver(&self, on: bool) -> Result<()> {
        // Servers learn from it which version is spoken; Suspend came with 1.1.
        let version = self.connection.screensaver_query_version(1, 1)?.reply()?;
        if (version.server_major_version, version.server_minor_version) < (1, 1) {
            return Err("it is too old for that".into());
        }
        self.connection.screensaver_suspend(on.into())?.check()?;
        if on {
            self.connection.force_screen_saver(ScreenSaver::RESET)?.check()?;
        }
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
