//! The separable scheme: a tile's rows into local memory, one barrier, its columns (`cl/dwt_tile.cl`,
//! `cl/idwt_tile.cl`).

use common::params::Boundary;

use super::device::Device;
use super::kernel::{Program, kernel};
use super::level::{Launch, Level, LevelKernels, LevelSize};
use super::params;
use super::tuning::TileShape;
use crate::Error;
use crate::wavelet::{Element, Wavelet};

pub(super) const FORWARD: [&str; 5] = [
    include_str!("../../cl/common.cl"),
    include_str!("../../cl/boundary.cl"),
    include_str!("../../cl/lift.cl"),
    include_str!("../../cl/tile.cl"),
    include_str!("../../cl/dwt_tile.cl"),
];

pub(super) const INVERSE: [&str; 5] = [
    include_str!("../../cl/common.cl"),
    include_str!("../../cl/boundary.cl"),
    include_str!("../../cl/lift.cl"),
    include_str!("../../cl/tile.cl"),
    include_str!("../../cl/idwt_tile.cl"),
];

/// Any wavelet in any element; any boundary but periodic ends of odd length.
pub(super) struct Separable {
    boundary: Boundary,
    forward: Program,
    inverse: Program,
    forward_shape: TileShape,
    inverse_shape: TileShape,
}

impl Separable {
    /// The kernels for `device`.
    pub(super) fn new(device: &Device, wavelet: Wavelet, element: Element, boundary: Boundary) -> Result<Self, Error> {
        let tuning = &device.tuning;
        let [forward_shape, inverse_shape] = [tuning.forward_tile, tuning.inverse_tile].map(TileShape::from);
        let lifting = params::lifting_defines(&wavelet.lifting(), element);
        let options = |shape: &TileShape| {
            [params::defines(tuning, boundary), lifting.clone(), params::tile_defines(shape)].concat()
        };
        Ok(Self {
            boundary,
            forward: device.build(&FORWARD, &options(&forward_shape))?,
            inverse: device.build(&INVERSE, &options(&inverse_shape))?,
            forward_shape,
            inverse_shape,
        })
    }
}

/// Groups for `pairs_w` x `pairs_h` pairs.
fn groups(shape: &TileShape, pairs_w: usize, pairs_h: usize) -> [usize; 2] {
    [pairs_w.div_ceil(shape.width), pairs_h.div_ceil(shape.height)]
}

impl<T> LevelKernels<T> for Separable {
    fn takes(&self, size: &LevelSize) -> bool {
        !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let args = level.forward_args();
        Ok(vec![Launch::new(
            kernel(&self.forward, "dwt_tile", &args)?,
            groups(&self.forward_shape, size.low_w, size.low_h),
            [self.forward_shape.group_size, 1],
        )])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let args = level.inverse_args();
        Ok(vec![Launch::new(
            kernel(&self.inverse, "idwt_tile", &args)?,
            groups(&self.inverse_shape, size.in_w.div_ceil(2), size.in_h.div_ceil(2)),
            [self.inverse_shape.group_size, 1],
        )])
    }
}
