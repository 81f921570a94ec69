//! Single pictures: PNG, PPM, PGM, and to read also JPEG.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::codecs::png::PngEncoder;
use image::codecs::pnm::{PnmDecoder, PnmEncoder, PnmSubtype, SampleEncoding};
use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader, Limits};
use picture::frame::{BitDepth, FrameSize, PixelFormat};

use super::{Kind, PictureInfo, rgb};

/// Largest picture of 16384 x 16384 with four samples of 16 bits.
const DECODED_BYTES_MAX: u64 = 2 << 30;

/// A picture that was read.
pub(crate) struct Still {
    pub(crate) info: PictureInfo,
    /// Samples, until they are taken.
    pub(crate) data: Option<Vec<u8>>,
    /// True if the file has samples of more bits, of which 8 are left.
    pub(crate) is_rounded: bool,
    /// True if some of its pixels are transparent, which is dropped.
    pub(crate) is_transparent: bool,
}

/// Reads the picture at `path` as grey or RGB, of 10 bits if it is a PPM or PGM of so many, else of 8; transparency is dropped. A
/// photo is turned as its camera was held.
pub(crate) fn read(path: &Path) -> Result<Still> {
    let reader = guessed(path)?;
    if reader.format() == Some(ImageFormat::Pnm)
        && let Some(still) = read_deep(path)?
    {
        return Ok(still);
    }
    let (picture, colour) = upright(reader, path)?;
    let is_rounded = colour.bytes_per_pixel() > colour.channel_count();
    let unusable = || format!("{} cannot be used", path.display());
    let size = FrameSize::new(picture.width(), picture.height()).with_context(unusable)?;
    let is_transparent = colour.has_alpha() && picture.to_rgba16().pixels().any(|pixel| pixel[3] != u16::MAX);
    let (format, data) = match colour.has_color() {
        false => (PixelFormat::Grey8, picture.into_luma8().into_raw()),
        true => (PixelFormat::Rgb8, picture.into_rgb8().into_raw()),
    };
    let info = PictureInfo::usual(format, BitDepth::Eight, size);
    Ok(Still { info, data: Some(data), is_rounded, is_transparent })
}

/// Opens the picture at `path`, whose content says what it is; one larger than any here is refused.
pub(crate) fn guessed(path: &Path) -> Result<ImageReader<BufReader<File>>> {
    let opened = ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let mut reader = opened.with_context(|| format!("{} cannot be opened", path.display()))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    Ok(reader)
}

/// Returns the picture of a reader, turned as its camera was held, and its samples in the file.
pub(crate) fn upright(reader: ImageReader<BufReader<File>>, path: &Path) -> Result<(DynamicImage, ColorType)> {
    let name = path.display();
    let cannot = || format!("{name} cannot be read as a picture");
    let mut decoder = reader.into_decoder().with_context(cannot)?;
    let (width, height) = decoder.dimensions();
    FrameSize::new(width, height).with_context(|| format!("{name} cannot be used"))?;
    let (colour, orientation) = (decoder.color_type(), decoder.orientation().unwrap_or(Orientation::NoTransforms));
    let mut picture = DynamicImage::from_decoder(decoder).with_context(cannot)?;
    picture.apply_orientation(orientation);
    Ok((picture, colour))
}

