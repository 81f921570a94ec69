//! Cells: units that are quartered.

use rayon::prelude::*;

use super::sums::{Overlapped, Profile, Rows, start};
use super::{CROSS, Search, add, neighbour};
use crate::cpu::motion::overlap::blend_row;
use crate::cpu::motion::square::{add_32, difference_16, difference_of_sums_32, difference_with_32};
use crate::motion::field::{CELL, CELL_WEIGHT, Field, Motion, UNIT, UNIT_CELLS, WINDOW};
use crate::motion::overlap::{one, rising_cell};
use crate::motion::search::{CELL_STRIDE, PARTS, QUARTER_BITS};

impl Search<'_> {
    /// Quarters the units whose cells are better apart.
    pub(super) fn quarter(&self, field: &mut Field, overlapped: &mut Overlapped) {
        let (across, down) = (overlapped.across.clone(), overlapped.down.clone());
        for colour in 0..4 {
            // Cells are tried in a copy: no unit of a colour touches another one.
            let search = |trial: &mut Field, (y, mut rows): (usize, Rows<'_>)| {
                let units = (colour % 2..across.len()).step_by(2).filter(|_| y < down.len());
                let quartered = units.filter(|x| !field.is_whole(x / 2, y / 2)).filter_map(|x| {
                    Some((x, y, self.choose_quartered(trial, (x, y), [&across[x], &down[y]], &mut rows)?))
                });
                quartered.collect::<Vec<_>>()
            };
            let rows = overlapped.every_other(colour / 2, UNIT);
            let found: Vec<_> = rows.map_init(|| field.clone(), search).collect();
            for (x, y, cells) in found.into_iter().flatten() {
                field.set_quartered(x, y, true);
                for (cell, motion) in cells.into_iter().enumerate() {
                    field.fill(UNIT_CELLS * x + cell % 2, UNIT_CELLS * y + cell / 2, 1, motion);
                }
            }
        }
    }

    fn choose_quartered(
        &self,
        field: &mut Field,
        (x, y): (usize, usize),
        weights: [&Profile; 2],
        rows: &mut Rows<'_>,
    ) -> Option<[Motion; 4]> {
        let own = one(field.unit(x, y));
        let (cell_x, cell_y) = (UNIT_CELLS * x, UNIT_CELLS * y);
        let (source, source_pitch, pitch) = (self.source.from(start(x), start(y)), self.source.pitch, rows.pitch);
        let sums = rows.at(x, UNIT);
        let now = u64::from(difference_of_sums_32(source, source_pitch, sums, pitch)) * PARTS;
        if now < self.bits(16) * QUARTER_BITS || (self.is_late)() {
            return None;
        }
        let costs = self.costs.part(field, cell_x, cell_y, UNIT_CELLS);
        let bits_whole = self.costs.quarter(field, x, y, false) + costs.of(own);
        let mut bits_quartered = self.costs.quarter(field, x, y, true);
        let mut cells = [own; 4];
        for (index, cell) in cells.iter_mut().enumerate() {
            let (at_x, at_y) = (cell_x + index % 2, cell_y + index / 2);
            let costs = self.costs.part(field, at_x, at_y, 1);
            let mut candidates = Vec::with_capacity(7);
            [own.components(), [0, 0], costs.expected].into_iter().for_each(|vector| add(&mut candidates, vector));
            for step in CROSS {
                if let Some(motion) = neighbour(field, x, y, step) {
                    add(&mut candidates, motion.components());
                }
            }
            // The cell and half of it on each side.
            let [left, top] = [at_x, at_y].map(|at| (CELL * at) as i32 - (CELL / 2) as i32);
            let source = self.source.from(left, top);
            let cost = |vector, least: u64| {
                let bits = self.bits(costs.of_vector(vector));
                let most = u32::try_from(least.saturating_sub(bits) / (PARTS / 4)).unwrap_or(u32::MAX);
                let difference = difference_16(source, source_pitch, self.taps(left, top, vector), most);
                u64::from(difference) * (PARTS / 4) + bits
            };
            let vector = self.best(cost, &candidates, |_| CELL_STRIDE).0;
            *cell = Motion::vector(vector[0], vector[1]);
            bits_quartered += costs.of(*cell);
            field.fill(at_x, at_y, 1, *cell);
        }
        if cells.iter().all(|&cell| cell == own) {
            return None;
        }
        let mut window = [0; WINDOW * WINDOW];
        self.blended((x, y), cells, &mut window);
        self.take_away(sums, pitch, weights, (x, y), own);
        let weights = weights.map(|profile| &profile.0);
        let difference = difference_with_32(source, source_pitch, sums, pitch, weights, &window);
        let better = u64::from(difference) * PARTS + self.bits(bits_quartered) < now + self.bits(bits_whole);
        if !better {
            self.window(start(x), start(y), own, &mut window);
        }
        add_32(sums, pitch, weights, &window);
        better.then_some(cells)
    }

    /// The window of a unit of four cells.
    fn blended(&self, (x, y): (usize, usize), cells: [Motion; 4], out: &mut [u8; WINDOW * WINDOW]) {
        // The middle of the unit is the middle of its window.
        let second: [u8; WINDOW] = std::array::from_fn(|at| match at.checked_sub(UNIT - UNIT / 4) {
            None => 0,
            Some(at) if at >= UNIT / 2 => CELL_WEIGHT,
            Some(at) => rising_cell(at, UNIT),
        });
        let mut parts = [[0; WINDOW * WINDOW]; 4];
        for (part, motion) in parts.iter_mut().zip(cells) {
            self.window(start(x), start(y), motion, part);
        }
        for (at, (to, &below)) in out.chunks_exact_mut(WINDOW).zip(&second).enumerate() {
            blend_row(to, parts.each_ref().map(|part| &part[WINDOW * at..][..WINDOW]), &second, below);
        }
    }
}
