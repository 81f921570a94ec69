//! Text on a picture, with an 8x8 bitmap font.

use font8x8::legacy::BASIC_LEGACY;

const GLYPH_SIDE: usize = 8;
const WHITE: u32 = 0x00ff_ffff;

/// Darkens a strip along the bottom of `pixels` (0x00RRGGBB, `width` a row) and writes `line` (ASCII) on it, cut at
/// the right edge. A picture too small for it stays as it is.
pub(super) fn draw_line(pixels: &mut [u32], width: usize, line: &str) {
    let height = pixels.len() / width.max(1);
    let scale = (height / 360).max(1);
    let strip = (GLYPH_SIDE + 4) * scale;
    if height < 2 * strip {
        return;
    }
    let top = height - strip;
    for pixel in &mut pixels[top * width..] {
        *pixel = *pixel >> 2 & 0x003f_3f3f;
    }
    for (column, character) in line.chars().enumerate() {
        let glyph = BASIC_LEGACY.get(character as usize).unwrap_or(&BASIC_LEGACY['?' as usize]);
        let left = (2 + column * GLYPH_SIDE) * scale;
        for y in 0..GLYPH_SIDE * scale {
            let start = (top + 2 * scale + y) * width;
            for x in 0..GLYPH_SIDE * scale {
                if left + x < width && glyph[y / scale] >> (x / scale) & 1 == 1 {
                    pixels[start + left + x] = WHITE;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_stays_in_its_strip_and_is_readable() {
        let (width, height) = (40, 30);
        let mut pixels = vec![0x0080_8080; width * height];
        draw_line(&mut pixels, width, "I am longer than the picture");
        assert!(pixels[..18 * width].iter().all(|&p| p == 0x0080_8080));
        assert!(pixels[18 * width..].iter().all(|&p| p == 0x0020_2020 || p == WHITE));
        // The stem of the I: glyph row 3 is 00011110 mirrored (bit 0 on the left).
        let row = &pixels[(18 + 2 + 3) * width..][..width];
        let stem: Vec<_> = (0..8).map(|x| row[2 + x] == WHITE).collect();
        assert_eq!(stem, [false, false, true, true, false, false, false, false]);
    }

    #[test]
    fn small_pictures_stay_as_they_are() {
        for (width, height) in [(1, 1), (2, 3), (17, 20)] {
            let mut pixels = vec![5; width * height];
            draw_line(&mut pixels, width, "text");
            assert!(pixels.iter().all(|&p| p == 5));
        }
        draw_line(&mut [], 0, "text");
    }
}
