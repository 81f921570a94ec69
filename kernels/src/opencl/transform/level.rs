//! One level of a channel's transform: what it reads and writes, and what a scheme makes of it.

use device::header::Header;
use device::kernel::{Kernel, NamedArg};
use device::queue::{Buffer, Mem};
use device::{Device, Result};
use picture::params::Boundary;
use picture::pyramid::{Orientation, Pyramid};

/// A buffer between levels, and how far apart its rows are.
pub struct Pitched<'a, T> {
    /// The memory.
    pub buffer: &'a Buffer<T>,
    /// Values from row to row.
    pub pitch: usize,
}

impl<T> Clone for Pitched<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pitched<'_, T> {}

/// Sizes of one level, in samples and coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSize {
    /// Columns of samples that are stored; those beyond are zero up to [`Self::w`] x [`Self::h`].
    pub in_w: usize,
    /// Rows of them.
    pub in_h: usize,
    /// Columns of samples that are transformed.
    pub w: usize,
    /// Rows of them.
    pub h: usize,
    /// Columns of low coefficients that can be non-zero.
    pub low_w: usize,
    /// Rows of them.
    pub low_h: usize,
    /// High coefficients of a row that can be non-zero. An inverse transform must read all `w / 2` and `h / 2` that the
    /// square has room for: squares from elsewhere may hold others.
    pub high_w: usize,
    /// High coefficients of a column, likewise.
    pub high_h: usize,
    /// Start of the detail bands in the square: so far to the right and so far down.
    pub half_side: usize,
}

impl LevelSize {
    /// Sizes of all levels of `pyramid`, the finest first.
    pub fn all(pyramid: &Pyramid) -> Vec<Self> {
        (1..=pyramid.levels()).map(|level| Self::new(pyramid, level)).collect()
    }

    /// Sizes of level `level`, 1 to [`Pyramid::levels`].
    fn new(pyramid: &Pyramid, level: usize) -> Self {
        let (in_w, in_h) = if level == 1 {
            (pyramid.plane().width(), pyramid.plane().height())
        } else {
            let finer = pyramid.band(level - 1, Orientation::LL);
            (finer.width, finer.height)
        };
        let (w, h) = pyramid.transform_extent(level);
        let (low, high) = (pyramid.band(level, Orientation::LL), pyramid.band(level, Orientation::HH));
        Self {
            in_w,
            in_h,
            w,
            h,
            low_w: low.width,
            low_h: low.height,
            high_w: high.width,
            high_h: high.height,
            half_side: pyramid.side() >> level,
        }
    }

    /// Returns true if rows or columns of odd length wrap around. Their seam lies between two low coefficients, and no
    /// extension of the samples gives what wrapping in every lifting step gives.
    pub fn is_odd_ring(&self, boundary: Boundary) -> bool {
        let odd = |n: usize| n > 1 && n % 2 == 1;
        boundary == Boundary::Periodic && (odd(self.w) || odd(self.h))
    }
}

/// One level: its sizes, and its memory.
pub struct Level<'a, T> {
    /// Its sizes.
    pub size: LevelSize,
    /// The samples, `in_w` x `in_h`.
    pub fine: Pitched<'a, T>,
    /// The low band, `low_w` x `low_h`. The last level's is the corner of `bands`.
    pub coarse: Pitched<'a, T>,
    /// The whole square, for the detail bands; zero where nothing is written.
    pub bands: Pitched<'a, T>,
    /// At least [`LevelKernels::scratch`] values.
    pub scratch: &'a Buffer<T>,
}

