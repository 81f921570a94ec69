//! Laurent polynomials in two shifts: filters on the components of quadruples.

use std::collections::BTreeMap;
use std::ops::{Add, Mul, Neg};

/// A finite filter. The tap at (x, y) multiplies the component of the quadruple x to the right and y below.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Laurent(BTreeMap<(i32, i32), f64>);

impl Laurent {
    /// Creates one tap at (0, 0).
    pub(super) fn scalar(value: f64) -> Self {
        Self([((0, 0), value)].into_iter().filter(|(_, value)| *value != 0.0).collect())
    }

    /// Returns a predict step along rows: `c[k]` at -k and k + 1.
    pub(super) fn predict(coefficients: &[f64]) -> Self {
        let pair = |(k, &c): (i32, &f64)| [((-k, 0), c), ((k + 1, 0), c)];
        Self((0..).zip(coefficients).flat_map(pair).collect())
    }

    /// Returns an update step along rows: `c[k]` at -k - 1 and k.
    pub(super) fn update(coefficients: &[f64]) -> Self {
        let pair = |(k, &c): (i32, &f64)| [((-k - 1, 0), c), ((k, 0), c)];
        Self((0..).zip(coefficients).flat_map(pair).collect())
    }

    /// Returns the same filter along columns: the paper's `P*`.
    pub(super) fn transposed(&self) -> Self {
        Self(self.0.iter().map(|(&(x, y), &c)| ((y, x), c)).collect())
    }

    /// Returns the tap that stays in the own quadruple, and the others: the paper's `P0` and `P1`.
    pub(super) fn split(&self) -> (Self, Self) {
        let (own, others) = self.0.iter().map(|(&at, &c)| (at, c)).partition(|(at, _)| *at == (0, 0));
        (Self(own), Self(others))
    }

    /// Returns all taps that are not zero: (x, y) and coefficient.
    pub(super) fn taps(&self) -> impl Iterator<Item = ((i32, i32), f64)> {
        self.0.iter().map(|(&at, &c)| (at, c))
    }

    fn add_tap(&mut self, at: (i32, i32), value: f64) {
        let tap = self.0.entry(at).or_default();
        *tap += value;
        if *tap == 0.0 {
            self.0.remove(&at);
        }
    }
}

impl Add for &Laurent {
    type Output = Laurent;

    fn add(self, other: Self) -> Laurent {
        let mut sum = self.clone();
        other.taps().for_each(|(at, c)| sum.add_tap(at, c));
        sum
    }
}

impl Mul for &Laurent {
    type Output = Laurent;

    fn mul(self, other: Self) -> Laurent {
        let mut product = Laurent::default();
        for ((x, y), a) in self.taps() {
            for ((i, j), b) in other.taps() {
                product.add_tap((x + i, y + j), a * b);
            }
        }
        product
    }
}

impl Neg for &Laurent {
    type Output = Laurent;

    fn neg(self) -> Laurent {
        Laurent(self.0.iter().map(|(&at, &c)| (at, -c)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_convolutions() {
        let (predict, update) = (Laurent::predict(&[-0.5]), Laurent::update(&[0.25]));
        let v = &(&predict * &update) + &Laurent::scalar(1.0);
        assert_eq!(v.taps().collect::<Vec<_>>(), [((-1, 0), -0.125), ((0, 0), 0.75), ((1, 0), -0.125)]);
        assert_eq!((&predict * &update.transposed()).taps().count(), 4);
        assert_eq!((&predict + &-&predict).taps().count(), 0);
        let (own, others) = predict.split();
        assert_eq!(own, Laurent::scalar(-0.5));
        assert_eq!(&own + &others, predict);
    }
}
