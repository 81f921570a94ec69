//! Blocks: units that are joined to one part.

use rayon::prelude::*;

use super::sums::{Overlapped, Profile, Rows, SQUARE, joined, start};
use super::{Effort, Search, add};
use crate::coder::slice::units;
use crate::cpu::motion::square::{
    add_48, difference_of_half_32, difference_of_sums_48, difference_with_48, predict_48,
};
use crate::motion::field::{BLOCK_CELLS, Field, Motion, UNIT, UNIT_CELLS};
use crate::motion::overlap::one;
use crate::motion::search::PARTS;

const BLOCK: usize = 2 * UNIT;
/// Motions of a block that are tried with its overlap, with low effort: those nearest without it.
const NEAREST: usize = 2;

impl Search<'_> {
    /// Joins the units of blocks where that is worth the difference.
    pub(super) fn join(&self, field: &mut Field, overlapped: &mut Overlapped) {
        let (columns, rows) = (field.layout().columns(), field.layout().rows());
        let (across, down) = (overlapped.across.clone(), overlapped.down.clone());
        for colour in 0..4 {
            let search = |(y, mut strip): (usize, Rows<'_>)| {
                let blocks = (colour % 2..columns).step_by(2).filter(|_| y < rows);
                let joined = blocks.filter_map(|x| {
                    let weights =
                        [&across[2 * x..(2 * x + 2).min(across.len())], &down[2 * y..(2 * y + 2).min(down.len())]];
                    Some((x, y, self.choose_joined(field, (x, y), weights, &mut strip)?))
                });
                joined.collect::<Vec<_>>()
            };
            let found: Vec<_> = overlapped.every_other(colour / 2, BLOCK).flat_map_iter(search).collect();
            for (x, y, motion) in found {
                field.set_whole(x, y, true);
                field.fill(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, motion);
            }
        }
    }

    /// Joins the units of blocks that all have one motion.
    pub(super) fn join_alike(&self, field: &mut Field) {
        let layout = *field.layout();
        for (x, y) in (0..layout.rows()).flat_map(|y| (0..layout.columns()).map(move |x| (x, y))) {
            let motion = one(field.unit(2 * x, 2 * y));
            let mut units = units(x, y).into_iter().filter(|&(x, y)| field.has_unit(x, y));
            if units.all(|(x, y)| one(field.unit(x, y)) == motion) {
                field.set_whole(x, y, true);
                field.fill(BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, motion);
            }
        }
    }

    /// The motion that block (x, y) has if it is joined.
    fn choose_joined(
        &self,
        field: &Field,
        (x, y): (usize, usize),
        weights: [&[Profile]; 2],
        rows: &mut Rows<'_>,
    ) -> Option<Motion> {
        let units: Vec<_> = units(x, y).into_iter().filter(|&(x, y)| field.has_unit(x, y)).collect();
        let motions: Vec<_> = units.iter().map(|&(x, y)| one(field.unit(x, y))).collect();
        let first = *motions.first()?;
        if motions.iter().all(|&motion| motion == first) {
            return Some(first);
        }
        let apart = units.iter().zip(&motions).map(|(&(x, y), &motion)| {
            self.costs.quarter(field, x, y, false)
                + self.costs.part(field, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS).of(motion)
        });
        let bits_apart = apart.sum::<u32>() + self.costs.split(field, x, y, true);
        let bits_split = self.costs.split(field, x, y, false);
        let pitch = rows.pitch;
        let (left, top) = (start(2 * x), start(2 * y));
        let (source, source_pitch) = (self.source.from(left, top), self.source.pitch);
        let sums = rows.at(x, BLOCK);
        let now = u64::from(difference_of_sums_48(source, source_pitch, sums, pitch)) * PARTS + self.bits(bits_apart);
        // The sums without the block.
        let mut others = [0; SQUARE * SQUARE];
        for (to, from) in others.chunks_exact_mut(SQUARE).zip(sums.chunks(pitch)) {
            to.copy_from_slice(&from[..SQUARE]);
        }
        for (&(unit_x, unit_y), &motion) in units.iter().zip(&motions) {
            let (column, row) = (unit_x % 2, unit_y % 2);
            let own = &mut others[UNIT * (row * SQUARE + column)..];
            self.take_away(own, SQUARE, [&weights[0][column], &weights[1][row]], (unit_x, unit_y), motion);
        }
        let costs = self.costs.part(field, BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS);
        let mut candidates = Vec::with_capacity(6);
        let more = [Motion::vector(costs.expected[0], costs.expected[1]), Motion::ZERO];
        motions.into_iter().chain(more).for_each(|motion| add(&mut candidates, motion));
        if self.effort <= Effort::Low {
            candidates.sort_by_cached_key(|&motion| self.bits(costs.of(motion)) + self.without_overlap((x, y), motion));
            candidates.truncate(NEAREST);
        }
        let weights = weights.map(joined);
        let weights = weights.each_ref();
        let (mut square, mut kept) = ([0; SQUARE * SQUARE], [0; SQUARE * SQUARE]);
        let mut best = (now, None);
        for motion in candidates {
            match motion {
                Motion::Vector { .. } => {
                    predict_48(&mut square, SQUARE, SQUARE, self.taps(left, top, motion.components()));
                }
                Motion::Flat([luma, ..]) => square.fill(luma),
            }
            let difference = difference_with_48(source, source_pitch, &others, SQUARE, weights, &square);
            let cost = u64::from(difference) * PARTS + self.bits(bits_split + costs.of(motion));
            if cost < best.0 {
                best = (cost, Some(motion));
                std::mem::swap(&mut square, &mut kept);
            }
        }
        if best.1.is_some() {
            for (from, to) in others.chunks_exact(SQUARE).zip(sums.chunks_mut(pitch)) {
                to[..SQUARE].copy_from_slice(from);
            }
            add_48(sums, pitch, weights, &kept);
        }
        best.1
    }

    /// The difference of block (x, y) from what a motion makes of it alone, from every other row.
    fn without_overlap(&self, (x, y): (usize, usize), motion: Motion) -> u64 {
        let [left, top] = [x, y].map(|at| (BLOCK * at) as i32);
        let taps = self.taps(left, top, motion.components());
        u64::from(difference_of_half_32(self.source.from(left, top), self.source.pitch, taps, u32::MAX)) * 2 * PARTS
    }
}
