//! Sources of a channel's samples in a picture, and kernels that read them (`cl/shared/source.cl`).

use std::ops::Range;

use device::header::Header;
use device::kernel::{Arg, NamedArg, named};
use device::queue::Buffer;
use picture::frame::{Channel, Chroma, FrameSize, PixelFormat};

use super::level::Samples;
use crate::DeviceKind;
use crate::reference::colour::RGB_TO_YCBCR;

/// Source of one channel's samples in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The channel whose queue uploads the bytes: its own, or the first one that needs them too.
    pub(crate) owner: usize,
    /// The bytes of the picture that are uploaded.
    pub(crate) bytes: Range<usize>,
    /// Number of rows: the picture's, or half as many.
    pub(crate) rows: usize,
    /// Conversion of them to samples.
    pub(crate) convert: Convert,
}

/// A function of cl/transform/colour.cl with what it must know of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convert {
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
pub(crate) struct Bytes {
    pub(crate) offset: usize,
    pub(crate) row_bytes: usize,
    pub(crate) step: usize,
    pub(crate) across: usize,
}

/// Forms in which `cl/shared/source.cl` reads and writes samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A plane of samples.
    Plane,
    /// A byte a sample, one after another.
    Bytes,
    /// A byte a sample, any distance apart.
    Samples,
    /// Means of 2 x 2 of these.
    Means,
    /// Pixels of three bytes.
    Rgb,
    /// Means of 2 x 2 of these.
    RgbMeans,
}

/// Returns macros for samples that come in one form and go in another; `is_aligned` if all rows of bytes start at a
/// multiple of four bytes.
fn header(from: Form, to: Form, is_aligned: bool) -> Header {
    let forms = [
        ("PLANE", Form::Plane),
        ("BYTES", Form::Bytes),
        ("SAMPLES", Form::Samples),
        ("MEANS", Form::Means),
        ("RGB", Form::Rgb),
        ("RGB_MEANS", Form::RgbMeans),
    ];
    let header = forms.into_iter().fold(Header::default(), |header, (name, form)| header.define(name, form as u8));
    header.define("FROM", from as u8).define("TO", to as u8).define("ALIGNED", u8::from(is_aligned))
}

/// Returns macros for samples that come from planes and go to planes.
pub fn planes() -> Header {
    header(Form::Plane, Form::Plane, false)
}

/// Returns the source of `channel` of a stream of `chroma` in a picture.
pub(crate) fn source(format: PixelFormat, size: FrameSize, chroma: Chroma, channel: Channel) -> Source {
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

impl Convert {
    /// Returns true if a level reads these bytes rather than a plane made of them. It reads a sample more than once, so
    /// that it should be one byte; and a processor's vectors take bytes that lie side by side.
    pub(crate) fn suits_levels(self, kind: DeviceKind) -> bool {
        match self {
            Self::Samples { at: Bytes { step: 1, across: 0, .. }, down: 0 } => true,
            Self::Samples { .. } => kind != DeviceKind::Cpu,
            Self::Zero | Self::Means { .. } | Self::Rgb | Self::RgbMeans => false,
        }
    }

    /// Returns the samples of `channel` of a picture of `size` in `bytes`, for kernels; `None` if there are none.
    pub(crate) fn samples<'a>(self, bytes: &'a Buffer<u8>, size: FrameSize, channel: Channel) -> Option<Samples<'a>> {
        let places = |at: Bytes| {
            let Bytes { offset, row_bytes, step, across } = at;
            named(["offset", "row_bytes", "step", "across"], [offset, row_bytes, step, across].map(Arg::from))
        };
        let size = named(["source_w", "source_h"], [size.width(), size.height()].map(Arg::from));
        let weights = || {
            let ([r, g, b], constant) = RGB_TO_YCBCR[channel.index()];
            named(["wr", "wg", "wb", "constant_term"], [r, g, b, constant].map(Arg::Float))
        };
        let mut is_aligned = false;
        let (from, args): (_, Vec<NamedArg<'_>>) = match self {
            Self::Zero => return None,
            Self::Samples { at: Bytes { offset, row_bytes, step: 1, across: 0 }, down: 0 } => {
                is_aligned = offset % 4 == 0 && row_bytes % 4 == 0;
                (Form::Bytes, vec![("offset", offset.into()), ("row_bytes", row_bytes.into())])
            }
            Self::Samples { at, down } => (Form::Samples, [&places(at)[..], &[("down", down.into())]].concat()),
            Self::Means { at } => (Form::Means, [places(at).as_slice(), &size].concat()),
            Self::Rgb => (Form::Rgb, [weights().as_slice(), &size].concat()),
            Self::RgbMeans => (Form::RgbMeans, [weights().as_slice(), &size].concat()),
        };
        let args = [&[("in", bytes.arg())], args.as_slice()].concat();
        Some(Samples { header: header(from, Form::Plane, is_aligned), args })
    }
}

/// Returns the samples for kernels that leave them as `bytes` in rows of `width` without gaps.
pub(crate) fn to_bytes(bytes: &Buffer<u8>, width: usize) -> Samples<'_> {
    let header = header(Form::Plane, Form::Bytes, width.is_multiple_of(4));
    Samples { header, args: vec![("out", bytes.arg()), ("out_pitch", width.into())] }
}

/// Returns the most bytes that `channel` ever uploads for pictures of `size`.
pub(crate) fn capacity(size: FrameSize, chroma: Chroma, channel: Channel) -> usize {
    let uploads = PixelFormat::ALL.map(|format| {
        let source = source(format, size, chroma, channel);
        if source.owner == channel.index() { source.bytes.len() } else { 0 }
    });
    uploads.into_iter().max().unwrap_or(0)
}
