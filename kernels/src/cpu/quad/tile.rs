//! Blocks of coefficients: where their rows lie in the compact bands.

use picture::pyramid::{BLOCK_SIDE, Block, Orientation};

use crate::cpu::simd::multiversion;
use crate::reference::quad::Shape;

/// Coefficients of a tile.
pub(super) const TILE: usize = BLOCK_SIDE * BLOCK_SIDE;
/// Quads in a row or column of a tile.
pub(super) const QUADS: usize = BLOCK_SIDE / 2;

/// A block and where it lies in its plane's compact bands.
#[derive(Debug)]
pub(super) struct TilePlace {
    /// Channel index.
    pub(super) channel: usize,
    /// Shape, which decides the block's code.
    pub(super) shape: Shape,
    /// Excess of its step index over the frame's.
    pub(super) coarser: u8,
    at: Position,
}

#[derive(Debug)]
enum Position {
    /// Rows a pitch apart from here on.
    Start(usize),
    /// Position of every coefficient; `u32::MAX` for those that are always zero.
    Table(Vec<u32>),
}

impl TilePlace {
    /// Finds a block among the bands of its plane, of which `compact` says where a coefficient (x, y) of the square
    /// lies.
    pub(super) fn new(block: &Block, compact: impl Fn(usize, usize) -> Option<usize>) -> Self {
        let rect = block.rect;
        let at = match compact(rect.x, rect.y) {
            // Of a low band, or of the root with all that it covers, some may lie outside the plane.
            Some(start) if block.orientation != Orientation::LL => Position::Start(start),
            _ => {
                let position = |at| compact(rect.x + at % rect.width, rect.y + at / rect.width);
                let table = (0..rect.width * rect.height).map(|at| position(at).map_or(u32::MAX, |at| at as u32));
                Position::Table(table.collect())
            }
        };
        Self { channel: block.channel.index(), shape: Shape::from(block), coarser: block.coarser, at }
    }

    /// Returns the largest magnitude of the block's coefficients.
    pub(super) fn largest(&self, bands: &[f32], pitch: usize) -> f32 {
        match &self.at {
            Position::Start(start) => largest_of_rows(&bands[*start..], pitch, self.shape),
            Position::Table(table) => table
                .iter()
                .filter_map(|&at| bands.get(at as usize))
                .fold(0.0, |most, value| f32::max(most, value.abs())),
        }
    }

    /// Copies the block's coefficients into a tile, rows [`BLOCK_SIDE`] apart, zeros beyond its width and height.
    #[inline(always)]
    pub(super) fn load(&self, bands: &[f32], pitch: usize, tile: &mut [f32; TILE]) {
        let (width, height) = (self.shape.width, self.shape.height);
        if width < BLOCK_SIDE || height < BLOCK_SIDE {
            tile.fill(0.0);
        }
        match &self.at {
            Position::Start(start) => {
                for (to, from) in tile.chunks_exact_mut(BLOCK_SIDE).zip(bands[*start..].chunks(pitch)).take(height) {
                    copy(&from[..width], &mut to[..width]);
                }
            }
            Position::Table(table) => {
                for (to, from) in tile.chunks_exact_mut(BLOCK_SIDE).zip(table.chunks_exact(width)) {
                    for (to, &at) in to.iter_mut().zip(from) {
                        *to = bands.get(at as usize).copied().unwrap_or(0.0);
                    }
                }
            }
        }
    }

    /// Copies a tile back into the bands.
    #[inline(always)]
    pub(super) fn store(&self, tile: &[f32], bands: &mut [f32], pitch: usize) {
        let (width, height) = (self.shape.width, self.shape.height);
        match &self.at {
            Position::Start(start) => {
                for (from, to) in tile.chunks_exact(BLOCK_SIDE).zip(bands[*start..].chunks_mut(pitch)).take(height) {
                    copy(&from[..width], &mut to[..width]);
                }
            }
            Position::Table(table) => {
                for (from, to) in tile.chunks_exact(BLOCK_SIDE).zip(table.chunks_exact(width)) {
                    for (&from, &at) in from.iter().zip(to) {
                        if let Some(to) = bands.get_mut(at as usize) {
                            *to = from;
                        }
                    }
                }
            }
        }
    }
}

multiversion! {
    /// Returns the largest magnitude of a block, rows a pitch apart.
    fn largest_of_rows(bands: &[f32], pitch: usize, shape: Shape) -> f32 = largest_body;
}

#[inline(always)]
fn largest_body(bands: &[f32], pitch: usize, shape: Shape) -> f32 {
    // By column first, since a row alone is too short for vectors. Magnitudes have the order of their bits.
    let mut columns = [0; BLOCK_SIDE];
    for row in bands.chunks(pitch).take(shape.height) {
        match row.first_chunk::<BLOCK_SIDE>() {
            Some(row) if shape.width == BLOCK_SIDE => add_largest(&mut columns, row),
            _ => add_largest(&mut columns, &row[..shape.width]),
        }
    }
    f32::from_bits(columns.into_iter().fold(0, u32::max))
}

#[inline(always)]
fn add_largest(columns: &mut [u32; BLOCK_SIDE], row: &[f32]) {
    for (most, value) in columns.iter_mut().zip(row) {
        *most = u32::max(*most, value.abs().to_bits());
    }
}

/// Copies a row; whole rows without a call.
#[inline(always)]
fn copy(from: &[f32], to: &mut [f32]) {
    match (from.first_chunk::<BLOCK_SIDE>(), to.first_chunk_mut::<BLOCK_SIDE>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}
