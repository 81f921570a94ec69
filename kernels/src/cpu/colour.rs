//! Colour conversion by rows: the reference's formulas, compiled once per pixel format.

use common::frame::{Channel, Chroma, PixelFormat};
use rayon::prelude::*;

use super::dwt::Plane;
use super::simd::multiversion;
use crate::reference::colour::{full, halved, to_sample};
use crate::{Picture, PictureRef};

/// Fills the samples of the planes of `chroma`'s channels.
pub(super) fn load(picture: PictureRef<'_>, chroma: Chroma, planes: &mut [Plane]) {
    for (&channel, plane) in chroma.channels().iter().zip(planes) {
        let size = chroma.plane_size(picture.size(), channel);
        let half = size != picture.size() || (chroma == Chroma::C420 && channel != Channel::Y);
        let pitch = plane.pitch();
        let rows = plane.samples_mut().par_chunks_mut(pitch).take(size.height()).enumerate();
        rows.with_min_len(32).for_each(|(y, row)| load_row(picture, channel, half, y, &mut row[..size.width()]));
    }
}

multiversion! {
    /// Row `y` of a channel; `half`: at half the picture's size.
    fn load_row(picture: PictureRef<'_>, channel: Channel, half: bool, y: usize, row: &mut [f32]) = load_row_body;
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
        (format @ PixelFormat::Rgb8, _) => convert(picture.known_as(format), channel, half, y, row),
        (format @ PixelFormat::YCbCr8, _) => convert(picture.known_as(format), channel, half, y, row),
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

/// Rounds the planes' samples into a planar picture.
pub(super) fn finish(planes: &[Plane], chroma: Chroma, out: &mut Picture) {
    let size = out.size();
    let mut rest = out.data_mut();
    for (&channel, plane) in chroma.channels().iter().zip(planes) {
        let plane_size = chroma.plane_size(size, channel);
        let (samples, after) = rest.split_at_mut(plane_size.pixels());
        rest = after;
        let rows = samples.par_chunks_exact_mut(plane_size.width()).zip(plane.samples().par_chunks(plane.pitch()));
        rows.with_min_len(32).for_each(|(to, from)| finish_row(to, &from[..to.len()]));
    }
}

multiversion! {
    /// Rounds one row.
    fn finish_row(to: &mut [u8], from: &[f32]) = finish_row_body;
}

#[inline(always)]
fn finish_row_body(to: &mut [u8], from: &[f32]) {
    for (to, &value) in to.iter_mut().zip(from) {
        *to = to_sample(value);
    }
}
