//! Search for the vectors of a frame.
//!
//! Units are searched each on its own, then blocks are joined where that is worth the bits; those units that stay are searched
//! with what the overlap of windows makes of them, and quartered where that is worth the bits. Slices do not depend on each other
//! at first, and later blocks and units of one colour of four, of which no two touch, so that every step gives the same vectors
//! in any order, unless time is short. All in integers.
//!
//! Planes and sums have a border, so that every window is whole: what lies outside counts as the outermost samples.

mod alone;
#[cfg(test)]
mod apart;
mod blocks;
mod cells;
mod coarse;
mod overlap;
mod overlapped;
mod sums;

use picture::frame::{Chroma, FrameSize};
use picture::pyramid::Rect;

use super::cost::Costs;
use crate::cpu::motion::planes::{Bordered, Luma};
use crate::cpu::motion::square::{Taps, predict_32};
use crate::motion::field::{Field, Motion, WINDOW};
use crate::motion::overlap::{mean, one};
use crate::motion::predictor::plane_size;
use crate::motion::search::{QUIET_BITS, STEPS};
use coarse::Coarse;
pub(crate) use sums::Overlapped;

const CROSS: [[i32; 2]; 4] = [[1, 0], [-1, 0], [0, 1], [0, -1]];

/// Work that an encoder does to find vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effort {
    /// None: nothing moves.
    Still,
    /// None: what moved before goes on as it did.
    Last,
    /// Units alone, a little around vectors that are at hand: those beside, above and of the last frame.
    Near,
    /// Units alone and joined.
    Low,
    /// Their overlap once, and cells.
    #[default]
    Medium,
    /// Their overlap twice, and a search over the picture in every frame.
    High,
}

impl Effort {
    /// Returns true if vectors are looked for over the whole picture: in any case where nothing is known of what moved before.
    pub(crate) fn looks_everywhere(self, has_last: bool) -> bool {
        self >= Self::High || self > Self::Near && !has_last
    }

    /// Returns how often units are moved with their overlap.
    pub(crate) fn rounds(self) -> usize {
        match self {
            Self::Still | Self::Last | Self::Near | Self::Low => 0,
            Self::Medium => 1,
            Self::High => 2,
        }
    }
}

/// A search for the motion of a picture, and its settings.
pub(crate) struct Search<'a> {
    pub(crate) chroma: Chroma,
    pub(crate) size: FrameSize,
    pub(crate) reference: &'a Luma,
    /// Luma of the reference, without its border.
    pub(crate) reference_plane: &'a [u8],
    /// Luma of the picture.
    pub(crate) source: &'a Bordered,
    /// Planes of the picture.
    pub(crate) planes: &'a [&'a [u8]],
    pub(crate) costs: &'a Costs,
    /// The worth of a sixteenth of a bit, in [`PARTS`](crate::motion::search::PARTS) of a difference.
    pub(crate) lambda: u64,
    pub(crate) effort: Effort,
    /// Returns true once nothing is to be looked for any more: parts whose turn comes then take the best of what is at hand.
    pub(crate) is_late: &'a (dyn Fn() -> bool + Sync),
}

impl Search<'_> {
    /// The vectors of the picture, beginning with those of the last frame; `overlapped` is memory for pictures of its size, and has,
    /// from [`Effort::Low`] on, the sums of their windows afterwards.
    pub(crate) fn find(&self, last: Option<&Field>, overlapped: &mut Overlapped) -> Field {
        match (self.effort, last) {
            (Effort::Still, _) | (Effort::Last, None) => return Field::new(self.size),
            (Effort::Last, Some(last)) => return last.clone(),
            _ => {}
        }
        let coarse = self
            .effort
            .looks_everywhere(last.is_some())
            .then(|| [self.planes[0], self.reference_plane].map(|plane| Coarse::new(plane, self.size)));
        let mut field = split(self.size);
        self.search_alone(&mut field, last, coarse.as_ref());
        if self.effort == Effort::Near {
            self.join_alike(&mut field);
            return field;
        }
        self.refine(&mut field, overlapped, self.effort.rounds());
        field
    }

    /// Makes the sums of units of their own and joins them; if they are moved so many times with their overlap, quarters them, too.
    pub(crate) fn refine(&self, field: &mut Field, overlapped: &mut Overlapped, rounds: usize) {
        self.overlap(field, overlapped);
        self.join(field, overlapped);
        for _ in 0..rounds {
            self.search_overlapped(field, overlapped);
        }
        if rounds > 0 {
            self.quarter(field, overlapped);
        }
    }

    /// The worth of sixteenths of a bit.
    fn bits(&self, sixteenths: u32) -> u64 {
        self.lambda * u64::from(sixteenths)
    }

    /// Returns the place from which the samples from (x, y) on are predicted.
    fn taps(&self, x: i32, y: i32, vector: [i32; 2]) -> Taps<'_> {
        self.reference.quarter(4 * x + vector[0], 4 * y + vector[1])
    }

    /// Predicts a window; (x, y) is its first sample.
    fn window(&self, x: i32, y: i32, motion: Motion, out: &mut [u8; WINDOW * WINDOW]) {
        match motion {
            Motion::Vector { .. } => predict_32(out, WINDOW, WINDOW, self.taps(x, y, motion.components())),
            Motion::Flat([luma, ..]) => out.fill(luma),
        }
    }

    /// The best of `candidates`, and of what lies around it at the stride that belongs to its cost, and less. `cost` is given the
    /// least cost so far, and of what costs as much it need only tell that.
    fn best(
        &self,
        cost: impl Fn([i32; 2], u64) -> u64,
        candidates: &[[i32; 2]],
        stride: impl Fn(u64) -> i32,
    ) -> ([i32; 2], u64) {
        let (mut least, mut best) = (u64::MAX, [0, 0]);
        for &vector in candidates {
            let cost = cost(vector, least);
            if cost < least {
                (least, best) = (cost, vector);
            }
        }
        let (mut stride, mut steps, mut from) = (stride(least), 0, None);
        while stride > 0 && least > self.bits(16) * QUIET_BITS {
            let middle = best;
            for step in CROSS {
                let vector = [middle[0] + stride * step[0], middle[1] + stride * step[1]];
                if Some(vector) == from {
                    continue;
                }
                let cost = cost(vector, least);
                if cost < least {
                    (least, best) = (cost, vector);
                }
            }
            steps += 1;
            from = Some(middle);
            if best == middle || steps >= STEPS {
                stride /= 2;
                from = None;
            }
        }
        (best, least)
    }

    /// The mean samples of unit (x, y).
    fn flat(&self, x: usize, y: usize) -> Motion {
        let mut samples = [128; 3];
        for ((channel, sample), plane) in samples.iter_mut().enumerate().zip(self.planes) {
            let (size, side) = plane_size(self.chroma, self.size, channel);
            let (left, top) = (x * side, y * side);
            let (width, height) = (side.min(size.width() - left), side.min(size.height() - top));
            *sample = mean(plane, size.width(), Rect { x: left, y: top, width, height });
        }
        Motion::flat(samples)
    }
}

