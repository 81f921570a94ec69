//! The schemes as lists of steps.

use kernels::parts::Lifting;
use picture::params::Boundary;

use super::laurent::Laurent;
use super::lift::{Axis, LiftStep};
use super::matrix::{self, Matrix};
use crate::opencl::address::Direction;
use crate::scheme::Scheme;

/// A step that every quadruple takes at once. Before a step that reads other quadruples there is a barrier.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Multiplies quadruples by a polyphase matrix.
    Linear(Box<Matrix>),
    /// Lifts one or several times; a quadruple computes all that it needs of others' intermediate values itself.
    Lifts(Vec<LiftStep>),
    /// Multiplies LL, HL, LH and HH by these.
    Scale([f64; 4]),
}

/// Returns the steps of one level.
pub(super) fn steps(scheme: Scheme, lifting: &Lifting, boundary: Boundary, direction: Direction) -> Option<Vec<Step>> {
    if scheme == Scheme::Separable {
        return Some(separable(lifting, direction));
    }
    let polyphase = matches!(scheme, Scheme::Polyphase | Scheme::PolyphaseStar);
    if lifting.reversible || polyphase && boundary == Boundary::Zero {
        nested(scheme, lifting, direction)
    } else {
        linear(scheme, lifting, direction)
    }
}

/// Returns all rows, then all columns (backwards in the inverse), a barrier a step: the reference's arithmetic.
fn separable(lifting: &Lifting, direction: Direction) -> Vec<Step> {
    let lifts =
        |axis| LiftStep::pairs(lifting, axis, direction).into_iter().flatten().map(|lift| Step::Lifts(vec![lift]));
    let (low, high) = (lifting.low_scale, lifting.high_scale);
    let mut steps = Vec::new();
    match direction {
        Direction::Forward => {
            steps.extend(lifts(Axis::Rows));
            steps.push(Step::Scale([low, high, low, high]));
            steps.extend(lifts(Axis::Columns));
            steps.push(Step::Scale([low, low, high, high]));
        }
        Direction::Inverse => {
            steps.push(Step::Scale([high, high, low, low]));
            steps.extend(lifts(Axis::Columns));
            steps.push(Step::Scale([high, low, high, low]));
            steps.extend(lifts(Axis::Rows));
        }
    }
    steps
}

/// Returns the scheme in polyphase matrices; none if it is not one of the paper's.
pub(super) fn linear(scheme: Scheme, lifting: &Lifting, direction: Direction) -> Option<Vec<Step>> {
    let mut matrices = Vec::new();
    for pair in lifting.steps.chunks(2) {
        let p = Laurent::predict(pair[0]);
        let u = Laurent::update(pair.get(1).copied().unwrap_or_default());
        matrices.push(match direction {
            Direction::Forward => pair_matrices(scheme, &p, &u)?,
            // The inverse is lifting too: minus the update first, then minus the predict, with even and odd exchanged.
            Direction::Inverse => pair_matrices(scheme, &-&u, &-&p)?.into_iter().map(Matrix::exchanged).collect(),
        });
    }
    if direction == Direction::Inverse {
        matrices.reverse();
    }
    let lifts = matrices.into_iter().flatten().map(|matrix| Step::Linear(Box::new(matrix))).collect();
    Some(scaled(lifts, lifting, direction))
}

/// Returns the matrices of one pair of predict and update, first one first.
fn pair_matrices(scheme: Scheme, p: &Laurent, u: &Laurent) -> Option<Vec<Matrix>> {
    use matrix as m;
    let ((p0, p1), (u0, u1)) = (p.split(), u.split());
    let own_predict = || [m::t_h(&p0), m::t_v(&p0)];
    let own_update = || [m::s_h(&u0), m::s_v(&u0)];
    // Equations 31, 32 and 34: what touches only the own quadruple comes before and after.
    let improved = |steps: Vec<Matrix>| own_predict().into_iter().chain(steps).chain(own_update()).collect();
    Some(match scheme {
        Scheme::Sweldens => vec![m::t_h(p), m::t_v(p), m::s_h(u), m::s_v(u)],
        Scheme::Iwahashi => vec![m::t_iwahashi(p), m::r_iwahashi(p, u), m::s_iwahashi(u)],
        Scheme::IwahashiStar => improved(vec![m::t_iwahashi(&p1), m::r_iwahashi(&p1, &u1), m::s_iwahashi(&u1)]),
        Scheme::Explosive => vec![m::t_explosive(p), m::r_explosive(p, u), m::s_explosive(u)],
        Scheme::ExplosiveStar => improved(vec![m::t_explosive(&p1), m::r_explosive(&p1, &u1), m::s_explosive(&u1)]),
        Scheme::Monolithic => vec![m::t_monolithic(p), m::s_monolithic(u)],
        // Equation 33.
        Scheme::MonolithicStar => {
            let predict = std::iter::once(m::t_monolithic(&p1)).chain(own_predict());
            predict.chain(std::iter::once(m::s_monolithic(&u1))).chain(own_update()).collect()
        }
        Scheme::Polyphase => vec![m::n(p, u)],
        Scheme::PolyphaseStar => improved(vec![m::n(&p1, &u1)]),
        Scheme::Separable | Scheme::Slab | Scheme::Rowcolumn | Scheme::Convolution => return None,
    })
}

