//! The context model of groups of blocks of a predicted frame: which of the fixed probability tables codes which symbol.
//!
//! Rows of [`FREQUENCIES`], in this order: those of [`block_row`], of [`square_row`], of
//! [`magnitude_row`].

mod rows;

pub use self::rows::ROWS;
use self::rows::{MAGNITUDE, SQUARE};
pub(crate) use self::rows::{NEAR, block_row, magnitude_row, square_row};
use super::{PROBABILITY_BITS, SYMBOLS, read, starts};

/// `FREQUENCIES[r][s]`: how many of 4096 times symbol `s` is expected in row `r`; 0 if it cannot occur. Counted by
/// `lab/examples/train_groups.rs`.
pub static FREQUENCIES: [[u16; SYMBOLS]; ROWS] = read::rows(include_str!("residual/frequencies.csv"));

/// Returns true if `symbol` can occur in `row`: a square that is not zero has one in it that is not.
pub const fn can_occur(row: usize, symbol: usize) -> bool {
    symbol > 0 || row < SQUARE || row >= MAGNITUDE
}

/// `START[r][s]`: sum of the frequencies of the symbols before `s` in row `r`.
pub(crate) static START: [[u16; SYMBOLS]; ROWS] = starts(&FREQUENCIES);

/// Returns what a symbol of this frequency takes, in parts of a bit of 256, rounded down.
pub(crate) const fn cost(frequency: u16) -> u32 {
    let whole = frequency.ilog2();
    // log2 of the mantissa, digit by digit: squaring doubles it.
    let mut mantissa = (frequency as u64) << (31 - whole);
    let (mut log, mut digit) = (whole << 8, 7);
    loop {
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >> 32 > 0 {
            mantissa >>= 1;
            log |= 1 << digit;
        }
        if digit == 0 {
            return (PROBABILITY_BITS << 8) - log;
        }
        digit -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_probability_distribution_over_what_can_occur() {
        for (row, frequencies) in FREQUENCIES.iter().enumerate() {
            assert_eq!(frequencies.iter().map(|&f| u32::from(f)).sum::<u32>(), 1 << PROBABILITY_BITS, "row {row}");
            for (symbol, &frequency) in frequencies.iter().enumerate() {
                assert_eq!(frequency > 0, can_occur(row, symbol), "row {row} symbol {symbol}");
            }
        }
    }

    #[test]
    fn rows_lie_side_by_side() {
        assert_eq!((block_row(0, false, false, 0), block_row(7, true, true, NEAR) + 1), (0, SQUARE));
        assert_eq!((square_row(1, 0, 0, 0), square_row(4, 3, 3, 2) + 1), (SQUARE, MAGNITUDE));
        assert_eq!((magnitude_row(3, 0), magnitude_row(0, 8) + 1), (MAGNITUDE, ROWS));
    }

    #[test]
    fn costs_are_logarithms() {
        for frequency in 1..=1_u16 << PROBABILITY_BITS {
            let exact = 256.0 * (f64::from(PROBABILITY_BITS) - f64::from(frequency).log2());
            let found = f64::from(cost(frequency));
            assert!(found >= exact - 1e-6 && found < exact + 1.0, "{frequency}: {found}, {exact}");
        }
    }
}
