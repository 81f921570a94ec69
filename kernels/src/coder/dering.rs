//! The choice of what is filtered of a predicted frame.

use picture::coded::StepIndex;
use picture::frame::FrameSize;
use picture::vectors::VectorLayout;

use crate::motion::dering::{Dering, GAINS_STEP, Gains, STRENGTHS};

/// Returns the strengths and squares that gain most, each at least the worth of the bits that it takes. Without gains, as after a
/// frame coded alone, all squares have the strength that suits the step: it rings most, and a strength for all takes few bits.
pub(super) fn chosen(gains: &[Gains], size: FrameSize, step: StepIndex) -> Dering {
    let (layout, mut dering) = (VectorLayout::new(size), Dering::none(size));
    if gains.is_empty() {
        let strength = STRENGTHS.into_iter().rfind(|&strength| f32::from(strength) <= step.step() / 2.0);
        for (x, y) in (0..layout.rows()).flat_map(|y| (0..layout.columns()).map(move |x| (x, y))) {
            dering.set(x, y, strength.unwrap_or(0));
        }
        return dering;
    }
    let least = worth(step).max(1);
    let is_worth = |gains: &Gains, index: usize| i64::from(gains[index]) + least <= 0;
    for slice in 0..layout.slices() {
        let squares = layout.rows_of(slice).flat_map(|y| (0..layout.columns()).map(move |x| (x, y)));
        let gains_of = |(x, y): (usize, usize)| &gains[y * layout.columns() + x];
        let of_strength = |index: usize| {
            let worth = squares.clone().map(gains_of).filter(|gains| is_worth(gains, index));
            worth.map(|gains| i64::from(gains[index]) + least).sum::<i64>()
        };
        let best = (0..STRENGTHS.len()).map(|index| (of_strength(index), index)).min();
        let Some((_, index)) = best.filter(|&(sum, _)| sum + SLICE_BITS * least < 0) else {
            continue;
        };
        for (x, y) in squares.clone().filter(|&square| is_worth(gains_of(square), index)) {
            dering.set(x, y, STRENGTHS[index]);
        }
    }
    dering
}

/// Bits of a slice that filters anything, besides those of its squares.
const SLICE_BITS: i64 = 8;

/// Returns the squared error that a bit is worth, an eighth of the squared step, as gains count it.
fn worth(step: StepIndex) -> i64 {
    (step.step() * step.step() / 8.0) as i64 / GAINS_STEP as i64
}

#[cfg(test)]
mod tests {
    use picture::frame::Chroma;
    use picture::params::{CodecParams, Profile, StreamParams};

    use super::*;
    use crate::coder::tests::quiet_picture;
    use crate::coder::{PredictedEncoder, State, encoder_on_the_processor, slice};
    use crate::motion::field::Field;
    use crate::{Picture, Target};

    /// A step of 16, at which a bit is worth a gain of 16.
    const STEP: StepIndex = StepIndex::ONE.coarser_by(32);

    #[test]
    fn a_slice_has_the_strength_that_gains_most_where_it_gains_more_than_its_bit() {
        // Each row of squares is a slice.
        let size = FrameSize::new(32 * 200, 96).unwrap();
        let (columns, mut gains) = (200, vec![Gains::default(); 600]);
        assert_eq!(VectorLayout::new(size).slices(), 3);
        gains[0] = [-1_000, -1_001, 0, 0];
        gains[1] = [-15, -16, 0, 0];
        gains[2] = [-17, -20, -900, 0];
        gains[3] = [2_000; 4];
        // Less than the slice itself.
        gains[columns..][..2].fill([0, 0, -80, 0]);
        gains[2 * columns] = [0, 0, 0, -145];
        let chosen = chosen(&gains, size, STEP);
        let filtered = |row: usize| chosen.row(row).iter().map(|&strength| u32::from(strength)).collect::<Vec<_>>();
        assert_eq!(filtered(0)[..5], [8, 8, 8, 0, 0]);
        assert_eq!(filtered(1), vec![0; columns]);
        assert_eq!(filtered(2)[..2], [22, 0]);
        assert_eq!([0, 2].map(|row| filtered(row).into_iter().sum::<u32>()), [24, 22]);
    }

    #[test]
    fn without_gains_all_squares_have_the_largest_strength_of_half_a_step() {
        let size = FrameSize::new(99, 70).unwrap();
        for (finer, strength) in [(0, 8), (1, 4), (8, 4), (9, 0)] {
            let step = StepIndex::new(STEP.index() - finer).unwrap();
            assert_eq!(chosen(&[], size, step).strengths(), [strength; 12], "{finer} finer");
        }
    }

    /// Codes a picture a little after another; returns the squares of the frame, and its state.
    fn squares(encoder: &mut PredictedEncoder, picture: &Picture, from: Option<&State>) -> (Option<Dering>, State) {
        let frame = encoder.encode(picture.as_ref(), Target::Step(STEP), from.map(|state| (1, state))).unwrap();
        let size = picture.size();
        let (mut field, mut dering) = (Field::new(size), Dering::none(size));
        for index in 0..field.layout().slices() {
            if frame.reference > 0 {
                slice::decode(frame.block(index), &mut field, &mut dering, index, 3).unwrap();
            }
        }
        ((frame.reference > 0).then_some(dering), encoder.finish().unwrap().unwrap())
    }

    #[test]
    fn gains_are_forgotten_with_a_frame_coded_alone() {
        let codec = CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() };
        let params = StreamParams { codec, ..StreamParams::new(FrameSize::new(99, 70).unwrap(), Chroma::C420) };
        let (mut encoder, picture) =
            (encoder_on_the_processor(&params, String::new()), quiet_picture(params.chroma, params.size));
        let all = chosen(&[], params.size, STEP);
        for _ in 0..2 {
            let (none, state) = squares(&mut encoder, &picture, None);
            assert_eq!(none, None, "it is coded alone");
            let (first, state) = squares(&mut encoder, &picture, Some(&state));
            assert_eq!(first.as_ref(), Some(&all), "no gains are known");
            let (second, _) = squares(&mut encoder, &picture, Some(&state));
            assert!(second.is_some_and(|second| second != all), "gains are known");
        }
    }
}
