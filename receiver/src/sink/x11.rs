//! X11 functions that minifb and winit lack: the screen's size, a window's size, full screen, pixels in shared memory, the screen saver.

use std::fs::File;
use std::os::unix::fs::FileExt;

use x11rb::connection::Connection;
use x11rb::cookie::Cookie;
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::screensaver::ConnectionExt as _;
use x11rb::protocol::shm::{ConnectionExt as _, Seg};
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConfigureWindowAux, ConnectionExt, CreateGCAux, EventMask, Gcontext, GetInputFocusReply,
    ImageFormat, ImageOrder, PropMode, ScreenSaver, StackMode, Window,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::SinkError;

type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// The state of a window that covers the screen (EWMH).
const FULLSCREEN: &[u8] = b"_NET_WM_STATE_FULLSCREEN";

/// Bytes of a pixel in shared memory.
const PIXEL_BYTES: usize = 4;

/// Memory that the X server reads, a file without a name: room for a few parts of a window's pixels. It is small so that all of
/// it stays in the processor's cache.
pub(super) struct Surface {
    window: Window,
    width: u16,
    /// Rows of a part.
    rows: u16,
    depth: u8,
    context: Gcontext,
    segment: Seg,
    file: File,
}

/// Parts of a surface.
const SLOTS: usize = 3;

/// A frame on its way to the X server.
pub(super) struct Passage<'a> {
    display: &'a Display,
    surface: &'a Surface,
    /// Answered when the server does not read a slot any more.
    read: [Option<Cookie<'a, RustConnection, GetInputFocusReply>>; SLOTS],
    slot: usize,
}

impl<'a> Passage<'a> {
    /// Nothing has been put yet.
    pub(super) fn new(display: &'a Display, surface: &'a Surface) -> Self {
        Self { display, surface, read: [const { None }; SLOTS], slot: 0 }
    }

    /// Asks the X server to show the rows from `first` on as `pixels`, 0x00RRGGBB row by row. Waits if too many are on their way.
    pub(super) fn put(&mut self, pixels: &[u32], first: usize) -> Result<()> {
        let Surface { window, width, rows, depth, context, segment, ref file } = *self.surface;
        let connection = &self.display.connection;
        let (row, format) = (usize::from(width).max(1), ImageFormat::Z_PIXMAP.into());
        for (number, part) in pixels.chunks(row * usize::from(rows)).enumerate() {
            let read = &mut self.read[self.slot];
            if let Some(read) = read.take() {
                read.reply()?;
            }
            let from = self.slot * usize::from(rows);
            // A mapping would save this copy, and needs `unsafe`.
            file.write_all_at(bytemuck::cast_slice(part), (PIXEL_BYTES * row * from) as u64)?;
            let to = i16::try_from(first + number * usize::from(rows))?;
            let (from, part_rows, all) = (u16::try_from(from)?, u16::try_from(part.len() / row)?, SLOTS as u16 * rows);
            let put = connection.shm_put_image(
                window, context, width, all, 0, from, width, part_rows, 0, to, depth, format, false, segment, 0,
            )?;
            put.ignore_error();
            // The server does one thing after the other.
            *read = Some(connection.get_input_focus()?);
            connection.flush()?;
            self.slot = (self.slot + 1) % SLOTS;
        }
        Ok(())
    }

    /// Waits until all that was put is shown.
    pub(super) fn finish(self) -> Result<()> {
        self.read.into_iter().flatten().try_for_each(|read| read.reply().map(drop))?;
        Ok(())
    }
}

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

    /// Makes `window` cover the screen: asks the window manager (EWMH `_NET_WM_STATE`), and sets place and size for
    /// a display that has none.
    pub(super) fn fullscreen(&self, window: Window) -> Result<()> {
        let (state, fullscreen, atoms) = (self.atom(b"_NET_WM_STATE")?, self.atom(FULLSCREEN)?, self.atom(b"ATOM")?);
        self.connection.change_property32(PropMode::REPLACE, window, state, atoms, &[fullscreen])?.check()?;
        self.ask_for_state(window, FULLSCREEN, true)?;
        let place = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.place(window, &place, ((0, 0), self.size()))
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

    /// Shares memory for parts of the pixels of `window`, which is `width` pixels wide, of `rows` rows each. An error means that
    /// this server cannot, as one on another machine, or that it has gone.
    pub(super) fn share(&self, window: Window, width: usize, rows: usize) -> Result<Surface> {
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
        let (segment, bytes) = (self.connection.generate_id()?, u32::try_from(PIXEL_BYTES * width * rows * SLOTS)?);
        let shared = self.connection.shm_create_segment(segment, bytes, false)?.reply()?;
        let context = self.connection.generate_id()?;
        self.connection.create_gc(context, window, &CreateGCAux::new())?.check()?;
        let (width, rows) = (u16::try_from(width)?, u16::try_from(rows)?);
        Ok(Surface { window, width, rows, depth, context, segment, file: shared.shm_fd.into() })
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
