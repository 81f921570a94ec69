//! The coefficient code of the profile `pcwt` in plain Rust, a bit at a time: J. Ao, "Fast and efficient lossless image
//! compression based on CUDA parallel wavelet tree encoding", Texas Tech University, 2014, chapters 3.2 to 4.2.
//!
//! Lengths are one more than the quantisation levels of the dissertation: the bits of a magnitude, 0 for a zero.

use crate::pcwt::{CodedChannel, Group, ReceivedChannel, Tree};
use crate::reference::bits::{BitReader, BitWriter};

/// Returns the bits of a coefficient's magnitude without its last `qmin`.
fn length(coefficient: i32, qmin: u8) -> u8 {
    (u32::BITS - (coefficient.unsigned_abs() >> qmin).leading_zeros()) as u8
}

/// Returns the maximum length of every element (section 3.2): of its coefficients and of all elements below it.
pub(crate) fn maxima(square: &[i32], tree: &Tree, qmin: u8) -> Vec<u8> {
    let mut maxima = vec![0; tree.elements()];
    for band in tree.bands.iter().rev() {
        for (y, x) in (0..band.rows).flat_map(|y| (0..band.columns).map(move |x| (y, x))) {
            let (columns, rows) = band.coefficients(x, y);
            let coefficients = rows.flat_map(|row| columns.clone().map(move |column| row * tree.side + column));
            let own = coefficients.map(|at| length(square[at], qmin)).max().unwrap_or(0);
            let below = band.child.map_or(0, |child| {
                let child = &tree.bands[child];
                let columns = 2 * x..child.columns.min(2 * x + 2);
                let rows = 2 * y..child.rows.min(2 * y + 2);
                let children = rows.flat_map(|y| columns.clone().map(move |x| child.element(x, y)));
                children.map(|at| maxima[at]).max().unwrap_or(0)
            });
            maxima[band.element(x, y)] = own.max(below);
        }
    }
    maxima
}

/// Returns Qmax + 1 (section 3.3): the largest of the coarsest level, and so of all.
pub(crate) fn peak(maxima: &[u8], tree: &Tree) -> u8 {
    tree.levels.first().and_then(|level| maxima[level.elements.clone()].iter().max()).copied().unwrap_or(0)
}

/// Codes a channel's square without the last `qmin` bits of each magnitude.
pub(crate) fn encode(square: &[i32], tree: &Tree, qmin: u8) -> CodedChannel {
    let maxima = maxima(square, tree, qmin);
    let mut coded = CodedChannel { peak: peak(&maxima, tree), ..CodedChannel::default() };
    for group in &tree.groups {
        let bytes = encode_group(square, tree, group, &maxima, coded.peak, qmin);
        // Too long only if the peak is too large, which the frame says.
        coded.lengths.push(bytes.len() as u16);
        coded.data.extend(bytes);
    }
    coded
}

/// Returns the elements of a group one after another (section 3.4.2).
fn encode_group(square: &[i32], tree: &Tree, group: &Group, maxima: &[u8], peak: u8, qmin: u8) -> Vec<u8> {
    let band = &tree.bands[group.band];
    let mut bits = BitWriter::default();
    for (y, x) in group.elements() {
        let above = band.parent.map_or(peak, |parent| maxima[tree.bands[parent].element(x / 2, y / 2)]);
        let maximum = maxima[band.element(x, y)];
        (maximum..above).for_each(|_| bits.push(false));
        if maximum == 0 {
            continue;
        }
        bits.push(true);
        let (columns, rows) = band.coefficients(x, y);
        for at in rows.flat_map(|row| columns.clone().map(move |column| row * tree.side + column)) {
            let magnitude = square[at].unsigned_abs() >> qmin;
            (0..maximum).rev().for_each(|bit| bits.push(magnitude >> bit & 1 == 1));
            if magnitude > 0 {
                bits.push(square[at] > 0);
            }
        }
    }
    bits.finish()
}

/// Decodes a channel into a square; the first group with bits that no encoder makes, if there is one.
pub(crate) fn decode(channel: &ReceivedChannel<'_>, tree: &Tree, qmin: u8, square: &mut [i32]) -> Result<(), usize> {
    let mut maxima = vec![0; tree.elements()];
    square.fill(0);
    for (index, group) in tree.groups.iter().enumerate() {
        let mut bits = BitReader::new(channel.group(index));
        decode_group(&mut bits, tree, group, &mut maxima, channel.peak, qmin, square);
        if !bits.is_finished() {
            return Err(index);
        }
    }
    Ok(())
}

fn decode_group(
    bits: &mut BitReader<'_>,
    tree: &Tree,
    group: &Group,
    maxima: &mut [u8],
    peak: u8,
    qmin: u8,
    square: &mut [i32],
) {
    let band = &tree.bands[group.band];
    for (y, x) in group.elements() {
        let above = band.parent.map_or(peak, |parent| maxima[tree.bands[parent].element(x / 2, y / 2)]);
        let maximum = (1..=above).rev().find(|_| bits.next()).unwrap_or(0);
        maxima[band.element(x, y)] = maximum;
        if maximum == 0 {
            continue;
        }
        let (columns, rows) = band.coefficients(x, y);
        for at in rows.flat_map(|row| columns.clone().map(move |column| row * tree.side + column)) {
            let magnitude = (0..maximum).fold(0, |magnitude, _| magnitude << 1 | i32::from(bits.next()));
            square[at] = if magnitude == 0 { 0 } else { dequantised(magnitude, bits.next(), qmin) };
        }
    }
}

/// Returns the middle of what has this magnitude above its last `qmin` bits.
pub(crate) fn dequantised(magnitude: i32, positive: bool, qmin: u8) -> i32 {
    let value = (magnitude << qmin) + (1 << qmin >> 1);
    if positive { value } else { -value }
}
