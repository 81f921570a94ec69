//! Colour: from any pixel format to centred planes of the stream's channels, and back to 8-bit samples.
//!
//! Samples become `sample - 128`. RGB becomes BT.709 limited range. Chroma at half size is the mean of the 2x2
//! pixels (the last column and row repeat where a side is odd), exact in f32.

use picture::frame::{Channel, Chroma, PixelFormat};

use crate::fused::fused_short;
use crate::sample::Sample;
use crate::{Picture, PictureRef};

/// Weights of (red, green, blue) in each channel, and the constant, for centred BT.709 limited range.
pub(crate) const RGB_TO_YCBCR: [([f32; 3], f32); 3] = [
    (scaled([LUMA_R, LUMA_G, LUMA_B], 219.0 / 255.0), -112.0),
    (scaled([-LUMA_R, -LUMA_G, 1.0 - LUMA_B], 224.0 / 255.0 / (2.0 * (1.0 - LUMA_B))), 0.0),
    (scaled([1.0 - LUMA_R, -LUMA_G, -LUMA_B], 224.0 / 255.0 / (2.0 * (1.0 - LUMA_R))), 0.0),
];

const LUMA_R: f64 = 0.2126;
const LUMA_G: f64 = 0.7152;
const LUMA_B: f64 = 0.0722;

const fn scaled(weights: [f64; 3], factor: f64) -> [f32; 3] {
    [(weights[0] * factor) as f32, (weights[1] * factor) as f32, (weights[2] * factor) as f32]
}

/// Returns the centred planes of the channels of `chroma`, row by row without gaps.
pub fn planes(picture: PictureRef<'_>, chroma: Chroma) -> Vec<Vec<f32>> {
    let plane = |&channel: &Channel| {
        let size = chroma.plane_size(picture.size(), channel);
        let mut plane = Vec::with_capacity(size.pixels());
        for y in 0..size.height() {
            for x in 0..size.width() {
                plane.push(match (chroma, channel) {
                    (Chroma::C420, Channel::Cb | Channel::Cr) => halved(picture, channel, x, y),
                    _ => full(picture, channel, x, y),
                });
            }
        }
        plane
    };
    chroma.channels().iter().map(plane).collect()
}

/// Returns the centred sample of `channel` at pixel (x, y).
#[inline(always)]
pub(crate) fn full(picture: PictureRef<'_>, channel: Channel, x: usize, y: usize) -> f32 {
    match picture.format() {
        PixelFormat::Rgb8 => from_rgb(rgb(picture, x, y).map(f32::from), channel),
        _ => f32::from(sample(picture, channel, x, y)) - 128.0,
    }
}

/// Returns the centred chroma sample for the 2x2 pixels at (2x, 2y).
#[inline(always)]
pub(crate) fn halved(picture: PictureRef<'_>, channel: Channel, x: usize, y: usize) -> f32 {
    let (right, bottom) = (picture.size().width() - 1, picture.size().height() - 1);
    let (x, y) = (2 * x, 2 * y);
    let corners = [(x, y), (right.min(x + 1), y), (x, bottom.min(y + 1)), (right.min(x + 1), bottom.min(y + 1))];
    if picture.format() == PixelFormat::Rgb8 {
        let sums = corners.iter().fold([0_u16; 3], |sums, &(x, y)| {
            let [r, g, b] = rgb(picture, x, y).map(u16::from);
            [sums[0] + r, sums[1] + g, sums[2] + b]
        });
        return from_rgb(sums.map(|sum| f32::from(sum) * 0.25), channel);
    }
    let sum: u16 = corners.iter().map(|&(x, y)| u16::from(sample(picture, channel, x, y))).sum();
    f32::from(sum) * 0.25 - 128.0
}

/// Returns the centred value of `channel` for a pixel of linear weights [`RGB_TO_YCBCR`].
#[inline(always)]
pub(crate) fn from_rgb([r, g, b]: [f32; 3], channel: Channel) -> f32 {
    let ([wr, wg, wb], constant) = RGB_TO_YCBCR[channel.index()];
    fused_short(wr, r, fused_short(wg, g, fused_short(wb, b, constant)))
}

