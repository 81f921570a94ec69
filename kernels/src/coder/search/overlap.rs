//! Windows of units in the sums and out of them.

use rayon::prelude::*;

use super::Search;
use super::sums::{Overlapped, Profile, start};
use crate::cpu::motion::square::{add_32, subtract_32};
use crate::motion::field::{Field, Motion, UNIT, WINDOW};
use crate::motion::overlap::one;

impl Search<'_> {
    /// Makes the sums of all units.
    pub(super) fn overlap(&self, field: &Field, overlapped: &mut Overlapped) {
        overlapped.sums.fill(0);
        for parity in 0..2 {
            let (across, down) = (overlapped.across.clone(), overlapped.down.clone());
            overlapped.every_other(parity, UNIT).for_each(|(y, mut strip)| {
                let Some(down) = down.get(y) else { return };
                let mut window = [0; WINDOW * WINDOW];
                for (x, across) in across.iter().enumerate() {
                    self.window(start(x), start(y), one(field.unit(x, y)), &mut window);
                    let pitch = strip.pitch;
                    add_32(strip.at(x, UNIT), pitch, [&across.0, &down.0], &window);
                }
            });
        }
    }

    /// Takes the window of a unit away from sums.
    pub(super) fn take_away(
        &self,
        sums: &mut [u16],
        pitch: usize,
        weights: [&Profile; 2],
        (x, y): (usize, usize),
        motion: Motion,
    ) {
        let mut window = [0; WINDOW * WINDOW];
        self.window(start(x), start(y), motion, &mut window);
        subtract_32(sums, pitch, weights.map(|profile| &profile.0), &window);
    }
}
