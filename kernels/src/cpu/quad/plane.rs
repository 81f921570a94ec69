//! One plane of a stream's pictures and its coefficients, as the block coder takes them.

use picture::frame::{Channel, Chroma};
use picture::params::Boundary;
use picture::pyramid::{Orientation, Pyramid};

use super::tile::{TILE, TilePlace};
use crate::PictureRef;
use crate::cpu::colour::add_row;
use crate::cpu::transform::pyramid::{Order, PlaneTransform, extent, padded_pitch};
use crate::cpu::transform::row_source::{PictureRows, ResidualRows};
use crate::lifting::CDF97;

/// One plane and its coefficients.
#[derive(Debug)]
pub(super) struct Plane {
    pyramid: Pyramid,
    pitch: usize,
    transform: PlaneTransform<f32>,
    /// All bands of the last level and the detail of the others, compact.
    bands: Vec<f32>,
}

impl Plane {
    /// Buffers for planes of the pyramid's size.
    pub(super) fn new(pyramid: &Pyramid, boundary: Boundary) -> Self {
        let (columns, rows) = extent(pyramid);
        let pitch = padded_pitch(columns);
        Self {
            pyramid: pyramid.clone(),
            pitch,
            transform: PlaneTransform::new(pyramid, &CDF97, boundary),
            bands: vec![0.0; rows * pitch],
        }
    }

    /// Floats from one row to the next in the bands.
    pub(super) fn pitch(&self) -> usize {
        self.pitch
    }

    /// Returns the coefficients, compact.
    pub(super) fn bands(&self) -> &[f32] {
        &self.bands
    }

    /// Copies a block's coefficients into the bands.
    pub(super) fn store(&mut self, place: &TilePlace, tile: &[f32; TILE]) {
        place.store(tile, &mut self.bands, self.pitch);
    }

    /// Returns the place in the compact bands of the square's coefficient (x, y); `None` if it is always zero.
    pub(super) fn compact(&self, x: usize, y: usize) -> Option<usize> {
        let levels = self.pyramid.levels();
        let level = (1..=levels).find(|&level| x.max(y) >= self.pyramid.side() >> level);
        let (level, orientation) = match level {
            None => (levels, Orientation::LL),
            Some(level) => {
                let half = self.pyramid.side() >> level;
                let orientation = match (x >= half, y >= half) {
                    (true, true) => Orientation::HH,
                    (true, false) => Orientation::HL,
                    _ => Orientation::LH,
                };
                (level, orientation)
            }
        };
        let band = self.pyramid.band(level, orientation);
        let (x, y) = (x - band.x, y - band.y);
        let inside = x < band.width && y < band.height;
        inside.then(|| self.band_start(level, orientation) + y * self.pitch + x)
    }

    /// Returns the start of a band in the compact bands.
    pub(super) fn band_start(&self, level: usize, orientation: Orientation) -> usize {
        if orientation == Orientation::LL {
            return 0;
        }
        let place = Order::Compact(self.pitch).place(&self.pyramid, level);
        match orientation {
            Orientation::LL => 0,
            Orientation::HL => place.right,
            Orientation::LH => place.below,
            Orientation::HH => place.below + place.right,
        }
    }

    /// Transforms the samples of a picture's channel to coefficients.
    pub(super) fn forward(&mut self, picture: PictureRef<'_>, chroma: Chroma, channel: Channel) {
        let samples = PictureRows::new(picture, chroma, channel);
        self.transform.forward(samples, &mut self.bands, Order::Compact(self.pitch));
    }

    /// Transforms the residual of a picture's channel, its samples less the plane's prediction, to coefficients.
    pub(super) fn forward_residual(
        &mut self,
        picture: PictureRef<'_>,
        predicted: &[u8],
        chroma: Chroma,
        channel: Channel,
    ) {
        let residual = ResidualRows::new(PictureRows::new(picture, chroma, channel), predicted);
        self.transform.forward(residual, &mut self.bands, Order::Compact(self.pitch));
    }

    /// Adds what the coefficients are to the bytes of a prediction, row by row. `room` is kept for the next time.
    pub(super) fn inverse_onto(&mut self, bytes: &mut [u8], room: &mut Vec<f32>) {
        let (columns, rows) = extent(&self.pyramid);
        room.resize(columns * rows, 0.0);
        self.transform.inverse(&self.bands, Order::Compact(self.pitch), room, columns);
        for (bytes, residual) in bytes.chunks_mut(self.pyramid.plane().width()).zip(room.chunks(columns)) {
            add_row(bytes, residual);
        }
    }

    /// Coefficients to the bytes of a picture's plane, row by row.
    pub(super) fn inverse(&mut self, bytes: &mut [u8]) {
        let width = self.pyramid.plane().width();
        self.transform.inverse(&self.bands, Order::Compact(self.pitch), bytes, width);
    }
}
