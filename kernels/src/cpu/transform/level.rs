//! Geometry of one level: its size, its tasks, and where its bands lie.

use picture::params::Boundary;

/// Samples of a level below which a second thread costs more than it saves.
const PARALLEL_SAMPLES: usize = 1 << 15;

/// Size and boundary of the low band that a level splits or makes.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct LevelGeometry {
    /// Samples in a row.
    pub(in crate::cpu) columns: usize,
    /// Rows.
    pub(in crate::cpu) rows: usize,
    /// Extension at the ends of rows and columns.
    pub(in crate::cpu) boundary: Boundary,
}

impl LevelGeometry {
    /// Returns the number of pairs of rows that each thread takes.
    pub(in crate::cpu) fn pairs_per_task(&self, threads: usize) -> usize {
        let pairs = self.rows.div_ceil(2);
        if self.columns * self.rows < PARALLEL_SAMPLES { pairs } else { pairs.div_ceil(threads) }
    }

    /// Returns true if the first and last rows are computed apart from the others: a single row is not split, an odd
    /// number of rows that is repeated puts even rows beside even ones, and rows of zeros stay zero in each step.
    pub(in crate::cpu) fn has_separate_ends(&self) -> bool {
        let never = match self.boundary {
            Boundary::Symmetric => true,
            Boundary::Periodic => self.rows.is_multiple_of(2),
            Boundary::Zero => false,
        };
        self.rows == 1 || !never
    }
}

/// Place of a level's detail in the coefficients.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct DetailPlace {
    /// Values from one row to the next.
    pub(in crate::cpu) pitch: usize,
    /// Column at which HL and HH start.
    pub(in crate::cpu) right: usize,
    /// Index at which LH starts.
    pub(in crate::cpu) below: usize,
}

/// Rows to be read.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct PlaneRows<'a, T> {
    /// Row after row.
    pub(in crate::cpu) data: &'a [T],
    /// Values from one row to the next.
    pub(in crate::cpu) pitch: usize,
}

impl<'a, T> PlaneRows<'a, T> {
    /// Returns row `y` and what follows.
    #[inline(always)]
    pub(in crate::cpu) fn row(&self, y: usize) -> &'a [T] {
        &self.data[y * self.pitch..]
    }
}
