//! One JPEG picture to samples.

use common::frame::{FrameSize, PixelFormat};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// Decodes a JPEG into `data`: full-resolution Y Cb Cr, or grey. With `strict`, a picture with damaged data is an
/// error; otherwise its damaged part may be wrong. The error says what the decoder found.
pub(super) fn decode(bytes: &[u8], strict: bool, data: &mut Vec<u8>) -> Result<(PixelFormat, FrameSize), String> {
    let options = DecoderOptions::new_fast()
        .set_strict_mode(strict)
        .set_max_width(FrameSize::MAX_SIDE as usize)
        .set_max_height(FrameSize::MAX_SIDE as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let info = decoder.info().ok_or("no size")?;
    let size = FrameSize::new(info.width.into(), info.height.into()).map_err(|error| error.to_string())?;
    let (target, format) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, PixelFormat::Grey8),
        _ => (ColorSpace::YCbCr, PixelFormat::YCbCr8),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(target));
    data.resize(format.bytes(size), 0);
    decoder.decode_into(data).map_err(|error| error.to_string())?;
    Ok((format, size))
}
