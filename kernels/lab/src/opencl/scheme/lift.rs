//! Lifting steps along one axis, as the reference takes them: nonlinear where they round.

use kernels::parts::Lifting;

use super::matrix::Component;
use crate::opencl::address::Direction;

/// Along rows or along columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Rows,
    Columns,
}

/// One lifting step of all rows or of all columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LiftStep {
    pub(super) axis: Axis,
    /// True if it changes the odd samples (predict), false for the even ones (update).
    pub(super) odd: bool,
    pub(super) weights: LiftWeights,
}

/// Weights of the sums of a sample's pairs of neighbours, nearest pair first.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LiftWeights {
    /// `sum of c[k] pair[k]`, each as a fused multiply-add.
    Real(Vec<f64>),
    /// The rounded steps of the reversible wavelet, `cl/shared/integer.cl`.
    Reversible { back: bool },
}

impl LiftStep {
    /// Returns the steps of one axis in the order in which they are taken, in pairs of predict and update (of update
    /// and predict in the inverse).
    pub(super) fn pairs(lifting: &Lifting, axis: Axis, direction: Direction) -> Vec<[Self; 2]> {
        let step = |index: usize| {
            let odd = index.is_multiple_of(2);
            Self { axis, odd, weights: LiftWeights::new(lifting, index, direction) }
        };
        let starts = (0..lifting.steps.len()).step_by(2);
        match direction {
            Direction::Forward => starts.map(|first| [step(first), step(first + 1)]).collect(),
            Direction::Inverse => starts.rev().map(|first| [step(first + 1), step(first)]).collect(),
        }
    }

    /// Returns the component that the new values of `component` come from; none if it keeps its values.
    pub(super) fn source(&self, component: Component) -> Option<Component> {
        let bit = match self.axis {
            Axis::Rows => 1,
            Axis::Columns => 2,
        };
        let is_odd = component.index() & bit != 0;
        (is_odd == self.odd).then(|| Component::ALL[component.index() ^ bit])
    }

    /// Offsets, in quadruples, of the two neighbours of pair `k`: as (x, y).
    pub(super) fn neighbours(&self, k: i32) -> [(i32, i32); 2] {
        let ends = if self.odd { [-k, k + 1] } else { [-k - 1, k] };
        ends.map(|end| match self.axis {
            Axis::Rows => (end, 0),
            Axis::Columns => (0, end),
        })
    }
}

impl LiftWeights {
    fn new(lifting: &Lifting, index: usize, direction: Direction) -> Self {
        let inverse = direction == Direction::Inverse;
        if lifting.reversible {
            return Self::Reversible { back: inverse };
        }
        let coefficients = lifting.steps.get(index).copied().unwrap_or_default();
        Self::Real(coefficients.iter().map(|c| if inverse { -c } else { *c }).collect())
    }

    /// Returns the number of pairs of neighbours read.
    pub(super) fn pairs(&self) -> i32 {
        match self {
            // At most a few, as `Lifting` has them.
            Self::Real(coefficients) => coefficients.len() as i32,
            Self::Reversible { .. } => 1,
        }
    }
}
