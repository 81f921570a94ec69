//! Random numbers and pictures of the fuzz loops.

use kernels::Picture;
use picture::frame::BitDepth;

/// Knuth's linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number from 0 to `below` - 1.
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % below.max(1)
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
