//! Pixels on their way to a window of an X server: through memory that it shares, or sent where it shares none.

use std::fs::File;
use std::os::unix::fs::FileExt;

use x11rb::connection::{Connection, RequestConnection};
use x11rb::cookie::Cookie;
use x11rb::protocol::shm::{ConnectionExt as _, Seg};
use x11rb::protocol::xproto::{ConnectionExt, CreateGCAux, Gcontext, GetInputFocusReply, ImageFormat, Window};
use x11rb::rust_connection::RustConnection;

use super::{Display, PixelLayout, Result, is_lost};

/// Parts of a surface.
const SLOTS: usize = 3;
/// Bytes of a request besides its pixels, at least.
const REQUEST_BYTES: usize = 64;

/// A window's pixels in parts of a few rows.
pub(in crate::sink) struct Surface {
    window: Window,
    width: u16,
    /// Rows of a part.
    rows: u16,
    layout: PixelLayout,
    context: Gcontext,
    memory: Option<Memory>,
    /// A part as the server wants it.
    laid_out: Vec<u8>,
}

/// Memory that the X server reads, a file without a name: room for [`SLOTS`] parts. It is small so that all of it stays in the
/// processor's cache.
struct Memory {
    segment: Seg,
    file: File,
}

/// A frame on its way to the X server.
pub(in crate::sink) struct Passage<'a> {
    display: &'a Display,
    surface: &'a mut Surface,
    /// Answered when the server does not read a slot any more.
    read: [Option<Cookie<'a, RustConnection, GetInputFocusReply>>; SLOTS],
    slot: usize,
}

impl Display {
    /// Makes ready to show the pixels of `window`, which is `width` pixels wide, in parts of `rows` rows each, through shared
    /// memory where `shares` and the server can. An error means that it has gone.
    pub(in crate::sink) fn surface(
        &self,
        window: Window,
        (width, rows): (usize, usize),
        layout: &PixelLayout,
        shares: bool,
    ) -> Result<Surface> {
        let context = self.connection.generate_id()?;
        self.connection.create_gc(context, window, &CreateGCAux::new().graphics_exposures(0))?.check()?;
        let memory = match shares.then(|| self.share(layout.row_bytes(width) * rows * SLOTS)).transpose() {
            Err(error) if is_lost(&error) => return Err(error),
            Err(error) => {
                tracing::info!("pictures are sent to the X server, which takes longer than to share them: {error}");
                None
            }
            Ok(memory) => memory,
        };
        let (width, rows, layout) = (u16::try_from(width)?, u16::try_from(rows)?, layout.clone());
        Ok(Surface { window, width, rows, layout, context, memory, laid_out: Vec::new() })
    }

    /// Gives the memory of `surface` back.
    pub(in crate::sink) fn forget(&self, surface: &Surface) -> Result<()> {
        if let Some(memory) = &surface.memory {
            self.connection.shm_detach(memory.segment)?.check()?;
        }
        self.connection.free_gc(surface.context)?.check()?;
        Ok(())
    }

    /// Returns true if the server reads this program's memory. An error means that it has gone.
    pub(in crate::sink) fn shares_memory(&self, window: Window, layout: &PixelLayout) -> Result<bool> {
        let tried = self.surface(window, (1, 1), layout, true)?;
        self.forget(&tried)?;
        Ok(tried.is_shared())
    }

    /// Shares memory with the server; one on another machine cannot.
    fn share(&self, bytes: usize) -> Result<Memory> {
        let version = self.connection.shm_query_version()?.reply()?;
        if (version.major_version, version.minor_version) < (1, 2) {
            return Err("it cannot share files".into());
        }
        let segment = self.connection.generate_id()?;
        let shared = self.connection.shm_create_segment(segment, u32::try_from(bytes)?, false)?.reply()?;
        Ok(Memory { segment, file: shared.shm_fd.into() })
    }
}

impl Surface {
    /// Returns true if the server reads its memory.
    pub(in crate::sink) fn is_shared(&self) -> bool {
        self.memory.is_some()
    }
}

impl<'a> Passage<'a> {
    /// Nothing has been put yet.
    pub(in crate::sink) fn new(display: &'a Display, surface: &'a mut Surface) -> Self {
        Self { display, surface, read: [const { None }; SLOTS], slot: 0 }
    }

    /// Asks the X server to show the rows from `first` on as `pixels`, 0x00RRGGBB row by row. Waits if too many are on their way.
    pub(in crate::sink) fn put(&mut self, pixels: &[u32], first: usize) -> Result<()> {
        let connection = &self.display.connection;
        let Surface { window, width, rows, ref layout, context, ref memory, ref mut laid_out } = *self.surface;
        let (row, depth) = (usize::from(width).max(1), layout.depth());
        for (number, part) in pixels.chunks(row * usize::from(rows)).enumerate() {
            let read = &mut self.read[self.slot];
            if let Some(read) = read.take() {
                read.reply()?;
            }
            let (top, part_rows) = (first + number * usize::from(rows), part.len() / row);
            let bytes = layout.laid_out(part, row, laid_out);
            match memory {
                Some(Memory { segment, file }) => {
                    let from = self.slot * usize::from(rows);
                    // A mapping would save this copy, and needs `unsafe`.
                    file.write_all_at(bytes, (layout.row_bytes(row) * from) as u64)?;
                    let (from, part_rows, all) = (u16::try_from(from)?, u16::try_from(part_rows)?, SLOTS as u16 * rows);
                    let (top, format) = (i16::try_from(top)?, ImageFormat::Z_PIXMAP.into());
                    let put = connection.shm_put_image(
                        window, context, width, all, 0, from, width, part_rows, 0, top, depth, format, false, *segment,
                        0,
                    )?;
                    put.ignore_error();
                }
                None => {
                    let row_bytes = layout.row_bytes(row);
                    let most = (connection.maximum_request_bytes().saturating_sub(REQUEST_BYTES) / row_bytes).max(1);
                    for (number, piece) in bytes.chunks(most * row_bytes).enumerate() {
                        let top = i16::try_from(top + number * most)?;
                        let rows = u16::try_from(piece.len() / row_bytes)?;
                        let format = ImageFormat::Z_PIXMAP;
                        let put =
                            connection.put_image(format, window, context, width, rows, 0, top, 0, depth, piece)?;
                        put.ignore_error();
                    }
                }
            }
            // The server does one thing after the other.
            *read = Some(connection.get_input_focus()?);
            connection.flush()?;
            self.slot = (self.slot + 1) % SLOTS;
        }
        Ok(())
    }

    /// Waits until all that was put is shown.
    pub(in crate::sink) fn finish(self) -> Result<()> {
        self.read.into_iter().flatten().try_for_each(|read| read.reply().map(drop))?;
        Ok(())
    }
}
