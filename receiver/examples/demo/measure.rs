//! Similarity of the received pictures to the clip.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use common::config::{parse_sender, resolve_sender};
use kernels::Picture;
use picture::frame::{ColourSpace, FrameSize, PixelFormat};
use picture::y4m::Y4mReader;
use sending::source::{SourceFrame, SourceSpec};

/// The luma planes of the clip.
pub(crate) struct Clip {
    size: FrameSize,
    lumas: Vec<Vec<u8>>,
}

impl Clip {
    /// Reads the luma of all pictures of a motion JPEG file, as the sender reads them.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let spec = SourceSpec::parse(&format!("mjpeg:{}:fps=0", path.display()))?;
        let config = resolve_sender(&parse_sender("")?)?;
        let mut source = sending::source::open(&spec, &config)?;
        let size = source.info().size;
        let mut lumas = Vec::new();
        while let Some(frame) = source.next(Vec::new())? {
            lumas.push(luma_of(&frame, size));
        }
        Ok(Self { size, lumas })
    }

    /// Returns the size of its pictures.
    pub(crate) fn size(&self) -> FrameSize {
        self.size
    }
}

/// Figures of the received pictures.
pub(crate) struct Measured {
    pub(crate) frames: u64,
    pub(crate) psnr_mean: f64,
    pub(crate) psnr_worst: f64,
    pub(crate) png: PathBuf,
}

impl Measured {
    /// Returns the faults found, one sentence each.
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
    let mut reader = Y4mReader::new(BufReader::with_capacity(1 << 20, file)).context("the received file is no Y4M")?;
    let header = *reader.header();
    if (header.size, header.format()) != (clip.size, PixelFormat::I420) {
        bail!("the received pictures have another size or sampling than the clip");
    }
    let mut psnrs = Vec::new();
    let (mut planes, mut last) = (Vec::new(), Picture::new(PixelFormat::I420, clip.size));
    while reader.read(&mut planes).context("the received file breaks")? {
        psnrs.push(psnr(&clip.lumas[psnrs.len() % clip.lumas.len()], &planes[..clip.size.pixels()]));
        last.data_mut().copy_from_slice(&planes);
    }
    write_png(&last, png)?;
    let mean = psnrs.iter().sum::<f64>() / psnrs.len().max(1) as f64;
    let worst = psnrs.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Measured { frames: psnrs.len() as u64, psnr_mean: mean, psnr_worst: worst, png: png.to_owned() })
}

/// Returns the luma of a picture of the clip.
pub(crate) fn luma_of(frame: &SourceFrame, size: FrameSize) -> Vec<u8> {
    let step = match frame.format {
        PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8 => 1,
        PixelFormat::Yuyv => 2,
        // Of a clip without luma, as no JPEG decoder of ours gives one, the first colour.
        PixelFormat::YCbCr8 | PixelFormat::Rgb8 => 3,
    };
    frame.data.iter().copied().step_by(step).take(size.pixels()).collect()
}

/// Returns the peak signal to noise ratio of 8-bit samples, dB; 99 for equal pictures.
pub(crate) fn psnr(sent: &[u8], received: &[u8]) -> f64 {
    picture::psnr::psnr_db(sent, received).min(99.0)
}

fn write_png(picture: &Picture, path: &Path) -> Result<()> {
    let size = picture.size();
    let mut pixels = Vec::new();
    // The clip is motion JPEG, so its samples mean what JPEG's do.
    kernels::Converter::new(ColourSpace::JPEG).convert(picture, &mut pixels);
    let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_be_bytes().into_iter().skip(1)).collect();
    let image = image::RgbImage::from_raw(size.width() as u32, size.height() as u32, bytes);
    image
        .context("the picture has too few pixels")?
        .save(path)
        .with_context(|| format!("cannot write {}", path.display()))
}
