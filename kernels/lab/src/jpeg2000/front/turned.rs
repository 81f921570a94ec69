//! The samples of a picture turned on their side, a column of the picture in each row: the standard splits columns first, our
//! transform rows. They are kept in as few bytes as they need.

use rayon::prelude::*;

use crate::jpeg2000::image::{Samples, Shape, Source};
use crate::jpeg2000::memory::Pages;
use kernels::parts::cpu::fast;

/// A component's columns, one after the other; of samples with signs, each with half of its range added.
pub(super) enum Turned {
    Bytes(Vec<Pages<u8>>),
    Words(Vec<Pages<u16>>),
}

/// Columns that a thread turns together.
const TILE: usize = 64;

impl Turned {
    pub(super) fn new() -> Self {
        Self::Bytes(Vec::new())
    }

    /// Turns a picture, in memory that is there if the one before was like it.
    pub(super) fn fill(&mut self, source: &Source<'_>) {
        let shapes = &source.shapes;
        match &source.samples {
            Samples::Pixels { bytes, apart } => {
                if !matches!(self, Self::Bytes(planes) if are_of(planes, shapes)) {
                    *self = Self::Bytes(shapes.iter().map(|shape| Pages::zeros(shape.count())).collect());
                }
                if let Self::Bytes(planes) = self {
                    turn_pixels(bytes, *apart, source.width, source.height, planes);
                }
            }
            Samples::Planes(from) => {
                if !matches!(self, Self::Words(planes) if are_of(planes, shapes)) {
                    *self = Self::Words(shapes.iter().map(|shape| Pages::zeros(shape.count())).collect());
                }
                if let Self::Words(planes) = self {
                    for ((from, shape), plane) in from.iter().zip(shapes).zip(planes) {
                        turn_plane(from, shape, plane);
                    }
                }
            }
        }
    }
}

/// Returns true if there is a plane for each shape, of its size.
fn are_of<T>(planes: &[Pages<T>], shapes: &[Shape]) -> bool {
    planes.iter().map(|plane| plane.len()).eq(shapes.iter().map(Shape::count))
}

/// Rows and columns of bytes that are exchanged in registers.
const SQUARE: usize = 8;

fn turn_pixels(bytes: &[u8], apart: usize, width: usize, height: usize, planes: &mut [Pages<u8>]) {
    let mut tiles: Vec<Vec<&mut [u8]>> = Vec::new();
    tiles.resize_with(width.div_ceil(TILE), Vec::new);
    for plane in planes {
        tiles.iter_mut().zip(plane.chunks_mut(TILE * height)).for_each(|(tile, part)| tile.push(part));
    }
    tiles.into_par_iter().enumerate().for_each(|(at, planes)| {
        fast(
            #[inline(always)]
            || turn_tile(bytes, apart, (width, height), at, planes),
        );
    });
}

/// Turns the columns of a tile.
#[inline(always)]
fn turn_tile(bytes: &[u8], apart: usize, (width, height): (usize, usize), at: usize, mut planes: Vec<&mut [u8]>) {
    let first = at * TILE * apart;
    let length = TILE.min(width - at * TILE) * apart;
    let row = |y: usize| &bytes[y * width * apart + first..][..length];
    let whole = (length / SQUARE * SQUARE, height / SQUARE * SQUARE);
    for top in (0..whole.1).step_by(SQUARE) {
        let rows: [&[[u8; SQUARE]]; SQUARE] = std::array::from_fn(|y| row(top + y).as_chunks().0);
        for start in (0..whole.0).step_by(SQUARE) {
            let columns = exchanged(rows.map(|row| u64::from_le_bytes(row[start / SQUARE])));
            for (byte, column) in (start..).zip(columns) {
                if let Some(plane) = planes.get_mut(byte % apart) {
                    let to = byte / apart * height + top;
                    plane[to..to + SQUARE].copy_from_slice(&column.to_le_bytes());
                }
            }
        }
    }
    for y in 0..height {
        let start = if y < whole.1 { whole.0 } else { 0 };
        for (byte, value) in row(y).iter().enumerate().skip(start) {
            if let Some(plane) = planes.get_mut(byte % apart) {
                plane[byte / apart * height + y] = *value;
            }
        }
    }
}

/// Returns the columns of eight rows of bytes, the first one lowest: halves, quarters and eighths change places.
#[inline(always)]
fn exchanged(mut rows: [u64; SQUARE]) -> [u64; SQUARE] {
    for (apart, mask) in [(4, 0x0000_0000_ffff_ffff), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)] {
        for at in (0..SQUARE).filter(|at| at & apart == 0) {
            let shift = 8 * apart as u32;
            let change = (rows[at] >> shift ^ rows[at + apart]) & mask;
            rows[at] ^= change << shift;
            rows[at + apart] ^= change;
        }
    }
    rows
}

/// Rows that are turned together: of each column as much as fills a cache line.
const LINE: usize = 32;

fn turn_plane(from: &[i32], shape: &Shape, plane: &mut [u16]) {
    let (width, height) = (shape.width, shape.height);
    let added = if shape.is_signed { 1 << (shape.depth - 1) } else { 0 };
    plane.par_chunks_mut(TILE * height).enumerate().for_each(|(tile, out)| {
        let (first, columns) = (tile * TILE, out.len() / height);
        for top in (0..height).step_by(LINE) {
            let rows = &from[top * width..(top + LINE).min(height) * width];
            for (x, column) in out.chunks_exact_mut(height).enumerate().take(columns) {
                let values = rows[first + x..].iter().step_by(width);
                column[top..].iter_mut().zip(values).for_each(|(to, value)| *to = (value + added) as u16);
            }
        }
    });
}
