//! The slab scheme, for processors, of which each work-item is a core: columns by a window that slides down a strip, rows in
//! registers (`cl/transform/dwt_strip.cl`, `cl/transform/idwt_strip.cl`).

use device::kernel::{NamedArg, Program, kernel};
use device::settings::Tuning;
use device::{Device, Result};
use picture::params::Boundary;

use super::level::{Launch, Level, LevelKernels, LevelSize, RowsLaunch, Samples};
use super::programs::{fused_program, transform_program};

/// Rows that a segment reads beyond those of its own pairs.
const REACH: usize = 3;

/// The CDF 9/7 in f32.
pub(crate) struct Slab {
    program: Program,
    boundary: Boundary,
    tuning: Tuning,
    compute_units: usize,
}

impl Slab {
    /// Builds the kernels.
    pub(crate) fn new(device: &Device, boundary: Boundary) -> Result<Self> {
        let compute_units = device.info.compute_units as usize;
        Ok(Self {
            program: transform_program(device, boundary)?,
            boundary,
            tuning: device.tuning.clone(),
            compute_units,
        })
    }

    /// Groups for `pairs_w` column pairs and `pairs_h` row pairs, and the row pairs of one segment.
    fn groups(&self, pairs_w: usize, pairs_h: usize) -> ([usize; 2], usize) {
        let strips = pairs_w.div_ceil(self.tuning.strip);
        let wanted = self.tuning.groups_per_unit * self.compute_units;
        let rows = pairs_h.div_ceil(wanted.div_ceil(strips)).max(self.tuning.min_segment.min(pairs_h));
        ([strips, pairs_h.div_ceil(rows)], rows)
    }

    fn split(&self, program: &Program, args: &[NamedArg<'_>], size: &LevelSize) -> Result<RowsLaunch> {
        let (groups, rows) = self.groups(size.low_w, size.low_h);
        let kernel = kernel(program, "dwt_level", &[args, &[("rows", rows.into())]].concat())?;
        let launch = Launch::new(kernel, groups, [1, 1]);
        Ok(RowsLaunch { launch, rows: 2 * rows, reach: REACH })
    }

    fn merge(&self, program: &Program, args: &[NamedArg<'_>], size: &LevelSize) -> Result<Launch> {
        let (groups, rows) = self.groups(size.in_w.div_ceil(2), size.in_h.div_ceil(2));
        let kernel = kernel(program, "idwt_level", &[args, &[("rows", rows.into())]].concat())?;
        Ok(Launch::new(kernel, groups, [1, 1]))
    }
}

impl<T> LevelKernels<T> for Slab {
    fn takes(&self, size: &LevelSize) -> bool {
        // Two rows go side by side, in vectors that go across.
        size.w > 1 && size.h > 1 && !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.split(&self.program, &level.forward_args(), &level.size)?.launch])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.merge(&self.program, &level.inverse_args(), &level.size)?])
    }

    fn forward_from(&self, device: &Device, level: &Level<'_, T>, from: &Samples<'_>) -> Result<Option<RowsLaunch>> {
        let program = fused_program(device, self.boundary, &from.header)?;
        self.split(&program, &level.forward_args_from(&from.args), &level.size).map(Some)
    }

    fn inverse_to(&self, device: &Device, level: &Level<'_, T>, to: &Samples<'_>) -> Result<Option<Launch>> {
        let program = fused_program(device, self.boundary, &to.header)?;
        self.merge(&program, &level.inverse_args_to(&to.args), &level.size).map(Some)
    }
}
