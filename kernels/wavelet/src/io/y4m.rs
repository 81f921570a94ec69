//! YUV4MPEG2 clips as files.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBarIter;
use picture::frame::{Chroma, FrameRate, PixelFormat};
use picture::y4m::{Y4mHeader, Y4mReader, Y4mWriter};

use super::{Output, PictureInfo};
use crate::progress;

/// A Y4M file being read.
pub(crate) struct Y4mInput {
    path: PathBuf,
    reader: Y4mReader<BufReader<ProgressBarIter<File>>>,
    info: PictureInfo,
}

impl Y4mInput {
    /// Opens the clip at `path` and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
        let file = BufReader::with_capacity(1 << 20, progress::watched(file)?);
        let reader = Y4mReader::new(file).with_context(name)?;
        let header = reader.header();
        let frame_rate = header.rate.unwrap_or(FrameRate::USUAL);
        let info = PictureInfo {
            size: header.size,
            format: header.format(),
            depth: header.depth,
            raster: header.raster,
            colour: header.colour,
            frame_rate,
        };
        Ok(Self { path: path.to_owned(), reader, info })
    }

    /// Returns the properties that all frames share.
    pub(crate) fn info(&self) -> PictureInfo {
        self.info
    }

    /// Returns the next frame's planes; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut data = Vec::new();
        let is_there = self.reader.read(&mut data).with_context(|| self.path.display().to_string())?;
        Ok(is_there.then_some(data))
    }
}

/// A Y4M file being written.
pub(crate) struct Y4mOutput {
    path: PathBuf,
    writer: Y4mWriter<Output>,
}

impl Y4mOutput {
    /// Creates a clip at `path`; `info.format` is planar or grey, an error for any other.
    pub(crate) fn create(path: &Path, info: PictureInfo) -> Result<Self> {
        Self::begin(path, info, || Output::create(path))
    }

    /// Begins a clip in `file`, from where it goes on to what is called `path`; as [`Self::create`] otherwise.
    pub(crate) fn to(file: File, path: &Path, info: PictureInfo) -> Result<Self> {
        Self::begin(path, info, || Ok(Output::of(file, path)))
    }

    fn begin(path: &Path, info: PictureInfo, output: impl FnOnce() -> Result<Output>) -> Result<Self> {
        let chroma = match info.format {
            PixelFormat::Grey8 => Chroma::Grey,
            PixelFormat::I444 => Chroma::C444,
            PixelFormat::I420 => Chroma::C420,
            _ => bail!("{}: a .y4m file holds no RGB pictures: write this one to .png or .ppm", path.display()),
        };
        let PictureInfo { size, depth, raster, colour, frame_rate, .. } = info;
        let header = Y4mHeader { size, rate: Some(frame_rate), chroma, raster, depth, colour };
        let output = output()?;
        let writer = Y4mWriter::new(output, &header).with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Appends a frame of `info.format`.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<()> {
        self.writer.write(data).with_context(|| cannot_write(&self.path))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.into_inner().finish()?;
        Ok(())
    }
}

fn cannot_write(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}
