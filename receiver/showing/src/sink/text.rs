//! Text on a picture, in Noto Sans Mono.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// Pixels of 0x00RRGGBB, row by row.
pub(super) struct Canvas<'a> {
    pub(super) pixels: &'a mut [u32],
    pub(super) width: usize,
}

/// Letters of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letters {
    raster: RasterHeight,
    /// Pixels of the canvas for one of the raster, each way.
    zoom: usize,
}

impl Letters {
    /// Returns letters for a canvas of that height, large enough to be read at a usual distance.
    pub(super) fn for_height(height: usize) -> Self {
        let wanted = height / 26;
        let raster = match wanted {
            ..20 => RasterHeight::Size16,
            20..24 => RasterHeight::Size20,
            24..32 => RasterHeight::Size24,
            _ => RasterHeight::Size32,
        };
        Self { raster, zoom: (wanted / RasterHeight::Size32.val()).max(1) }
    }

    /// Returns the pixels from one line to the next.
    pub(super) fn line(self) -> usize {
        self.raster.val() * self.zoom
    }

    fn column(self) -> usize {
        get_raster_width(FontWeight::Regular, self.raster) * self.zoom
    }

    /// Breaks `text` into lines that fit a canvas of `width` pixels, between words where there are any.
    pub(super) fn wrap(self, text: &str, width: usize) -> Vec<String> {
        let columns = (width / self.column()).saturating_sub(2).max(1);
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

impl Canvas<'_> {
    pub(super) fn height(&self) -> usize {
        self.pixels.len() / self.width.max(1)
    }

    /// Darkens all of it to a quarter.
    pub(super) fn dim(&mut self) {
        darken(self.pixels);
    }

    /// Dims the picture and writes `notice` in its middle.
    pub(super) fn draw_notice(&mut self, notice: &str) {
        self.dim();
        self.write_notice(notice);
    }

    /// Writes `notice` in the middle of the picture.
    pub(super) fn write_notice(&mut self, notice: &str) {
        let (width, height) = (self.width, self.height());
        let letters = Letters::for_height(2 * height);
        let lines = letters.wrap(notice, width);
        let top = (height / 2).saturating_sub(lines.len() * letters.line() / 2);
        self.write(&lines, letters, top, true);
    }

    /// Darkens the rows from `top` that `lines` take, and writes them there in white from the left edge or, if
    /// `centred`, in the middle. What does not fit is cut.
    pub(super) fn write(&mut self, lines: &[String], letters: Letters, top: usize, centred: bool) {
        let (width, height) = (self.width, self.height());
        let margin = letters.line() / 4;
        let bottom = (top + lines.len() * letters.line() + 2 * margin).min(height);
        if top >= bottom {
            return;
        }
        darken(&mut self.pixels[top * width..bottom * width]);
        for (at, line) in lines.iter().enumerate() {
            let free = width.saturating_sub(line.chars().count() * letters.column());
            let left = if centred { free / 2 } else { letters.column() };
            self.line(line, letters, left, top + margin + at * letters.line());
        }
    }

    fn line(&mut self, text: &str, letters: Letters, left: usize, top: usize) {
        let (width, height) = (self.width, self.height());
        for (at, letter) in text.chars().enumerate() {
            let glyph = |letter| get_raster(letter, FontWeight::Regular, letters.raster);
            let Some(glyph) = glyph(letter).or_else(|| glyph('?')) else { continue };
            let left = left + at * letters.column();
            for (y, row) in glyph.rows().enumerate() {
                for (x, &strength) in row.iter().enumerate().filter(|&(_, &strength)| strength > 0) {
                    for y in top + y * letters.zoom..(top + (y + 1) * letters.zoom).min(height) {
                        for x in left + x * letters.zoom..(left + (x + 1) * letters.zoom).min(width) {
                            let pixel = &mut self.pixels[y * width + x];
                            *pixel = towards_white(*pixel, strength);
                        }
                    }
                }
            }
        }
    }
}

fn darken(pixels: &mut [u32]) {
    for pixel in pixels {
        *pixel = *pixel >> 2 & 0x003f_3f3f;
    }
}

/// Returns `pixel` with `strength` of 255 of white.
fn towards_white(pixel: u32, strength: u8) -> u32 {
    let strength = u32::from(strength);
    let [_, red, green, blue] = pixel.to_be_bytes().map(|old| {
        let old = u32::from(old);
        (old + (255 - old) * strength / 255) as u8
    });
    u32::from_be_bytes([0, red, green, blue])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREY: u32 = 0x0080_8080;
    const DARK: u32 = 0x0020_2020;

    #[test]
    fn lines_stay_in_their_strip_and_are_readable() {
        let (width, height) = (100, 60);
        let mut pixels = vec![GREY; width * height];
        let letters = Letters::for_height(height);
        let mut canvas = Canvas { pixels: &mut pixels, width };
        canvas.write(&["I am longer than the picture".to_owned()], letters, 20, false);
        let strip = 20 * width..(20 + 16 + 8) * width;
        for (at, &pixel) in pixels.iter().enumerate() {
            assert!(strip.contains(&at) || pixel == GREY, "pixel {at} is {pixel:x}");
        }
        // The I has a stem from its upper to its lower serif, nearly white on dark.
        let left = letters.column();
        let bright = |at: &&u32| **at > 0x00c0_c0c0;
        let rows = pixels[24 * width..40 * width].chunks(width);
        let stem = rows.filter(|row| row[left..left + letters.column()].iter().filter(bright).count() >= 1).count();
        assert!((8..=14).contains(&stem), "{stem} rows of the I");
        assert!(pixels[strip].iter().filter(|&&pixel| pixel == DARK).count() > 1_500, "the strip is dark");
    }

    #[test]
    fn text_is_broken_between_words() {
        let letters = Letters::for_height(0);
        let width = (11 + 2) * letters.column();
        assert_eq!(letters.wrap("Clara has been missing", width), ["Clara has", "been", "missing"]);
        assert_eq!(letters.wrap("unbreakableword", width), ["unbreakableword"]);
    }

    #[test]
    fn letters_grow_with_the_window() {
        let lines = [1, 360, 720, 1080, 1440, 2160].map(|height| Letters::for_height(height).line());
        assert_eq!(lines, [16, 16, 24, 32, 32, 64]);
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        for (width, height) in [(1, 1), (2, 3), (17, 20), (0, 0)] {
            let mut pixels = vec![5; width * height];
            let mut canvas = Canvas { pixels: &mut pixels, width };
            canvas.write(&["text".to_owned(), "more".to_owned()], Letters::for_height(height), 1, true);
            canvas.write(&["text".to_owned()], Letters::for_height(height), 100, false);
        }
    }
}
