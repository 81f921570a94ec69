//! Pictures and arrays in files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kernels::{PictureError, PictureRef};
use picture::container::ContainerWriter;
use picture::frame::{BitDepth, ColourSpace, FrameRate, FrameSize, PixelFormat, Raster};

use crate::progress::count;

mod content;
pub(crate) mod npy;
mod pictures;
pub(crate) mod rgb;
mod still;
mod y4m;

pub(crate) use content::{is_clip, is_of_pictures};
pub(crate) use pictures::{PICTURES, Reader, Writer};
pub(crate) use still::{guessed, upright};

/// Properties that all pictures of a file share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PictureInfo {
    pub(crate) size: FrameSize,
    pub(crate) format: PixelFormat,
    pub(crate) depth: BitDepth,
    /// Places of the samples.
    pub(crate) raster: Raster,
    /// Meaning of Y, Cb and Cr, now or after conversion from RGB.
    pub(crate) colour: ColourSpace,
    pub(crate) frame_rate: FrameRate,
}

impl PictureInfo {
    /// Returns those of pictures of which nothing else is known.
    pub(crate) fn usual(format: PixelFormat, depth: BitDepth, size: FrameSize) -> Self {
        let (raster, colour, frame_rate) = (Raster::default(), ColourSpace::BT709_LIMITED, FrameRate::USUAL);
        Self { size, format, depth, raster, colour, frame_rate }
    }

    /// Returns a picture of the file.
    pub(crate) fn picture<'a>(&self, data: &'a [u8]) -> Result<PictureRef<'a>, PictureError> {
        PictureRef::with_depth(self.format, self.depth, self.size, data)
    }
}

/// Kind of a file, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Ppm,
    Pgm,
    Y4m,
    Npy,
    Obj,
    Duet,
    J2k,
    Jp2,
    J2c,
    Jph,
    Mkv,
    Mp4,
}

impl Kind {
    /// Returns the kind of the file at `path`, which must be one of `allowed`.
    pub(crate) fn of(path: &Path, allowed: &[Self]) -> Result<Self> {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or("").to_ascii_lowercase();
        match allowed.iter().find(|kind| kind.ending() == ending) {
            Some(kind) => Ok(*kind),
            None => {
                let endings: Vec<_> = allowed.iter().map(|kind| format!(".{}", kind.ending())).collect();
                bail!("{}: the name must end in {}", path.display(), endings.join(" or "))
            }
        }
    }

    const fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Ppm => "ppm",
            Self::Pgm => "pgm",
            Self::Y4m => "y4m",
            Self::Npy => "npy",
            Self::Obj => "obj",
            Self::Duet => "duet",
            Self::J2k => "j2k",
            Self::Jp2 => "jp2",
            Self::J2c => "j2c",
            Self::Jph => "jph",
            Self::Mkv => "mkv",
            Self::Mp4 => "mp4",
        }
    }
}

/// A file being written; it disappears unless it is finished.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
    written: u64,
    finished: bool,
}

impl Output {
    /// Creates or empties the file at `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self::of(file, path))
    }

    /// Writes into `file`, which is, or goes on to, what is called `path`.
    pub(crate) fn of(file: File, path: &Path) -> Self {
        Self { path: path.to_owned(), writer: BufWriter::with_capacity(1 << 20, file), written: 0, finished: false }
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).with_context(|| format!("{} cannot be written", self.path.display()))
    }

    /// Ends the file and keeps it; returns its length in bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.writer.flush().with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.finished = true;
        Ok(self.written)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A device such as /dev/null must stay.
        let is_file = self.writer.get_ref().metadata().is_ok_and(|metadata| metadata.is_file());
        if !self.finished && is_file {
            // Nothing can be done, and the error that led here is already on its way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Ends the file `output` of at least so many pictures of `size` and keeps it; returns what is in it, and how many bits a
/// pixel takes.
pub(crate) fn finish(file: ContainerWriter<Output>, pictures: u32, size: FrameSize, output: &Path) -> Result<String> {
    let ended = file.finish(pictures).map_err(anyhow::Error::from).and_then(Output::finish);
    let total = ended.with_context(|| format!("{} cannot be written", output.display()))?;
    let bits_per_pixel = total as f64 * 8.0 / (f64::from(pictures) * size.pixels() as f64);
    Ok(format!("{} of {size}, {total} bytes, {bits_per_pixel:.4} bit per pixel", count(pictures.into())))
}