impl<T> Level<'_, T> {
    /// Returns the arguments of a kernel of one forward level: samples, their sizes, low band, detail bands.
    pub fn forward_args(&self) -> Vec<NamedArg<'_>> {
        self.forward_args_from(&[("in", self.fine.buffer.arg()), ("in_pitch", self.fine.pitch.into())])
    }

    /// Returns the same with these arguments for the samples.
    pub fn forward_args_from<'a>(&'a self, samples: &[NamedArg<'a>]) -> Vec<NamedArg<'a>> {
        let size = &self.size;
        let sizes =
            [("in_w", size.in_w.into()), ("in_h", size.in_h.into()), ("w", size.w.into()), ("h", size.h.into())];
        let high = [("high_w", size.high_w.into()), ("high_h", size.high_h.into())];
        [samples, &sizes, &self.coefficient_args(), &high].concat()
    }

    /// Returns the arguments of a kernel of one inverse level: low band, all details that fit in the square, samples.
    pub(crate) fn inverse_args(&self) -> Vec<NamedArg<'_>> {
        self.inverse_args_to(&[("out", self.fine.buffer.arg()), ("out_pitch", self.fine.pitch.into())])
    }

    /// Returns the same with these arguments for the samples.
    pub(crate) fn inverse_args_to<'a>(&'a self, samples: &[NamedArg<'a>]) -> Vec<NamedArg<'a>> {
        let size = &self.size;
        let sizes = [
            ("high_w", (size.w / 2).into()),
            ("high_h", (size.h / 2).into()),
            ("w", size.w.into()),
            ("h", size.h.into()),
        ];
        let out = [("out_w", size.in_w.into()), ("out_h", size.in_h.into())];
        [&self.coefficient_args()[..], &sizes, samples, &out].concat()
    }

    /// Returns the arguments of the low band and of the detail bands without their sizes.
    pub fn coefficient_args(&self) -> [NamedArg<'_>; 7] {
        [
            ("low", self.coarse.buffer.arg()),
            ("low_pitch", self.coarse.pitch.into()),
            ("low_w", self.size.low_w.into()),
            ("low_h", self.size.low_h.into()),
            ("bands", self.bands.buffer.arg()),
            ("band_pitch", self.bands.pitch.into()),
            ("half_side", self.size.half_side.into()),
        ]
    }
}

/// Samples in a plane or elsewhere: header and arguments for `cl/shared/source.cl`.
pub struct Samples<'a> {
    /// Macros of the program.
    pub header: Header,
    /// Arguments of the kernel.
    pub args: Vec<NamedArg<'a>>,
}

/// A launch whose rows of groups can run one after another, as samples come in.
pub struct RowsLaunch {
    /// The launch.
    pub launch: Launch,
    /// Rows of samples of which a row of groups makes coefficients.
    pub rows: usize,
    /// Number of rows beyond these that it reads.
    pub reach: usize,
}

/// A kernel ready to run.
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Columns and rows of groups.
    pub groups: [usize; 2],
    /// Columns and rows of work-items in a group.
    pub group_size: [usize; 2],
    /// Memory of the scheme that the kernel reads: a kernel does not keep its arguments alive.
    tables: Vec<Mem>,
}

impl Launch {
    /// Creates a launch of `groups` groups of `group_size` work-items, both (columns, rows).
    pub fn new(kernel: Kernel, groups: [usize; 2], group_size: [usize; 2]) -> Self {
        Self { kernel, groups, group_size, tables: Vec::new() }
    }

    /// Keeps memory as long as the launch.
    pub fn keeping(mut self, tables: impl IntoIterator<Item = Mem>) -> Self {
        self.tables.extend(tables);
        self
    }
}

/// A scheme: how one level is computed.
pub trait LevelKernels<T>: Send {
    /// Returns true if it computes levels of this size; [`super::line::Lines`] computes those that are left.
    fn takes(&self, _size: &LevelSize) -> bool {
        true
    }

    /// Returns the values of scratch memory that a level of this size needs.
    fn scratch(&self, _size: &LevelSize) -> usize {
        0
    }

    /// Launches from samples to coefficients.
    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>>;

    /// Launches from coefficients to samples.
    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>>;

    /// Returns [`Self::forward`] of samples that are elsewhere, in one launch; `None` if there is none for it.
    fn forward_from(&self, _device: &Device, _level: &Level<'_, T>, _from: &Samples<'_>) -> Result<Option<RowsLaunch>> {
        Ok(None)
    }

    /// Returns [`Self::inverse`] to samples that go elsewhere, likewise.
    fn inverse_to(&self, _device: &Device, _level: &Level<'_, T>, _to: &Samples<'_>) -> Result<Option<Launch>> {
        Ok(None)
    }
}
