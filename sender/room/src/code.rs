//! Codes (QR, ISO/IEC 18004) in pictures of a camera.

use picture::frame::{FrameSize, PixelFormat};
use rqrr::PreparedImage;

use crate::screens::is_link;

/// Width up to which each pixel is looked at.
const WIDTH_MAX: usize = 1280;

/// Returns the link in the code that is in a picture, if there is one.
pub(crate) fn link_in(format: PixelFormat, size: FrameSize, data: &[u8]) -> Option<String> {
    // From one brightness to the next.
    let step = match format {
        PixelFormat::Rgb8 | PixelFormat::YCbCr8 => 3,
        PixelFormat::Yuyv => 2,
        PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8 => 1,
    };
    // Pairs of pixels have an even number of columns, and green stands for the brightness of red, green and blue.
    let (row, first) = match format {
        PixelFormat::Yuyv => (size.width().next_multiple_of(2) * step, 0),
        PixelFormat::Rgb8 => (size.width() * step, 1),
        _ => (size.width() * step, 0),
    };
    let every = size.width().div_ceil(WIDTH_MAX).max(1);
    let at = |x: usize, y: usize| data.get(y * every * row + x * every * step + first).copied().unwrap_or(u8::MAX);
    let (width, height) = (size.width() / every, size.height() / every);
    let mut prepared = PreparedImage::prepare_from_greyscale(width, height, at);
    let texts = prepared.detect_grids().into_iter().filter_map(|grid| grid.decode().ok());
    texts.map(|(_, text)| text).find(|text| is_link(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use qrcode::{Color, EcLevel, QrCode};

    use super::*;

    const LINK: &str =
        "duet:duet-ticket-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQr";

    /// Returns a grey picture of a code, turned by so many degrees.
    fn picture(text: &str, (width, height): (usize, usize), degrees: f32) -> Vec<u8> {
        let code = QrCode::with_error_correction_level(text, EcLevel::L).unwrap();
        let (colours, modules) = (code.to_colors(), code.width() as f32);
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let side = height as f32 * 0.62;
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (across, down) = (x as f32 - width as f32 / 2.0, y as f32 - height as f32 / 2.0);
                let place = |value: f32| (value / side + 0.5) * modules;
                let (column, row) = (place(across * cosine + down * sine), place(down * cosine - across * sine));
                let is_within = (0.0..modules).contains(&column) && (0.0..modules).contains(&row);
                let is_dark = is_within && colours[row as usize * code.width() + column as usize] == Color::Dark;
                // A grey wall in the light of a room, which falls off to one side.
                let light = 1.0 - 0.4 * x as f32 / width as f32;
                pixels.push((light * if is_dark { 40.0 } else { 220.0 }) as u8);
            }
        }
        pixels
    }

    fn size(width: u32, height: u32) -> FrameSize {
        FrameSize::new(width, height).unwrap()
    }

    #[test]
    fn a_link_is_read_from_pictures_of_each_form_however_the_code_is_held() {
        for degrees in [0.0, 12.0, 100.0] {
            let grey = picture(LINK, (640, 480), degrees);
            let each = |parts: fn(u8) -> Vec<u8>| grey.iter().flat_map(|&value| parts(value)).collect::<Vec<_>>();
            for (format, data) in [
                (PixelFormat::Grey8, grey.clone()),
                (PixelFormat::I420, grey.clone()),
                (PixelFormat::Rgb8, each(|value| vec![0, value, 0])),
                (PixelFormat::YCbCr8, each(|value| vec![value, 128, 128])),
                (PixelFormat::Yuyv, each(|value| vec![value, 128])),
            ] {
                let found = link_in(format, size(640, 480), &data);
                assert_eq!(found.as_deref(), Some(LINK), "{format:?}, turned by {degrees}");
            }
        }
        let large = picture(LINK, (1920, 1080), 5.0);
        assert_eq!(link_in(PixelFormat::Grey8, size(1920, 1080), &large).as_deref(), Some(LINK));
    }

    #[test]
    fn other_codes_noise_and_pictures_that_are_too_short_are_no_link() {
        let other = picture("https://example.org/a-link-that-is-none-of-ours", (640, 480), 0.0);
        assert_eq!(link_in(PixelFormat::Grey8, size(640, 480), &other), None);
        assert_eq!(link_in(PixelFormat::Rgb8, size(640, 480), &other[..1000]), None);
        let whole = picture(LINK, (320, 240), 0.0);
        // Damaged codes of a fixed seed: each is read rightly or not at all.
        let mut state = 1_u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for round in 0..60 {
            let mut damaged = whole.clone();
            for _ in 0..round * 40 {
                let (at, length) = (random() as usize % damaged.len(), random() as usize % 12);
                damaged[at..].iter_mut().take(length).for_each(|pixel| *pixel = 255 - *pixel);
            }
            let found = link_in(PixelFormat::Grey8, size(320, 240), &damaged);
            assert!(found.is_none_or(|found| found == LINK));
        }
    }
}
