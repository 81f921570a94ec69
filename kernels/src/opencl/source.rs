//! Where the samples of a channel lie in a picture, and which kernel makes a plane of them.

use std::ops::Range;

use common::frame::{Channel, Chroma, FrameSize, PixelFormat};

/// How one channel gets its samples from a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The channel whose queue uploads the bytes: its own, or the first one that needs them too.
    pub(super) owner: usize,
    /// The bytes of the picture that are uploaded.
    pub(super) bytes: Range<usize>,
    /// How many rows they are: the picture's, or half as many.
    pub(super) rows: usize,
    /// What makes a plane of them.
    pub(super) convert: Convert,
}

/// A kernel of cl/colour.cl with what it must know of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convert {
    /// No bytes: the plane is zero.
    Zero,
    /// One byte per sample of the plane; sample (x, y) covers byte `(x >> across, y >> down)`.
    Samples { at: Bytes, down: usize },
    /// Four bytes per sample.
    Means { at: Bytes },
    /// One RGB pixel per sample.
    Rgb,
    /// Four RGB pixels per sample.
    RgbMeans,
}

/// Bytes of one channel: the first one, the bytes from row to row and from sample to sample, and by how many bits
/// their columns are coarser than the picture's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) offset: usize,
    pub(super) row_bytes: usize,
    pub(super) step: usize,
    pub(super) across: usize,
}

/// Where `channel` of a stream of `chroma` finds its samples in a picture.
pub(super) fn source(format: PixelFormat, size: FrameSize, chroma: Chroma, channel: Channel) -> Source {
    let (pixels, half, c) = (size.pixels(), size.halved(), channel.index());
    let all = 0..format.bytes(size);
    let luma = 0..pixels;
    let halve = chroma == Chroma::C420 && channel != Channel::Y;
    let plain = |row_bytes| Bytes { offset: 0, row_bytes, step: 1, across: 0 };
    let rows = size.height();
    // Owner, bytes, their order, and by how many bits their rows are coarser than the picture's.
    let (owner, bytes, at, down) = match (format, channel) {
        (PixelFormat::Rgb8, _) => {
            let convert = if halve { Convert::RgbMeans } else { Convert::Rgb };
            return Source { owner: 0, bytes: all, rows, convert };
        }
        (PixelFormat::Grey8, Channel::Cb | Channel::Cr) => {
            return Source { owner: c, bytes: 0..0, rows, convert: Convert::Zero };
        }
        (PixelFormat::YCbCr8, _) => (0, all, Bytes { offset: c, row_bytes: 3 * size.width(), step: 3, across: 0 }, 0),
        (PixelFormat::Yuyv, Channel::Y) => {
            (0, all, Bytes { offset: 0, row_bytes: 4 * half.width(), step: 2, across: 0 }, 0)
        }
        (PixelFormat::Yuyv, _) => {
            (0, all, Bytes { offset: 2 * c - 1, row_bytes: 4 * half.width(), step: 4, across: 1 }, 0)
        }
        (PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8, Channel::Y) => {
            (0, luma, plain(size.width()), 0)
        }
        (PixelFormat::Nv12, _) => {
            (1, pixels..all.end, Bytes { offset: c - 1, row_bytes: 2 * half.width(), step: 2, across: 1 }, 1)
        }
        (PixelFormat::I420, _) => {
            let start = pixels + (c - 1) * half.pixels();
            (c, start..start + half.pixels(), Bytes { across: 1, ..plain(half.width()) }, 1)
        }
        (PixelFormat::I444, _) => (c, c * pixels..(c + 1) * pixels, plain(size.width()), 0),
    };
    let convert = match (halve, down) {
        (false, _) => Convert::Samples { at, down },
        // The source has the stream's own resolution: the mean of four equal samples.
        (true, 1) => Convert::Samples { at: Bytes { across: 0, ..at }, down: 0 },
        (true, _) => Convert::Means { at },
    };
    Source { owner, bytes, rows: rows.div_ceil(1 << down), convert }
}

/// Most bytes that `channel` ever uploads for pictures of `size`.
pub(super) fn capacity(size: FrameSize, chroma: Chroma, channel: Channel) -> usize {
    let formats = [
        PixelFormat::Rgb8,
        PixelFormat::YCbCr8,
        PixelFormat::Yuyv,
        PixelFormat::Nv12,
        PixelFormat::I420,
        PixelFormat::I444,
        PixelFormat::Grey8,
    ];
    let uploads = formats.map(|format| {
        let source = source(format, size, chroma, channel);
        if source.owner == channel.index() { source.bytes.len() } else { 0 }
    });
    uploads.into_iter().max().unwrap_or(0)
}
