//! Reads packets.

use super::{LENGTH_BITS, PASSES_MAX};
use crate::jpeg2000::block::tier1::{Segment, Style};
use crate::jpeg2000::geometry::Grid;
use crate::jpeg2000::stream::bits::{Ended, StuffedReader};
use crate::jpeg2000::stream::tagtree::TagTree;

/// Planes without a one that a block can have; more than any quantiser leaves.
const ZERO_PLANES_MAX: u32 = 64;
/// Bits of a length: no file is longer.
const LENGTH_BITS_MAX: u32 = 32;

/// A block, as far as packets have told of it.
#[derive(Clone, Debug)]
pub(crate) struct ReadBlock {
    is_included: bool,
    /// Planes without a one, before the first.
    pub(crate) zero_planes: u32,
    length_bits: u32,
    passes: usize,
    /// Passes that still belong to the last segment.
    open: usize,
    pub(crate) segments: Vec<Segment>,
}

/// The blocks of a band in a precinct.
#[derive(Clone, Debug)]
pub(crate) struct ReadBand {
    inclusion: TagTree,
    zero_planes: TagTree,
    pub(crate) grid: Grid,
    pub(crate) blocks: Vec<ReadBlock>,
}

impl ReadBand {
    pub(crate) fn new(grid: Grid) -> Self {
        let block = ReadBlock {
            is_included: false,
            zero_planes: 0,
            length_bits: LENGTH_BITS,
            passes: 0,
            open: 0,
            segments: Vec::new(),
        };
        let tree = TagTree::unknown(grid.columns, grid.rows);
        Self { inclusion: tree.clone(), zero_planes: tree, blocks: vec![block; grid.blocks.len()], grid }
    }
}

/// Why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The bytes end before it does.
    Ended,
    /// It says what no encoder says.
    Damaged,
}

impl From<Ended> for Broken {
    fn from(Ended: Ended) -> Self {
        Self::Ended
    }
}

/// The marker before a packet, whose segment has six bytes, and the one after its header.
const BEFORE: [u8; 2] = [0xff, 0x91];
const BEFORE_LEN: usize = 6;
const AFTER: [u8; 2] = [0xff, 0x92];

/// Bytes of a block in a packet.
struct Part {
    band: usize,
    block: usize,
    /// They begin a segment.
    begins: bool,
    passes: usize,
    length: usize,
}

/// Reads the packet of `layer`; returns the bytes that it takes. One that is not whole changes no segment.
pub(crate) fn read(bands: &mut [ReadBand], layer: usize, style: Style, bytes: &[u8]) -> Result<usize, Broken> {
    let start = if bytes.starts_with(&BEFORE) { BEFORE_LEN } else { 0 };
    let mut bits = StuffedReader::new(bytes.get(start..).ok_or(Broken::Ended)?);
    let mut parts = Vec::new();
    if bits.bit()? {
        for (index, band) in bands.iter_mut().enumerate() {
            for at in 0..band.blocks.len() {
                // The first one asked the root: none begins in this layer or did before.
                if band.inclusion.has_none_below(layer as u32 + 1) {
                    break;
                }
                header(band, (index, at), layer, style, &mut bits, &mut parts)?;
            }
        }
    }
    let mut end = start + bits.finish()?;
    if bytes[end..].starts_with(&AFTER) {
        end += AFTER.len();
    }
    let wanted = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.length)).ok_or(Broken::Ended)?;
    if bytes.len() - end < wanted {
        return Err(Broken::Ended);
    }
    for Part { band, block, begins, passes, length } in parts {
        let segments = &mut bands[band].blocks[block].segments;
        if begins {
            segments.push(Segment::default());
        }
        if let Some(last) = segments.last_mut() {
            last.passes += passes;
            last.bytes.extend(&bytes[end..end + length]);
        }
        end += length;
    }
    Ok(end)
}

fn header(
    band: &mut ReadBand,
    (index, at): (usize, usize),
    layer: usize,
    style: Style,
    bits: &mut StuffedReader<'_>,
    parts: &mut Vec<Part>,
) -> Result<(), Broken> {
    let block = &mut band.blocks[at];
    let brings = match block.is_included {
        true => bits.bit()?,
        false => band.inclusion.read(at, layer as u32 + 1, bits)?,
    };
    if !brings {
        return Ok(());
    }
    if !block.is_included {
        block.is_included = true;
        while !band.zero_planes.read(at, block.zero_planes + 1, bits)? {
            block.zero_planes += 1;
            if block.zero_planes > ZERO_PLANES_MAX {
                return Err(Broken::Damaged);
            }
        }
    }
    let mut passes = passes(bits)?;
    let mut skipped = 0;
    if style.is_high_throughput() && block.passes == 0 {
        // Passes in threes before the first that there is: a plane each that is not coded.
        skipped = (passes - 1) / 3 * 3;
        passes -= skipped;
        block.zero_planes += (skipped / 3) as u32;
    }
    while bits.bit()? {
        block.length_bits += 1;
        if block.length_bits > LENGTH_BITS_MAX {
            return Err(Broken::Damaged);
        }
    }
    while passes > 0 {
        let begins = block.open == 0;
        if begins {
            block.open = style.passes_left(block.passes);
        }
        if block.open == 0 {
            return Err(Broken::Damaged);
        }
        let here = passes.min(block.open);
        let length = bits.bits(block.length_bits + (here + std::mem::take(&mut skipped)).ilog2())?;
        parts.push(Part { band: index, block: at, begins, passes: here, length });
        block.open -= here;
        block.passes += here;
        passes -= here;
    }
    Ok(())
}

/// Reads a number of passes.
fn passes(bits: &mut StuffedReader<'_>) -> Result<usize, Ended> {
    // What each number of bits says, before all of them are ones.
    for (count, first) in [(1, 1), (1, 2), (2, 3), (5, 6)] {
        let value = bits.bits(count)?;
        if value < (1 << count) - 1 || count == 1 && value == 0 {
            return Ok(first + value);
        }
    }
    Ok((37 + bits.bits(7)?).min(PASSES_MAX))
}
