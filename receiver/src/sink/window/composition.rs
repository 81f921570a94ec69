//! What a window shows: the picture at the window's size, bars around it, the own picture and texts on it.

use kernels::Scaler;

use crate::own::OwnSide;
use crate::sink::overlay::Overlay;
use crate::sink::self_view::SelfView;
use crate::sink::text::Canvas;

/// A picture and what is drawn on it, for a frame of any size. A window back end asks for the picture's rows in the parts
/// and the order that suit it, and for the texts at the end.
pub(super) struct Composition {
    /// The picture as it came, or its mirror image.
    pub(super) picture: Vec<u32>,
    /// Its size.
    pub(super) size: (usize, usize),
    pub(super) overlay: Overlay,
    /// The picture that this machine sends, in a corner.
    pub(super) own: Option<SelfView>,
    scaler: Scaler,
    /// Size of the frame.
    frame: (usize, usize),
    /// Left upper corner of the picture in it.
    corner: (usize, usize),
}

impl Composition {
    /// A black picture of `size`.
    pub(super) fn new(size: (usize, usize), status_line: bool, own: Option<OwnSide>) -> Self {
        let mut overlay = Overlay::new(status_line);
        overlay.sends = own.is_some();
        Self {
            picture: vec![0; size.0 * size.1],
            size,
            overlay,
            own: own.map(SelfView::new),
            scaler: Scaler::new(size, size),
            frame: (0, 0),
            corner: (0, 0),
        }
    }

    /// Begins a frame of `frame` pixels: returns the first of the rows that [`Composition::write`] may change, once they are made.
    pub(super) fn begin(&mut self, frame: (usize, usize)) -> usize {
        let inner = enlarged(self.size, frame);
        if self.scaler.sizes() != (self.size, inner) {
            self.scaler = Scaler::new(self.size, inner);
        }
        self.frame = frame;
        self.corner = ((frame.0 - inner.0.min(frame.0)) / 2, (frame.1 - inner.1.min(frame.1)) / 2);
        let own = self.own.as_ref().map_or(frame.1, |own| own.top(frame));
        own.min(self.overlay.rows(frame.1).start)
    }

    /// Makes the rows of the frame from `first` on, as many as `rows` holds: the picture and bars.
    pub(super) fn make(&mut self, rows: &mut [u32], first: usize) {
        let (width, (left, top), (_, inner)) = (self.frame.0, self.corner, self.scaler.sizes());
        let last = first + rows.len() / width.max(1);
        let (begin, end) = (top.clamp(first, last), (top + inner.1).clamp(first, last));
        rows[..(begin - first) * width].fill(0);
        rows[(end - first) * width..].fill(0);
        let rows = &mut rows[(begin - first) * width..(end - first) * width];
        if inner.0 < width {
            for row in rows.chunks_exact_mut(width) {
                row[..left].fill(0);
                row[left + inner.0..].fill(0);
            }
        }
        if begin < end {
            self.scaler.scale_rows(&self.picture, rows, width, left, begin - top);
        }
    }

    /// Draws the own picture and texts on the whole frame, whose rows before the first that it may change need not be there.
    pub(super) fn write(&mut self, frame: &mut [u32]) {
        let width = self.frame.0;
        if let Some(own) = &mut self.own {
            own.draw(frame, width);
        }
        self.overlay.draw(&mut Canvas { pixels: frame, width });
    }
}

/// Swaps left and right of a picture.
pub(super) fn mirror(pixels: &mut [u32], width: usize) {
    pixels.chunks_exact_mut(width.max(1)).for_each(<[u32]>::reverse);
}

/// Returns the largest size of the shape of `size` that is neither larger than it nor than the screen.
pub(super) fn fit(size: (usize, usize), screen: (usize, usize)) -> (usize, usize) {
    let larger = size.0 > screen.0 || size.1 > screen.1;
    if larger { enlarged(size, screen) } else { size }
}

/// Returns the largest size of the shape of `size` that is not larger than `room`.
pub(in crate::sink) fn enlarged(size: (usize, usize), room: (usize, usize)) -> (usize, usize) {
    let (width, height) = size;
    // The side that fills the room does so exactly.
    let is_wide = width * room.1 >= height * room.0;
    let fitted = if is_wide { (room.0, height * room.0 / width) } else { (width * room.1 / height, room.1) };
    (fitted.0.max(1), fitted.1.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_fill_the_window_in_shape() {
        assert_eq!(enlarged((1280, 720), (2560, 1440)), (2560, 1440));
        assert_eq!(enlarged((1280, 720), (1000, 1000)), (1000, 562));
        assert_eq!(enlarged((640, 480), (1920, 1080)), (1440, 1080));
        assert_eq!(enlarged((16384, 1), (100, 100)), (100, 1));
        assert_eq!(enlarged((1280, 720), (1, 1)), (1, 1));
    }

    #[test]
    fn a_mirror_swaps_left_and_right() {
        let mut pixels = [1, 2, 3, 4, 5, 6];
        mirror(&mut pixels, 3);
        assert_eq!(pixels, [3, 2, 1, 6, 5, 4]);
    }

    #[test]
    fn large_pictures_are_fitted_to_the_screen_in_shape() {
        assert_eq!(fit((640, 360), (1920, 1080)), (640, 360));
        assert_eq!(fit((3840, 2160), (1920, 1200)), (1920, 1080));
        assert_eq!(fit((16384, 1), (1000, 1000)), (1000, 1));
    }

    #[test]
    fn a_frame_made_in_parts_is_the_one_made_at_once() {
        let mut composition = Composition::new((8, 6), true, None);
        (1..).zip(&mut composition.picture).for_each(|(number, pixel)| *pixel = 0x0001_0305 * number);
        for frame in [(20, 31), (31, 20), (8, 6), (5, 4)] {
            let made = |composition: &mut Composition, rows: usize| {
                let mut pixels = vec![7; frame.0 * frame.1];
                assert_eq!(composition.begin(frame), frame.1, "no text");
                let parts = pixels.chunks_mut(rows * frame.0).enumerate();
                parts.for_each(|(number, part)| composition.make(part, number * rows));
                pixels
            };
            let whole = made(&mut composition, frame.1);
            for rows in [1, 3, 7] {
                assert!(made(&mut composition, rows) == whole, "{frame:?} in parts of {rows} rows");
            }
            assert!(!whole.contains(&7) && whole.iter().any(|&pixel| pixel != 0));
        }
    }
}
