//! Pictures and arrays in files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kernels::{PictureError, PictureRef};
use picture::frame::{BitDepth, ColourSpace, FrameRate, FrameSize, PixelFormat};
use picture::y4m::Siting;

pub(crate) mod npy;
pub(crate) mod rgb;
mod still;
mod y4m;

/// Properties that all pictures of a file share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PictureInfo {
    pub(crate) size: FrameSize,
    pub(crate) format: PixelFormat,
    pub(crate) depth: BitDepth,
    /// Where chroma of 4:2:0 lies.
    pub(crate) siting: Siting,
    /// Meaning of Y, Cb and Cr, now or after conversion from RGB.
    pub(crate) colour: ColourSpace,
    pub(crate) frame_rate: FrameRate,
}

impl PictureInfo {
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
    Duet,
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
            Self::Duet => "duet",
        }
    }
}

fn warn(sentence: std::fmt::Arguments<'_>) {
    // Nobody may be reading, which is no failure of ours.
    let _ = writeln!(std::io::stderr(), "wavelet: {sentence}");
}

/// Kinds that hold pictures.
pub(crate) const PICTURES: [Kind; 4] = [Kind::Png, Kind::Ppm, Kind::Pgm, Kind::Y4m];

/// The pictures of a file, one after another.
pub(crate) enum Reader {
    Still(still::Still),
    Y4m(y4m::Reader),
}

impl Reader {
    /// Opens the picture or clip at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        match Kind::of(path, &PICTURES)? {
            Kind::Y4m => Ok(Self::Y4m(y4m::Reader::open(path)?)),
            _ => still::read(path).map(Self::Still),
        }
    }

    /// Returns the properties that all pictures share.
    pub(crate) fn info(&self) -> PictureInfo {
        match self {
            Self::Still(still) => still.info,
            Self::Y4m(reader) => reader.info(),
        }
    }

    /// Returns true if the file is a single picture by its kind.
    pub(crate) fn is_still(&self) -> bool {
        matches!(self, Self::Still(..))
    }

    /// Says on standard error what of the file, which lies at `path`, its pictures here do not have.
    pub(crate) fn warn(&self, path: &Path) {
        let name = path.display();
        if let Self::Still(still) = self {
            if still.is_rounded {
                warn(format_args!("{name} has samples of more than 8 bits, of which 8 are used"));
            }
            self.warn_of_transparency(path);
        }
    }

    /// Says on standard error that the file, which lies at `path`, is transparent, if it is.
    pub(crate) fn warn_of_transparency(&self, path: &Path) {
        if matches!(self, Self::Still(still) if still.is_transparent) {
            warn(format_args!("{} is transparent in places: that is left out", path.display()));
        }
    }

    /// Returns an error if the file, which lies at `path`, has finer samples than its pictures here.
    pub(crate) fn check_exact(&self, path: &Path) -> Result<()> {
        if matches!(self, Self::Still(still) if still.is_rounded) {
            let name = path.display();
            bail!(
                "{name} has samples of more than 8 bits: without loss, those of 8 bits can be used, and `encode` also takes those of 10 from .ppm, .pgm and .y4m"
            );
        }
        Ok(())
    }

    /// Returns the next picture's bytes; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Still(still) => Ok(still.data.take()),
            Self::Y4m(reader) => reader.next(),
        }
    }

    /// Returns the first picture's bytes.
    pub(crate) fn first(&mut self, path: &Path) -> Result<Vec<u8>> {
        self.next()?.with_context(|| format!("{}: there is no picture in it", path.display()))
    }
}

/// Writes decoded pictures, all of the same [`PictureInfo`] in a planar format.
pub(crate) enum Writer {
    Still { path: PathBuf, kind: Kind, info: PictureInfo, written: bool },
    Y4m(y4m::Writer),
}

impl Writer {
    /// Creates the file at `path` for pictures of `info`.
    pub(crate) fn create(path: &Path, info: PictureInfo) -> Result<Self> {
        match Kind::of(path, &PICTURES)? {
            Kind::Y4m => Ok(Self::Y4m(y4m::Writer::create(path, info)?)),
            kind => {
                still::check(path, kind, &info)?;
                Ok(Self::Still { path: path.to_owned(), kind, info, written: false })
            }
        }
    }

    /// Appends a picture.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<()> {
        match self {
            Self::Y4m(writer) => writer.write(data),
            Self::Still { path, written: true, .. } => {
                bail!("{} can hold only one of the frames: write them to a .y4m file", path.display())
            }
            Self::Still { path, kind, info, written } => {
                *written = true;
                still::write(path, *kind, info, data)
            }
        }
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Still { .. } => Ok(()),
            Self::Y4m(writer) => writer.finish(),
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
        Ok(Self { path: path.to_owned(), writer: BufWriter::with_capacity(1 << 20, file), written: 0, finished: false })
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
