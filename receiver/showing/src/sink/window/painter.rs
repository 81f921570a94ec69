//! A window's frames on their way to an X server, in parts: the server shows one while the next is made. Any kind of screen
//! that has colours gets its kind of pixels.

use super::composition::{Composition, parts};
use crate::sink::SinkError;
use crate::sink::x11::{self, Display, Passage, PixelLayout, Surface};

/// Rows that go to the X server at once.
const PART_ROWS: usize = 90;

/// Shows the frames of a window.
pub(super) struct Painter {
    window: u32,
    layout: PixelLayout,
    /// Place of frames of the last size, and if the server may share memory.
    surface: Option<Surface>,
    shares: bool,
    /// The part that was made last, and the next one.
    parts: [Vec<u32>; 2],
    /// Rows with texts.
    frame: Vec<u32>,
    size: (usize, usize),
}

impl Painter {
    /// Paints `window`, whose pixels are of `layout`.
    pub(super) fn new(window: u32, layout: PixelLayout) -> Self {
        Self { window, layout, surface: None, shares: true, parts: Default::default(), frame: Vec::new(), size: (0, 0) }
    }

    /// Shows a frame of `size`: its rows without texts part by part, each while the next is made; then the others. When this
    /// returns, the server has it.
    pub(super) fn show(
        &mut self,
        display: &Display,
        composition: &mut Composition,
        size: (usize, usize),
    ) -> Result<(), SinkError> {
        if self.size != size {
            self.make_room(display, size)?;
        }
        let Self { surface: Some(surface), parts: [made, next], frame, .. } = self else { return Ok(()) };
        let (width, height) = size;
        let written = composition.begin(size);
        let mut passage = Passage::new(display, surface);
        let mut put = |pixels: &[u32], first| passage.put(pixels, first).map_err(x11::failed);
        let (mut made, mut next, mut made_rows) = (made, next, 0..0);
        for rows in parts(height, written, PART_ROWS).filter(|rows| rows.end <= written) {
            let out = &mut next[..rows.len() * width];
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| composition.make(out, rows.start));
                put(&made[..made_rows.len() * width], made_rows.start)
            })?;
            std::mem::swap(&mut made, &mut next);
            made_rows = rows;
        }
        put(&made[..made_rows.len() * width], made_rows.start)?;
        if written < height {
            composition.make(&mut frame[written * width..], written);
            composition.write(frame);
            put(&frame[written * width..], written)?;
        }
        passage.finish().map_err(x11::failed)
    }

    /// Sets memory aside for a frame of `size`.
    fn make_room(&mut self, display: &Display, (width, height): (usize, usize)) -> Result<(), SinkError> {
        if let Some(old) = self.surface.take() {
            display.forget(&old).map_err(x11::failed)?;
        }
        let surface =
            display.surface(self.window, (width, PART_ROWS), &self.layout, self.shares).map_err(x11::failed)?;
        self.shares = surface.is_shared();
        self.surface = Some(surface);
        self.parts = [vec![0; width * PART_ROWS], vec![0; width * PART_ROWS]];
        self.frame = vec![0; width * height];
        self.size = (width, height);
        Ok(())
    }
}
