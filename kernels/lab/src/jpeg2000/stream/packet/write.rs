//! Writes packets.

use super::LENGTH_BITS;
use crate::jpeg2000::stream::bits::StuffedWriter;
use crate::jpeg2000::stream::tagtree::TagTree;

/// A block's share of a layer: passes and bytes, in addition to those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share<'a> {
    pub(crate) passes: usize,
    pub(crate) bytes: &'a [u8],
}

/// The blocks of a band in a precinct, on their way through the layers.
pub(crate) struct WrittenBand {
    inclusion: TagTree,
    zero_planes: TagTree,
    /// Of each block: the layer in which it begins, and the bits of its lengths.
    blocks: Vec<(usize, u32)>,
    planes: Vec<u32>,
}

impl WrittenBand {
    /// Returns a grid of `columns` columns; of each block the first layer with something of it, and the planes without a one.
    pub(crate) fn new(columns: usize, firsts: &[usize], zero_planes: &[u32]) -> Self {
        let rows = firsts.len().checked_div(columns).unwrap_or(0);
        let layers: Vec<u32> = firsts.iter().map(|&first| first.try_into().unwrap_or(u32::MAX)).collect();
        Self {
            inclusion: TagTree::of(columns, rows, &layers),
            zero_planes: TagTree::of(columns, rows, zero_planes),
            blocks: firsts.iter().map(|&first| (first, LENGTH_BITS)).collect(),
            planes: zero_planes.to_vec(),
        }
    }
}

/// Appends the packet of `layer`, of all bands of a precinct: `shares` are those of each band's blocks.
pub(crate) fn write(bands: &mut [WrittenBand], shares: &[Vec<Share<'_>>], layer: usize, out: &mut Vec<u8>) {
    let mut bits = StuffedWriter::default();
    let is_empty = shares.iter().flatten().all(|share| share.passes == 0);
    bits.bit(!is_empty);
    if !is_empty {
        for (band, shares) in bands.iter_mut().zip(shares) {
            for (at, share) in shares.iter().enumerate() {
                header(band, at, share, layer, &mut bits);
            }
        }
    }
    out.extend(bits.finish());
    shares.iter().flatten().for_each(|share| out.extend(share.bytes));
}

fn header(band: &mut WrittenBand, at: usize, share: &Share<'_>, layer: usize, bits: &mut StuffedWriter) {
    let (first, length_bits) = band.blocks[at];
    if first < layer {
        bits.bit(share.passes > 0);
    } else {
        band.inclusion.write(at, layer as u32 + 1, bits);
    }
    if share.passes == 0 {
        return;
    }
    if first == layer {
        (1..=band.planes[at] + 1).for_each(|planes| band.zero_planes.write(at, planes, bits));
    }
    passes(share.passes, bits);
    let needed = usize::BITS - share.bytes.len().leading_zeros();
    let wanted = needed.saturating_sub(share.passes.ilog2()).max(length_bits);
    (length_bits..wanted).for_each(|_| bits.bit(true));
    bits.bit(false);
    bits.bits(share.bytes.len(), wanted + share.passes.ilog2());
    band.blocks[at].1 = wanted;
}

/// Writes a number of passes, 1 to 164.
fn passes(count: usize, bits: &mut StuffedWriter) {
    match count {
        0 | 1 => bits.bits(0, 1),
        2 => bits.bits(0b10, 2),
        3..=5 => bits.bits(0b1100 | (count - 3), 4),
        6..=36 => bits.bits(0b1111 << 5 | (count - 6), 9),
        _ => bits.bits(0b1_1111_1111 << 7 | (count - 37), 16),
    }
}
