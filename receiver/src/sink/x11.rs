//! X11 functions that minifb lacks: the screen's size, a window's size, full screen, pixels in shared memory, the screen saver.

use std::fs::File;
use std::os::unix::fs::FileExt;

use x11rb::connection::Connection;
use x11rb::cookie::VoidCookie;
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::screensaver::ConnectionExt as _;
use x11rb::protocol::shm::{ConnectionExt as _, Seg};
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConfigureWindowAux, ConnectionExt, CreateGCAux, EventMask, Gcontext, ImageFormat, ImageOrder,
    PropMode, ScreenSaver, StackMode, Window,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// Bytes of a pixel in shared memory.
const PIXEL_BYTES: usize = 4;

/// A window's pixels, in memory that the X server reads: a file without a name.
pub(super) struct Surface {
    window: Window,
    size: (u16, u16),
    depth: u8,
    context: Gcontext,
    segment: Seg,
    file: File,
}

/// Returns true if the X server has gone.
pub(super) fn is_lost(error: &Error) -> bool {
    error.is::<ConnectionError>()
        || matches!(error.downcast_ref(), Some(ReplyError::ConnectionError(_)))
        || matches!(error.downcast_ref(), Some(ReplyOrIdError::ConnectionError(_)))
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

    /// Holds the server's screen saver and power saving, or lets them go; with this connection they go, too. A screen that
    /// was dark is lit.
    pub(super) fn suspend_saver(&self, on: bool) -> Result<()> {
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

    /// Shares memory for the pixels of `window`, which has `width` x `height` of them. An error means that this server cannot,
    /// as one on another machine, or that it has gone.
    pub(super) fn share(&self, window: Window, (width, height): (usize, usize)) -> Result<Surface> {
        let (setup, depth) = (self.connection.setup(), self.connection.get_geometry(window)?.reply()?.depth);
        let is_plain = |format: &x11rb::protocol::xproto::Format| {
            format.depth == depth && usize::from(format.bits_per_pixel) == 8 * PIXEL_BYTES
        };
        let order = if cfg!(target_endian = "big") { ImageOrder::MSB_FIRST } else { ImageOrder::LSB_FIRST };
        if setup.image_byte_order != order || !setup.pixmap_formats.iter().any(is_plain) {
            return Err("its pixels are laid out in another way".into());
        }
        let version = self.connection.shm_query_version()?.reply()?;
        if (version.major_version, version.minor_version) < (1, 2) {
            return Err("it cannot share files".into());
        }
        let (segment, bytes) = (self.connection.generate_id()?, u32::try_from(PIXEL_BYTES * width * height)?);
        let shared = self.connection.shm_create_segment(segment, bytes, false)?.reply()?;
        let context = self.connection.generate_id()?;
        self.connection.create_gc(context, window, &CreateGCAux::new())?.check()?;
        let size = (u16::try_from(width)?, u16::try_from(height)?);
        Ok(Surface { window, size, depth, context, segment, file: shared.shm_fd.into() })
    }

    /// Asks the X server to show the rows from `first` on as `pixels`, 0x00RRGGBB row by row.
    pub(super) fn put(&self, surface: &Surface, pixels: &[u32], first: usize) -> Result<()> {
        // A mapping would save this copy, and needs `unsafe`.
        let at = PIXEL_BYTES * first * usize::from(surface.size.0);
        surface.file.write_all_at(bytemuck::cast_slice(pixels), at as u64)?;
        let rows = pixels.len() / usize::from(surface.size.0).max(1);
        self.put_rows(surface, first, rows)?.ignore_error();
        self.connection.flush()?;
        Ok(())
    }

    /// Shows all that has been put; it is there when this returns.
    pub(super) fn finish(&self, surface: &Surface) -> Result<()> {
        // The server does one thing after the other.
        self.put_rows(surface, 0, 0)?.check()?;
        Ok(())
    }

    /// Shows the pixels of `surface` again.
    pub(super) fn put_again(&self, surface: &Surface) -> Result<()> {
        self.put_rows(surface, 0, surface.size.1.into())?.check()?;
        Ok(())
    }

    fn put_rows(&self, surface: &Surface, first: usize, rows: usize) -> Result<VoidCookie<'_, RustConnection>> {
        let Surface { window, size: (width, height), depth, context, segment, .. } = *surface;
        let (first, rows, format) = (u16::try_from(first)?, u16::try_from(rows)?, ImageFormat::Z_PIXMAP.into());
        let (from, to) = (first, i16::try_from(first)?);
        let image = self.connection.shm_put_image(
            window, context, width, height, 0, from, width, rows, 0, to, depth, format, false, segment, 0,
        )?;
        Ok(image)
    }

    /// Gives the memory of `surface` back.
    pub(super) fn unshare(&self, surface: &Surface) -> Result<()> {
        self.connection.shm_detach(surface.segment)?.check()?;
        self.connection.free_gc(surface.context)?.check()?;
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
