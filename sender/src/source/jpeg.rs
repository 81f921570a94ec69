//! One JPEG picture to samples.

use picture::frame::{FrameSize, PixelFormat};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

const EOI: [u8; 2] = [0xff, 0xd9];
/// Marker and length of a segment that sets a restart interval.
const DRI: [u8; 4] = [0xff, 0xdd, 0, 4];
/// Bytes after the end, more than the decoder reads ahead.
const TAIL: [u8; 16] = [0; 16];

/// Decodes a JPEG into `data`: full-resolution Y Cb Cr, or grey. With `strict`, a picture with damaged data is an
/// error; otherwise its damaged part may be wrong. The error says what the decoder found.
pub(super) fn decode(bytes: &[u8], strict: bool, data: &mut Vec<u8>) -> Result<(PixelFormat, FrameSize), String> {
    // All that a JPEG can say: what is too large gets our sentence below, before memory is set aside for it.
    let side_max = usize::from(u16::MAX);
    let options = DecoderOptions::new_fast().set_strict_mode(strict).set_max_width(side_max).set_max_height(side_max);
    let open = |bytes| {
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers().map_err(|error| error.to_string())?;
        let info = decoder.info().ok_or("no size")?;
        Ok::<_, String>((decoder, info))
    };
    let (mut decoder, mut info) = open(bytes)?;
    // Behind an end marker the decoder makes up zeros without a word, so that a picture whose data stop early passes.
    // Behind the end of its input it does say so. Restart intervals and progressive pictures need their end marker.
    let unmarked;
    let may_lack_end = info.sof.is_sequential_dct() && !bytes.windows(4).any(|window| window == DRI);
    if let (true, true, Some(data)) = (strict, may_lack_end, bytes.strip_suffix(&EOI)) {
        unmarked = [data, &TAIL].concat();
        (decoder, info) = open(&unmarked)?;
    }
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

#[cfg(test)]
mod tests {
    use image::codecs::jpeg::JpegEncoder;
    use image::{ExtendedColorType, ImageEncoder};

    use super::super::mjpeg::MjpegReader;
    use super::*;

    fn encode(width: u32, height: u32, colour: ExtendedColorType, sample: fn(usize) -> u8) -> Vec<u8> {
        let bytes = (width * height) as usize * if colour == ExtendedColorType::L8 { 1 } else { 3 };
        let samples: Vec<_> = (0..bytes).map(sample).collect();
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, 90).write_image(&samples, width, height, colour).unwrap();
        jpeg
    }

    #[test]
    fn whole_pictures_pass_the_strict_check_unchanged() {
        for (width, height) in [(1, 1), (2, 3), (17, 31), (64, 48), (640, 8), (8, 640), (333, 217)] {
            for colour in [ExtendedColorType::L8, ExtendedColorType::Rgb8] {
                for sample in [|_| 128_u8, |at| (at * at % 251) as u8] {
                    let jpeg = encode(width, height, colour, sample);
                    let (mut strict, mut lenient) = (Vec::new(), Vec::new());
                    let decoded = decode(&jpeg, true, &mut strict);
                    assert_eq!(decoded, decode(&jpeg, false, &mut lenient), "{width}x{height}");
                    assert_eq!(decoded.unwrap().1, FrameSize::new(width, height).unwrap());
                    assert!(strict == lenient, "{width}x{height}");
                }
            }
        }
    }

    #[test]
    fn the_demonstration_clip_is_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../receiver/examples/demo-clip/demo_720p30.mjpeg");
        let mut reader = MjpegReader::new(std::fs::File::open(path).unwrap());
        let (mut data, mut pictures) = (Vec::new(), 0);
        while let Some(bytes) = reader.next_picture().unwrap() {
            assert!(decode(bytes, true, &mut data).is_ok(), "picture {pictures}");
            pictures += 1;
        }
        assert!(pictures > 30, "{pictures}");
    }

    #[test]
    fn data_that_stop_early_are_an_error() {
        let whole = encode(333, 217, ExtendedColorType::Rgb8, |at| (at * at % 251) as u8);
        for tenths in 3..=9 {
            let cut = [&whole[..whole.len() * tenths / 10], &EOI].concat();
            assert!(decode(&cut, true, &mut Vec::new()).is_err(), "{tenths} tenths");
        }
    }
}
