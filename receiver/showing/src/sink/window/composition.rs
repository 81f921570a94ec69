//! Contents of a window: the picture at the window's size, bars around it, the own picture and texts on it.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use kernels::{Converter, Original, Picture, Scaler};

use crate::sink::enlarged::enlarged;
use crate::sink::face::Layer;
use crate::sink::overlay::Overlay;
use crate::sink::self_view::{OwnPlace, SelfView};
use crate::sink::text::Canvas;
use net::lock::lock;
use shell::settings::OwnSide;

/// Width of a window at least, pixels.
const WIDTH_MIN: usize = 640;

/// A picture and what is drawn on it, for a frame of any size. A window back end asks for the picture's rows in the parts
/// and the order that suit it, and for the texts at the end.
pub(super) struct Composition {
    /// Size of the picture.
    pub(super) size: (usize, usize),
    /// The picture as it came, and what makes pixels of it; none yet: black.
    shown: Option<(Picture, Converter)>,
    /// Pixels in its place, as they were made of several pictures.
    sheet: Option<Vec<u32>>,
    /// True if its left and right are swapped.
    pub(super) mirrored: bool,
    pub(super) overlay: Overlay,
    /// The picture that this machine sends, in a corner.
    pub(super) own: Option<SelfView>,
    /// Pages of a toolkit, in place of the texts.
    pub(super) face: Option<Arc<Mutex<Layer>>>,
    scaler: Scaler,
    /// Size of the frame.
    frame: (usize, usize),
    /// Left upper corner of the picture in it.
    corner: (usize, usize),
}

impl Composition {
    /// A black picture of `size`.
    pub(super) fn new(size: (usize, usize), status_line: bool, own: Option<OwnSide>, place: OwnPlace) -> Self {
        let mut overlay = Overlay::new(status_line);
        overlay.sends = own.is_some();
        Self {
            size,
            shown: None,
            sheet: None,
            mirrored: false,
            overlay,
            own: own.map(|own| SelfView::new(own, place)),
            face: None,
            scaler: Scaler::new(size, size),
            frame: (0, 0),
            corner: (0, 0),
        }
    }

    /// Returns it with the pages of a face in place of its texts.
    pub(super) fn under(self, face: Option<Arc<Mutex<Layer>>>) -> Self {
        Self { face, ..self }
    }

    /// Returns the same picture for another window, without the own picture, and without texts if this one has a face.
    pub(super) fn beside(&self) -> Self {
        let nothing = || Arc::new(Mutex::new(Layer { top: usize::MAX, ..Layer::default() }));
        let mut beside =
            Self::new(self.size, false, None, OwnPlace::default()).under(self.face.as_ref().map(|_| nothing()));
        (beside.shown, beside.sheet) = (self.shown.clone(), self.sheet.clone());
        beside.overlay.set_notice(self.overlay.said().notice.as_deref());
        beside
    }

    /// Shows black of `size` until a picture comes.
    pub(super) fn clear(&mut self, size: (usize, usize)) {
        (self.size, self.shown) = (size, None);
    }

    /// Takes a picture to show, of which `converter` makes pixels.
    pub(super) fn take(&mut self, picture: &Picture, converter: Converter) {
        let shape = |picture: &Picture| (picture.format(), picture.depth(), picture.size());
        self.size = (picture.size().width(), picture.size().height());
        match &mut self.shown {
            // Its memory is that of the one before.
            Some((shown, with)) if shape(shown) == shape(picture) => {
                shown.data_mut().copy_from_slice(picture.data());
                *with = converter;
            }
            shown => *shown = Some((picture.clone(), converter)),
        }
    }

    /// Takes pixels to show, 0x00RRGGBB row by row, in place of a picture.
    pub(super) fn take_sheet(&mut self, size: (usize, usize), pixels: &[u32]) {
        self.take_part(size, size.0, pixels);
    }

    /// Takes the left upper part of such pixels, which is of `size`, in rows of `width`.
    pub(super) fn take_part(&mut self, size: (usize, usize), width: usize, pixels: &[u32]) {
        self.size = size;
        let sheet = self.sheet.get_or_insert_default();
        sheet.clear();
        let rows = pixels.chunks_exact(width.max(1)).take(size.1);
        rows.for_each(|row| sheet.extend_from_slice(&row[..size.0.min(width)]));
    }

    /// Returns the picture's pixel at a place of the frame; none beside it.
    pub(super) fn pixel_at(&self, (x, y): (f32, f32)) -> Option<(usize, usize)> {
        let (_, inner) = self.scaler.sizes();
        let along = |at: f32, corner: usize, inner: usize, size: usize| {
            let part = (at - corner as f32) / inner.max(1) as f32;
            (0.0..1.0).contains(&part).then(|| ((part * size as f32) as usize).min(size.saturating_sub(1)))
        };
        let x = along(x, self.corner.0, inner.0, self.size.0)?;
        Some((x, along(y, self.corner.1, inner.1, self.size.1)?))
    }

