//! The slab scheme: columns by a window that slides down a strip, rows in local memory (`cl/dwt.cl`, `cl/idwt.cl`)
//! or, on processors, in registers (`cl/dwt_strip.cl`, `cl/idwt_strip.cl`).

use super::device::Device;
use super::kernel::{Program, kernel};
use super::level::{Launch, Level, LevelKernels, LevelSize};
use super::tuning::Tuning;
use crate::Error;
use common::params::Boundary;

/// The CDF 9/7 in f32.
pub(super) struct Slab {
    program: Program,
    boundary: Boundary,
    tuning: Tuning,
    compute_units: usize,
}

impl Slab {
    /// Builds the kernels.
    pub(super) fn new(device: &Device, boundary: Boundary) -> Result<Self, Error> {
        let compute_units = device.info.compute_units as usize;
        Ok(Self {
            program: device.transform_program(boundary)?,
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

    fn group_size(&self) -> [usize; 2] {
        [self.tuning.group_size, 1]
    }
}

impl<T> LevelKernels<T> for Slab {
    fn takes(&self, size: &LevelSize) -> bool {
        // On processors two rows go side by side, in vectors that go across.
        let lone = self.tuning.group_size == 1 && (size.w == 1 || size.h == 1);
        !lone && !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let (groups, rows) = self.groups(size.low_w, size.low_h);
        let kernel = kernel(&self.program, "dwt_level", &[&level.forward_args()[..], &[rows.into()]].concat())?;
        Ok(vec![Launch::new(kernel, groups, self.group_size())])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let (groups, rows) = self.groups(size.in_w.div_ceil(2), size.in_h.div_ceil(2));
        let kernel = kernel(&self.program, "idwt_level", &[&level.inverse_args()[..], &[rows.into()]].concat())?;
        Ok(vec![Launch::new(kernel, groups, self.group_size())])
    }
}
