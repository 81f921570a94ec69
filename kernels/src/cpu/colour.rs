//! Colour conversion by rows: the reference's formulas, compiled once per pixel format.

use picture::frame::{Channel, Chroma, PixelFormat};
use rayon::prelude::*;

use super::simd::{multiversion, truncated};
use crate::PictureRef;
use crate::reference::colour::{from_rgb, full, halved};

/// Returns true if a channel in a stream of `chroma` has half the picture's width and height.
pub(super) fn is_halved(picture: PictureRef<'_>, chroma: Chroma, channel: Channel) -> bool {
    let size = chroma.plane_size(picture.size(), channel);
    size != picture.size() || (chroma == Chroma::C420 && channel != Channel::Y)
}

/// Fills the samples of one channel, rows `pitch` apart.
pub(super) fn load_plane(picture: PictureRef<'_>, chroma: Chroma, channel: Channel, samples: &mut [f32], pitch: usize) {
    let size = chroma.plane_size(picture.size(), channel);
    let half = is_halved(picture, chroma, channel);
    let rows = samples.par_chunks_mut(pitch).take(size.height()).enumerate();
    rows.with_min_len(32).for_each(|(y, row)| load_row(picture, channel, half, y, &mut row[..size.width()]));
}

/// The samples of a picture as a stream of `chroma` keeps them, in bytes, plane after plane.
pub(crate) fn bytes(picture: PictureRef<'_>, chroma: Chroma) -> Vec<u8> {
    let mut bytes = vec![0; chroma.picture_format().bytes(picture.size())];
    bytes_into(picture, chroma, &mut bytes);
    bytes
}

/// Writes what [`bytes`] returns.
pub(super) fn bytes_into(picture: PictureRef<'_>, chroma: Chroma, bytes: &mut [u8]) {
    if picture.format() == chroma.picture_format() {
        bytes.copy_from_slice(picture.data());
        return;
    }
    let mut rest = bytes;
    for &channel in chroma.channels() {
        let (size, half) = (chroma.plane_size(picture.size(), channel), is_halved(picture, chroma, channel));
        let plane = rest.split_off_mut(..size.pixels()).unwrap_or_default();
        let rows = plane.par_chunks_mut(size.width()).enumerate().with_min_len(32);
        rows.for_each_init(
            || vec![0.0; size.width()],
            |row, (y, to)| {
                load_row(picture, channel, half, y, row);
                round_row(to, row);
            },
        );
    }
}

