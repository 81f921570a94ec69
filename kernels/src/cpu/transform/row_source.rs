//! Sources of a forward level's rows of samples.

use picture::frame::{Channel, Chroma};

use super::level::PlaneRows;
use crate::PictureRef;
use crate::cpu::colour::{is_halved, load_row, subtract_row};
use crate::cpu::vector::VectorSample;

/// The rows that a level reads.
pub(in crate::cpu) trait RowSource<T>: Copy + Send {
    /// Returns row `y`, of `columns` samples; `room` has room for it.
    fn row<'a>(&'a self, y: usize, columns: usize, room: &'a mut [T]) -> &'a [T];

    /// Returns row `y` as it lies in memory, to be asked for ahead of time; nothing if it is not of samples.
    fn ahead(&self, y: usize) -> &[T];
}

impl<T: VectorSample> RowSource<T> for PlaneRows<'_, T> {
    #[inline(always)]
    fn row<'a>(&'a self, y: usize, columns: usize, _room: &'a mut [T]) -> &'a [T] {
        &PlaneRows::row(self, y)[..columns]
    }

    #[inline(always)]
    fn ahead(&self, y: usize) -> &[T] {
        PlaneRows::row(self, y)
    }
}

/// A channel of a picture, zero beyond its width and height.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct PictureRows<'a> {
    picture: PictureRef<'a>,
    channel: Channel,
    /// True if the channel has half the picture's width and height, rounded up.
    half: bool,
    width: usize,
    height: usize,
}

impl<'a> PictureRows<'a> {
    /// Creates the rows of samples of `channel` in a stream of `chroma`.
    pub(in crate::cpu) fn new(picture: PictureRef<'a>, chroma: Chroma, channel: Channel) -> Self {
        let size = chroma.plane_size(picture.size(), channel);
        let half = is_halved(picture, chroma, channel);
        Self { picture, channel, half, width: size.width(), height: size.height() }
    }
}

impl RowSource<f32> for PictureRows<'_> {
    #[inline(always)]
    fn row<'a>(&'a self, y: usize, columns: usize, room: &'a mut [f32]) -> &'a [f32] {
        let (inside, beyond) = room[..columns].split_at_mut(if y < self.height { self.width } else { 0 });
        if !inside.is_empty() {
            load_row(self.picture, self.channel, self.half, y, inside);
        }
        beyond.fill(0.0);
        &room[..columns]
    }

    #[inline(always)]
    fn ahead(&self, _y: usize) -> &[f32] {
        &[]
    }
}

/// The residual of a channel of a picture: samples less their prediction, zero beyond its width and height.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct ResidualRows<'a> {
    samples: PictureRows<'a>,
    predicted: &'a [u8],
}

impl<'a> ResidualRows<'a> {
    /// Creates the rows of `samples` less `predicted`, which has the channel's size.
    pub(in crate::cpu) fn new(samples: PictureRows<'a>, predicted: &'a [u8]) -> Self {
        Self { samples, predicted }
    }
}

impl RowSource<f32> for ResidualRows<'_> {
    #[inline(always)]
    fn row<'a>(&'a self, y: usize, columns: usize, room: &'a mut [f32]) -> &'a [f32] {
        self.samples.row(y, columns, room);
        let width = self.samples.width;
        if let Some(predicted) = self.predicted.chunks_exact(width).nth(y) {
            subtract_row(&mut room[..columns.min(width)], predicted);
        }
        &room[..columns]
    }

    #[inline(always)]
    fn ahead(&self, _y: usize) -> &[f32] {
        &[]
    }
}
