//! The separable scheme: a tile's rows into local memory, one barrier, its columns (`cl/transform/dwt_tile.cl`,
//! `cl/transform/idwt_tile.cl`).

use device::header::Header;
use device::kernel::{Kernel, NamedArg, Program, kernel};
use device::settings::TileShape;
use device::{Device, Result};
use picture::params::Boundary;

use super::level::{Launch, Level, LevelKernels, LevelSize, RowsLaunch, Samples};
use super::{params, source};
use crate::Element;
use crate::lifting::Lifting;

pub(crate) const FORWARD: [&str; 7] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lift.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/shared/tile.cl"),
    include_str!("../../../cl/transform/dwt_tile.cl"),
];

pub(crate) const INVERSE: [&str; 7] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lift.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/shared/tile.cl"),
    include_str!("../../../cl/transform/idwt_tile.cl"),
];

/// Any wavelet in any element; any boundary but periodic ends of odd length.
pub(crate) struct Separable {
    boundary: Boundary,
    forward: TilePass,
    inverse: TilePass,
    /// Rows that a tile reads beyond those of its own pairs.
    reach: usize,
}

/// One direction.
struct TilePass {
    shape: TileShape,
    header: Header,
    program: Program,
}

impl TilePass {
    fn new(device: &Device, shape: [usize; 5], header: &Header, text: &[&str]) -> Result<Self> {
        let shape = TileShape::from(shape);
        let header = header.clone().and(&params::tile_header(&shape));
        Ok(Self { program: device.build(&header.clone().and(&source::planes()), text)?, shape, header })
    }

    /// Builds the program for samples that are elsewhere than in a plane.
    fn fused(&self, device: &Device, text: &[&str], samples: &Samples<'_>) -> Result<Program> {
        device.build(&self.header.clone().and(&samples.header), text)
    }

    fn launch(&self, kernel: Kernel, pairs_w: usize, pairs_h: usize) -> Launch {
        let groups = [pairs_w.div_ceil(self.shape.width), pairs_h.div_ceil(self.shape.height)];
        Launch::new(kernel, groups, [self.shape.group_size, 1])
    }
}

impl Separable {
    /// Returns the kernels for `device`.
    pub(crate) fn new(device: &Device, lifting: &Lifting, element: Element, boundary: Boundary) -> Result<Self> {
        let tuning = &device.tuning;
        let header = params::header(tuning, boundary).and(&params::lifting_header(lifting, element));
        let header = header.define("CACHE_HINTS", u8::from(device.has_cache_hints));
        Ok(Self {
            boundary,
            forward: TilePass::new(device, tuning.forward_tile, &header, &FORWARD)?,
            inverse: TilePass::new(device, tuning.inverse_tile, &header, &INVERSE)?,
            reach: lifting.steps.iter().map(|taps| 2 * taps.len() - 1).sum(),
        })
    }

    fn split<T>(&self, program: &Program, args: &[NamedArg<'_>], level: &Level<'_, T>) -> Result<Launch> {
        let size = &level.size;
        Ok(self.forward.launch(kernel(program, "dwt_tile", args)?, size.low_w, size.low_h))
    }

    fn merge<T>(&self, program: &Program, args: &[NamedArg<'_>], level: &Level<'_, T>) -> Result<Launch> {
        let size = &level.size;
        Ok(self.inverse.launch(kernel(program, "idwt_tile", args)?, size.in_w.div_ceil(2), size.in_h.div_ceil(2)))
    }
}

impl<T> LevelKernels<T> for Separable {
    fn takes(&self, size: &LevelSize) -> bool {
        !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.split(&self.forward.program, &level.forward_args(), level)?])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.merge(&self.inverse.program, &level.inverse_args(), level)?])
    }

    fn forward_from(&self, device: &Device, level: &Level<'_, T>, from: &Samples<'_>) -> Result<Option<RowsLaunch>> {
        let program = self.forward.fused(device, &FORWARD, from)?;
        let launch = self.split(&program, &level.forward_args_from(&from.args), level)?;
        Ok(Some(RowsLaunch { launch, rows: 2 * self.forward.shape.height, reach: self.reach }))
    }

    fn inverse_to(&self, device: &Device, level: &Level<'_, T>, to: &Samples<'_>) -> Result<Option<Launch>> {
        let program = self.inverse.fused(device, &INVERSE, to)?;
        Ok(Some(self.merge(&program, &level.inverse_args_to(&to.args), level)?))
    }
}
