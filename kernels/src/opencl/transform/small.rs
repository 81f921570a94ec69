//! Small levels of the separable scheme: a work-item per quadruple and a barrier a lifting step, so that planes that do
//! not fill the device are shared by as many work-items as there can be (`cl/transform/dwt_small.cl`).

use device::header::Header;
use device::kernel::{NamedArg, Program, kernel};
use device::{Device, Result};
use picture::params::Boundary;

use super::level::{Launch, Level, LevelKernels, LevelSize, RowsLaunch, Samples};
use super::{params, source};
use crate::Element;
use crate::lifting::Lifting;

const SOURCES: [&str; 6] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lift.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/dwt_small.cl"),
];

/// Any wavelet in any element, by tiles of quadruples.
pub(crate) struct Small {
    header: Header,
    program: Program,
    boundary: Boundary,
    tile: [usize; 2],
    /// Quadruples beside one that its coefficients depend on, on every side.
    halo: usize,
}

impl Small {
    /// Returns the kernels for `device`.
    pub(crate) fn new(device: &Device, lifting: &Lifting, element: Element, boundary: Boundary) -> Result<Self> {
        let (tile, halo) = (fitting(device, lifting, element), halo(lifting));
        let header = params::header(&device.tuning, boundary).and(&params::lifting_header(lifting, element));
        let header = header.define("SMALL_W", tile[0]).define("SMALL_H", tile[1]);
        let program = build(device, &header, &source::planes())?;
        Ok(Self { header, program, boundary, tile, halo })
    }

    /// Returns the groups that write `w` x `h` quadruples.
    fn groups(&self, w: usize, h: usize) -> [usize; 2] {
        let [tile_w, tile_h] = self.tile.map(|side| side - 2 * self.halo);
        [w.div_ceil(tile_w), h.div_ceil(tile_h)]
    }

    fn split(&self, program: &Program, args: &[NamedArg<'_>], size: &LevelSize) -> Result<RowsLaunch> {
        let groups = self.groups(size.low_w, size.low_h);
        let launch = Launch::new(kernel(program, "dwt_small", args)?, groups, self.tile);
        Ok(RowsLaunch { launch, rows: 2 * (self.tile[1] - 2 * self.halo), reach: 2 * self.halo })
    }

    fn merge<T>(&self, program: &Program, level: &Level<'_, T>, to: &[NamedArg<'_>]) -> Result<Launch> {
        let size = &level.size;
        let (extent, out) =
            ([("w", size.w.into()), ("h", size.h.into())], [("out_w", size.in_w.into()), ("out_h", size.in_h.into())]);
        let args = [&level.coefficient_args()[..], &extent, to, &out].concat();
        let groups = self.groups(size.in_w.div_ceil(2), size.in_h.div_ceil(2));
        Ok(Launch::new(kernel(program, "idwt_small", &args)?, groups, self.tile))
    }
}

/// Builds it for these samples of `cl/shared/source.cl`.
fn build(device: &Device, header: &Header, samples: &Header) -> Result<Program> {
    device.build(&header.clone().and(samples), &SOURCES)
}

fn halo(lifting: &Lifting) -> usize {
    lifting.steps.len() / 2 * (2 * lifting.taps() - 1)
}

/// Returns the device's tile, halved in height until its work-items and its local memory are there.
fn fitting(device: &Device, lifting: &Lifting, element: Element) -> [usize; 2] {
    let (items, bytes) = (device.max_group_size, device.local_memory_bytes());
    let [tile_w, mut tile_h] = device.tuning.tile;
    let fits = |tile_h: usize| {
        let cells = 4 * (tile_w * tile_h + 2 * lifting.taps() * (tile_w + 1));
        tile_w * tile_h <= items && cells * element.bytes() <= bytes
    };
    while !fits(tile_h) && tile_h / 2 > 2 * halo(lifting) {
        tile_h /= 2;
    }
    [tile_w, tile_h]
}

impl<T> LevelKernels<T> for Small {
    fn takes(&self, size: &LevelSize) -> bool {
        size.w > 1 && size.h > 1 && !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.split(&self.program, &level.forward_args(), &level.size)?.launch])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let to = [("out", level.fine.buffer.arg()), ("out_pitch", level.fine.pitch.into())];
        Ok(vec![self.merge(&self.program, level, &to)?])
    }

    fn forward_from(&self, device: &Device, level: &Level<'_, T>, from: &Samples<'_>) -> Result<Option<RowsLaunch>> {
        let program = build(device, &self.header, &from.header)?;
        self.split(&program, &level.forward_args_from(&from.args), &level.size).map(Some)
    }

    fn inverse_to(&self, device: &Device, level: &Level<'_, T>, to: &Samples<'_>) -> Result<Option<Launch>> {
        let program = build(device, &self.header, &to.header)?;
        self.merge(&program, level, &to.args).map(Some)
    }
}
