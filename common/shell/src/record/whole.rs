//! A file into which everything is written wholly or not at all: a full disk leaves no half of a frame.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// The file, or a pipe or device, which keeps what it has.
#[derive(Debug)]
pub(super) struct Whole {
    file: File,
    place: u64,
    length: u64,
}

impl Whole {
    /// Takes an empty file.
    pub(super) fn new(file: File) -> Self {
        Self { file, place: 0, length: 0 }
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.file.write_all(bytes) {
            // Neither helps or harms with what is no file.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.place));
            return Err(error);
        }
        self.place += bytes.len() as u64;
        self.length = self.length.max(self.place);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Whole {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.place = self.file.seek(to)?;
        Ok(self.place)
    }
}
