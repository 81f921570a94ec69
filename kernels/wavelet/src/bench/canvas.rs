//! A picture that plotters draws on, with a font of its own: no fonts of the system are needed.

use std::convert::Infallible;

use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind};

/// Pixels of the canvas for one of the file, each way: lines become smooth when it is reduced.
pub(crate) const OVERSAMPLING: u32 = 2;
/// Size of small text, pixels of the canvas.
pub(crate) const SMALL: u32 = 24 * OVERSAMPLING;
/// Size of large text.
pub(crate) const LARGE: u32 = 32 * OVERSAMPLING;

/// Returns a white picture to draw on, for a file of `width` x `height` pixels.
pub(crate) fn blank(width: u32, height: u32) -> RgbImage {
    RgbImage::from_pixel(width * OVERSAMPLING, height * OVERSAMPLING, Rgb([255; 3]))
}

/// Returns the picture at the file's size.
pub(crate) fn reduced(picture: &RgbImage) -> RgbImage {
    let (width, height) = (picture.width() / OVERSAMPLING, picture.height() / OVERSAMPLING);
    imageops::resize(picture, width, height, FilterType::Triangle)
}

/// A picture as plotters sees it.
pub(crate) struct Canvas<'a>(pub(crate) &'a mut RgbImage);

impl Canvas<'_> {
    fn blend(&mut self, (x, y): BackendCoord, color: BackendColor, opacity: f64) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        let Some(Rgb(pixel)) = self.0.get_pixel_mut_checked(x, y) else { return };
        let (r, g, b) = color.rgb;
        for (old, new) in pixel.iter_mut().zip([r, g, b]) {
            let (from, to) = (f64::from(*old), f64::from(new));
            *old = (from + (to - from) * color.alpha * opacity).round() as u8;
        }
    }
}

/// Returns the font's own size for text of `size` pixels of the canvas.
fn raster(size: f64) -> RasterHeight {
    if size < f64::from(LARGE) { RasterHeight::Size24 } else { RasterHeight::Size32 }
}

/// Returns width and height of `text` in pixels of the font.
fn extent(text: &str, size: f64) -> (usize, usize) {
    let raster = raster(size);
    (text.chars().count() * get_raster_width(FontWeight::Regular, raster), raster.val())
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.0.dimensions()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Infallible>> {
        self.blend(at, color, 1.0);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (height, step) = (raster(style.size()), OVERSAMPLING as i32);
        let (text_width, text_height) = extent(text, style.size());
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -(text_width as i32) / 2,
            HPos::Right => -(text_width as i32),
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -(text_height as i32) / 2,
            VPos::Bottom => -(text_height as i32),
        };
        let width = get_raster_width(FontWeight::Regular, height) as i32;
        let glyphs = text.chars().filter_map(|c| get_raster(c, FontWeight::Regular, height));
        for (glyph, column) in glyphs.zip(0..) {
            for (row, y) in glyph.rows().zip(top..) {
                for (&ink, x) in row.iter().zip(left + column * width..) {
                    for (dx, dy) in (0..step).flat_map(|dy| (0..step).map(move |dx| (dx, dy))) {
                        let (x, y) = style.transform().transform(x * step + dx, y * step + dy);
                        self.blend((at.0 + x, at.1 + y), style.color(), f64::from(ink) / 255.0);
                    }
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        Ok((width as u32 * OVERSAMPLING, height as u32 * OVERSAMPLING))
    }
}
