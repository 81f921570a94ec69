//! The last levels of a transform in one launch (`cl/transform/dwt_tail.cl`, `cl/transform/idwt_tail.cl`).

use device::kernel::{Kernel, Program, kernel};
use device::{Device, Result};
use picture::params::Boundary;

use super::level::{Launch, Level, LevelSize};
use super::params;
use crate::Element;
use crate::lifting::Lifting;

pub(crate) const SOURCES: [&str; 5] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lift.cl"),
    include_str!("../../../cl/transform/dwt_tail.cl"),
    include_str!("../../../cl/transform/idwt_tail.cl"),
];

/// Last levels of a transform of any wavelet in any element, from a small low band on.
pub(crate) struct Tail {
    program: Program,
    boundary: Boundary,
    side: usize,
    group_size: usize,
}

impl Tail {
    /// Returns the kernels for `device`.
    pub(crate) fn new(device: &Device, lifting: &Lifting, element: Element, boundary: Boundary) -> Result<Self> {
        let tuning = &device.tuning;
        let mut side = tuning.tail_side;
        // Two squares lie in local memory.
        while 2 * side * (side + 1) * element.bytes() > device.local_memory_bytes() && side > 8 {
            side /= 2;
        }
        let group_size = tuning.tail_group_size.min(device.max_group_size);
        let header = params::header(tuning, boundary).and(&params::lifting_header(lifting, element));
        let header = header.define("TAIL", side).define("TAIL_LSIZE", group_size);
        Ok(Self { program: device.build(&header, &SOURCES)?, boundary, side, group_size })
    }

    /// Returns true if it can take all of these levels, the finest of which comes first.
    pub(crate) fn takes(&self, sizes: &[LevelSize]) -> bool {
        // The inverse holds the whole corner of the square.
        let fits = |size: &LevelSize| size.w.max(size.h).max(2 * size.half_side) <= self.side;
        sizes.first().is_some_and(fits) && !sizes.iter().any(|size| size.is_odd_ring(self.boundary))
    }

    /// Transforms the samples of `level` to the coefficients of it and all coarser ones, `levels` in all.
    pub(crate) fn forward<T>(&self, level: &Level<'_, T>, levels: usize) -> Result<Launch> {
        let size = &level.size;
        let args = [
            ("in", level.fine.buffer.arg()),
            ("in_pitch", level.fine.pitch.into()),
            ("in_w", size.in_w.into()),
            ("in_h", size.in_h.into()),
            ("w", size.w.into()),
            ("h", size.h.into()),
            ("levels", levels.into()),
            ("half_side", size.half_side.into()),
            ("bands", level.bands.buffer.arg()),
            ("band_pitch", level.bands.pitch.into()),
        ];
        Ok(self.launch(kernel(&self.program, "dwt_tail", &args)?))
    }

    /// Transforms the coefficients back.
    pub(crate) fn inverse<T>(&self, level: &Level<'_, T>, levels: usize) -> Result<Launch> {
        let size = &level.size;
        let args = [
            ("bands", level.bands.buffer.arg()),
            ("band_pitch", level.bands.pitch.into()),
            ("half_side", size.half_side.into()),
            ("levels", levels.into()),
            ("w", size.w.into()),
            ("h", size.h.into()),
            ("out", level.fine.buffer.arg()),
            ("out_pitch", level.fine.pitch.into()),
            ("out_w", size.in_w.into()),
            ("out_h", size.in_h.into()),
        ];
        Ok(self.launch(kernel(&self.program, "idwt_tail", &args)?))
    }

    fn launch(&self, kernel: Kernel) -> Launch {
        Launch::new(kernel, [1, 1], [self.group_size, 1])
    }
}
