//! The decoder of the profile `pcwt`: a level after the other, the groups of each on all cores, whole codes at a time.
//! The coefficients are those of `pcwt::reference`.

use rayon::prelude::*;

use crate::pcwt::reference::dequantised;
use crate::pcwt::{GROUP_SIDE, Group, ReceivedChannel, Tree};

/// A row of a band's groups, to be decoded.
struct GroupRow<'a> {
    /// Position of the first group.
    first: usize,
    groups: &'a [Group],
    /// Maxima of the rows of elements, from the band's first column on.
    maxima: &'a mut [u8],
    /// Coefficients likewise, four an element.
    coefficients: &'a mut [i32],
}

/// Decodes a channel into a square; the first group with bits that no encoder makes, if there is one.
pub(crate) fn decode(channel: &ReceivedChannel<'_>, tree: &Tree, qmin: u8, square: &mut [i32]) -> Result<(), usize> {
    let mut maxima = vec![0; tree.elements()];
    // Band by band, each a row after the other: the rows of groups then lie in one piece each.
    let mut coefficients = vec![0; 4 * tree.elements()];
    for level in &tree.levels {
        let (coarser, own) = maxima.split_at_mut(level.elements.start);
        let mut own = &mut own[..level.elements.len()];
        let mut values = &mut coefficients[4 * level.elements.start..4 * level.elements.end];
        let mut jobs = Vec::new();
        let mut groups = &tree.groups[level.groups.clone()];
        let mut first = level.groups.start;
        while let Some(group) = groups.first() {
            let band = &tree.bands[group.band];
            let (row, rest) = groups.split_at(band.columns.div_ceil(GROUP_SIDE));
            let elements = band.columns * group.rows;
            let (maxima, rest_own) = own.split_at_mut(elements);
            let (coefficients, rest_values) = values.split_at_mut(4 * elements);
            jobs.push(GroupRow { first, groups: row, maxima, coefficients });
            first += row.len();
            (groups, own, values) = (rest, rest_own, rest_values);
        }
        let coarser = &*coarser;
        jobs.par_iter_mut()
            .map(|job| job.run(channel, tree, qmin, coarser))
            .min_by_key(|done| match done {
                Ok(()) => usize::MAX,
                Err(group) => *group,
            })
            .unwrap_or(Ok(()))?;
    }
    for band in tree.bands.iter().filter(|band| band.columns > 0) {
        let rows = coefficients[4 * band.start..].par_chunks(2 * band.columns).take(band.rect.height);
        let to = square[band.rect.y * tree.side..].par_chunks_mut(tree.side);
        to.zip(rows).for_each(|(to, row)| {
            to[band.rect.x..][..band.rect.width].copy_from_slice(&row[..band.rect.width]);
        });
    }
    Ok(())
}

impl GroupRow<'_> {
    /// Decodes its groups; `coarser` has the maxima of all coarser levels.
    fn run(&mut self, channel: &ReceivedChannel<'_>, tree: &Tree, qmin: u8, coarser: &[u8]) -> Result<(), usize> {
        for (index, group) in (self.first..).zip(self.groups) {
            let mut bits = GroupBits::new(channel.group(index));
            self.decode_group(&mut bits, tree, group, channel.peak, qmin, coarser);
            if !bits.is_finished() {
                return Err(index);
            }
        }
        Ok(())
    }

    fn decode_group(
        &mut self,
        bits: &mut GroupBits<'_>,
        tree: &Tree,
        group: &Group,
        peak: u8,
        qmin: u8,
        coarser: &[u8],
    ) {
        let band = &tree.bands[group.band];
        let parent = band.parent.map(|parent| &tree.bands[parent]);
        let pitch = 2 * band.columns;
        for y in 0..group.rows {
            let maxima = &mut self.maxima[y * band.columns..][..band.columns];
            let (upper, lower) = self.coefficients[2 * y * pitch..][..2 * pitch].split_at_mut(pitch);
            for x in group.x..group.x + group.columns {
                let above = parent.map_or(peak, |parent| coarser[parent.element(x / 2, (group.y + y) / 2)]);
                let maximum = bits.maximum(above);
                maxima[x] = maximum;
                if maximum == 0 {
                    continue;
                }
                let (columns, rows) = band.coefficients(x, group.y + y);
                if !rows.is_empty() {
                    (0..columns.len()).for_each(|at| upper[2 * x + at] = bits.coefficient(maximum, qmin));
                }
                if rows.len() > 1 {
                    (0..columns.len()).for_each(|at| lower[2 * x + at] = bits.coefficient(maximum, qmin));
                }
            }
        }
    }
}

/// Reads bits of bytes, the first one in the highest place; zeros beyond the end.
struct GroupBits<'a> {
    bytes: &'a [u8],
    /// Bytes taken, also beyond the end.
    taken: usize,
    /// The next [`Self::count`] bits in the highest places, zeros below.
    held: u64,
    count: u32,
}

impl<'a> GroupBits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, taken: 0, held: 0, count: 0 }
    }

    /// Makes sure that 32 bits are held.
    fn fill(&mut self) {
        if self.count < 32 {
            let next = match self.bytes.get(self.taken..).and_then(<[u8]>::first_chunk::<4>) {
                Some(bytes) => u32::from_be_bytes(*bytes),
                None => {
                    let byte = |at| u32::from(self.bytes.get(self.taken + at).copied().unwrap_or(0));
                    (0..4).fold(0, |word, at| word << 8 | byte(at))
                }
            };
            self.held |= u64::from(next) << (32 - self.count);
            self.taken += 4;
            self.count += 32;
        }
    }

    /// Returns the next `bits` of the held ones, 1 to 32.
    fn take(&mut self, bits: u32) -> u32 {
        let value = (self.held >> (64 - bits)) as u32;
        self.held <<= bits;
        self.count -= bits;
        value
    }

    /// Returns the maximum length of an element below one of `above`, at most 20.
    fn maximum(&mut self, above: u8) -> u8 {
        self.fill();
        let zeros = self.held.leading_zeros();
        if zeros < above.into() {
            self.take(zeros + 1);
            above - zeros as u8
        } else {
            if above > 0 {
                self.take(above.into());
            }
            0
        }
    }

    /// Returns a coefficient of an element of this maximum length, 1 to 20.
    fn coefficient(&mut self, maximum: u8, qmin: u8) -> i32 {
        self.fill();
        match self.take(maximum.into()) as i32 {
            0 => 0,
            magnitude => dequantised(magnitude, self.take(1) == 1, qmin),
        }
    }

    /// Returns true as [`crate::reference::bits::BitReader::is_finished`] does.
    fn is_finished(&self) -> bool {
        let read = 8 * self.taken - self.count as usize;
        let rest = self.bytes.last().map_or(0, |&last| last & (0xff_u32 >> ((read + 7) % 8 + 1)) as u8);
        read.div_ceil(8) == self.bytes.len() && rest == 0
    }
}
