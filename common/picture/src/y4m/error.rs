//! Errors of reading a Y4M stream.

use std::io;

/// Longest header line, bytes.
pub(super) const LINE_BYTES_MAX: u64 = 1024;

/// Errors of reading a Y4M stream. The texts go on from the file's name and a colon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Y4mError {
    /// There is no header.
    #[error("it is not a Y4M file: it does not begin with a Y4M header line of at most {LINE_BYTES_MAX} bytes")]
    NoHeader,
    /// The header says something that is not possible here.
    #[error("{0}")]
    Header(String),
    /// It ends within a picture.
    #[error("it ends in the middle of frame {0}")]
    Truncated(u64),
    /// Something else stands where a picture should begin.
    #[error("frame {0} does not begin with a FRAME line: the file is damaged there")]
    NoFrame(u64),
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}
