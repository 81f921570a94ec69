//! Address tables on the device (`cl/shared/address.cl`), and what the two schemes that read them share.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use device::OclPrm;
use device::Result;
use device::header::Header;
use device::kernel::{Arg, Kernel, NamedArg, Program, named};
use device::queue::{Buffer, Mem, Queue};
use kernels::parts::opencl::{Launch, Level, LevelSize};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use crate::address::{self, Lifted, Rounded};
use crate::filter::Filter;

/// Entry of the reversible wavelet's table where there is no second lifting step.
const FIRST: i32 = -2;
/// Side of the square of outputs that a group makes.
const TILE: usize = 32;
/// Rows of them that it makes at once: a work-item makes TILE / TILE_ROWS outputs.
const TILE_ROWS: usize = 8;

/// A number that is transformed through address tables.
pub(crate) trait Tabled: OclPrm {
    /// Macros that say what it is.
    const DEFINES: &'static [(&'static str, &'static str)];

    /// Entry of the table in place of the coordinate of an input that is 0.
    const NOWHERE: i32;

    /// Returns the inputs of each output of one dimension.
    fn rows(filter: &Filter, boundary: Boundary, n: usize, direction: Direction) -> Vec<Vec<Term<Self>>>;
}

/// Direction of a transform: from samples to coefficients, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Inverse,
}

/// An input with its weight.
pub(crate) type Term<T> = (Input, T);

/// Place of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    At(usize),
    /// It is 0.
    Zero,
    /// There is none, and the output is the first lifted item.
    First,
}

impl From<address::InputPlace> for Input {
    fn from(source: address::InputPlace) -> Self {
        source.map_or(Self::Zero, Self::At)
    }
}

macro_rules! weighted {
    ($float:ident, $defines:expr) => {
        impl Tabled for $float {
            const DEFINES: &'static [(&'static str, &'static str)] = &$defines;
            // Any place, with weight 0.
            const NOWHERE: i32 = 0;

            fn rows(filter: &Filter, boundary: Boundary, n: usize, direction: Direction) -> Vec<Vec<Term<Self>>> {
                let rows = match direction {
                    Direction::Forward => address::forward(filter, boundary, n),
                    Direction::Inverse => address::inverse(filter, boundary, n),
                };
                let term = |&(source, weight): &(usize, f64)| (Input::At(source), weight as Self);
                rows.iter().map(|row| row.terms().iter().map(term).collect()).collect()
            }
        }
    };
}

weighted!(f32, [("REAL", "float")]);
weighted!(f64, [("REAL", "double"), ("FP64", "1")]);

/// Integers have one filter: the reversible 5/3.
impl Tabled for i32 {
    const DEFINES: &'static [(&'static str, &'static str)] = &[("REAL", "int"), ("ROUNDED", "1")];
    const NOWHERE: i32 = -1;

    fn rows(_: &Filter, boundary: Boundary, n: usize, direction: Direction) -> Vec<Vec<Term<Self>>> {
        let rows = match direction {
            Direction::Forward => Rounded::forward(boundary, n),
            Direction::Inverse => Rounded::inverse(boundary, n),
        };
        let lifted = |item: Lifted| [item.pair[0], item.pair[1], item.own].map(Input::from);
        let inputs = |row| match row {
            Rounded::First(item) => [&[Input::First][..], &lifted(item), &[Input::Zero; 3]].concat(),
            Rounded::Second { pair, own } => [&[own.into()][..], &lifted(pair[0]), &lifted(pair[1])].concat(),
        };
        rows.into_iter().map(|row| inputs(row).into_iter().map(|input| (input, 0)).collect()).collect()
    }
}

/// A scheme for any filter, boundary and length.
pub(crate) struct TableScheme<T> {
    queue: Queue,
    filter: Filter,
    boundary: Boundary,
    /// Most inputs that an output has.
    terms: usize,
    /// Forward and inverse.
    programs: [Program; 2],
    values: PhantomData<T>,
}

