//! The numbers of the search for vectors, and the settings of one on a device.

use super::field::{Field, WINDOW};

/// Parts of a difference of one sample.
pub(crate) const PARTS: u64 = 256;
/// Steps of one stride or another that a search takes at most.
pub(crate) const STEPS: usize = 24;
/// Bits that a vector's differences and its own are worth together, for which no better one is looked for.
pub(crate) const QUIET_BITS: u64 = 4;
/// Bits that quartering a unit must be able to save, in differences, to be tried.
pub(crate) const QUARTER_BITS: u64 = 20;
/// Offset at which the search around a vector begins, quarters of a sample.
pub(crate) const STRIDE: i32 = 8;
/// The same around one that a neighbour has found.
pub(crate) const NEIGHBOUR_STRIDE: i32 = 2;
/// The same around a cell's.
pub(crate) const CELL_STRIDE: i32 = 2;

/// Side of the squares whose means are compared over the whole picture, samples.
pub(crate) const COARSE: usize = 4;
/// Side of what is compared of them, squares: of a unit and its overlap.
pub(crate) const COARSE_SIDE: usize = WINDOW / COARSE;
/// Largest component of a vector found so, squares.
pub(crate) const COARSE_RANGE: i32 = 12;

/// Settings of one search on a device.
pub(crate) struct Wanted<'a> {
    /// The vectors of the last frame, if it has some.
    pub(crate) last: Option<&'a Field>,
    /// Sixteenths of a bit of a 0 and a 1 in each context, then of magnitudes by axis and digits.
    pub(crate) costs: Vec<u32>,
    /// The worth of a sixteenth of a bit, in [`PARTS`] of a difference.
    pub(crate) lambda: u64,
    /// Vectors are looked for over the whole picture, too.
    pub(crate) looks_everywhere: bool,
    /// Times that what units have found is passed on to those around them.
    pub(crate) passes: usize,
    /// Times that units are moved with their overlap; those of none are not quartered either.
    pub(crate) rounds: usize,
}
