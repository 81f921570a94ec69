//! Pictures as they are coded: every sample with all of its bits.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::codecs::pnm::{PnmDecoder, SampleEncoding};
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat};
use lab::jpeg2000::{Colour, Image, ImageComponent, Pages, Source};
use picture::frame::{BitDepth, Chroma, ColourSpace, FrameSize, PixelFormat};

use crate::io::{PictureInfo, Reader, guessed, is_clip, upright};
use crate::stream;

/// A picture that is to be coded.
pub(crate) enum Read<'a> {
    /// Component by component.
    Components(Image),
    /// Bytes pixel by pixel.
    Pixels(Pixels<'a>),
}

/// Bytes pixel by pixel, some to each: the colours, and opacity if there is any.
pub(crate) struct Pixels<'a> {
    size: (usize, usize),
    count: usize,
    has_opacity: bool,
    bytes: Box<dyn AsRef<[u8]> + 'a>,
}

impl Read<'_> {
    /// Returns it for the coder.
    pub(crate) fn source(&self) -> Source<'_> {
        match self {
            Self::Components(image) => image.into(),
            Self::Pixels(Pixels { size, count, has_opacity, bytes }) => {
                Source::of_pixels(*size, colour(*count), *has_opacity, ((**bytes).as_ref(), *count))
            }
        }
    }
}

/// Returns the colours of pixels of so many samples.
fn colour(count: usize) -> Colour {
    if count < 3 { Colour::Grey } else { Colour::Rgb }
}

/// Reads the only picture of the file at `path`; of Y, Cb and Cr returns their meaning, too.
pub(super) fn read(path: &Path) -> Result<(Read<'static>, Option<ColourSpace>)> {
    if is_clip(path)? { clip(path) } else { Ok((still(path)?, None)) }
}

fn clip(path: &Path) -> Result<(Read<'static>, Option<ColourSpace>)> {
    let name = path.display();
    let mut reader = Reader::open(path)?;
    let info = reader.info();
    let data = reader.first(path)?;
    ensure!(reader.next()?.is_none(), "{name} holds more than one picture, and a file of JPEG 2000 one only");
    let image = of_planes(&info, &data);
    let colour = (image.colour == Colour::Ycc).then_some(info.colour);
    Ok((Read::Components(image), colour))
}

/// Returns a picture for the coder.
pub(crate) fn of_picture<'a>(info: &PictureInfo, data: &'a [u8]) -> Read<'a> {
    match info.format {
        PixelFormat::Rgb8 if info.depth == BitDepth::Eight => {
            of_bytes((info.size.width(), info.size.height()), 3, data)
        }
        _ => Read::Components(of_planes(info, data)),
    }
}

/// Returns the planes of a picture as components.
fn of_planes(info: &PictureInfo, data: &[u8]) -> Image {
    let chroma = stream::own_chroma(info.format);
    let mut samples: Box<dyn Iterator<Item = i32> + '_> = match info.depth {
        BitDepth::Eight => Box::new(data.iter().map(|&sample| sample.into())),
        BitDepth::Ten => Box::new(data.as_chunks::<2>().0.iter().map(|&sample| u16::from_le_bytes(sample).into())),
    };
    let depth = if info.depth == BitDepth::Ten { 10 } else { 8 };
    let component = |&channel| {
        let size = chroma.plane_size(info.size, channel);
        let step = if size == info.size || chroma != Chroma::C420 { 1 } else { 2 };
        let samples = samples.by_ref().take(size.pixels()).collect();
        ImageComponent {
            width: size.width(),
            height: size.height(),
            step: (step, step),
            depth,
            is_signed: false,
            samples,
        }
    };
    let mut components: Vec<ImageComponent> = chroma.channels().iter().map(component).collect();
    // A plane of one sample is as large as the picture.
    if chroma == Chroma::C420 {
        components.iter_mut().skip(1).for_each(|component| component.step = (2, 2));
    }
    let colour = if info.format == PixelFormat::Grey8 { Colour::Grey } else { Colour::Ycc };
    Image { width: info.size.width(), height: info.size.height(), colour, components }
}

