//! Rows of the reversible 5/3, whose rounding no weights can express: each output by its nested rounding formula,
//! from inputs alone.

use picture::params::Boundary;

use super::row::{Half, in_half};

/// Place of an input; `None` where it is zero.
pub(crate) type InputPlace = Option<usize>;

/// The result of one lifting step for its item `own` and the `pair` of its neighbours.
///
/// Forward, an odd sample: `own - floor((pair[0] + pair[1]) / 2)`; inverse, an even one:
/// `own - floor((pair[0] + pair[1] + 2) / 4)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifted {
    /// The neighbours.
    pub pair: [InputPlace; 2],
    /// The item itself.
    pub own: InputPlace,
}

/// The making of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounded {
    /// An output of the first lifting step.
    First(Lifted),
    /// An output of the second one, of `own` and two of the first.
    ///
    /// Forward, a low coefficient: `own + floor((pair[0] + pair[1] + 2) / 4)`; inverse, an odd sample:
    /// `own + floor((pair[0] + pair[1]) / 2)`.
    Second {
        /// The neighbours.
        pair: [Lifted; 2],
        /// The item itself.
        own: InputPlace,
    },
}

impl Rounded {
    /// Returns the low and then the high coefficients of a row of `n` samples.
    pub(crate) fn forward(boundary: Boundary, n: usize) -> Vec<Self> {
        if n < 2 {
            return vec![Self::UNCHANGED; n];
        }
        let even = |i| in_half(Half::Even, i, n, boundary).map(|at| 2 * at);
        let odd = |i: isize| {
            let at = in_half(Half::Odd, i, n, boundary)?;
            let i = at as isize;
            Some(Lifted { pair: [even(i), even(i + 1)], own: Some(2 * at + 1) })
        };
        // A lifted item that does not exist is made of zeros, and is zero.
        let odd = |i| odd(i).unwrap_or_default();
        let low = (0..n.div_ceil(2)).map(|i| {
            let pair = [odd(i as isize - 1), odd(i as isize)];
            Self::Second { pair, own: Some(2 * i) }
        });
        low.chain((0..n / 2).map(|i| Self::First(odd(i as isize)))).collect()
    }

    /// Returns the `n` samples of a row, from its coefficients, low ones first.
    pub(crate) fn inverse(boundary: Boundary, n: usize) -> Vec<Self> {
        if n < 2 {
            return vec![Self::UNCHANGED; n];
        }
        let high = |i| in_half(Half::Odd, i, n, boundary).map(|at| n.div_ceil(2) + at);
        let even = |i: isize| {
            let at = in_half(Half::Even, i, n, boundary)?;
            let i = at as isize;
            Some(Lifted { pair: [high(i - 1), high(i)], own: Some(at) })
        };
        let even = |i| even(i).unwrap_or_default();
        let sample = |at: usize| {
            let i = (at / 2) as isize;
            if at.is_multiple_of(2) {
                Self::First(even(i))
            } else {
                Self::Second { pair: [even(i), even(i + 1)], own: high(i) }
            }
        };
        (0..n).map(sample).collect()
    }

    /// The only sample of a row.
    const UNCHANGED: Self = Self::First(Lifted { pair: [None; 2], own: Some(0) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::parts::CDF53;
    use kernels::parts::reference::Sample;
    use kernels::parts::reference::dwt;

    /// Returns the outputs that `rows` make of `inputs`, with the offset and shift of both lifting steps.
    fn evaluate(rows: &[Rounded], inputs: &[i32], [(first, by), (second, times)]: [(i32, u32); 2]) -> Vec<i32> {
        let at = |source: InputPlace| source.map_or(0, |at| inputs[at]);
        let lifted = |item: Lifted| at(item.own) - ((at(item.pair[0]) + at(item.pair[1]) + first) >> by);
        let output = |row: &Rounded| match *row {
            Rounded::First(item) => lifted(item),
            Rounded::Second { pair, own } => at(own) + ((lifted(pair[0]) + lifted(pair[1]) + second) >> times),
        };
        rows.iter().map(output).collect()
    }

    #[test]
    fn nested_rounding_equals_lifting() {
        let steps = i32::steps(&CDF53);
        for boundary in [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero] {
            for n in 1..40 {
                let row: Vec<i32> = (0..n as i32).map(|i| (i * i * 37 + 11 * i) % 256 - 128).collect();
                let (low, high) = dwt::split(&row, &steps, boundary);
                let coefficients = [low, high].concat();
                let split = evaluate(&Rounded::forward(boundary, n), &row, [(0, 1), (2, 2)]);
                assert_eq!(split, coefficients, "{boundary:?} {n}");
                let merged = evaluate(&Rounded::inverse(boundary, n), &coefficients, [(2, 2), (0, 1)]);
                assert_eq!(merged, row, "{boundary:?} {n}");
            }
        }
    }
}
