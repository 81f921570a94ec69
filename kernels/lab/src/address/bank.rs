//! The filter bank of a wavelet, read off its address tables.

use kernels::parts::Lifting;
use picture::params::Boundary;

use super::{Row, forward, inverse};
use crate::bank::{FilterBank, FilterTaps, Pair};
use crate::filter::Filter;

impl FilterBank {
    /// Returns the bank that the linear part of a wavelet's lifting steps amounts to.
    pub fn of(lifting: &Lifting) -> Self {
        // Any row long enough that its middle does not see the ends.
        const LENGTH: usize = 64;
        const MIDDLE: usize = 32;
        let filter = Filter::Lifted(*lifting);
        let forward = forward(&filter, Boundary::Zero, LENGTH);
        let inverse = inverse(&filter, Boundary::Zero, LENGTH);
        let (low, high) = (MIDDLE / 2, (LENGTH + MIDDLE) / 2);
        let column = |coefficient: usize| -> Vec<(usize, f64)> {
            let weight = |row: &Row| row.terms().iter().find(|(source, _)| *source == coefficient).map(|term| term.1);
            inverse.iter().enumerate().filter_map(|(at, row)| Some((at, weight(row)?))).collect()
        };
        Self {
            analysis: Pair {
                low: FilterTaps::around(MIDDLE, forward[low].terms()),
                high: FilterTaps::around(MIDDLE, forward[high].terms()),
            },
            synthesis: Pair {
                low: FilterTaps::around(MIDDLE, &column(low)),
                high: FilterTaps::around(MIDDLE, &column(high)),
            },
        }
    }
}
