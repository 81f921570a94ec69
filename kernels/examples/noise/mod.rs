//! Random numbers and pictures of the fuzz loops.
#![allow(dead_code, reason = "each user needs a part")]

use kernels::Picture;
use picture::frame::BitDepth;

/// Small sizes, of which many are decoded in a second, and larger ones with whole, cut and odd blocks of all kinds.
pub(crate) const SIZES: [(u32, u32); 7] = [(1, 1), (7, 12), (16, 16), (32, 32), (33, 65), (97, 70), (200, 120)];
/// Number of small ones among [`SIZES`].
const SMALL: usize = 4;
/// One frame in so many is of one of the larger sizes.
const LARGER_EVERY: usize = 256;
/// One picture in so many is coded anew; others are the last one with other changes.
pub(crate) const CODED_EVERY: usize = 32;

/// Knuth's linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number from 0 to `below` - 1.
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % below.max(1)
    }

    /// Returns the place of one of [`SIZES`].
    pub(crate) fn size(&mut self) -> usize {
        let sizes = if self.next(LARGER_EVERY) == 0 { SMALL..SIZES.len() } else { 0..SMALL };
        sizes.start + self.next(sizes.len())
    }

    /// Slopes and noise.
    pub(crate) fn fill(&mut self, picture: &mut Picture) {
        let (roughness, slope, depth) = (1 + self.next(255), self.next(5), picture.depth());
        let mut sample = |at| self.next(roughness) + slope * at;
        match depth {
            BitDepth::Eight => {
                picture.data_mut().iter_mut().enumerate().for_each(|(at, to)| *to = sample(at) as u8);
            }
            BitDepth::Ten => {
                let samples = picture.data_mut().as_chunks_mut::<2>().0.iter_mut().enumerate();
                samples.for_each(|(at, to)| *to = ((4 * sample(at)) as u16 & depth.max()).to_le_bytes());
            }
        }
    }
}
