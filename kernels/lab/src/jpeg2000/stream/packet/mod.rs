//! Packets: which blocks bring what to a layer, and the bytes of it (ISO/IEC 15444-1, annex B.9 and B.10).

mod read;
mod write;

pub(crate) use self::read::{Broken, ReadBand, ReadBlock, read};
pub(crate) use self::write::{Share, WrittenBand, write};

/// Most passes that a packet can bring to a block.
const PASSES_MAX: usize = 164;
/// Bits of a length, before there are more.
const LENGTH_BITS: u32 = 3;
