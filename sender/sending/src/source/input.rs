//! The bytes of a file or of standard input.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use net::failure::Failure;

pub(super) fn failed(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
}

/// A file or standard input.
pub(super) enum Input {
    File(File),
    Stdin(std::io::Stdin),
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdin(std::io::stdin()));
        }
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(failed(path, &"it is a directory"));
        }
        Ok(Self::File(file))
    }

    /// Opens a file once more, which must be able to begin again.
    pub(super) fn open_again(path: &Path) -> Result<Self, Failure> {
        let mut input = Self::open(path)?;
        input.rewind(path)?;
        Ok(input)
    }

    pub(super) fn rewind(&mut self, path: &Path) -> Result<(), Failure> {
        match self {
            Self::File(file) => file.rewind().map_err(|error| failed(path, &format!("it cannot begin again: {error}"))),
            Self::Stdin(_) => Err(failed(path, &"standard input cannot begin again")),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
        }
    }
}