impl<T: Tabled> TableScheme<T> {
    /// Builds the programs of `text` for the levels of `pyramid` on `queue`'s device.
    pub(crate) fn new(
        queue: &Queue,
        text: &str,
        filter: &Filter,
        boundary: Boundary,
        pyramid: &Pyramid,
    ) -> Result<Self> {
        let terms = terms::<T>(filter, boundary, pyramid);
        let build = |inverse: u8| {
            let header = Header::default().define("TERMS", terms).define("TILE", TILE).define("TILE_ROWS", TILE_ROWS);
            let header = header.define("FIRST", FIRST).define("INVERSE", inverse);
            let header = T::DEFINES.iter().fold(header, |header, (name, value)| header.define(name, value));
            queue.device().build(&header, &[include_str!("../../cl/shared/address.cl"), text])
        };
        let (programs, queue, filter) = ([build(0)?, build(1)?], queue.clone(), filter.clone());
        Ok(Self { queue, filter, boundary, terms, programs, values: PhantomData })
    }

    /// Returns the program of a direction.
    pub(crate) fn program(&self, direction: Direction) -> &Program {
        match direction {
            Direction::Forward => &self.programs[0],
            Direction::Inverse => &self.programs[1],
        }
    }

    /// Returns the address table of a line.
    pub(crate) fn table(&self, line: &Line, direction: Direction) -> Result<Table<T>> {
        let rows = T::rows(&self.filter, self.boundary, line.n, direction);
        Table::new(&self.queue, &rows, self.terms, line, direction)
    }
}

/// Returns a launch of `kernel` for `width` x `height` outputs.
pub(crate) fn launch(kernel: Kernel, width: usize, height: usize) -> Launch {
    Launch::new(kernel, [width.div_ceil(TILE), height.div_ceil(TILE)], [TILE, TILE_ROWS])
}

/// Returns the most inputs that an output of any level of `pyramid` has. Not less than in the middle of a long row, so
/// that most pyramids have the same program.
fn terms<T: Tabled>(filter: &Filter, boundary: Boundary, pyramid: &Pyramid) -> usize {
    // Longer than any filter.
    const LONG: usize = 256;
    let extents = (1..=pyramid.levels()).map(|level| pyramid.transform_extent(level));
    let lengths: BTreeSet<_> = extents.flat_map(|(w, h)| [w, h]).chain([LONG]).collect();
    let both = lengths.into_iter().flat_map(|n| [(n, Direction::Forward), (n, Direction::Inverse)]);
    let most = |(n, direction)| T::rows(filter, boundary, n, direction).iter().map(Vec::len).max();
    both.filter_map(most).max().unwrap_or(1)
}

/// One dimension of one level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Samples that are transformed.
    n: usize,
    /// The first of them, which are stored.
    stored: usize,
    /// Low and high coefficients that are stored.
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// Coordinate of the first high one.
    half: usize,
}

impl Line {
    /// Returns rows and columns of a level, with their coefficients where they lie in the square. The inverse reads all
    /// high coefficients that the square has room for.
    pub(crate) fn both(size: &LevelSize, direction: Direction) -> [Self; 2] {
        let all = direction == Direction::Inverse;
        let line = |n: usize, stored, low, high| Self {
            n,
            stored,
            low,
            high: if all { n / 2 } else { high },
            half: size.half_side,
        };
        [line(size.w, size.in_w, size.low_w, size.high_w), line(size.h, size.in_h, size.low_h, size.high_h)]
    }

    /// Returns the same with the high coefficients right behind the low ones.
    pub(crate) fn packed(self) -> Self {
        Self { half: self.low, ..self }
    }

    /// Coefficients that are stored.
    pub(crate) fn coefficients(&self) -> usize {
        self.low + self.high
    }

    /// Results in a direction.
    pub(crate) fn outputs(&self, direction: Direction) -> usize {
        match direction {
            Direction::Forward => self.coefficients(),
            Direction::Inverse => self.stored,
        }
    }

