//! The convolution scheme: two-dimensional filters through address tables, one launch per level
//! (`cl/transform/convolution.cl`).

use std::marker::PhantomData;

use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::address::{self, Direction, IN, Line, OUT, Programs, Table, Tabled};
use super::level::{Launch, Level, LevelKernels};
use crate::opencl::device::Result;
use crate::opencl::device::kernel::{kernel, named};
use crate::opencl::device::queue::Queue;
use crate::transform::Filter;

/// Any filter, boundary and length.
pub(crate) struct Convolution<T> {
    queue: Queue,
    filter: Filter,
    boundary: Boundary,
    terms: usize,
    programs: Programs,
    values: PhantomData<T>,
}

impl<T: Tabled> Convolution<T> {
    /// Builds the kernel for the levels of `pyramid` on `queue`'s device.
    pub(crate) fn new(queue: &Queue, filter: &Filter, boundary: Boundary, pyramid: &Pyramid) -> Result<Self> {
        let terms = address::terms::<T>(filter, boundary, pyramid);
        let programs = Programs::new::<T>(queue, include_str!("../../../cl/transform/convolution.cl"), terms)?;
        let (queue, filter) = (queue.clone(), filter.clone());
        Ok(Self { queue, filter, boundary, terms, programs, values: PhantomData })
    }

    fn launch(&self, level: &Level<'_, T>, direction: Direction) -> Result<Vec<Launch>> {
        let lines = Line::both(&level.size, direction);
        let table = |line| Table::<T>::new(&self.queue, &self.filter, self.boundary, self.terms, line, direction);
        let (x, y) = (table(&lines[0])?, table(&lines[1])?);
        let samples = address::plain(level.fine.buffer, level.fine.pitch);
        let coefficients = address::split(level);
        let (from, to) = match direction {
            Direction::Forward => (samples, coefficients),
            Direction::Inverse => (coefficients, samples),
        };
        let sizes = [("width", x.outputs.into()), ("height", y.outputs.into())];
        let tables = [x.args(["x_at", "x_weight"]), y.args(["y_at", "y_weight"])];
        let args = [&named(IN, from)[..], &named(OUT, to), &sizes, tables.as_flattened()].concat();
        let kernel = kernel(self.programs.of(direction), "convolve", &args)?;
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
