//! The `.duet` file: stream parameters, then frames as their bytes would go on the wire.
//!
//! ```text
//! "DUET"  u16 version  stream parameters (24 bytes)
//! per frame: u32 length of what follows, u8 step, u24 fine blocks, one run of all blocks
//! ```
//! All little-endian.

use std::io::{self, Write};

use crate::coded::CodedFrame;
use crate::params::StreamParams;
use crate::wire::DecodeError;

/// Writes the head of a file.
pub fn write_header(params: &StreamParams, out: &mut impl Write) -> io::Result<()> {
    todo!()
}

/// Writes one frame; its length field counts [`crate::wire::run::coded_size`] bytes.
pub fn write_frame(frame: &CodedFrame, out: &mut impl Write) -> io::Result<()> {
    todo!()
}

/// Reads a file that lies in memory.
#[derive(Clone, Debug)]
pub struct ContainerReader<'a> {
    params: StreamParams,
    blocks: usize,
    rest: &'a [u8],
}

impl<'a> ContainerReader<'a> {
    /// Checks the head of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        todo!()
    }

    /// The stream's parameters.
    pub fn params(&self) -> &StreamParams {
        &self.params
    }

    /// The next frame; `None` at the end of the file.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>, DecodeError> {
        todo!()
    }
}
