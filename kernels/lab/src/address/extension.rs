//! Rows of a filter bank: taps on a row that is extended beyond its ends.
//!
//! - `periodic`: sample i is sample `i mod n`, and coefficient i of a half is coefficient `i mod` their number.
//! - `zero`: samples and coefficients beyond the ends are 0.
//! - `symmetric`: samples are mirrored about the first and last sample (filters of odd length, whole-sample symmetry)
//!   or half a sample beyond them (filters of even length). A coefficient belongs to the position where its
//!   analysis filter has its centre; mirrored, it is itself times the filter's own sign of symmetry (Brislawn, 1996).
//!
//! The reconstruction is not assumed but computed: see [`super::residual`].

use picture::params::Boundary;

use super::row::{Row, mirror};
use crate::bank::{FilterBank, FilterTaps};

/// Returns the low and then the high coefficients of a row of `n` >= 2 samples.
pub(super) fn forward(bank: &FilterBank, boundary: Boundary, n: usize) -> Vec<Row> {
    let whole = whole_sample(bank);
    let halves = [(&bank.analysis().low, n.div_ceil(2)), (&bank.analysis().high, n / 2)];
    let outputs = halves.into_iter().flat_map(|(filter, count)| (0..count).map(move |i| (filter, i)));
    let row = |(filter, i): (&FilterTaps, usize)| {
        let mut row = Row::default();
        for (position, tap) in filter.positions() {
            if let Some(source) = sample(2 * i as isize + position as isize, n, boundary, whole) {
                row.add(source, tap);
            }
        }
        row
    };
    outputs.map(row).collect()
}

/// Returns the samples of a row of `n` >= 2.
pub(super) fn inverse(bank: &FilterBank, boundary: Boundary, n: usize) -> Vec<Row> {
    let low = Continuation::new(&bank.analysis().low, 1, bank, boundary, n, n.div_ceil(2));
    let high = Continuation::new(&bank.analysis().high, -1, bank, boundary, n, n / 2);
    let bands = [(&bank.synthesis().low, low, 0), (&bank.synthesis().high, high, n.div_ceil(2))];
    let row = |at: usize| {
        let at = at as isize;
        let mut row = Row::default();
        for (filter, coefficients, start) in &bands {
            // Coefficient i has the tap at `at - 2i`.
            let (first, last) = (filter.first as isize, filter.last() as isize);
            for i in (at - last + 1).div_euclid(2)..=(at - first).div_euclid(2) {
                if let Some((stored, sign)) = coefficients.find(i) {
                    row.add(start + stored, sign * filter.at((at - 2 * i) as i32));
                }
            }
        }
        row
    };
    (0..n).map(row).collect()
}

/// Returns true if the mirrors are at samples (filters of odd length), not between them.
fn whole_sample(bank: &FilterBank) -> bool {
    bank.analysis().low.taps.len() % 2 == 1
}

/// Returns the place of sample `i` of a row of `n` >= 2; `None` where it is zero.
fn sample(i: isize, n: usize, boundary: Boundary, whole: bool) -> Option<usize> {
    let at = match boundary {
        Boundary::Periodic => i.rem_euclid(n as isize),
        Boundary::Zero => i,
        Boundary::Symmetric if whole => mirror(i, n),
        Boundary::Symmetric => {
            let at = i.rem_euclid(2 * n as isize);
            at.min(2 * n as isize - 1 - at)
        }
    };
    usize::try_from(at).ok().filter(|at| *at < n)
}

/// Continuation of the coefficients of one half beyond the ends.
struct Continuation {
    boundary: Boundary,
    /// Number of coefficients stored.
    count: isize,
    /// Symmetric: coefficient i is coefficient `i mod period`, and `sign` times coefficient `mirror - i`; the latter
    /// only if the centre of the filter can be mirrored onto the centre of another coefficient's.
    period: isize,
    mirror: Option<isize>,
    sign: f64,
}

impl Continuation {
    /// Creates the half that `filter` makes of rows of `n` samples; `usual` is its sign if it has no symmetry.
    fn new(filter: &FilterTaps, usual: i32, bank: &FilterBank, boundary: Boundary, n: usize, count: usize) -> Self {
        let whole = whole_sample(bank);
        // Twice the position of the left mirror, and of the centre for coefficient 0.
        let (axis, centre) = if whole { (0, 2 * filter.first) } else { (-1, 2 * filter.first) };
        let centre = centre + filter.taps.len() as i32 - 1;
        let usual = if whole { 1 } else { usual };
        Self {
            boundary,
            count: count as isize,
            period: if whole { n as isize - 1 } else { n as isize },
            mirror: ((axis - centre) % 2 == 0).then_some(((axis - centre) / 2) as isize),
            sign: f64::from(symmetry(filter).unwrap_or(usual)),
        }
    }

    /// Returns the stored coefficient that coefficient `i` equals, up to its sign; `None` where it is zero.
    fn find(&self, i: isize) -> Option<(usize, f64)> {
        let found = match self.boundary {
            Boundary::Periodic => Some((i.rem_euclid(self.count), 1.0)),
            Boundary::Zero => Some((i, 1.0)),
            Boundary::Symmetric => {
                let same = (i.rem_euclid(self.period), 1.0);
                let mirrored = self.mirror.map(|mirror| ((mirror - i).rem_euclid(self.period), self.sign));
                [Some(same), mirrored].into_iter().flatten().find(|(at, _)| *at < self.count)
            }
        };
        found.and_then(|(at, sign)| Some((usize::try_from(at).ok().filter(|_| at < self.count)?, sign)))
    }
}

/// Returns 1 for a filter that equals its mirror image, -1 for one that is the negative of it.
fn symmetry(filter: &FilterTaps) -> Option<i32> {
    let most = filter.taps.iter().fold(0.0_f64, |most, tap| most.max(tap.abs()));
    let is =
        |sign: f64| filter.taps.iter().zip(filter.taps.iter().rev()).all(|(a, b)| (a - sign * b).abs() <= 1e-6 * most);
    if is(1.0) {
        Some(1)
    } else if is(-1.0) {
        Some(-1)
    } else {
        None
    }
}
