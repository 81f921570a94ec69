//! YUV4MPEG2 (Y4M): one header line, then for each picture a line `FRAME` and its planes.
//!
//! Pictures are 4:2:0 (any siting), 4:4:4 or luma alone, of 8 bits or, as `C420p10`, `C444p10` and `Cmono10`, of 10, which take
//! two bytes, the low one first. `C422` of 8 bits is read as 4:4:4. Of the header, size (`W`, `H`), rate (`F`), shape of a
//! pixel (`A`), sampling (`C`, or the comment `XYSCSS` of older programs where that is missing) and range (`XCOLORRANGE`) count.
//!
//! The format has no word for the matrix. The rule is that of video without colour information: BT.709 from
//! [`BT709_LINES_MIN`] lines on, else BT.601. Where a stream has the other matrix, [`Y4mWriter`] adds the comment
//! `XDUETMATRIX=BT601` or `XDUETMATRIX=BT709`, which [`Y4mReader`] obeys and other programs pass over.

mod error;
mod header;
mod reader;
mod writer;

pub use error::Y4mError;
pub use reader::Y4mReader;
pub use writer::Y4mWriter;

use crate::frame::{BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, Matrix, PixelFormat, Range, Raster};
use crate::params::StreamParams;

/// Lines of the smallest picture that counts as high definition.
pub const BT709_LINES_MIN: usize = 720;

const MAGIC: &str = "YUV4MPEG2";
const FRAME: &[u8] = b"FRAME";
/// Key of the range, after the `X` of a comment.
const RANGE_KEY: &str = "COLORRANGE=";
const MATRIX_KEY: &str = "DUETMATRIX=";

/// The properties that all pictures of a Y4M stream share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Y4mHeader {
    /// Their size.
    pub size: FrameSize,
    /// Their rate, if it is known.
    pub rate: Option<FrameRate>,
    /// Sampling of chroma.
    pub chroma: Chroma,
    /// Places of the samples. The place of chroma counts for 4:2:0 with 8 bits.
    pub raster: Raster,
    /// Bits of a sample.
    pub depth: BitDepth,
    /// Meaning of the samples.
    pub colour: ColourSpace,
}

impl Y4mHeader {
    /// Returns the order of the samples of a picture.
    pub const fn format(&self) -> PixelFormat {
        self.chroma.picture_format()
    }

    /// Returns the bytes of a picture.
    pub const fn picture_bytes(&self) -> usize {
        self.depth.bytes() * self.format().bytes(self.size)
    }
}

impl From<&StreamParams> for Y4mHeader {
    fn from(params: &StreamParams) -> Self {
        let StreamParams { size, frame_rate, chroma, colour, raster, codec } = *params;
        Self { size, rate: Some(frame_rate), chroma, raster, depth: codec.depth, colour }
    }
}

/// Returns the matrix of pictures that do not say it.
pub const fn default_matrix(size: FrameSize) -> Matrix {
    if size.height() >= BT709_LINES_MIN { Matrix::Bt709 } else { Matrix::Bt601 }
}

const fn range_name(range: Range) -> &'static str {
    match range {
        Range::Limited => "LIMITED",
        Range::Full => "FULL",
    }
}

const fn matrix_name(matrix: Matrix) -> &'static str {
    match matrix {
        Matrix::Bt601 => "BT601",
        Matrix::Bt709 => "BT709",
    }
}