    /// Indices of the results among all of the row.
    fn wanted(&self, direction: Direction) -> Vec<usize> {
        let low = self.n.div_ceil(2);
        match direction {
            Direction::Forward => (0..self.low).chain(low..low + self.high).collect(),
            Direction::Inverse => (0..self.stored).collect(),
        }
    }

    /// Returns the coordinate at which input `index` is stored; `None` where it is zero.
    fn coordinate(&self, index: usize, direction: Direction) -> Option<usize> {
        let low = self.n.div_ceil(2);
        match direction {
            Direction::Forward => (index < self.stored).then_some(index),
            Direction::Inverse if index < low => (index < self.low).then_some(index),
            Direction::Inverse => Some(self.half + index - low),
        }
    }
}

/// The address table of one dimension of one level.
pub(crate) struct Table<T> {
    at: Buffer<i32>,
    weights: Buffer<T>,
    pub(crate) outputs: usize,
}

impl<T: Tabled> Table<T> {
    /// Returns the table of `line`, whose outputs have these inputs each, with room for `terms`.
    fn new(queue: &Queue, rows: &[Vec<Term<T>>], terms: usize, line: &Line, direction: Direction) -> Result<Self> {
        let outputs = line.outputs(direction);
        // Unused terms have weight 0, at a place that exists.
        let mut at = vec![0; terms * outputs];
        let mut weights = vec![T::default(); at.len()];
        for (output, index) in line.wanted(direction).into_iter().enumerate() {
            for (term, (input, weight)) in rows[index].iter().enumerate() {
                let place = term * outputs + output;
                let coordinate = match input {
                    Input::At(index) => line.coordinate(*index, direction),
                    Input::Zero => None,
                    Input::First => {
                        at[place] = FIRST;
                        continue;
                    }
                };
                (at[place], weights[place]) = match coordinate {
                    // Bounded by the largest picture.
                    Some(coordinate) => (coordinate as i32, *weight),
                    None => (T::NOWHERE, T::default()),
                };
            }
        }
        Ok(Self { at: queue.constant(&at)?, weights: queue.constant(&weights)?, outputs })
    }

    /// Returns it as arguments of these names.
    pub(crate) fn args(&self, names: [&'static str; 2]) -> [NamedArg<'_>; 2] {
        named(names, [self.at.arg(), self.weights.arg()])
    }

    /// Returns its memory, for a launch to keep.
    pub(crate) fn keep(&self) -> [Mem; 2] {
        [self.at.handle(), self.weights.handle()]
    }
}

/// The arguments of a square.
pub(crate) type SquareArgs<'a> = [Arg<'a>; 7];

macro_rules! square_names {
    ($name:literal) => {
        [
            concat!($name, "_low"),
            concat!($name, "_low_pitch"),
            concat!($name, "_rest"),
            concat!($name, "_rest_pitch"),
            concat!($name, "_half"),
            concat!($name, "_low_w"),
            concat!($name, "_low_h"),
        ]
    };
}

/// The names of the arguments of the squares between which a kernel goes.
pub(crate) const IN: [&str; 7] = square_names!("in");
pub(crate) const OUT: [&str; 7] = square_names!("out");

/// Returns a square of samples that are not split.
pub(crate) fn plain<T>(buffer: &Buffer<T>, pitch: usize) -> SquareArgs<'_> {
    let (place, endless) = ([buffer.arg(), pitch.into()], Arg::Int(i32::MAX));
    [place[0], place[1], place[0], place[1], endless, endless, endless]
}

/// Returns a square of a level's coefficients.
pub(crate) fn split<'a, T>(level: &Level<'a, T>) -> SquareArgs<'a> {
    let [low, rest] = [level.coarse, level.bands].map(|place| [place.buffer.arg(), place.pitch.into()]);
    let LevelSize { half_side, low_w, low_h, .. } = level.size;
    [low[0], low[1], rest[0], rest[1], half_side.into(), low_w.into(), low_h.into()]
}