    /// Returns the picture as it is shown, but at its own size: 0x00RRGGBB row by row.
    pub(super) fn pixels(&self) -> Vec<u32> {
        if let Some(sheet) = &self.sheet {
            return sheet.clone();
        }
        let mut pixels = vec![0; self.size.0 * self.size.1];
        if let Some((picture, converter)) = &self.shown {
            converter.convert(picture, &mut pixels);
        }
        if self.mirrored {
            pixels.chunks_exact_mut(self.size.0.max(1)).for_each(<[u32]>::reverse);
        }
        pixels
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
        let texts = match &self.face {
            Some(_) if self.overlay.is_dim() => 0,
            Some(layer) => lock(layer).top.min(frame.1),
            None => self.overlay.rows(frame).start,
        };
        own.min(texts)
    }

    /// Makes the rows of the frame from `first` on, as many as `rows` holds: the picture and bars.
    pub(super) fn make(&mut self, rows: &mut [u32], first: usize) {
        let picture = match (&self.sheet, &self.shown) {
            (Some(sheet), _) => Original::Pixels(sheet),
            (None, Some((picture, converter))) => Original::Planes { picture, converter, mirrored: self.mirrored },
            (None, None) => return rows.fill(0),
        };
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
            self.scaler.scale_rows(picture, rows, width, left, begin - top);
        }
    }

    /// Draws the own picture and texts on the whole frame, whose rows before the first that it may change need not be there.
    pub(super) fn write(&mut self, frame: &mut [u32]) {
        let width = self.frame.0;
        if let Some(own) = &mut self.own {
            own.draw(frame, width);
        }
        let mut canvas = Canvas { pixels: frame, width };
        match &self.face {
            Some(layer) => {
                if self.overlay.is_dim() && self.shown.is_some() {
                    canvas.dim();
                }
                lock(layer).lay_over(canvas.pixels, width);
            }
            None => self.overlay.draw(&mut canvas),
        }
    }
}

/// Returns the parts, as rows, in which a frame of `height` rows goes to a display server, which copies one while the next is made:
/// up to the row `written` of `rows` at most, and in one the rows from there on, which carry texts.
pub(super) fn parts(height: usize, written: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    let (rows, written) = (rows.max(1), written.min(height));
    let free = (0..written).step_by(rows).map(move |first| first..(first + rows).min(written));
    free.chain((written < height).then_some(written..height))
}

/// Returns the largest size of the shape of `size` that is neither larger than it nor than the screen.
pub(super) fn fit(size: (usize, usize), screen: (usize, usize)) -> (usize, usize) {
    let larger = size.0 > screen.0 || size.1 > screen.1;
    if larger { enlarged(size, screen) } else { size }
}

/// Returns the size of a window for pictures of `size`: theirs, but wide enough to be seen and read, and not larger than the screen.
pub(super) fn comfortable(size: (usize, usize), screen: (usize, usize)) -> (usize, usize) {
    let (width, height) = size;
    fit(if width < WIDTH_MIN { (WIDTH_MIN, height * WIDTH_MIN / width.max(1)) } else { size }, screen)
}

#[cfg(test)]
mod tests {
    use picture::frame::{ColourSpace, FrameSize, PixelFormat};

    use super::*;

    /// Returns a grey picture in which every pixel differs from its neighbours.
    fn picture((width, height): (u32, u32), step: usize) -> Picture {
        let size = FrameSize::new(width, height).unwrap();
        let samples = (1..=size.pixels()).map(|number| (number * step) as u8).collect();
        Picture::from_data(PixelFormat::Grey8, size, samples).unwrap()
    }

    #[test]
    fn a_mirror_swaps_left_and_right_also_of_what_is_saved() {
        let mut composition = Composition::new((9, 9), false, None, OwnPlace::default());
        assert_eq!(composition.pixels(), [0; 81]);
        composition.take(&picture((3, 2), 10), Converter::new(ColourSpace::JPEG));
        let grey = |luma: u32| luma << 16 | luma << 8 | luma;
        let mut shown = [7; 6];
        for (mirrored, lumas) in [(false, [10, 20, 30, 40, 50, 60]), (true, [30, 20, 10, 60, 50, 40])] {
            composition.mirrored = mirrored;
            composition.begin((3, 2));
            composition.make(&mut shown, 0);
            assert_eq!((shown, composition.pixels()), (lumas.map(grey), lumas.map(grey).to_vec()));
        }
        composition.clear((3, 2));
        composition.make(&mut shown, 0);
        assert_eq!(shown, [0; 6]);
    }

