//! The coefficients of a frame and the code of its blocks, each at the last two steps that were asked for: a budget is met by
//! steps that are tried again and again. Most blocks of a predicted frame are all zero, which their largest coefficient tells.

use std::ops::Range;

use picture::coded::StepIndex;
use rayon::prelude::*;

use super::encode_block::{self, Scratch};
use super::encode_quantise::is_zero_block;
use super::per_thread::PerThread;
use super::plane::Plane;
use super::tile::TilePlace;
use crate::DeviceError;
use crate::rate::BlockCoder;
use crate::reference::quantise::{DeadZone, Quantiser};

/// Pairs of blocks that a thread takes at a time; no more than that are coded without waking another one.
const PAIRS_PER_TASK: usize = 4;
/// Blocks whose largest coefficient a thread looks for at a time.
const LARGEST_PER_TASK: usize = 64;

/// The coefficients of a frame and the code of its blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    planes: Vec<Plane>,
    places: Vec<TilePlace>,
    codes: Vec<Vec<u8>>,
    kept: Vec<Kept>,
    dead_zone: DeadZone,
    scratches: PerThread<[Scratch; 2]>,
}

/// The facts known of a block's coefficients.
#[derive(Debug, Default)]
struct Kept {
    /// Their largest magnitude.
    largest: f32,
    /// The step of the block's code.
    step: Option<StepIndex>,
    /// The step before it, and the code at that.
    before: Option<StepIndex>,
    code: Vec<u8>,
}

/// A block that is to be coded.
struct Job<'a> {
    place: &'a TilePlace,
    quantiser: Quantiser,
    code: &'a mut Vec<u8>,
}

impl Kept {
    /// Makes `code` the block's code at `step`; returns true if that must yet be made: it is empty then.
    fn begin(&mut self, step: StepIndex, code: &mut Vec<u8>) -> bool {
        if self.step == Some(step) {
            return false;
        }
        std::mem::swap(code, &mut self.code);
        std::mem::swap(&mut self.step, &mut self.before);
        if self.step == Some(step) {
            return false;
        }
        self.step = Some(step);
        code.clear();
        true
    }
}

impl Blocks {
    /// Blocks at these places of planes, all zero.
    pub(super) fn new(planes: Vec<Plane>, places: Vec<TilePlace>) -> Self {
        let codes = vec![Vec::new(); places.len()];
        let kept = places.iter().map(|_| Kept::default()).collect();
        let scratches = PerThread::new(Scratch::two);
        Self { planes, places, codes, kept, dead_zone: DeadZone::OF_PICTURES, scratches }
    }

    /// Makes other coefficients, which are quantised with this dead zone.
    pub(super) fn transform(&mut self, dead_zone: DeadZone, transform: impl FnOnce(&mut [Plane])) {
        self.dead_zone = dead_zone;
        transform(&mut self.planes);
        let (planes, blocks) = (&self.planes, self.kept.par_iter_mut().zip(&self.places));
        blocks.with_min_len(LARGEST_PER_TASK).for_each(|(kept, place)| {
            let plane = &planes[place.channel];
            kept.largest = place.largest(plane.bands(), plane.pitch());
            (kept.step, kept.before) = (None, None);
        });
    }

    /// Returns the code of each block.
    pub(super) fn codes(&self) -> &[Vec<u8>] {
        &self.codes
    }
}

impl BlockCoder for Blocks {
    fn block_count(&self) -> usize {
        self.places.len()
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError> {
        let (planes, scratches, dead_zone) = (&self.planes, &self.scratches, self.dead_zone);
        let blocks = self.places[range.clone()].iter().zip(&mut self.codes[range.clone()]);
        let blocks = blocks.zip(&mut self.kept[range.clone()]).filter_map(|((place, code), kept)| {
            let quantiser = Quantiser::new(step.coarser_by(place.coarser)).with_dead_zone(dead_zone);
            let is_new = kept.begin(step, code) && !is_zero_block(kept.largest, quantiser.inverse);
            is_new.then_some(Job { place, quantiser, code })
        });
        let mut jobs: Vec<_> = blocks.collect();
        let pair = |pair: &mut [Job<'_>]| scratches.with(|scratches| code_pair(scratches, planes, pair));
        if jobs.len() <= 2 * PAIRS_PER_TASK {
            jobs.chunks_mut(2).for_each(pair);
        } else {
            jobs.par_chunks_mut(2).with_min_len(PAIRS_PER_TASK).for_each(pair);
        }
        for (length, code) in lengths.iter_mut().zip(&self.codes[range]) {
            *length = code.len() as u32;
        }
        Ok(())
    }
}

/// Codes up to two blocks.
fn code_pair(scratches: &mut [Scratch; 2], planes: &[Plane], jobs: &mut [Job<'_>]) {
    let mut prepared = [false; 2];
    for ((Job { place, quantiser, code }, scratch), prepared) in
        jobs.iter_mut().zip(scratches.iter_mut()).zip(&mut prepared)
    {
        let plane = &planes[place.channel];
        place.load(plane.bands(), plane.pitch(), &mut scratch.tile);
        *prepared = encode_block::prepare(scratch, place.shape, *quantiser, code);
    }
    let [first, second] = scratches;
    match (prepared, jobs) {
        ([true, true], [one, two]) => encode_block::finish_two(first, one.code, second, two.code),
        ([true, false], [one, ..]) => encode_block::finish_one(first, one.code),
        ([false, true], [_, two]) => encode_block::finish_one(second, two.code),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, FrameSize};
    use picture::params::StreamParams;

    use super::*;
    use crate::coder::tests::quiet_picture;
    use crate::cpu::CpuEncoder;
    use crate::motion::predictor::ResidualEncoder;
    use crate::{Picture, Target};

    #[test]
    fn steps_that_are_asked_for_again_give_what_they_gave() {
        let params = StreamParams::new(FrameSize::new(330, 197).unwrap(), Chroma::C420);
        let new = || CpuEncoder::new(&params, String::new());
        let prediction = Picture::for_stream(params.chroma, params.size);
        let mut picture = quiet_picture(params.chroma, params.size);
        let mut encoder = new();
        for _ in 0..2 {
            encoder.take_residual(picture.as_ref(), &prediction).unwrap();
            for step in [40, 41, 40, 72, 40, 41, 41, 90] {
                let target = Target::Step(StepIndex::new(step).unwrap());
                let wanted = new().encode_residual(picture.as_ref(), &prediction, target).unwrap();
                assert!(encoder.code_residual(target).unwrap() == wanted, "{step}");
            }
            picture.data_mut().reverse();
        }
    }
}
