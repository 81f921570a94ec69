//! A picture in normal form to samples, through libjpeg-turbo: the only file that names it.
//!
//! Planes leave as they lie in the JPEG, without a way through RGB. Samplings that no [`PixelFormat`] has are brought to full
//! resolution by the library, which is told that the components were RGB, so that it leaves them as they are.

use picture::frame::{FrameSize, PixelFormat};
use turbojpeg::{Decompressor, Image, Subsamp, YuvImage, yuv_pixels_len};

use super::fault::JpegFault;
use super::header::{Colours, Component, Header};

/// The library's complaint about bytes behind the last code of a picture.
const EXTRANEOUS: &str = " extraneous bytes before marker 0xd9";

/// Ways in which a picture's samples leave the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// In planes of this sampling, for a picture in this format.
    Planes(Subsamp, PixelFormat),
    /// Three of each pixel: Y Cb Cr, called R G B.
    Full,
    /// R G B of each pixel.
    Rgb,
}

impl Way {
    pub(super) fn of(header: &Header) -> Self {
        let sampling = |component: &Component| (component.across, component.down);
        let samplings: Vec<_> = header.components.iter().map(sampling).collect();
        match (header.colours, samplings.as_slice()) {
            (Colours::Grey, _) => Self::Planes(Subsamp::Gray, PixelFormat::Grey8),
            (Colours::Rgb, _) => Self::Rgb,
            (Colours::YCbCr, [(2, 2), (1, 1), (1, 1)]) => Self::Planes(Subsamp::Sub2x2, PixelFormat::I420),
            (Colours::YCbCr, [(2, 1), (1, 1), (1, 1)]) => Self::Planes(Subsamp::Sub2x1, PixelFormat::Yuyv),
            (Colours::YCbCr, [(1, 1), (1, 1), (1, 1)]) => Self::Planes(Subsamp::None, PixelFormat::I444),
            (Colours::YCbCr, _) => Self::Full,
        }
    }
}

/// Decodes pictures; keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Planes {
    decompressor: Option<Decompressor>,
    room: Vec<u8>,
}

impl Planes {
    /// Decodes `jpeg`, a picture of `size` in normal form, into `data`.
    ///
    /// Errors: whatever the library complains of, but for bytes behind the last code, which [`super::entropy`] counts.
    pub(super) fn decode(
        &mut self,
        jpeg: &[u8],
        way: Way,
        size: FrameSize,
        data: &mut Vec<u8>,
    ) -> Result<PixelFormat, JpegFault> {
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(|error| JpegFault::Damaged(error.to_string()))?),
        };
        let (width, height) = (size.width(), size.height());
        let (format, result) = match way {
            Way::Planes(subsamp, format) => {
                let bytes = yuv_pixels_len(width, 1, height, subsamp);
                let bytes = bytes.map_err(|error| JpegFault::Damaged(error.to_string()))?;
                let is_ready = format.bytes(size) == bytes && format != PixelFormat::Yuyv;
                let room = if is_ready { &mut *data } else { &mut self.room };
                room.resize(bytes, 0);
                let image = YuvImage { pixels: room.as_mut_slice(), width, align: 1, height, subsamp };
                let result = decompressor.decompress_to_yuv(jpeg, image);
                if !is_ready {
                    arrange(format, size, &self.room, data);
                }
                (format, result)
            }
            Way::Full | Way::Rgb => {
                data.resize(PixelFormat::YCbCr8.bytes(size), 0);
                let (pixels, format) = (data.as_mut_slice(), turbojpeg::PixelFormat::RGB);
                let result = decompressor.decompress(jpeg, Image { pixels, width, pitch: 3 * width, height, format });
                if way == Way::Rgb {
                    convert(data);
                }
                (PixelFormat::YCbCr8, result)
            }
        };
        match result.map_err(|error| error.to_string()) {
            Ok(()) => Ok(format),
            // Whoever counts them knows how many are a habit.
            Err(text) if text.contains(EXTRANEOUS) => Ok(format),
            Err(text) => Err(JpegFault::Damaged(text.rsplit(": ").next().unwrap_or(&text).to_owned())),
        }
    }
}

/// Brings planes as the library lays them out to `format`. Its luma is as wide and high as its chroma needs.
fn arrange(format: PixelFormat, size: FrameSize, planes: &[u8], data: &mut Vec<u8>) {
    let (width, height, half) = (size.width(), size.height(), size.halved());
    data.clear();
    if format == PixelFormat::Yuyv {
        let (luma, chroma) = planes.split_at(2 * half.width() * height);
        let (cb, cr) = chroma.split_at(half.width() * height);
        data.resize(format.bytes(size), 0);
        for (to, ((luma, cb), cr)) in data.chunks_exact_mut(4).zip(luma.chunks_exact(2).zip(cb).zip(cr)) {
            to.copy_from_slice(&[luma[0], *cb, luma[1], *cr]);
        }
        return;
    }
    let (luma, chroma) = planes.split_at(4 * half.pixels());
    for row in luma.chunks_exact(2 * half.width()).take(height) {
        data.extend_from_slice(&row[..width]);
    }
    data.extend_from_slice(chroma);
}

/// Makes Y Cb Cr of R G B in place: BT.601, full range, as JFIF has it.
fn convert(data: &mut [u8]) {
    for pixel in data.chunks_exact_mut(3) {
        let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(f32::from);
        let luma = 0.299 * r + 0.587 * g + 0.114 * b;
        let chroma = [(b - luma) / 1.772 + 128.0, (r - luma) / 1.402 + 128.0];
        // From 0 to 255: a conversion to an integer stays inside its bounds.
        pixel.copy_from_slice(&[(luma + 0.5) as u8, (chroma[0] + 0.5) as u8, (chroma[1] + 0.5) as u8]);
    }
}
