//! Contexts and expected exponents of quads, by those above and left of them.

/// Exponents of a row of quads' lower coefficients, one column before the first and two after the last; 0 for a coefficient 0.
#[derive(Default)]
pub(super) struct Above(Vec<u8>);

impl Above {
    pub(super) fn new(width: usize) -> Self {
        Self(vec![0; width.next_multiple_of(2) + 3])
    }

    /// Begins a block of so many columns.
    pub(super) fn clear(&mut self, width: usize) {
        self.0.clear();
        self.0.resize(width.next_multiple_of(2) + 3, 0);
    }

    /// Returns the exponents of the four coefficients above a quad, from the one left of it.
    pub(super) fn of(&self, column: usize) -> [u8; 4] {
        let at = &self.0[column..column + 4];
        [at[0], at[1], at[2], at[3]]
    }

    pub(super) fn set(&mut self, column: usize, exponents: [u8; 2]) {
        self.0[column + 1..column + 3].copy_from_slice(&exponents);
    }
}

/// Returns the context of a quad; `left` are the significant coefficients of the one to its left.
#[inline(always)]
pub(super) fn context(is_first: bool, above: [u8; 4], left: u8) -> usize {
    let context = if is_first {
        // Both of its left column, then each of the right one.
        (left & 1 | left >> 1 & 1) | left >> 1 & 0b110
    } else {
        let bit = |is_there: bool, at: u8| u8::from(is_there) << at;
        bit(above[0] | above[1] != 0, 0) | bit(left & 0b1100 != 0, 1) | bit(above[2] | above[3] != 0, 2)
    };
    context.into()
}

/// Returns the largest exponent that is expected of a quad.
#[inline(always)]
pub(super) fn expected(above: [u8; 4], significant: u8) -> u32 {
    // One coefficient alone says nothing of its neighbours.
    if significant.count_ones() < 2 {
        return 1;
    }
    above.into_iter().max().unwrap_or(0).saturating_sub(1).max(1).into()
}