/// Reads the PPM or PGM at `path` if its samples have 10 bits. As they are: the decoder would scale them to 16.
fn read_deep(path: &Path) -> Result<Option<Still>> {
    let name = path.display();
    let cannot = || format!("{name} cannot be read as a picture");
    let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let decoder = PnmDecoder::new(BufReader::new(file)).with_context(cannot)?;
    let depth = BitDepth::Ten;
    if decoder.header().maximal_sample() != u32::from(depth.max()) {
        return Ok(None);
    }
    let format = match (decoder.color_type(), decoder.subtype().sample_encoding()) {
        (ColorType::L16, SampleEncoding::Binary) => PixelFormat::Grey8,
        (ColorType::Rgb16, SampleEncoding::Binary) => PixelFormat::Rgb8,
        _ => bail!("{name}: of pictures with 10 bits, binary grey and RGB ones without transparency can be used"),
    };
    let (mut samples, header) = decoder.into_inner();
    let size = FrameSize::new(header.width(), header.height()).with_context(|| format!("{name} cannot be used"))?;
    let (bytes, mut data) = (depth.bytes() * format.bytes(size), Vec::new());
    // Grows as bytes come, so that a header alone cannot ask for memory.
    samples.by_ref().take(bytes as u64).read_to_end(&mut data).with_context(cannot)?;
    ensure!(data.len() == bytes, "{name} ends in the middle of the picture");
    data.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse());
    let info = PictureInfo::usual(format, depth, size);
    Ok(Some(Still { info, data: Some(data), is_rounded: false, is_transparent: false }))
}

/// Returns an error unless a picture of `info` can become a file of `kind`.
pub(crate) fn check(path: &Path, kind: Kind, info: &PictureInfo) -> Result<()> {
    let name = path.display();
    match (kind, info.depth, info.format) {
        (Kind::Pgm, BitDepth::Eight, format) if format != PixelFormat::Grey8 => {
            bail!("{name}: a .pgm file holds grey pictures only: write this one to .png or .ppm")
        }
        (_, BitDepth::Eight, _) | (Kind::Pgm, _, PixelFormat::Grey8) | (Kind::Ppm, _, PixelFormat::Rgb8) => Ok(()),
        (_, BitDepth::Ten, format) => {
            let ending = match format {
                PixelFormat::Grey8 => ".pgm or .y4m",
                PixelFormat::Rgb8 => ".ppm",
                _ => ".y4m",
            };
            bail!("{name}: samples of 10 bits cannot be written here: write this picture to {ending}")
        }
    }
}

/// Writes a planar or RGB picture as `kind`.
pub(crate) fn write(path: &Path, kind: Kind, info: &PictureInfo, data: &[u8]) -> Result<()> {
    let name = path.display();
    let (width, height) = (info.size.width() as u32, info.size.height() as u32);
    let mut file = BufWriter::new(File::create(path).with_context(|| format!("{name} cannot be created"))?);
    if info.depth == BitDepth::Ten {
        // The high byte first.
        let samples: Vec<u8> = data.as_chunks::<2>().0.iter().flat_map(|&[low, high]| [high, low]).collect();
        let magic = if info.format == PixelFormat::Grey8 { "P5" } else { "P6" };
        let written = write!(file, "{magic}\n{width} {height}\n{}\n", info.depth.max())
            .and_then(|()| file.write_all(&samples))
            .and_then(|()| file.flush());
        return written.with_context(|| format!("{name} cannot be written"));
    }
    let grey = info.format == PixelFormat::Grey8 && kind != Kind::Ppm;
    let rgb;
    let (samples, colour) = if grey {
        (data, ExtendedColorType::L8)
    } else if info.format == PixelFormat::Rgb8 {
        (data, ExtendedColorType::Rgb8)
    } else {
        rgb = rgb::from_planar(info, data);
        (rgb.as_slice(), ExtendedColorType::Rgb8)
    };
    let result = match kind {
        Kind::Pgm => pnm(file, PnmSubtype::Graymap(SampleEncoding::Binary)).write_image(samples, width, height, colour),
        Kind::Ppm => pnm(file, PnmSubtype::Pixmap(SampleEncoding::Binary)).write_image(samples, width, height, colour),
        _ => PngEncoder::new(file).write_image(samples, width, height, colour),
    };
    result.with_context(|| format!("{name} cannot be written"))
}

/// Creates the encoder with its subtype, without which it writes PAM, whatever the file's name says.
fn pnm(file: BufWriter<File>, subtype: PnmSubtype) -> PnmEncoder<BufWriter<File>> {
    PnmEncoder::new(file).with_subtype(subtype)
}
