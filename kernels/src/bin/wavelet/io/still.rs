//! Single pictures: PNG, PPM, PGM.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, bail};
use common::frame::{ColourSpace, FrameSize, PixelFormat};
use common::units::FrameRate;
use image::codecs::png::PngEncoder;
use image::codecs::pnm::{PnmEncoder, PnmSubtype, SampleEncoding};
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageReader, Limits};

use super::{Kind, PictureInfo, rgb};

/// Largest picture of 16384 x 16384 with four samples of 16 bits.
const DECODED_BYTES_MAX: u64 = 2 << 30;
/// Nominal rate of pictures that have none.
pub(super) const NOMINAL_RATE: Option<FrameRate> = FrameRate::new(30, 1);

/// Reads the picture at `path` as 8-bit grey or RGB; transparency is dropped.
pub(crate) fn read(path: &Path) -> Result<(PictureInfo, Vec<u8>)> {
    let name = path.display();
    let mut reader = ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .with_context(|| format!("{name} cannot be opened"))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let cannot = || format!("{name} cannot be read as a picture");
    let decoder = reader.into_decoder().with_context(cannot)?;
    let (width, height) = decoder.dimensions();
    let size = FrameSize::new(width, height).with_context(|| format!("{name} cannot be used"))?;
    let grey = !decoder.color_type().has_color();
    let picture = DynamicImage::from_decoder(decoder).with_context(cannot)?;
    let frame_rate = NOMINAL_RATE.with_context(cannot)?;
    let info = |format| PictureInfo { size, format, colour: ColourSpace::BT709_LIMITED, frame_rate };
    Ok(match grey {
        true => (info(PixelFormat::Grey8), picture.into_luma8().into_raw()),
        false => (info(PixelFormat::Rgb8), picture.into_rgb8().into_raw()),
    })
}

/// Whether a picture of `format` can become a file of `kind`.
pub(crate) fn check(path: &Path, kind: Kind, format: PixelFormat) -> Result<()> {
    if kind == Kind::Pgm && format != PixelFormat::Grey8 {
        bail!("{}: a .pgm file holds grey pictures only: write this one to .png or .ppm", path.display());
    }
    Ok(())
}

/// Writes a planar or RGB picture as `kind`.
pub(crate) fn write(path: &Path, kind: Kind, info: &PictureInfo, data: &[u8]) -> Result<()> {
    let name = path.display();
    let (width, height) = (info.size.width() as u32, info.size.height() as u32);
    let file = BufWriter::new(File::create(path).with_context(|| format!("{name} cannot be created"))?);
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

/// Without its subtype the encoder writes PAM, whatever the file's name says.
fn pnm(file: BufWriter<File>, subtype: PnmSubtype) -> PnmEncoder<BufWriter<File>> {
    PnmEncoder::new(file).with_subtype(subtype)
}
