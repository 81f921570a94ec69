//! Windows of units in the sums and out of them.

use rayon::prelude::*;

use super::Search;
use super::sums::{Overlapped, Profile, start};
use crate::cpu::motion::square::{add_16, predict_16, subtract_32};
use crate::motion::field::{Field, Motion, UNIT, WINDOW};
use crate::motion::overlap::{WEIGHT, one};

impl Search<'_> {
    /// Makes the sums of all units: square by square from the middle of a unit to that of the next, where the same four meet. Most
    /// have one motion.
    pub(super) fn overlap(&self, field: &Field, overlapped: &mut Overlapped) {
        let Overlapped { pitch, sums, across, down } = overlapped;
        let pitch = *pitch;
        sums.par_chunks_mut(UNIT * pitch).enumerate().for_each(|(y, sums)| {
            sums.fill(0);
            for x in 0..=across.len() {
                let meeting = at_meeting(down, y).flat_map(|(y, down)| {
                    at_meeting(across, x).map(move |(x, across)| (one(field.unit(x, y)), [across, down]))
                });
                let Some((first, _)) = meeting.clone().next() else { continue };
                let (place, mut square) = ([x, y].map(start), [0; UNIT * UNIT]);
                let to = &mut sums[UNIT * x..];
                self.square(place, first, &mut square);
                if meeting.clone().all(|(motion, _)| motion == first) {
                    add_16(to, pitch, [&[WEIGHT; UNIT]; 2], &square);
                    continue;
                }
                let mut before = first;
                for (motion, weights) in meeting {
                    if motion != before {
                        self.square(place, motion, &mut square);
                        before = motion;
                    }
                    add_16(to, pitch, weights, &square);
                }
            }
        });
    }

    /// Predicts the square of a unit's side at a place.
    fn square(&self, [x, y]: [i32; 2], motion: Motion, out: &mut [u8; UNIT * UNIT]) {
        match motion {
            Motion::Vector { .. } => predict_16(out, UNIT, UNIT, self.taps(x, y, motion.components())),
            Motion::Flat([luma, ..]) => out.fill(luma),
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

/// The units whose windows meet in number `at` along an axis, each with its weights there: the second half of one, the first half of
/// the next.
fn at_meeting(profiles: &[Profile], at: usize) -> impl Iterator<Item = (usize, &[u16; UNIT])> + Clone {
    let half = |unit: Option<usize>, half: usize| {
        let unit = unit?;
        Some((unit, profiles.get(unit)?.0.as_chunks().0.get(half)?))
    };
    [half(at.checked_sub(1), 1), half(Some(at), 0)].into_iter().flatten()
}
