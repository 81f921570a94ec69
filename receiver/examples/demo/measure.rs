//! How like the clip the received pictures are.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use common::frame::{ColourSpace, FrameSize, PixelFormat};
use kernels::Picture;
use receiver::sink::colour::Converter;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// The luma planes of the clip.
pub(crate) struct Clip {
    size: FrameSize,
    lumas: Vec<Vec<u8>>,
}

impl Clip {
    /// Decodes the luma of all pictures of a motion JPEG file, with the sender's decoder.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read the clip {}", path.display()))?;
        let mut size = None;
        let mut lumas = Vec::new();
        for jpeg in pictures(&bytes) {
            let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::YCbCr);
            let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
            let samples = decoder.decode().map_err(|e| anyhow!("picture {} of the clip: {e:?}", lumas.len()))?;
            let (width, height) = decoder.dimensions().context("a picture without a size")?;
            let new = FrameSize::new(width.try_into()?, height.try_into()?)?;
            if *size.get_or_insert(new) != new {
                bail!("the clip's pictures differ in size");
            }
            lumas.push(samples.chunks_exact(3).map(|pixel| pixel[0]).collect());
        }
        let size = size.with_context(|| format!("there is no picture in {}", path.display()))?;
        Ok(Self { size, lumas })
    }

    /// Size of its pictures.
    pub(crate) fn size(&self) -> FrameSize {
        self.size
    }
}

/// The pictures of a motion JPEG file: each from its start marker to the next one's.
fn pictures(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_start =
        |at: &usize| bytes[*at..].starts_with(b"\xff\xd8\xff") && (*at == 0 || bytes[..*at].ends_with(b"\xff\xd9"));
    let mut starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
    starts.push(bytes.len());
    (1..starts.len()).map(move |index| &bytes[starts[index - 1]..starts[index]])
}

/// What was received.
pub(crate) struct Measured {
    pub(crate) frames: u64,
    pub(crate) psnr_mean: f64,
    pub(crate) psnr_worst: f64,
    pub(crate) png: PathBuf,
}

impl Measured {
    /// What is not as it should be, one sentence each.
    pub(crate) fn faults(&self, backend: &str, frames: u64, psnr_floor: f64) -> Vec<String> {
        let mut faults = Vec::new();
        if self.frames != frames {
            faults.push(format!("{backend}: {} pictures are in the file, not {frames}", self.frames));
        }
        if self.psnr_mean < psnr_floor {
            faults.push(format!("{backend}: PSNR-Y is {:.2} dB, below {psnr_floor}", self.psnr_mean));
        }
        faults
    }
}

/// Compares each picture of the Y4M file `received` with the clip's picture of that number, the clip repeated, and
/// writes the last one to `png`.
pub(crate) fn received(clip: &Clip, received: &Path, png: &Path) -> Result<Measured> {
    let file = File::open(received).with_context(|| format!("cannot read {}", received.display()))?;
    let mut decoder = y4m::decode(BufReader::with_capacity(1 << 20, file)).context("the received file is no Y4M")?;
    if (decoder.get_width(), decoder.get_height()) != (clip.size.width(), clip.size.height()) {
        bail!("the received pictures have another size than the clip");
    }
    let mut psnrs = Vec::new();
    let mut last = Picture::new(PixelFormat::I420, clip.size);
    loop {
        let frame = match decoder.read_frame() {
            Ok(frame) => frame,
            Err(y4m::Error::EOF) => break,
            Err(error) => bail!("the received file breaks after {} pictures: {error}", psnrs.len()),
        };
        psnrs.push(psnr(&clip.lumas[psnrs.len() % clip.lumas.len()], frame.get_y_plane()));
        let planes = [frame.get_y_plane(), frame.get_u_plane(), frame.get_v_plane()].concat();
        last.data_mut().copy_from_slice(&planes);
    }
    write_png(&last, png)?;
    let mean = psnrs.iter().sum::<f64>() / psnrs.len().max(1) as f64;
    let worst = psnrs.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Measured { frames: psnrs.len() as u64, psnr_mean: mean, psnr_worst: worst, png: png.to_owned() })
}

/// Peak signal to noise ratio of 8-bit samples, dB; 99 for equal pictures.
fn psnr(sent: &[u8], received: &[u8]) -> f64 {
    let squares: u64 = sent.iter().zip(received).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    if squares == 0 {
        return 99.0;
    }
    10.0 * (255.0 * 255.0 * sent.len() as f64 / squares as f64).log10()
}

fn write_png(picture: &Picture, path: &Path) -> Result<()> {
    let size = picture.size();
    let mut pixels = Vec::new();
    // The clip is motion JPEG, so its samples mean what JPEG's do.
    Converter::new(ColourSpace::JPEG, size).convert(picture, &mut pixels);
    let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_be_bytes().into_iter().skip(1)).collect();
    let image = image::RgbImage::from_raw(size.width() as u32, size.height() as u32, bytes);
    image
        .context("the picture has too few pixels")?
        .save(path)
        .with_context(|| format!("cannot write {}", path.display()))
}
