//! Any filter bank, through the address tables of each row length.
//!
//! Each output is the sum of its table row's inputs times their weights in the order of the inputs, one fused
//! multiply-add each, starting from 0.

use std::collections::BTreeMap;

use kernels::parts::reference::{Engine, Sample, dwt};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use crate::address;
use crate::filter::Filter;

/// A sample that can be weighted.
pub(crate) trait Weighted: Sample {
    /// Returns the nearest to a number.
    fn nearest(value: f64) -> Self;

    /// Returns `self + weight value`, rounded once.
    fn add(self, weight: Self, value: Self) -> Self;
}

macro_rules! weighted {
    ($float:ident) => {
        impl Weighted for $float {
            fn nearest(value: f64) -> Self {
                value as Self
            }

            fn add(self, weight: Self, value: Self) -> Self {
                weight.mul_add(value, self)
            }
        }
    };
}

weighted!(f32);
weighted!(f64);

/// The address tables of all row lengths of a transform.
#[derive(Clone, Debug)]
pub(crate) struct Tables<T> {
    forward: BTreeMap<usize, Vec<WeightedSum<T>>>,
    inverse: BTreeMap<usize, Vec<WeightedSum<T>>>,
}

/// Inputs of an output, with their weights.
type WeightedSum<T> = Vec<(usize, T)>;

impl<T: Weighted> Tables<T> {
    /// Returns the tables for planes of `pyramid`.
    pub(crate) fn new(filter: &Filter, boundary: Boundary, pyramid: &Pyramid) -> Self {
        let rounded = |rows: Vec<address::Row>| -> Vec<WeightedSum<T>> {
            let term = |&(source, weight): &(usize, f64)| (source, T::nearest(weight));
            rows.iter().map(|row| row.terms().iter().map(term).collect()).collect()
        };
        let extents = (1..=pyramid.levels()).map(|level| pyramid.transform_extent(level));
        let lengths = extents.flat_map(|(w, h)| [w, h]);
        let tables =
            |n| (n, [address::forward(filter, boundary, n), address::inverse(filter, boundary, n)].map(rounded));
        let tables: BTreeMap<usize, _> = lengths.map(tables).collect();
        let of = |direction: usize| tables.iter().map(|(&n, rows)| (n, rows[direction].clone())).collect();
        Self { forward: of(0), inverse: of(1) }
    }

    /// Transforms a plane into a square of coefficients.
    pub(crate) fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::forward_by(plane, pyramid, |row| {
            let mut low = weigh(&self.forward, row);
            let high = low.split_off(row.len().div_ceil(2));
            (low, high)
        })
    }

    /// Transforms a square of coefficients back into its plane.
    pub(crate) fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::inverse_by(square, pyramid, |low, high| weigh(&self.inverse, &[low, high].concat()))
    }
}

/// Returns the outputs that the table for rows of this length makes of `inputs`; none if there is no such table.
fn weigh<T: Weighted>(tables: &BTreeMap<usize, Vec<WeightedSum<T>>>, inputs: &[T]) -> Vec<T> {
    let sum =
        |row: &WeightedSum<T>| row.iter().fold(T::default(), |sum, &(source, weight)| sum.add(weight, inputs[source]));
    tables.get(&inputs.len()).map(|rows| rows.iter().map(sum).collect()).unwrap_or_default()
}

impl<T: Weighted> Engine for Tables<T> {
    type Element = T;

    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        Self::forward(self, plane, pyramid)
    }

    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        Self::inverse(self, square, pyramid)
    }
}