/// Returns the scheme with as many barriers, each step made of the lifting steps of rows and then of columns that it
/// stands for; none if it is not one of the paper's.
fn nested(scheme: Scheme, lifting: &Lifting, direction: Direction) -> Option<Vec<Step>> {
    let lengths: &[usize] = match scheme {
        Scheme::Sweldens => &[1, 1, 1, 1],
        Scheme::Iwahashi | Scheme::IwahashiStar | Scheme::Explosive | Scheme::ExplosiveStar => &[1, 2, 1],
        Scheme::Monolithic | Scheme::MonolithicStar => &[2, 2],
        Scheme::Polyphase | Scheme::PolyphaseStar => &[4],
        Scheme::Separable | Scheme::Slab | Scheme::Rowcolumn | Scheme::Convolution => return None,
    };
    let (rows, columns) =
        (LiftStep::pairs(lifting, Axis::Rows, direction), LiftStep::pairs(lifting, Axis::Columns, direction));
    let mut steps = Vec::new();
    for (rows, columns) in rows.into_iter().zip(columns) {
        let mut lifts = match direction {
            Direction::Forward => rows.into_iter().chain(columns),
            Direction::Inverse => columns.into_iter().chain(rows),
        };
        steps.extend(lengths.iter().map(|&length| Step::Lifts(lifts.by_ref().take(length).collect())));
    }
    Some(scaled(steps, lifting, direction))
}

/// Adds the scaling of both axes at once.
fn scaled(mut steps: Vec<Step>, lifting: &Lifting, direction: Direction) -> Vec<Step> {
    let (low, high) = (lifting.low_scale, lifting.high_scale);
    match direction {
        Direction::Forward => steps.push(Step::Scale([low * low, high * low, low * high, high * high])),
        Direction::Inverse => steps.insert(0, Step::Scale([high * high, low * high, high * low, low * low])),
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::super::matrix::Component;
    use super::*;
    use crate::filter::WAVELETS;

    fn product(steps: &[Step]) -> Matrix {
        steps.iter().fold(Matrix::identity(), |product, step| match step {
            Step::Linear(matrix) => &**matrix * &product,
            _ => product,
        })
    }

    fn near(a: &Matrix, b: &Matrix) -> bool {
        Component::ALL.into_iter().all(|row| {
            let mut difference: Vec<_> = a.added(row);
            for (column, at, c) in b.added(row) {
                match difference.iter_mut().find(|(there, place, _)| (*there, *place) == (column, at)) {
                    Some(tap) => tap.2 -= c,
                    None => difference.push((column, at, -c)),
                }
            }
            difference.iter().all(|tap| tap.2.abs() < 1e-12)
        })
    }

    const LINEAR: [Scheme; 9] = [
        Scheme::Sweldens,
        Scheme::Iwahashi,
        Scheme::IwahashiStar,
        Scheme::Explosive,
        Scheme::ExplosiveStar,
        Scheme::Monolithic,
        Scheme::MonolithicStar,
        Scheme::Polyphase,
        Scheme::PolyphaseStar,
    ];

    #[test]
    fn all_schemes_are_the_same_operator() {
        for wavelet in WAVELETS {
            for direction in [Direction::Forward, Direction::Inverse] {
                let sweldens = product(&linear(Scheme::Sweldens, &wavelet, direction).unwrap());
                for scheme in LINEAR {
                    let steps = linear(scheme, &wavelet, direction).unwrap();
                    assert!(near(&product(&steps), &sweldens), "{scheme} {wavelet} {direction:?}");
                }
            }
        }
    }

    #[test]
    fn the_inverse_undoes_the_forward_transform() {
        for wavelet in WAVELETS {
            let forward = product(&linear(Scheme::Polyphase, &wavelet, Direction::Forward).unwrap());
            let inverse = product(&linear(Scheme::MonolithicStar, &wavelet, Direction::Inverse).unwrap());
            assert!(near(&(&inverse * &forward), &Matrix::identity()), "{wavelet}");
        }
    }
}
