//! The encoder of the profile `pcwt`: maxima by rows and groups by chunks on all cores, whole codes at a time. The
//! bytes are those of `pcwt::reference`.

use rayon::prelude::*;

use crate::pcwt::reference::peak;
use crate::pcwt::{CodedChannel, Group, Tree};

/// Groups that a thread takes at a time.
const GROUPS_PER_TASK: usize = 64;

/// Codes a channel's square without the last `qmin` bits of each magnitude.
pub(crate) fn encode(square: &[i32], tree: &Tree, qmin: u8) -> CodedChannel {
    let maxima = maxima(square, tree, qmin);
    let peak = peak(&maxima, tree);
    let task = |groups: &[Group]| {
        let mut part = CodedChannel::default();
        for group in groups {
            let start = part.data.len();
            encode_group(square, tree, group, &maxima, peak, qmin, &mut part.data);
            part.lengths.push((part.data.len() - start) as u16);
        }
        part
    };
    let parts: Vec<_> = tree.groups.par_chunks(GROUPS_PER_TASK).map(task).collect();
    let data = parts.iter().map(|part| part.data.len()).sum();
    let mut coded =
        CodedChannel { peak, lengths: Vec::with_capacity(tree.groups.len()), data: Vec::with_capacity(data) };
    for part in parts {
        coded.lengths.extend_from_slice(&part.lengths);
        coded.data.extend_from_slice(&part.data);
    }
    coded
}

/// Returns the maximum length of every element, from the finest level to the coarsest.
fn maxima(square: &[i32], tree: &Tree, qmin: u8) -> Vec<u8> {
    let mut maxima = vec![0; tree.elements()];
    for band in tree.bands.iter().rev().filter(|band| band.columns > 0) {
        // Children come behind their parents.
        let (own, finer) = maxima[band.start..].split_at_mut(band.columns * band.rows);
        let first_finer = band.start + own.len();
        let child = band.child.map(|child| {
            let child = &tree.bands[child];
            (&finer[child.start - first_finer..], child.columns, child.rows)
        });
        own.par_chunks_mut(band.columns).enumerate().for_each(|(y, own)| {
            let (columns, rows) = (band.rect.x..band.rect.x + band.rect.width, band.coefficients(0, y).1);
            let bits = |all: u32| (u32::BITS - (all >> qmin).leading_zeros()) as u8;
            for row in rows.map(|row| &square[row * tree.side..][columns.clone()]) {
                let (pairs, last) = row.as_chunks::<2>();
                for (own, [left, right]) in own.iter_mut().zip(pairs) {
                    *own = bits(left.unsigned_abs() | right.unsigned_abs()).max(*own);
                }
                if let ([last], Some(own)) = (last, own.get_mut(pairs.len())) {
                    *own = bits(last.unsigned_abs()).max(*own);
                }
            }
            if let Some((child, columns, rows)) = child {
                let rows = (2 * y).min(rows)..(2 * y + 2).min(rows);
                for row in rows.map(|row| &child[row * columns..][..columns]) {
                    let (pairs, last) = row.as_chunks::<2>();
                    own.iter_mut().zip(pairs).for_each(|(own, [left, right])| *own = (*left.max(right)).max(*own));
                    if let ([last], Some(own)) = (last, own.get_mut(pairs.len())) {
                        *own = (*last).max(*own);
                    }
                }
            }
        });
    }
    maxima
}

/// Appends the elements of a group.
fn encode_group(square: &[i32], tree: &Tree, group: &Group, maxima: &[u8], peak: u8, qmin: u8, out: &mut Vec<u8>) {
    let band = &tree.bands[group.band];
    let parent = band.parent.map(|parent| &tree.bands[parent]);
    let mut bits = Packer { out, held: 0, count: 0 };
    for y in group.y..group.y + group.rows {
        let own = &maxima[band.element(group.x, y)..][..group.columns];
        let (columns, rows) = (band.coefficients(group.x, y).0, band.coefficients(group.x, y).1);
        let right = band.rect.x + band.rect.width;
        // Empty where the group has parents of finer elements only.
        let row = |row: usize| &square[row * tree.side..][columns.start..right];
        let [upper, lower] = [0, 1].map(|at| if at < rows.len() { row(rows.start + at) } else { &[] });
        for (x, &maximum) in own.iter().enumerate() {
            let above = parent.map_or(peak, |parent| maxima[parent.element((group.x + x) / 2, y / 2)]);
            if maximum == 0 {
                bits.push(0, above.into());
                continue;
            }
            bits.push(1, u32::from(above - maximum) + 1);
            let pair = |row: &'_ [i32]| (row.get(2 * x).copied(), row.get(2 * x + 1).copied());
            let (upper, lower) = (pair(upper), pair(lower));
            for value in [upper.0, upper.1, lower.0, lower.1].into_iter().flatten() {
                let magnitude = value.unsigned_abs() >> qmin;
                let signs = u32::from(magnitude > 0);
                let code = u64::from(magnitude) << signs | u64::from(signs & u32::from(value > 0));
                bits.push(code, u32::from(maximum) + signs);
            }
        }
    }
    bits.finish();
}

/// Appends bits to bytes, the first one in the highest place.
struct Packer<'a> {
    out: &'a mut Vec<u8>,
    /// The last [`Self::count`] bits are still to be written, less than 32.
    held: u64,
    count: u32,
}

impl Packer<'_> {
    /// Appends the last `bits` bits of `value`, which has no others; at most 32.
    fn push(&mut self, value: u64, bits: u32) {
        self.held = self.held << bits | value;
        self.count += bits;
        if self.count >= 32 {
            self.count -= 32;
            self.out.extend(((self.held >> self.count) as u32).to_be_bytes());
        }
    }

    fn finish(self) {
        let bytes = ((self.held << 32 >> self.count) as u32).to_be_bytes();
        self.out.extend(&bytes[..self.count.div_ceil(8) as usize]);
    }
}