/// Blocks of units of their own.
fn split(size: FrameSize) -> Field {
    let mut field = Field::new(size);
    for y in 0..field.layout().rows() {
        for x in 0..field.layout().columns() {
            field.set_whole(x, y, false);
        }
    }
    field
}

/// The motion of the unit so far to the right of and below unit (x, y), if it is in the picture.
fn neighbour(field: &Field, x: usize, y: usize, [dx, dy]: [i32; 2]) -> Option<Motion> {
    let (x, y) = (x.checked_add_signed(dx as isize)?, y.checked_add_signed(dy as isize)?);
    field.has_unit(x, y).then(|| one(field.unit(x, y)))
}

/// Adds a candidate that is not there yet.
fn add<T: PartialEq>(candidates: &mut Vec<T>, candidate: T) {
    if !candidates.contains(&candidate) {
        candidates.push(candidate);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use picture::frame::PixelFormat;

    use super::*;
    use crate::Picture;
    use crate::cpu::motion::compensate::CpuPredictor;
    use crate::motion::predictor::{Predictor, planes};

    /// The same vectors with any number of threads, and those that made the picture.
    #[test]
    fn what_moves_is_found_in_any_order() {
        let size = FrameSize::new(200, 130).unwrap();
        let sample = |x: usize, y: usize| {
            let (x, y) = (x as f64, y as f64);
            (128.0 + 50.0 * (x / 9.0).sin() + 40.0 * (y / 7.0).cos() + 25.0 * ((x + 2.0 * y) / 17.0).sin()) as u8
        };
        let picture = |right, down| {
            let luma = (0..size.pixels()).map(|at| sample(at % 200 + right, at / 200 + down));
            luma.chain(vec![128; 2 * 100 * 65]).collect::<Vec<u8>>()
        };
        let (before, now) = (picture(0, 0), picture(3, 2));
        let mut luma = Luma::new(size);
        luma.take(&before[..size.pixels()]);
        let mut source = Bordered::new(size);
        source.take(size, &now[..size.pixels()]);
        let mut predictor = CpuPredictor::new(Chroma::C420, size);
        predictor.refer(&Picture::from_data(PixelFormat::I420, size, before.clone()).unwrap());
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            let find = |threads, last: Option<&Field>, looks_max: usize| {
                let looks = AtomicUsize::new(0);
                let search = Search {
                    chroma: Chroma::C420,
                    size,
                    reference: &luma,
                    reference_plane: &before[..size.pixels()],
                    source: &source,
                    planes: &planes(Chroma::C420, size, &now),
                    costs: &Costs::new(),
                    lambda: 200,
                    effort,
                    is_late: &|| looks.fetch_add(1, Ordering::Relaxed) >= looks_max,
                };
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                    let mut overlapped = Overlapped::new(size);
                    let field = search.find(last, &mut overlapped);
                    let [mut summed, mut compensated] = [0; 2].map(|_| Picture::for_stream(Chroma::C420, size));
                    overlapped.luma(&mut summed);
                    predictor.compensate(&field, &mut compensated);
                    let [summed, compensated] =
                        [summed, compensated].map(|picture| picture.data()[..size.pixels()].to_vec());
                    assert!(summed == compensated, "{effort:?}: the sums are those of the vectors");
                    field
                })
            };
            let field = find(1, None, usize::MAX);
            assert!((2..5).all(|threads| find(threads, None, usize::MAX) == field), "{effort:?}");
            let [columns, rows] = field.units();
            let inner = (1..rows - 1).flat_map(|y| (1..columns - 1).map(move |x| (x, y)));
            let right =
                |field: &Field| inner.clone().filter(|&(x, y)| one(field.unit(x, y)) == Motion::vector(12, 8)).count();
            let half = (rows - 2) * (columns - 2) / 2;
            assert!(right(&field) > half, "{effort:?}: {}", right(&field));
            // Without any time the last frame's vectors are at hand, and nothing else is found.
            let kept = find(2, Some(&field), 0);
            assert!(right(&kept) > half && right(&find(2, None, 0)) == 0, "{effort:?}: {}", right(&kept));
            // What is found while there is time is passed on to neighbours afterwards.
            assert!(right(&find(1, None, 1)) > half, "{effort:?}");
        }
    }
}
