//! Pictures to be scaled: pixels as they lie in memory, or planes whose rows become pixels when they are wanted.

use crate::{Converter, Picture};

/// A picture to be scaled.
#[derive(Clone, Copy, Debug)]
pub enum Original<'a> {
    /// 0x00RRGGBB, row by row.
    Pixels(&'a [u32]),
    /// A decoded picture: each row is converted where it is scaled, and is in the processor's cache then.
    Planes {
        /// Grey, 4:2:0 or 4:4:4.
        picture: &'a Picture,
        /// Makes pixels of its samples.
        converter: &'a Converter,
        /// True to swap left and right.
        mirrored: bool,
    },
}

/// A row that has been made, and which one it is.
#[derive(Debug)]
pub(super) struct RowMade {
    pixels: Vec<u32>,
    row: Option<usize>,
}

impl RowMade {
    /// Sets room aside for a row of `width` pixels.
    pub(super) fn new(width: usize) -> Self {
        Self { pixels: vec![0; width], row: None }
    }

    /// Forgets the row: the next one is another picture's.
    pub(super) fn forget(&mut self) {
        self.row = None;
    }
}

impl Original<'_> {
    /// Returns true if it has `size`, width and height in pixels.
    pub(super) fn has_size(&self, size: (usize, usize)) -> bool {
        match self {
            Self::Pixels(pixels) => pixels.len() == size.0 * size.1,
            Self::Planes { picture, .. } => (picture.size().width(), picture.size().height()) == size,
        }
    }

    /// Writes row `y`, which has the length of `out`.
    pub(super) fn write_row(&self, y: usize, out: &mut [u32]) {
        match *self {
            Self::Pixels(pixels) => out.copy_from_slice(&pixels[y * out.len()..][..out.len()]),
            Self::Planes { picture, converter, mirrored } => {
                converter.write_row(picture, y, out);
                if mirrored {
                    out.reverse();
                }
            }
        }
    }

    /// Returns row `y`; one that must be made is made in `made`, unless it is there already.
    pub(super) fn row<'s>(&'s self, y: usize, made: &'s mut RowMade) -> &'s [u32] {
        let width = made.pixels.len();
        match self {
            Self::Pixels(pixels) => &pixels[y * width..][..width],
            Self::Planes { .. } => {
                if made.row != Some(y) {
                    self.write_row(y, &mut made.pixels);
                    made.row = Some(y);
                }
                &made.pixels
            }
        }
    }
}
