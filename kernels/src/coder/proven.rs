//! Distance of a prediction from its picture, which tells if coding a frame alone is worth trying.

use picture::coded::StepIndex;

use crate::cpu::motion::square::differences_from_means;
use crate::motion::ACTIVITY_SIDE;

/// Returns the sums of absolute differences of the luma of samples, `pixels` in rows of `width`: from a prediction, and from the means
/// of squares.
pub(crate) fn distances(own: &[u8], predicted: &[u8], width: usize, pixels: usize) -> [u64; 2] {
    let rows = ACTIVITY_SIDE * width;
    let both = own[..pixels].chunks(rows).zip(predicted[..pixels].chunks(rows));
    both.fold([0; 2], |sums: [u64; 2], (own, predicted)| {
        let more = differences_from_means(own, predicted, width);
        [0, 1].map(|at| sums[at] + u64::from(more[at]))
    })
}

/// Frames after which a frame is tried alone again.
const PROVEN_FRAMES: u8 = 30;
/// Indices of quantiser steps that count as the same.
const PROVEN_STEPS: u8 = 4;
/// Parts of the activity that distances are counted in.
const PARTS: u64 = 256;

/// A distance at which prediction has been the better way, so that not every frame is coded both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proven {
    distance: u64,
    step: StepIndex,
    /// Frames for which it holds.
    frames: u8,
}

impl Proven {
    /// Returns one with which nothing has been found.
    pub(crate) const NOTHING: Self = Self { distance: 0, step: StepIndex::ONE, frames: 0 };

    /// Returns true if the next frame, of these [`distances`] and this step, may be less expensive alone: unless its prediction is
    /// far nearer than squares of one sample each, or not farther than one that was better.
    pub(crate) fn may_be_alone(&mut self, [difference, activity]: [u64; 2], step: StepIndex) -> bool {
        self.frames = self.frames.saturating_sub(1);
        let is_proven = self.frames > 0
            && distance([difference, activity]) <= self.distance
            && step.index().abs_diff(self.step.index()) <= PROVEN_STEPS;
        2 * difference >= activity && !is_proven
    }

    /// Notes that a frame was coded both ways.
    pub(crate) fn on_tried(&mut self, distances: [u64; 2], step: StepIndex, is_alone: bool) {
        *self =
            if is_alone { Self::NOTHING } else { Self { distance: distance(distances), step, frames: PROVEN_FRAMES } };
    }
}

fn distance([difference, activity]: [u64; 2]) -> u64 {
    PARTS * difference / activity.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_better_is_tried_again_when_it_is_farther_coarser_or_long_ago() {
        let (mut proven, step) = (Proven::NOTHING, StepIndex::ONE.coarser_by(24));
        assert!(
            !proven.may_be_alone([49, 100], step) && proven.may_be_alone([50, 100], step),
            "half of it is far nearer"
        );
        proven.on_tried([70, 100], step, false);
        assert!(!proven.may_be_alone([70, 100], step) && !proven.may_be_alone([60, 100], step));
        assert!(proven.may_be_alone([71, 100], step));
        assert!(
            !proven.may_be_alone([70, 100], step.coarser_by(4)) && proven.may_be_alone([70, 100], step.coarser_by(5))
        );
        let tried = (0..60).position(|_| proven.may_be_alone([70, 100], step));
        assert_eq!(tried, Some(24), "the thirtieth frame");
        proven.on_tried([80, 100], step, false);
        proven.on_tried([60, 100], step, true);
        assert!(proven.may_be_alone([60, 100], step));
        let mut nothing = Proven::NOTHING;
        assert!(!nothing.may_be_alone([0, 1], step) && nothing.may_be_alone([0, 0], step));
    }
}
