//! The parts of a frame that a decoder did not have.

use std::ops::Range;

use crate::coded::{BlockState, ReceivedFrame};

/// Most gaps of a frame that is decoded: what lies behind the last one is left out, so that a report can name them all.
pub const GAPS_MAX: usize = 64;

/// Blocks, and slices of vectors, that a decoder did not have of a frame: ranges that rise and do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gaps(Vec<Range<u32>>);

impl Gaps {
    /// Creates the gaps of these ranges; `None` if one is empty, two touch or are out of order, or there are too many.
    pub fn new(ranges: Vec<Range<u32>>) -> Option<Self> {
        let rises = ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
        let is_one = rises && ranges.len() <= GAPS_MAX && ranges.iter().all(|range| !range.is_empty());
        is_one.then_some(Self(ranges))
    }

    /// Takes the gaps of a frame that came. If there are more than [`GAPS_MAX`], what lies behind that many is taken
    /// out of the frame, too.
    pub fn of(frame: &mut ReceivedFrame) -> Self {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for index in 0..if frame.missing() == 0 { 0 } else { frame.block_count() } {
            if frame.block(index) == BlockState::Missing {
                let (at, is_full) = (index as u32, ranges.len() == GAPS_MAX);
                match ranges.last_mut() {
                    Some(last) if last.end == at => last.end = at + 1,
                    Some(last) if is_full => {
                        last.end = frame.block_count() as u32;
                        frame.forget(last.start as usize..last.end as usize);
                        break;
                    }
                    _ => ranges.push(at..at + 1),
                }
            }
        }
        Self(ranges)
    }

    /// Returns true if nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ranges, in rising order.
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.0
    }

    /// Returns the end of the last one; 0 if there is none.
    pub fn end(&self) -> usize {
        self.0.last().map_or(0, |range| range.end as usize)
    }

    /// Takes them out of a whole frame.
    pub fn cut(&self, frame: &mut ReceivedFrame) {
        for range in &self.0 {
            frame.forget(range.start as usize..range.end as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coded::{CodedFrame, FrameHeader, StepIndex};

    fn whole(blocks: usize) -> ReceivedFrame {
        let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
        let blocks: Vec<_> = (0..blocks).map(|block| vec![1; block % 3]).collect();
        ReceivedFrame::from(&CodedFrame::from_blocks(header, &blocks))
    }

    #[test]
    fn gaps_cut_from_a_frame_are_its_gaps() {
        let gaps = Gaps::new(vec![0..1, 2..5, 9..10]).unwrap();
        let mut frame = whole(10);
        gaps.cut(&mut frame);
        assert_eq!((frame.missing(), Gaps::of(&mut frame), gaps.end()), (5, gaps, 10));
        assert_eq!(Gaps::of(&mut whole(10)), Gaps::default());
        for wrong in
            [vec![0..1, 1..2], vec![3..4, 0..1], vec![2..2, 5..6], (0..65).map(|at| 2 * at..2 * at + 1).collect()]
        {
            assert_eq!(Gaps::new(wrong), None);
        }
    }

    #[test]
    fn a_frame_of_too_many_gaps_ends_with_the_last_one_that_is_told() {
        let mut frame = whole(400);
        (0..400).step_by(2).for_each(|index| frame.forget(index..index + 1));
        let gaps = Gaps::of(&mut frame);
        assert_eq!((gaps.ranges().len(), gaps.ranges()[GAPS_MAX - 1].clone()), (GAPS_MAX, 126..400));
        assert_eq!((frame.missing(), Gaps::of(&mut frame)), (63 + 400 - 126, gaps));
    }
}
