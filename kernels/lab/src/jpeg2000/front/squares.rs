//! The specification's transform, whose squares are put where those of the processor's bands lie.

use kernels::TransformError;
use kernels::parts::cpu::{CompactTransform, MakeRow, compact_pitch};
use kernels::parts::reference::{Sample, open_transform};
use kernels::parts::{PlaneParams, Transform};
use picture::pyramid::{Orientation, Pyramid};

/// A transform into a square.
pub(super) struct SquareTransform {
    transform: Box<dyn Transform>,
    pyramid: Pyramid,
}

impl SquareTransform {
    /// Opens the transform of planes of one channel.
    pub(super) fn open(params: &PlaneParams, pyramid: &Pyramid) -> Self {
        Self { transform: open_transform(params, String::new()), pyramid: pyramid.clone() }
    }
}

impl<T: Sample> CompactTransform<T> for SquareTransform {
    fn forward(&mut self, rows: MakeRow<'_, T>, bands: &mut [T]) -> Result<(), TransformError> {
        let (pyramid, plane) = (&self.pyramid, self.pyramid.plane());
        let mut samples = vec![T::default(); plane.pixels()];
        samples.chunks_exact_mut(plane.width()).enumerate().for_each(|(y, row)| rows(y, row));
        let squares = self.transform.forward_planes(&T::wrap(vec![samples]))?;
        let pyramids = std::slice::from_ref(pyramid);
        let square = &squares.squares::<T>(pyramids)?[0];
        let pitch = compact_pitch(pyramid);
        let mut copy = |level: usize, orientation: Orientation| {
            let (low, band) = (pyramid.band(level, Orientation::LL), pyramid.band(level, orientation));
            let to = (band.x.min(low.width), band.y.min(low.height));
            for y in 0..band.height {
                let from = &square[(band.y + y) * pyramid.side() + band.x..][..band.width];
                bands[(to.1 + y) * pitch + to.0..][..band.width].copy_from_slice(from);
            }
        };
        copy(pyramid.levels(), Orientation::LL);
        for level in 1..=pyramid.levels() {
            [Orientation::HL, Orientation::LH, Orientation::HH].into_iter().for_each(|band| copy(level, band));
        }
        Ok(())
    }
}
