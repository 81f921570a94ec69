//! The transform of planes whose rows are made when they are wanted, into bands that lie without gaps: neither the planes nor
//! what would be between the bands takes memory.

use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::pyramid::{Order, PlaneTransform, extent, padded_pitch};
use super::row_source::RowSource;
use crate::TransformError;
use crate::cpu::vector::VectorSample;
use crate::lifting::Lifting;
use crate::sample::Sample;

/// Puts the row of a number into memory as long as a row.
pub type MakeRow<'a, T> = &'a (dyn Fn(usize, &mut [T]) + Sync);

/// A transform of planes of one size, one after another, that continue by symmetry.
pub trait CompactTransform<T>: Send {
    /// Transforms a plane. At each level the high half follows the low half, rounded up, without a gap; rows are
    /// [`compact_pitch`] apart. What lies beyond the plane's rows and columns is not written.
    fn forward(&mut self, rows: MakeRow<'_, T>, bands: &mut [T]) -> Result<(), TransformError>;
}

/// Numbers that are transformed so.
pub trait CompactSample: Sample {
    /// Opens the transform of this processor.
    fn open_compact(pyramid: &Pyramid, lifting: &Lifting) -> Box<dyn CompactTransform<Self>>;
}

impl CompactSample for i32 {
    fn open_compact(pyramid: &Pyramid, lifting: &Lifting) -> Box<dyn CompactTransform<Self>> {
        Box::new(CpuCompact::<Self>::new(pyramid, lifting))
    }
}

impl CompactSample for f32 {
    fn open_compact(pyramid: &Pyramid, lifting: &Lifting) -> Box<dyn CompactTransform<Self>> {
        Box::new(CpuCompact::<Self>::new(pyramid, lifting))
    }
}

/// Returns how far apart the rows of bands are. There are as many as the plane has.
pub fn compact_pitch(pyramid: &Pyramid) -> usize {
    padded_pitch(extent(pyramid).0)
}

struct CpuCompact<T: VectorSample> {
    transform: PlaneTransform<T>,
    pitch: usize,
}

impl<T: VectorSample> CpuCompact<T> {
    fn new(pyramid: &Pyramid, lifting: &Lifting) -> Self {
        let transform = PlaneTransform::new(pyramid, lifting, Boundary::Symmetric);
        Self { transform, pitch: compact_pitch(pyramid) }
    }
}

impl<T: VectorSample> CompactTransform<T> for CpuCompact<T> {
    fn forward(&mut self, rows: MakeRow<'_, T>, bands: &mut [T]) -> Result<(), TransformError> {
        self.transform.forward(MadeRows(rows), bands, Order::Compact(self.pitch));
        Ok(())
    }
}

/// Rows that are made when they are read.
struct MadeRows<'a, T>(MakeRow<'a, T>);

impl<T> Clone for MadeRows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MadeRows<'_, T> {}

impl<T: VectorSample> RowSource<T> for MadeRows<'_, T> {
    fn row<'a>(&'a self, y: usize, columns: usize, room: &'a mut [T]) -> &'a [T] {
        let row = &mut room[..columns];
        (self.0)(y, row);
        row
    }

    fn ahead(&self, _y: usize) -> &[T] {
        &[]
    }
}