multiversion! {
    /// Loads row `y` of a channel; `half`: at half the picture's size.
    pub(super) fn load_row(picture: PictureRef<'_>, channel: Channel, half: bool, y: usize, row: &mut [f32]) = load_row_body;
}

#[inline(always)]
fn load_row_body(picture: PictureRef<'_>, channel: Channel, half: bool, y: usize, row: &mut [f32]) {
    let size = picture.size();
    let planar = |start: usize, row: &mut [f32]| {
        let width = row.len();
        for (to, &sample) in row.iter_mut().zip(&picture.data()[start + y * width..][..width]) {
            *to = f32::from(sample) - 128.0;
        }
    };
    match (picture.format(), channel) {
        (PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Nv12 | PixelFormat::Grey8, Channel::Y) => planar(0, row),
        (PixelFormat::I420, _) if half => {
            planar(size.pixels() + (channel.index() - 1) * size.halved().pixels(), row);
        }
        (PixelFormat::I444, _) if !half => planar(channel.index() * size.pixels(), row),
        (PixelFormat::Grey8, _) => row.fill(0.0),
        (PixelFormat::Rgb8, _) => load_pixels(picture, half, y, row, |sums, scale| {
            from_rgb([f32::from(sums[0]) * scale, f32::from(sums[1]) * scale, f32::from(sums[2]) * scale], channel)
        }),
        (PixelFormat::YCbCr8, Channel::Y) => load_pixels(picture, half, y, row, |[a, _, _], scale| centred(a, scale)),
        (PixelFormat::YCbCr8, Channel::Cb) => load_pixels(picture, half, y, row, |[_, a, _], scale| centred(a, scale)),
        (PixelFormat::YCbCr8, Channel::Cr) => load_pixels(picture, half, y, row, |[_, _, a], scale| centred(a, scale)),
        (PixelFormat::Yuyv, Channel::Y) => every_second(&picture.data()[4 * size.halved().width() * y..], row),
        (PixelFormat::Yuyv, _) if half => {
            let (width, last, at) = (4 * size.halved().width(), size.height() - 1, 2 * channel.index() - 1);
            let pairs = |y: usize| picture.data()[width * y.min(last)..][..width].chunks_exact(4);
            for ((to, above), below) in row.iter_mut().zip(pairs(2 * y)).zip(pairs(2 * y + 1)) {
                // Each stands for two pixels.
                *to = centred(u16::from(above[at]).wrapping_add(u16::from(below[at])), 0.5);
            }
        }
        (PixelFormat::Nv12, _) if half => {
            every_second(&picture.data()[size.pixels() + 2 * size.halved().width() * y + channel.index() - 1..], row);
        }
        (format @ PixelFormat::Yuyv, _) => convert(picture.known_as(format), channel, half, y, row),
        (format @ PixelFormat::Nv12, _) => convert(picture.known_as(format), channel, half, y, row),
        (format @ PixelFormat::I420, _) => convert(picture.known_as(format), channel, half, y, row),
        (format @ PixelFormat::I444, _) => convert(picture.known_as(format), channel, half, y, row),
    }
}

#[inline(always)]
fn convert(picture: PictureRef<'_>, channel: Channel, half: bool, y: usize, row: &mut [f32]) {
    for (x, to) in row.iter_mut().enumerate() {
        *to = if half { halved(picture, channel, x, y) } else { full(picture, channel, x, y) };
    }
}

/// Loads samples that lie two bytes apart.
#[inline(always)]
fn every_second(samples: &[u8], row: &mut [f32]) {
    let last = 2 * row.len() - 1;
    for (to, pair) in row.iter_mut().zip(samples[..last].chunks(2)) {
        *to = f32::from(pair[0]) - 128.0;
    }
}

/// Returns the centred mean of samples with the sum `sum`.
#[inline(always)]
fn centred(sum: u16, scale: f32) -> f32 {
    f32::from(sum) * scale - 128.0
}

/// Loads row `y` of a picture of three bytes a pixel: `value` of the sums over one pixel and of 1, or, with `half`,
/// over 2x2 pixels and of 1/4.
#[inline(always)]
fn load_pixels(picture: PictureRef<'_>, half: bool, y: usize, row: &mut [f32], value: impl Fn([u16; 3], f32) -> f32) {
    let (width, last) = (picture.size().width(), picture.size().height() - 1);
    let pixels = |y: usize| &picture.data()[3 * width * y.min(last)..][..3 * width];
    if !half {
        for (to, a) in row.iter_mut().zip(pixels(y).chunks_exact(3)) {
            *to = value([u16::from(a[0]), u16::from(a[1]), u16::from(a[2])], 1.0);
        }
        return;
    }
    let (above, below) = (pixels(2 * y), pixels(2 * y + 1));
    // At most 4 x 255: nothing wraps.
    let sum = |a: u8, b: u8| u16::from(a).wrapping_add(u16::from(b));
    for ((to, a), b) in row.iter_mut().zip(above.chunks_exact(6)).zip(below.chunks_exact(6)) {
        let of = |at: usize| sum(a[at], a[at + 3]).wrapping_add(sum(b[at], b[at + 3]));
        *to = value([of(0), of(1), of(2)], 0.25);
    }
    if let ([.., a0, a1, a2], [.., b0, b1, b2], Some(to), 1) = (above, below, row.last_mut(), width % 2) {
        // The last column of an odd width counts twice.
        *to = value([2 * sum(*a0, *b0), 2 * sum(*a1, *b1), 2 * sum(*a2, *b2)], 0.25);
    }
}

multiversion! {
    /// Adds a row of residuals to a row of bytes, which may be shorter.
    pub(super) fn add_row(to: &mut [u8], residual: &[f32]) = add_row_body;
}

#[inline(always)]
fn add_row_body(to: &mut [u8], residual: &[f32]) {
    for (to, &residual) in to.iter_mut().zip(residual) {
        *to = truncated::<0, 255>(residual + f32::from(*to) + 0.5) as u8;
    }
}

multiversion! {
    /// Takes the prediction of a row of samples away from it.
    pub(super) fn subtract_row(row: &mut [f32], predicted: &[u8]) = subtract_row_body;
}

#[inline(always)]
fn subtract_row_body(row: &mut [f32], predicted: &[u8]) {
    for (sample, &predicted) in row.iter_mut().zip(predicted) {
        *sample -= f32::from(predicted) - 128.0;
    }
}

multiversion! {
    /// Rounds a row of samples to bytes; both are equally long.
    pub(super) fn round_row(to: &mut [u8], from: &[f32]) = round_row_body;
}

#[inline(always)]
fn round_row_body(to: &mut [u8], from: &[f32]) {
    for (to, &value) in to.iter_mut().zip(from) {
        // `Sample::to_byte`, with the limits first: then rounding towards zero is rounding down.
        *to = truncated::<0, 255>(value + 128.5) as u8;
    }
}
