//! Decoded pictures to files that hold all of their bits.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use lab::jpeg2000::{Colour, Image, ImageComponent};
use picture::frame::{BitDepth, ColourSpace, FrameSize, PixelFormat};

use crate::io::{Kind, PICTURES, PictureInfo, Writer, rgb};
use crate::progress::say;

/// Returns the kind of the file at `path`, which must be one of pictures.
pub(super) fn kind(path: &Path) -> Result<Kind> {
    Kind::of(path, &PICTURES)
}

/// Writes a picture; `has_colour`: its file says what its colours are.
pub(super) fn write(path: &Path, mut image: Image, has_colour: bool) -> Result<()> {
    let (name, kind) = (path.display(), kind(path)?);
    ensure!(
        image.components.iter().all(|component| !component.is_signed),
        "{name}: its samples have signs, which no picture here has"
    );
    let depth = image.components[0].depth;
    ensure!(
        image.components.iter().all(|component| component.depth == depth),
        "{name}: its components have samples of unlike bits"
    );
    let colours = image.colour.components();
    if image.components.len() > colours && (kind != Kind::Png || image.colour == Colour::Ycc) {
        say(format_args!("{name} holds no opacity: that is left out"));
        image.components.truncate(colours);
    }
    if image.colour == Colour::Ycc || image.colour == Colour::Grey && kind == Kind::Y4m {
        return planes(path, &image, has_colour);
    }
    let whole = (image.width, image.height);
    ensure!(
        image.components.iter().all(|component| (component.width, component.height) == whole),
        "{name}: its components have unlike sizes, which RGB and grey with opacity do not have"
    );
    if kind == Kind::Y4m {
        to_ycbcr(&mut image, depth);
        return planes(path, &image, false);
    }
    match kind {
        Kind::Png => png(path, &image, depth),
        _ => pnm(path, &image, depth, kind),
    }
}

/// Makes Y, Cb and Cr of RGB, as all pictures of a clip here are.
fn to_ycbcr(image: &mut Image, depth: u8) {
    let convert = rgb::to_ycbcr(depth);
    if let [r, g, b] = &mut image.components[..] {
        for ((r, g), b) in r.samples.iter_mut().zip(&mut g.samples).zip(&mut b.samples) {
            [*r, *g, *b] = convert([*r, *g, *b]);
        }
    }
    image.colour = Colour::Ycc;
}

/// Returns the samples pixel by pixel.
fn pixels(image: &Image) -> impl Iterator<Item = u16> {
    let count = image.components[0].samples.len();
    (0..count).flat_map(|at| image.components.iter().map(move |component| component.samples[at] as u16))
}

fn png(path: &Path, image: &Image, depth: u8) -> Result<()> {
    let name = path.display();
    let colour = match (image.components.len(), depth) {
        (1, 8) => ExtendedColorType::L8,
        (2, 8) => ExtendedColorType::La8,
        (3, 8) => ExtendedColorType::Rgb8,
        (_, 8) => ExtendedColorType::Rgba8,
        (1, 16) => ExtendedColorType::L16,
        (2, 16) => ExtendedColorType::La16,
        (3, 16) => ExtendedColorType::Rgb16,
        (_, 16) => ExtendedColorType::Rgba16,
        _ => bail!("{name}: a PNG has no samples of {depth} bits: write this picture to .ppm or .pgm"),
    };
    let bytes: Vec<u8> = match depth {
        8 => pixels(image).map(|sample| sample as u8).collect(),
        _ => pixels(image).flat_map(u16::to_ne_bytes).collect(),
    };
    let file = BufWriter::new(File::create(path).with_context(|| format!("{name} cannot be created"))?);
    let written = PngEncoder::new(file).write_image(&bytes, image.width as u32, image.height as u32, colour);
    written.with_context(|| format!("{name} cannot be written"))
}

fn pnm(path: &Path, image: &Image, depth: u8, kind: Kind) -> Result<()> {
    let name = path.display();
    let magic = match (kind, image.colour) {
        (Kind::Pgm, Colour::Grey) => "P5",
        (Kind::Pgm, _) => bail!("{name}: a .pgm file holds grey pictures only: write this one to .png or .ppm"),
        _ => "P6",
    };
    // Grey is as much of each colour.
    let times = if magic == "P6" && image.colour == Colour::Grey { 3 } else { 1 };
    let pixels = |image| pixels(image).flat_map(move |sample| std::iter::repeat_n(sample, times));
    let mut bytes = format!("{magic}\n{} {}\n{}\n", image.width, image.height, (1_u32 << depth) - 1).into_bytes();
    match depth {
        ..=8 => bytes.extend(pixels(image).map(|sample| sample as u8)),
        _ => bytes.extend(pixels(image).flat_map(u16::to_be_bytes)),
    }
    let written = File::create(path).and_then(|mut file| file.write_all(&bytes));
    written.with_context(|| format!("{name} cannot be written"))
}

/// Writes planes as they are, or what a picture of them looks like.
fn planes(path: &Path, image: &Image, has_colour: bool) -> Result<()> {
    let name = path.display();
    let size = FrameSize::new(image.width as u32, image.height as u32).with_context(|| format!("{name}: its size"))?;
    let is = |component: &ImageComponent, size: FrameSize| {
        (component.width, component.height) == (size.width(), size.height())
    };
    let format = match &image.components[..] {
        [y] if is(y, size) => PixelFormat::Grey8,
        [y, cb, cr] if [y, cb, cr].into_iter().all(|plane| is(plane, size)) && y.step == cb.step => PixelFormat::I444,
        [y, cb, cr] if is(y, size) && is(cb, size.halved()) && is(cr, size.halved()) => PixelFormat::I420,
        _ => bail!("{name}: its components are those of no clip: 4:2:0, 4:4:4 and grey ones can be written"),
    };
    let samples = || image.components.iter().flat_map(|component| &component.samples);
    let (depth, data): (_, Vec<u8>) = match image.components[0].depth {
        8 => (BitDepth::Eight, samples().map(|&sample| sample as u8).collect()),
        10 => (BitDepth::Ten, samples().flat_map(|&sample| (sample as u16).to_le_bytes()).collect()),
        other => bail!("{name}: samples of {other} bits cannot be written here: those of 8 and 10 can"),
    };
    let mut info = PictureInfo::usual(format, depth, size);
    if has_colour && image.colour == Colour::Ycc {
        info.colour = ColourSpace::JPEG;
    }
    let mut writer = Writer::create(path, info)?;
    writer.write(&data)?;
    writer.finish()
}
