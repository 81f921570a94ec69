//! The `.duet` file: stream parameters, then frames as their bytes would go on the wire, with checksums.
//!
//! ```text
//! "DUET"  u16 version  stream parameters (25 bytes)  u8 siting  [u32 pixel width  u32 pixel height]  check
//! per frame: u32 length of what follows the head, u32 number, u8 kind, check; then, of frames made of blocks:
//!            u8 step, u24 fine blocks, directory of a run of all blocks, of kinds 0 and 1 a map, of 2 and 3 a list; kinds 1 and 3: a
//!            map of the blocks that are missing; check
//!            the blocks' bytes, in pieces of whole blocks of together at least 2048 bytes, the last one with fewer; each and a check
//! the end: a head of kind 255 with length 0 and, as its number, how many pictures there are in all
//! ```
//! A frame of a profile with prediction has one byte more in front, how many pictures before it its reference is (0: it has
//! none); with a reference, the run holds the slices of vectors and then the blocks. A frame of the profile `pcwt` is bytes that
//! only its decoder reads, and a check. Numbers count pictures from 0; where one has no frame, the picture before it
//! stands. Siting is 0, 1, .. in the order of
//! [`crate::frame::Siting`]. A *check* is the CRC-32 (ISO 3309) of the bytes before it, since the last check. All numbers
//! are little-endian.
//!
//! Files without prediction are of version 4 and have no kinds 2 and 3, those with it of version 5; pixels are square there.
//! Versions 8 and 9 are the same two with the shape of a pixel in the head. Files of version 2 have no siting, no checks, no
//! numbers, no kinds and no end: a frame is `u32 length`, then `u8 step, u24 fine blocks` and one run.

mod reader;
mod writer;

pub use reader::{ContainerReader, Content, Damage, Entry, FileFrame};
pub use writer::ContainerWriter;

use crate::frame::PixelAspect;
use crate::params::{PARAMS_BYTES, ParamsError, RASTER_BYTES, StreamParams};
use crate::run::RunError;

/// Reasons for which a file, or a frame of one, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FileError {
    #[error("not a .duet file: it is shorter than the head of one")]
    ShorterThanHead,
    #[error("not a .duet file: it does not begin with `DUET`")]
    OtherKind,
    #[error("a frame is shorter than its header")]
    ShorterThanFrameHeader,
    #[error("a frame's step is beyond the coarsest")]
    UnknownStep,
    #[error(transparent)]
    Params(#[from] ParamsError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the head of the file is damaged, so nothing in it can be decoded")]
    Head,
    #[error(
        "this is a .duet file of version {found}, and this program reads versions {UNCHECKED_VERSION}, {FILE_VERSION}, {GROUPS_VERSION}, {FILTER_VERSION}, {}, {} and {}: make it anew with this program, or read it with the one that made it",
        FILE_VERSION + ASPECT,
        GROUPS_VERSION + ASPECT,
        FILTER_VERSION + ASPECT
    )]
    Version { found: u16 },
}

/// Version of the file and of the coded frames in it. From the one before, 2, it differs in two bits, so that a damaged bit
/// does not turn checks off.
pub const FILE_VERSION: u16 = 4;
/// Version of files with prediction: lists of blocks, and blocks in groups.
pub const GROUPS_VERSION: u16 = 5;
/// Version of files with prediction whose slices may say what is filtered; it, too, differs in two bits from the one without
/// checks.
pub const FILTER_VERSION: u16 = 7;
/// Added to a version: the head has the shape of a pixel, too.
const ASPECT: u16 = 4;
/// The version without checks.
pub const UNCHECKED_VERSION: u16 = 2;

/// Longest time for which a picture stands because no frame follows, seconds.
pub const PAUSE_MAX_S: f64 = 3600.0;

const MAGIC: &[u8; 4] = b"DUET";
/// Magic, version and parameters.
const UNCHECKED_HEAD_BYTES: usize = MAGIC.len() + 2 + PARAMS_BYTES;
/// These and the siting.
const FILE_HEAD_BYTES: usize = UNCHECKED_HEAD_BYTES + 1;
/// The shape of a pixel.
const ASPECT_BYTES: usize = RASTER_BYTES - 1;
const CHECK_BYTES: usize = 4;
/// Length, number and kind of a frame.
const FRAME_HEAD_BYTES: usize = 9;
/// Least bytes of a piece of a frame that is checked by itself, but for the last.
const PIECE_BYTES: usize = 2048;

/// A frame all of whose blocks are there.
const WHOLE: u8 = 0;
/// A frame some of whose blocks are missing.
const PARTIAL: u8 = 1;
/// The same two, with a list instead of a map.
const WHOLE_LIST: u8 = 2;
const PARTIAL_LIST: u8 = 3;
/// No frame: the end.
const END: u8 = 255;

/// Returns the bytes of a file that belong to no frame.
pub fn file_bytes(params: &StreamParams) -> usize {
    let aspect = if params.raster.aspect == PixelAspect::SQUARE { 0 } else { ASPECT_BYTES };
    FILE_HEAD_BYTES + aspect + CHECK_BYTES + FRAME_HEAD_BYTES + CHECK_BYTES
}

/// Returns the most that a frame takes in a file besides its [`crate::run::coded_size`], if both together are at most
/// `bytes`.
pub const fn frame_overhead(bytes: usize) -> usize {
    FRAME_HEAD_BYTES + CHECK_BYTES + CHECK_BYTES + CHECK_BYTES * (bytes / PIECE_BYTES + 1)
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameHead {
    length: u32,
    number: u32,
    kind: u8,
}

impl FrameHead {
    fn to_bytes(self) -> [u8; FRAME_HEAD_BYTES + CHECK_BYTES] {
        let mut bytes = [0; FRAME_HEAD_BYTES + CHECK_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8] = self.kind;
        let check = crc32fast::hash(&bytes[..FRAME_HEAD_BYTES]);
        bytes[FRAME_HEAD_BYTES..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// The head at the start of `bytes`; `None` if there is none or a damaged one.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<FRAME_HEAD_BYTES>()?;
        let [a, b, c, d, e, f, g, h, kind] = *head;
        if !matches!(kind, WHOLE | PARTIAL | WHOLE_LIST | PARTIAL_LIST | END)
            || crc32fast::hash(head).to_le_bytes() != *rest.first_chunk()?
        {
            return None;
        }
        Some(Self { length: u32::from_le_bytes([a, b, c, d]), number: u32::from_le_bytes([e, f, g, h]), kind })
    }
}

/// The pieces in which blocks of these lengths are checked, as numbers of blocks and of bytes; behind the last one no block has
/// bytes.
fn pieces(lengths: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let (mut blocks, mut bytes) = (0, 0);
    for length in lengths {
        (blocks, bytes) = (blocks + 1, bytes + length);
        if bytes >= PIECE_BYTES {
            pieces.push((blocks, bytes));
            (blocks, bytes) = (0, 0);
        }
    }
    if bytes > 0 {
        pieces.push((blocks, bytes));
    }
    pieces
}

#[cfg(test)]
mod tests;
