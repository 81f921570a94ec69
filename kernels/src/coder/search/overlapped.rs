//! Units with what the overlap of their windows makes of them.

use rayon::prelude::*;

use super::sums::{Overlapped, Profile, Rows, start};
use super::{CROSS, Search, add, neighbour};
use crate::cpu::motion::square::{add_32, difference_of_sums_32, difference_with_32};
use crate::motion::field::{Field, Motion, UNIT, UNIT_CELLS, WINDOW};
use crate::motion::overlap::one;
use crate::motion::search::{PARTS, QUIET_BITS};

impl Search<'_> {
    /// Each unit of its own with all that others predict in its window.
    pub(super) fn search_overlapped(&self, field: &mut Field, overlapped: &mut Overlapped) {
        let (across, down) = (overlapped.across.clone(), overlapped.down.clone());
        for colour in 0..4 {
            let search = |(y, mut rows): (usize, Rows<'_>)| {
                let units =
                    (colour % 2..across.len()).step_by(2).filter(|x| y < down.len() && !field.is_whole(x / 2, y / 2));
                let found = units.filter_map(|x| {
                    Some((x, y, self.choose_overlapped(field, (x, y), [&across[x], &down[y]], &mut rows)?))
                });
                found.collect::<Vec<_>>()
            };
            let found: Vec<_> = overlapped.every_other(colour / 2, UNIT).flat_map_iter(search).collect();
            for (x, y, motion) in found {
                field.fill(UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, motion);
            }
        }
    }

    /// A better motion than the unit has.
    fn choose_overlapped(
        &self,
        field: &Field,
        (x, y): (usize, usize),
        weights: [&Profile; 2],
        rows: &mut Rows<'_>,
    ) -> Option<Motion> {
        let (own, pitch) = (one(field.unit(x, y)), rows.pitch);
        let (source, source_pitch) = (self.source.from(start(x), start(y)), self.source.pitch);
        let sums = rows.at(x, UNIT);
        let costs = self.costs.part(field, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS);
        let now =
            u64::from(difference_of_sums_32(source, source_pitch, sums, pitch)) * PARTS + self.bits(costs.of(own));
        if now < self.bits(16) * QUIET_BITS || (self.is_late)() {
            return None;
        }
        let mut candidates = Vec::with_capacity(12);
        [Motion::vector(costs.expected[0], costs.expected[1]), Motion::ZERO]
            .into_iter()
            .for_each(|motion| add(&mut candidates, motion));
        for step in CROSS {
            if let Some(motion) = neighbour(field, x, y, step).filter(|motion| !motion.is_flat()) {
                add(&mut candidates, motion);
            }
            if let Motion::Vector { x, y } = own {
                add(&mut candidates, Motion::vector(i32::from(x) + step[0], i32::from(y) + step[1]));
            }
        }
        add(&mut candidates, self.flat(x, y));
        self.take_away(sums, pitch, weights, (x, y), own);
        let weights = weights.map(|profile| &profile.0);
        let (mut window, mut kept) = ([0; WINDOW * WINDOW], [0; WINDOW * WINDOW]);
        let mut best = (now, None);
        for motion in candidates {
            if motion == own {
                continue;
            }
            self.window(start(x), start(y), motion, &mut window);
            let difference = difference_with_32(source, source_pitch, sums, pitch, weights, &window);
            let cost = u64::from(difference) * PARTS + self.bits(costs.of(motion));
            if cost < best.0 {
                best = (cost, Some(motion));
                std::mem::swap(&mut window, &mut kept);
            }
        }
        if best.1.is_none() {
            self.window(start(x), start(y), own, &mut kept);
        }
        add_32(sums, pitch, weights, &kept);
        best.1
    }
}