#[inline(always)]
fn rgb(picture: PictureRef<'_>, x: usize, y: usize) -> [u8; 3] {
    let at = 3 * (y * picture.size().width() + x);
    [picture.data()[at], picture.data()[at + 1], picture.data()[at + 2]]
}

/// Returns the sample of `channel` that covers pixel (x, y) of a picture that is not RGB.
#[inline(always)]
fn sample(picture: PictureRef<'_>, channel: Channel, x: usize, y: usize) -> u8 {
    let size = picture.size();
    let (data, width, chroma) = (picture.data(), size.width(), channel.index());
    let half = size.halved();
    match (picture.format(), channel) {
        (PixelFormat::YCbCr8 | PixelFormat::Rgb8, _) => data[3 * (y * width + x) + chroma],
        (PixelFormat::Yuyv, Channel::Y) => data[4 * (y * half.width() + x / 2) + 2 * (x % 2)],
        (PixelFormat::Yuyv, _) => data[4 * (y * half.width() + x / 2) + 2 * chroma - 1],
        (_, Channel::Y) => data[y * width + x],
        (PixelFormat::Nv12, _) => data[size.pixels() + 2 * ((y / 2) * half.width() + x / 2) + chroma - 1],
        (PixelFormat::I420, _) => data[size.pixels() + (chroma - 1) * half.pixels() + (y / 2) * half.width() + x / 2],
        (PixelFormat::I444, _) => data[chroma * size.pixels() + y * width + x],
        (PixelFormat::Grey8, _) => 128,
    }
}

/// Rounds centred planes to the samples of `out`, whose format is planar.
pub(crate) fn finish(planes: &[Vec<f32>], out: &mut Picture) {
    for (sample, &value) in out.data_mut().iter_mut().zip(planes.iter().flatten()) {
        *sample = value.to_byte();
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;

    use super::*;

    #[track_caller]
    fn check(format: PixelFormat, size: (u32, u32), data: &[u8], chroma: Chroma, expected: &[&[f32]]) {
        let picture = PictureRef::new(format, FrameSize::new(size.0, size.1).unwrap(), data).unwrap();
        let planes = planes(picture, chroma);
        assert_eq!(planes.len(), expected.len());
        for (plane, expected) in planes.iter().zip(expected) {
            assert_eq!(plane.len(), expected.len());
            assert!(plane.iter().zip(*expected).all(|(a, b)| (a - b).abs() < 0.01), "{plane:?} for {expected:?}");
        }
    }

    #[test]
    fn rgb_becomes_bt709_limited_range() {
        let white_black_red_blue = [255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255];
        check(
            PixelFormat::Rgb8,
            (4, 1),
            &white_black_red_blue,
            Chroma::C444,
            &[&[107.0, -112.0, -65.44, -96.19], &[0.0, 0.0, -25.66, 112.0], &[0.0, 0.0, 112.0, -10.27]],
        );
    }

    #[test]
    fn packed_chroma_is_found_and_averaged() {
        // Two rows of Y0 Cb Y1 Cr.
        let yuyv = [10, 20, 30, 40, 50, 61, 70, 80];
        check(PixelFormat::Yuyv, (2, 2), &yuyv, Chroma::C420, &[&[-118.0, -98.0, -78.0, -58.0], &[-87.5], &[-68.0]]);
    }

    #[test]
    fn the_last_row_and_column_of_an_odd_picture_repeat() {
        check(
            PixelFormat::Nv12,
            (3, 1),
            &[1, 2, 3, 130, 120, 132, 122],
            Chroma::C444,
            &[&[-127.0, -126.0, -125.0], &[2.0, 2.0, 4.0], &[-8.0, -8.0, -6.0]],
        );
        check(PixelFormat::Grey8, (3, 1), &[1, 2, 3], Chroma::C420, &[&[-127.0, -126.0, -125.0], &[0.0; 2], &[0.0; 2]]);
    }
}
