//! Stream parameters of a file's pictures.

use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, StreamParams};

use crate::io::PictureInfo;

/// Returns the sampling that keeps all of a file's chroma.
pub(crate) fn own_chroma(format: PixelFormat) -> Chroma {
    match format {
        PixelFormat::Grey8 => Chroma::Grey,
        PixelFormat::I420 | PixelFormat::Nv12 => Chroma::C420,
        PixelFormat::Rgb8 | PixelFormat::YCbCr8 | PixelFormat::Yuyv | PixelFormat::I444 => Chroma::C444,
    }
}

/// Returns the sampling that keeps all of a file's samples.
pub(crate) fn exact_chroma(format: PixelFormat) -> Chroma {
    if format == PixelFormat::Rgb8 { Chroma::Rgb } else { own_chroma(format) }
}

/// Returns the parameters of a stream of a file's pictures.
pub(crate) fn stream_params(info: &PictureInfo, chroma: Chroma, codec: CodecParams) -> StreamParams {
    let codec = CodecParams { depth: info.depth, ..codec };
    let PictureInfo { size, frame_rate, colour, raster, .. } = *info;
    StreamParams { size, frame_rate, chroma, colour, raster, codec }
}

/// Returns the properties of the decoded pictures of a stream.
pub(crate) fn decoded_info(params: &StreamParams) -> PictureInfo {
    PictureInfo {
        size: params.size,
        format: params.chroma.picture_format(),
        depth: params.codec.depth,
        raster: params.raster,
        colour: params.colour,
        frame_rate: params.frame_rate,
    }
}
