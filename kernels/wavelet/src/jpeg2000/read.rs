//! Pictures as they are coded: every sample with all of its bits.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::codecs::pnm::{PnmDecoder, SampleEncoding};
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat};
use lab::jpeg2000::{Colour, Image, ImageComponent};
use picture::frame::{BitDepth, Chroma, ColourSpace, FrameSize, PixelFormat};

use crate::io::{PictureInfo, Reader, guessed, is_clip, upright};
use crate::stream;

/// Reads the only picture of the file at `path`; of Y, Cb and Cr returns their meaning, too.
pub(super) fn read(path: &Path) -> Result<(Image, Option<ColourSpace>)> {
    if is_clip(path)? { clip(path) } else { Ok((still(path)?, None)) }
}

fn clip(path: &Path) -> Result<(Image, Option<ColourSpace>)> {
    let name = path.display();
    let mut reader = Reader::open(path)?;
    let info = reader.info();
    let data = reader.first(path)?;
    ensure!(reader.next()?.is_none(), "{name} holds more than one picture, and a file of JPEG 2000 one only");
    let image = of_planes(&info, &data);
    let colour = (image.colour == Colour::Ycc).then_some(info.colour);
    Ok((image, colour))
}

/// Returns a picture as components.
pub(crate) fn of_picture(info: &PictureInfo, data: &[u8]) -> Image {
    match info.format {
        PixelFormat::Rgb8 if info.depth == BitDepth::Eight => {
            of_pixels((info.size.width(), info.size.height()), 3, 8, data)
        }
        _ => of_planes(info, data),
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

fn still(path: &Path) -> Result<Image> {
    let name = path.display();
    let reader = guessed(path)?;
    if reader.format() == Some(ImageFormat::Pnm)
        && let Some(image) = deep(path)?
    {
        return Ok(image);
    }
    let (picture, _) = upright(reader, path)?;
    let size = (picture.width() as usize, picture.height() as usize);
    Ok(match picture {
        DynamicImage::ImageLuma8(picture) => of_pixels(size, 1, 8, &picture),
        DynamicImage::ImageLumaA8(picture) => of_pixels(size, 2, 8, &picture),
        DynamicImage::ImageRgb8(picture) => of_pixels(size, 3, 8, &picture),
        DynamicImage::ImageRgba8(picture) => of_pixels(size, 4, 8, &picture),
        DynamicImage::ImageLuma16(picture) => of_pixels(size, 1, 16, &picture),
        DynamicImage::ImageLumaA16(picture) => of_pixels(size, 2, 16, &picture),
        DynamicImage::ImageRgb16(picture) => of_pixels(size, 3, 16, &picture),
        DynamicImage::ImageRgba16(picture) => of_pixels(size, 4, 16, &picture),
        other => bail!("{name} has samples of the kind {:?}: those of 8 and 16 bits can be coded", other.color()),
    })
}

/// Returns interleaved samples as components; opacity only if some of the picture is transparent.
fn of_pixels<T: Copy + Into<i32>>((width, height): (usize, usize), count: usize, depth: u8, samples: &[T]) -> Image {
    let component = |at: usize| ImageComponent {
        width,
        height,
        step: (1, 1),
        depth,
        is_signed: false,
        samples: samples.iter().skip(at).step_by(count).map(|&sample| sample.into()).collect(),
    };
    let colour = if count < 3 { Colour::Grey } else { Colour::Rgb };
    let mut components: Vec<ImageComponent> = (0..count).map(component).collect();
    let opaque = (1 << depth) - 1;
    if count > colour.components() && components[count - 1].samples.iter().all(|&sample| sample == opaque) {
        components.pop();
    }
    Image { width, height, colour, components }
}

/// Reads the PPM or PGM at `path` if its samples have neither 8 nor 16 bits, which the decoder would make of them.
fn deep(path: &Path) -> Result<Option<Image>> {
    let name = path.display();
    let cannot = || format!("{name} cannot be read as a picture");
    let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let decoder = PnmDecoder::new(BufReader::new(file)).with_context(cannot)?;
    let most = decoder.header().maximal_sample();
    let is_binary = decoder.subtype().sample_encoding() == SampleEncoding::Binary;
    let count = match decoder.color_type() {
        ColorType::L8 | ColorType::L16 => 1,
        ColorType::Rgb8 | ColorType::Rgb16 => 3,
        _ => return Ok(None),
    };
    if most == 255 || most == 65_535 || most < 255 && !is_binary {
        return Ok(None);
    }
    ensure!(
        is_binary && (most + 1).is_power_of_two() && most <= 65_535,
        "{name}: its largest sample is {most}: that of binary .ppm and .pgm files must be one less than a power of two"
    );
    let (mut samples, header) = decoder.into_inner();
    let size = FrameSize::new(header.width(), header.height()).with_context(|| format!("{name} cannot be used"))?;
    let (bytes_each, mut data) = (if most > 255 { 2 } else { 1 }, Vec::new());
    let bytes = size.pixels() * count * bytes_each;
    // Grows as bytes come, so that a header alone cannot ask for memory.
    samples.by_ref().take(bytes as u64).read_to_end(&mut data).with_context(cannot)?;
    ensure!(data.len() == bytes, "{name} ends in the middle of the picture");
    let samples: Vec<i32> = match bytes_each {
        1 => data.iter().map(|&sample| sample.into()).collect(),
        _ => data.as_chunks::<2>().0.iter().map(|&sample| u16::from_be_bytes(sample).into()).collect(),
    };
    ensure!(samples.iter().all(|&sample| sample <= most as i32), "{name} has a sample above its largest, {most}");
    Ok(Some(of_pixels((size.width(), size.height()), count, most.ilog2() as u8 + 1, &samples)))
}
