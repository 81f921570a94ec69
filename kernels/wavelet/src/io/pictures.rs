//! Files of pictures of any kind, read and written.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::content::{self, Content};
use super::{Kind, PictureInfo, still, y4m};
use crate::progress::say;

/// Kinds that pictures are written as.
pub(crate) const PICTURES: [Kind; 4] = [Kind::Png, Kind::Ppm, Kind::Pgm, Kind::Y4m];

/// The pictures of a file, one after another.
pub(crate) enum Reader {
    Still(still::Still),
    Y4m(y4m::Y4mInput),
}

impl Reader {
    /// Opens the picture or clip at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        match content::of(path)? {
            Content::Clip => y4m::Y4mInput::open(path).map(Self::Y4m),
            Content::Still => still::read(path).map(Self::Still),
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
                say(format_args!("{name} has samples of more than 8 bits, of which 8 are used"));
            }
            self.warn_of_transparency(path);
        }
    }

    /// Says on standard error that the file, which lies at `path`, is transparent, if it is.
    pub(crate) fn warn_of_transparency(&self, path: &Path) {
        if matches!(self, Self::Still(still) if still.is_transparent) {
            say(format_args!("{} is transparent in places: that is left out", path.display()));
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

/// Takes a picture.
type Take = Box<dyn FnMut(&[u8]) -> Result<()>>;

/// Writes decoded pictures, all of the same [`PictureInfo`] in a planar format.
pub(crate) enum Writer {
    Still {
        path: PathBuf,
        kind: Kind,
        info: PictureInfo,
        written: bool,
    },
    Y4m(y4m::Y4mOutput),
    /// Each picture is given away.
    Each(Take),
}

impl Writer {
    /// Creates the file at `path` for pictures of `info`.
    pub(crate) fn create(path: &Path, info: PictureInfo) -> Result<Self> {
        match Kind::of(path, &PICTURES)? {
            Kind::Y4m => Ok(Self::Y4m(y4m::Y4mOutput::create(path, info)?)),
            kind => {
                still::check(path, kind, &info)?;
                Ok(Self::Still { path: path.to_owned(), kind, info, written: false })
            }
        }
    }

    /// Writes a clip into `file`, from where it goes on to what is called `path`.
    pub(crate) fn to(file: File, path: &Path, info: PictureInfo) -> Result<Self> {
        y4m::Y4mOutput::to(file, path, info).map(Self::Y4m)
    }

    /// Appends a picture.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<()> {
        match self {
            Self::Y4m(writer) => writer.write(data),
            Self::Each(take) => take(data),
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
            Self::Still { .. } | Self::Each(_) => Ok(()),
            Self::Y4m(writer) => writer.finish(),
        }
    }
}