    #[test]
    fn another_window_has_the_same_picture_or_the_left_upper_part_of_a_sheet() {
        let mut composition = Composition::new((9, 9), true, None, OwnPlace::default());
        composition.take(&picture((3, 2), 10), Converter::new(ColourSpace::JPEG));
        composition.overlay.set_notice(Some("looking"));
        let mut beside = composition.beside();
        assert_eq!((beside.size, beside.pixels()), ((3, 2), composition.pixels()));
        assert!(beside.overlay.is_dim(), "neither is alive");
        // Under a face it has no texts of its own, and none of the face's.
        let layer = Arc::new(Mutex::new(Layer::default()));
        lock(&layer).begin(3, 2, [255; 4]);
        composition.overlay.set_notice(None);
        let mut beside_face = composition.under(Some(layer)).beside();
        let mut frame = [7; 6];
        assert_eq!(beside_face.begin((3, 2)), 2, "nothing is written on any row");
        beside_face.make(&mut frame, 0);
        beside_face.write(&mut frame);
        assert_eq!(frame.as_slice(), beside.pixels());
        beside.take_part((2, 1), 3, &[1, 2, 3, 4, 5, 6]);
        assert_eq!((beside.size, beside.pixels()), ((2, 1), vec![1, 2]));
    }

    #[test]
    fn a_place_of_the_frame_is_a_pixel_of_the_picture_or_beside_it() {
        let mut composition = Composition::new((4, 2), false, None, OwnPlace::default());
        composition.take_sheet((1280, 360), &[0; 1280 * 360]);
        composition.begin((640, 400));
        for (place, pixel) in [
            ((0.0, 110.0), Some((0, 0))),
            ((639.9, 289.0), Some((1279, 358))),
            ((320.0, 200.0), Some((640, 180))),
            ((320.0, 100.0), None),
            ((-1.0, 200.0), None),
            ((320.0, f32::NAN), None),
        ] {
            assert_eq!(composition.pixel_at(place), pixel, "{place:?}");
        }
    }

    #[test]
    fn a_picture_that_is_taken_replaces_the_one_before_whatever_its_shape() {
        let mut composition = Composition::new((1, 1), false, None, OwnPlace::default());
        for (size, step) in [((4, 3), 5), ((4, 3), 7), ((3, 4), 5), ((4, 3), 3)] {
            let picture = picture(size, step);
            composition.take(&picture, Converter::new(ColourSpace::JPEG));
            let lumas: Vec<u8> = composition.pixels().iter().map(|&pixel| pixel as u8).collect();
            assert_eq!((composition.size, lumas.as_slice()), ((size.0 as usize, size.1 as usize), picture.data()));
        }
    }

    #[test]
    fn parts_cover_a_frame_and_texts_are_in_the_last() {
        for height in [0_usize, 1, 7, 8, 100, 1440] {
            for written in [0, 1, height / 2, height.saturating_sub(1), height, height + 1] {
                for rows in [0, 1, 3, 180, 2_000] {
                    let parts: Vec<_> = parts(height, written, rows).collect();
                    assert!(parts.iter().cloned().flatten().eq(0..height), "{parts:?} of {height}");
                    let is_small = |part: &Range<usize>| part.len() <= rows.max(1) || part.start == written;
                    assert!(parts.iter().all(is_small), "{parts:?} of {rows}");
                    assert!(written >= height || parts.last() == Some(&(written..height)), "{parts:?} from {written}");
                }
            }
        }
    }

    #[test]
    fn large_pictures_are_fitted_to_the_screen_in_shape() {
        assert_eq!(fit((640, 360), (1920, 1080)), (640, 360));
        assert_eq!(fit((3840, 2160), (1920, 1200)), (1920, 1080));
        assert_eq!(fit((16384, 1), (1000, 1000)), (1000, 1));
    }

    #[test]
    fn small_pictures_have_windows_in_which_they_are_seen() {
        assert_eq!(comfortable((320, 240), (1920, 1080)), (640, 480));
        assert_eq!(comfortable((160, 90), (1920, 1080)), (640, 360));
        assert_eq!(comfortable((1280, 720), (1920, 1080)), (1280, 720));
        assert_eq!(comfortable((320, 240), (600, 400)), (533, 400));
        assert_eq!(comfortable((16, 16_384), (1000, 1000)), (1, 1000));
    }

    #[test]
    fn a_frame_made_in_parts_is_the_one_made_at_once() {
        let mut composition = Composition::new((8, 6), true, None, OwnPlace::default());
        composition.take(&picture((8, 6), 3), Converter::new(ColourSpace::JPEG));
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
