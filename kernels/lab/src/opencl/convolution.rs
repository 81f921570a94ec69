//! The convolution scheme: two-dimensional filters through address tables, one launch per level
//! (`cl/convolution.cl`).

use device::Result;
use device::kernel::{kernel, named};
use device::queue::Queue;
use kernels::parts::opencl::{Launch, Level, LevelKernels};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::address::{self, Direction, IN, Line, OUT, TableScheme, Tabled};
use crate::filter::Filter;

/// Any filter, boundary and length.
pub(crate) struct Convolution<T>(TableScheme<T>);

impl<T: Tabled> Convolution<T> {
    /// Builds the kernel for the levels of `pyramid` on `queue`'s device.
    pub(crate) fn new(queue: &Queue, filter: &Filter, boundary: Boundary, pyramid: &Pyramid) -> Result<Self> {
        let text = include_str!("../../cl/convolution.cl");
        TableScheme::new(queue, text, filter, boundary, pyramid).map(Self)
    }

    fn launch(&self, level: &Level<'_, T>, direction: Direction) -> Result<Vec<Launch>> {
        let lines = Line::both(&level.size, direction);
        let (x, y) = (self.0.table(&lines[0], direction)?, self.0.table(&lines[1], direction)?);
        let samples = address::plain(level.fine.buffer, level.fine.pitch);
        let coefficients = address::split(level);
        let (from, to) = match direction {
            Direction::Forward => (samples, coefficients),
            Direction::Inverse => (coefficients, samples),
        };
        let sizes = [("width", x.outputs.into()), ("height", y.outputs.into())];
        let tables = [x.args(["x_at", "x_weight"]), y.args(["y_at", "y_weight"])];
        let args = [&named(IN, from)[..], &named(OUT, to), &sizes, tables.as_flattened()].concat();
        let kernel = kernel(self.0.program(direction), "convolve", &args)?;
        let launch = address::launch(kernel, x.outputs, y.outputs);
        Ok(vec![launch.keeping([x.keep(), y.keep()].into_iter().flatten())])
    }
}

impl<T: Tabled> LevelKernels<T> for Convolution<T> {
    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        self.launch(level, Direction::Forward)
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        self.launch(level, Direction::Inverse)
    }
}
