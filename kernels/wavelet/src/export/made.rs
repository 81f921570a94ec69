//! The places of a film in the making: a file beside it and a folder of sockets, which both disappear unless it is kept.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A film in the making.
pub(super) struct Made {
    output: PathBuf,
    part: PathBuf,
    sockets: PathBuf,
}

impl Made {
    /// Begins the film `output`.
    pub(super) fn begin(output: &Path) -> Result<Self> {
        let name = output.display();
        ensure!(!output.is_dir(), "{name} is a folder: name the film in it");
        let part = output.with_extension(format!("{}.part", std::process::id()));
        fs::File::create(&part).with_context(|| format!("{name} cannot be written"))?;
        let sockets = std::env::temp_dir().join(format!("duet-export-{}", std::process::id()));
        let made = Self { output: output.to_owned(), part, sockets };
        // Of this user alone.
        let folder = DirBuilder::new().mode(0o700).create(&made.sockets);
        folder.with_context(|| format!("{} cannot be made", made.sockets.display()))?;
        Ok(made)
    }

    /// Returns the file into which the film goes.
    pub(super) fn part(&self) -> &Path {
        &self.part
    }

    /// Returns the path of the socket of a side.
    pub(super) fn socket(&self, side: usize) -> PathBuf {
        self.sockets.join(side.to_string())
    }

    /// Makes that socket.
    pub(super) fn listen(&self, side: usize) -> Result<UnixListener> {
        let path = self.socket(side);
        let listener = UnixListener::bind(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Puts the film in its place.
    pub(super) fn keep(self) -> io::Result<()> {
        fs::rename(&self.part, &self.output)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // A film that was kept is not there any more; of what stays nobody could be told more than is being told.
        let _ = fs::remove_file(&self.part);
        let _ = fs::remove_dir_all(&self.sockets);
    }
}
