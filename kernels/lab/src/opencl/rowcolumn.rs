//! The row-column scheme: lines are filtered and transposed, two launches per level (`cl/rowcolumn.cl`).

use device::Result;
use device::kernel::{kernel, named};
use device::queue::Queue;
use kernels::parts::opencl::{Launch, Level, LevelKernels, LevelSize};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::address::{self, Direction, IN, Line, OUT, SquareArgs, TableScheme, Tabled};
use crate::filter::Filter;

/// Any filter, boundary and length.
pub(crate) struct RowColumn<T>(TableScheme<T>);

/// One launch: the squares between which it goes, and the lines.
struct LinePass<'a> {
    from: SquareArgs<'a>,
    to: SquareArgs<'a>,
    line: Line,
    lines: usize,
}

impl<T: Tabled> RowColumn<T> {
    /// Builds the kernel for the levels of `pyramid` on `queue`'s device.
    pub(crate) fn new(queue: &Queue, filter: &Filter, boundary: Boundary, pyramid: &Pyramid) -> Result<Self> {
        let text = include_str!("../../cl/rowcolumn.cl");
        TableScheme::new(queue, text, filter, boundary, pyramid).map(Self)
    }

    fn launch(&self, pass: LinePass<'_>, direction: Direction) -> Result<Launch> {
        let LinePass { from, to, line, lines } = pass;
        let table = self.0.table(&line, direction)?;
        let sizes = [("outputs", table.outputs.into()), ("lines", lines.into())];
        let args = [&named(IN, from)[..], &named(OUT, to), &sizes, &table.args(["at", "weight"])].concat();
        let kernel = kernel(self.0.program(direction), "filter_transposed", &args)?;
        let (width, height) = match direction {
            Direction::Forward => (table.outputs, lines),
            Direction::Inverse => (lines, table.outputs),
        };
        Ok(address::launch(kernel, width, height).keeping(table.keep()))
    }
}

/// Returns rows and columns. Between the two launches, where the rows' coefficients are columns of scratch memory of
/// the height of the samples, the high ones come right behind the low ones.
fn lines(size: &LevelSize, direction: Direction) -> [Line; 2] {
    let [rows, columns] = Line::both(size, direction);
    match direction {
        Direction::Forward => [rows, columns],
        Direction::Inverse => [rows.packed(), columns],
    }
}

impl<T: Tabled> LevelKernels<T> for RowColumn<T> {
    fn scratch(&self, size: &LevelSize) -> usize {
        let [rows, _] = lines(size, Direction::Inverse);
        rows.coefficients() * size.in_h
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let [rows, columns] = lines(&level.size, Direction::Forward);
        let scratch = address::plain(level.scratch, level.size.in_h);
        let first = LinePass {
            from: address::plain(level.fine.buffer, level.fine.pitch),
            to: scratch,
            line: rows,
            lines: level.size.in_h,
        };
        let lines = rows.coefficients();
        let second = LinePass { from: scratch, to: address::split(level), line: columns, lines };
        Ok(vec![self.launch(first, Direction::Forward)?, self.launch(second, Direction::Forward)?])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let [rows, columns] = lines(&level.size, Direction::Inverse);
        let scratch = address::plain(level.scratch, level.size.in_h);
        let lines = rows.coefficients();
        let first = LinePass { from: address::split(level), to: scratch, line: columns, lines };
        let second = LinePass {
            from: scratch,
            to: address::plain(level.fine.buffer, level.fine.pitch),
            line: rows,
            lines: level.size.in_h,
        };
        Ok(vec![self.launch(first, Direction::Inverse)?, self.launch(second, Direction::Inverse)?])
    }
}
