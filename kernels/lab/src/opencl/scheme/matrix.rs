//! Polyphase matrices on quadruples (LL, HL, LH, HH), named and numbered as in Barina, Kula and Zemcik, "Parallel
//! Wavelet Schemes for Images".

use std::ops::Mul;

use super::laurent::Laurent;

/// Component of a quadruple. Bit 0 is set for horizontal detail, bit 1 for vertical detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Component {
    LL,
    HL,
    LH,
    HH,
}

use Component::{HH, HL, LH, LL};

impl Component {
    pub(super) const ALL: [Self; 4] = [LL, HL, LH, HH];

    /// Returns its position in a quadruple.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A linear step: `entry(row, column)` filters component `column` into component `row`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix([[Laurent; 4]; 4]);

impl Matrix {
    /// Ones on the diagonal.
    pub(super) fn identity() -> Self {
        let entry = |row, column| Laurent::scalar(f64::from(u8::from(row == column)));
        Self(std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column))))
    }

    fn with(mut self, row: Component, column: Component, entry: Laurent) -> Self {
        self.0[row.index()][column.index()] = entry;
        self
    }

    /// Returns the terms that the step adds to component `row`: the row of the matrix less the identity, without zeros.
    pub(super) fn added(&self, row: Component) -> Vec<(Component, (i32, i32), f64)> {
        let entries = Component::ALL.into_iter().flat_map(|column| {
            let entry = &self.0[row.index()][column.index()];
            let entry = if row == column { entry + &Laurent::scalar(-1.0) } else { entry.clone() };
            entry.taps().map(|(at, c)| (column, at, c)).collect::<Vec<_>>()
        });
        entries.collect()
    }

    /// Returns the same step with even and odd samples exchanged in both directions: LL with HH, and HL with LH.
    pub(super) fn exchanged(self) -> Self {
        let mut rows = self.0;
        rows.reverse();
        rows.iter_mut().for_each(|row| row.reverse());
        Self(rows)
    }
}

impl Mul for &Matrix {
    type Output = Matrix;

    fn mul(self, other: Self) -> Matrix {
        let entry = |row: usize, column: usize| {
            (0..4).fold(Laurent::default(), |sum, k| &sum + &(&self.0[row][k] * &other.0[k][column]))
        };
        Matrix(std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column))))
    }
}

/// Returns equation 15.
pub(super) fn t_h(p: &Laurent) -> Matrix {
    Matrix::identity().with(HL, LL, p.clone()).with(HH, LH, p.clone())
}

/// Returns equation 16.
pub(super) fn t_v(p: &Laurent) -> Matrix {
    let p_v = p.transposed();
    Matrix::identity().with(LH, LL, p_v.clone()).with(HH, HL, p_v)
}

/// Returns equation 17.
pub(super) fn s_h(u: &Laurent) -> Matrix {
    Matrix::identity().with(LL, HL, u.clone()).with(LH, HH, u.clone())
}

/// Returns equation 18.
pub(super) fn s_v(u: &Laurent) -> Matrix {
    let u_v = u.transposed();
    Matrix::identity().with(LL, LH, u_v.clone()).with(HL, HH, u_v)
}

/// Returns equation 19, as the product of the matrices of the Sweldens scheme.
pub(super) fn n(p: &Laurent, u: &Laurent) -> Matrix {
    &(&s_v(u) * &s_h(u)) * &(&t_v(p) * &t_h(p))
}

/// Returns equation 21.
pub(super) fn t_iwahashi(p: &Laurent) -> Matrix {
    let p_v = p.transposed();
    Matrix::identity().with(HH, LL, p * &p_v).with(HH, HL, p_v).with(HH, LH, p.clone())
}

/// Returns equation 22.
pub(super) fn r_iwahashi(p: &Laurent, u: &Laurent) -> Matrix {
    let (p_v, u_v) = (p.transposed(), u.transposed());
    Matrix::identity().with(HL, LL, p.clone()).with(HL, HH, u_v).with(LH, LL, p_v).with(LH, HH, u.clone())
}

/// Returns equation 23.
pub(super) fn s_iwahashi(u: &Laurent) -> Matrix {
    let u_v = u.transposed();
    Matrix::identity().with(LL, HL, u.clone()).with(LL, HH, -&(u * &u_v)).with(LL, LH, u_v)
}

/// Returns equation 25.
pub(super) fn t_explosive(p: &Laurent) -> Matrix {
    let p_v = p.transposed();
    Matrix::identity().with(HL, LL, p.clone()).with(HH, LL, -&(p * &p_v)).with(LH, LL, p_v)
}

/// Returns equation 26.
pub(super) fn r_explosive(p: &Laurent, u: &Laurent) -> Matrix {
    let (p_v, u_v) = (p.transposed(), u.transposed());
    Matrix::identity().with(LL, HL, u.clone()).with(LL, LH, u_v).with(HH, HL, p_v).with(HH, LH, p.clone())
}

/// Returns equation 27.
pub(super) fn s_explosive(u: &Laurent) -> Matrix {
    let u_v = u.transposed();
    Matrix::identity().with(LL, HH, u * &u_v).with(HL, HH, u_v).with(LH, HH, u.clone())
}

/// Returns equation 29.
pub(super) fn t_monolithic(p: &Laurent) -> Matrix {
    &t_v(p) * &t_h(p)
}

/// Returns equation 30.
pub(super) fn s_monolithic(u: &Laurent) -> Matrix {
    &s_v(u) * &s_h(u)
}