fn still(path: &Path) -> Result<Read<'static>> {
    let name = path.display();
    let reader = guessed(path)?;
    if reader.format() == Some(ImageFormat::Pnm)
        && let Some(image) = pnm(path)?
    {
        return Ok(image);
    }
    let (picture, _) = upright(reader, path)?;
    let size = (picture.width() as usize, picture.height() as usize);
    Ok(match picture {
        DynamicImage::ImageLuma8(picture) => of_bytes(size, 1, picture.into_raw()),
        DynamicImage::ImageLumaA8(picture) => of_bytes(size, 2, picture.into_raw()),
        DynamicImage::ImageRgb8(picture) => of_bytes(size, 3, picture.into_raw()),
        DynamicImage::ImageRgba8(picture) => of_bytes(size, 4, picture.into_raw()),
        DynamicImage::ImageLuma16(picture) => of_words(size, 1, 16, &picture),
        DynamicImage::ImageLumaA16(picture) => of_words(size, 2, 16, &picture),
        DynamicImage::ImageRgb16(picture) => of_words(size, 3, 16, &picture),
        DynamicImage::ImageRgba16(picture) => of_words(size, 4, 16, &picture),
        other => bail!("{name} has samples of the kind {:?}: those of 8 and 16 bits can be coded", other.color()),
    })
}

/// Returns bytes pixel by pixel; opacity only if some of the picture is transparent.
fn of_bytes<'a>(size: (usize, usize), count: usize, bytes: impl AsRef<[u8]> + 'a) -> Read<'a> {
    let mut opacity = bytes.as_ref().iter().skip(count - 1).step_by(count);
    let has_opacity = count > colour(count).components() && opacity.any(|&sample| sample != u8::MAX);
    Read::Pixels(Pixels { size, count, has_opacity, bytes: Box::new(bytes) })
}

/// Returns words pixel by pixel as components; opacity only if some of the picture is transparent.
fn of_words<T: Copy + Into<i32>>(
    (width, height): (usize, usize),
    count: usize,
    depth: u8,
    samples: &[T],
) -> Read<'static> {
    let component = |at: usize| ImageComponent {
        width,
        height,
        step: (1, 1),
        depth,
        is_signed: false,
        samples: samples.iter().skip(at).step_by(count).map(|&sample| sample.into()).collect(),
    };
    let colour = colour(count);
    let mut components: Vec<ImageComponent> = (0..count).map(component).collect();
    let opaque = (1 << depth) - 1;
    if count > colour.components() && components[count - 1].samples.iter().all(|&sample| sample == opaque) {
        components.pop();
    }
    Read::Components(Image { width, height, colour, components })
}

/// Reads the PPM or PGM at `path`: in numbers, or if its samples have 16 bits, another decoder does.
fn pnm(path: &Path) -> Result<Option<Read<'static>>> {
    let name = path.display();
    let cannot = || format!("{name} cannot be read as a picture");
    let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let file_bytes = file.metadata().map_or(0, |found| found.len());
    let decoder = PnmDecoder::new(BufReader::new(file)).with_context(cannot)?;
    let most = decoder.header().maximal_sample();
    let is_binary = decoder.subtype().sample_encoding() == SampleEncoding::Binary;
    let count = match decoder.color_type() {
        ColorType::L8 | ColorType::L16 => 1,
        ColorType::Rgb8 | ColorType::Rgb16 => 3,
        _ => return Ok(None),
    };
    if most == 65_535 || most <= 255 && !is_binary {
        return Ok(None);
    }
    ensure!(
        is_binary && (most + 1).is_power_of_two() && most <= 65_535,
        "{name}: its largest sample is {most}: that of binary .ppm and .pgm files must be one less than a power of two"
    );
    let (mut samples, header) = decoder.into_inner();
    let size = FrameSize::new(header.width(), header.height()).with_context(|| format!("{name} cannot be used"))?;
    let (bytes_each, extent) = (if most > 255 { 2 } else { 1 }, (size.width(), size.height()));
    let bytes = size.pixels() * count * bytes_each;
    if most == 255 && file_bytes >= bytes as u64 {
        let mut data = Pages::zeros(bytes);
        samples.read_exact(&mut data).with_context(|| format!("{name} ends in the middle of the picture"))?;
        return Ok(Some(of_bytes(extent, count, data)));
    }
    let mut data = Vec::new();
    // Grows as bytes come, so that a header alone cannot ask for memory.
    samples.by_ref().take(bytes as u64).read_to_end(&mut data).with_context(cannot)?;
    ensure!(data.len() == bytes, "{name} ends in the middle of the picture");
    if most == 255 {
        return Ok(Some(of_bytes(extent, count, data)));
    }
    let samples: Vec<i32> = match bytes_each {
        1 => data.iter().map(|&sample| sample.into()).collect(),
        _ => data.as_chunks::<2>().0.iter().map(|&sample| u16::from_be_bytes(sample).into()).collect(),
    };
    ensure!(samples.iter().all(|&sample| sample <= most as i32), "{name} has a sample above its largest, {most}");
    Ok(Some(of_words(extent, count, most.ilog2() as u8 + 1, &samples)))
}
