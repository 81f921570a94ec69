//! Rows, then columns, one work-item per row or column (`cl/transform/dwt_line.cl`): slow, and right for any length and
//! boundary.

use device::kernel::{Arg, Program, kernel, named};
use device::queue::Buffer;
use device::{Device, Result};
use picture::params::Boundary;

use super::level::{Launch, Level, LevelKernels, LevelSize};
use super::params;
use crate::Element;
use crate::lifting::Lifting;

/// Texts of the kernels, after [`params::wavelet_header`].
const KERNELS: [&str; 4] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/integer.cl"),
    include_str!("../../../cl/transform/dwt_line.cl"),
];

/// Any wavelet in any element.
pub struct Lines {
    program: Program,
    group_size: usize,
}

/// A set of parallel lines in a buffer: the buffer, where it starts, and the steps from line to line and along a line.
#[derive(Clone, Copy)]
struct Strided<'a> {
    args: [Arg<'a>; 4],
}

impl<'a> Strided<'a> {
    fn new<T>(buffer: &'a Buffer<T>, at: usize, line_step: usize, step: usize) -> Self {
        Self { args: [buffer.arg(), at.into(), line_step.into(), step.into()] }
    }
}

const IN: [&str; 4] = ["in", "in_offset", "in_line_step", "in_step"];
const OUT: [&str; 4] = ["out", "out_offset", "out_line_step", "out_step"];
const LOW: [&str; 4] = ["s", "s_offset", "s_line_step", "s_step"];
const HIGH: [&str; 4] = ["d", "d_offset", "d_line_step", "d_step"];

/// The columns of the low or the high half of the rows.
struct Columns<'a> {
    count: usize,
    scratch: Strided<'a>,
    low: Strided<'a>,
    high: Strided<'a>,
}

/// The samples' rows, the low and the high half of the rows in scratch, and the columns of both halves.
struct Lined<'a> {
    fine: Strided<'a>,
    halves: [Strided<'a>; 2],
    columns: [Columns<'a>; 2],
}

impl<'a> Lined<'a> {
    fn new<T>(level: &Level<'a, T>) -> Self {
        let LevelSize { w, half_side, .. } = level.size;
        let low_w = w.div_ceil(2);
        let pitch = level.bands.pitch;
        let scratch = |at, line_step, step| Strided::new(level.scratch, at, line_step, step);
        let band = |at| Strided::new(level.bands.buffer, at, 1, pitch);
        Self {
            fine: Strided::new(level.fine.buffer, 0, level.fine.pitch, 1),
            halves: [scratch(0, w, 1), scratch(low_w, w, 1)],
            columns: [
                Columns {
                    count: low_w,
                    scratch: scratch(0, 1, w),
                    low: Strided::new(level.coarse.buffer, 0, 1, level.coarse.pitch),
                    high: band(half_side * pitch),
                },
                Columns {
                    count: w - low_w,
                    scratch: scratch(low_w, 1, w),
                    low: band(half_side),
                    high: band(half_side * pitch + half_side),
                },
            ],
        }
    }
}

impl Lines {
    /// Builds the kernels.
    pub fn new(device: &Device, lifting: &Lifting, element: Element, boundary: Boundary) -> Result<Self> {
        let group_size = device.tuning.group_size;
        let header = params::wavelet_header(lifting, element, boundary, group_size);
        Ok(Self { program: device.build(&header, &KERNELS)?, group_size })
    }

    /// Returns one launch over `lines` lines of `n` samples from and to these places; none if there is no line.
    fn launch(
        &self,
        name: &str,
        places: [([&'static str; 4], Strided<'_>); 3],
        lines: usize,
        n: usize,
    ) -> Result<Option<Launch>> {
        if lines == 0 {
            return Ok(None);
        }
        let args = places.map(|(names, place)| named(names, place.args));
        let args = [args.as_flattened(), &[("lines", lines.into()), ("n", n.into())]].concat();
        let groups = [lines.div_ceil(self.group_size), 1];
        let kernel = kernel(&self.program, name, &args)?;
        Ok(Some(Launch::new(kernel, groups, [self.group_size, 1])))
    }
}

impl<T> LevelKernels<T> for Lines {
    fn scratch(&self, size: &LevelSize) -> usize {
        size.w * size.h
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let LevelSize { w, h, .. } = level.size;
        let Lined { fine, halves: [low, high], columns } = Lined::new(level);
        let mut launches = vec![self.launch("dwt_line", [(IN, fine), (LOW, low), (HIGH, high)], h, w)?];
        for columns in columns {
            launches.push(self.launch(
                "dwt_line",
                [(IN, columns.scratch), (LOW, columns.low), (HIGH, columns.high)],
                columns.count,
                h,
            )?);
        }
        Ok(launches.into_iter().flatten().collect())
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let LevelSize { w, h, .. } = level.size;
        let Lined { fine, halves: [low, high], columns } = Lined::new(level);
        let mut launches = Vec::new();
        for columns in columns {
            launches.push(self.launch(
                "idwt_line",
                [(LOW, columns.low), (HIGH, columns.high), (OUT, columns.scratch)],
                columns.count,
                h,
            )?);
        }
        launches.push(self.launch("idwt_line", [(LOW, low), (HIGH, high), (OUT, fine)], h, w)?);
        Ok(launches.into_iter().flatten().collect())
    }
}
