//! The context model of the block coder: which of the fixed probability tables codes which symbol.
//!
//! A context is a row of [`FREQUENCIES`]; every function here is a pure integer function of values that the
//! decoder already knows. Rows, in this order: [`ESCAPE`], the levels of [`peak_context`], the contexts of
//! [`quad_context`], those of [`coefficient_context`].

mod contexts;
mod read;
pub(crate) mod residual;

pub use self::contexts::*;

/// `FREQUENCIES[c][s]`: how many of 4096 times symbol `s` is expected in context `c`; 0 if it cannot occur. Counted by
/// `lab/examples/train_tables.rs`.
pub static FREQUENCIES: [[u16; SYMBOLS]; CONTEXTS] = read::rows(include_str!("tables/frequencies.csv"));

// The tables must fit a device's constant memory beside other things.
const _: () = assert!(CONTEXTS <= 520);

/// `START[c][s]`: sum of the frequencies of the symbols before `s` in context `c`.
pub(crate) static START: [[u16; SYMBOLS]; CONTEXTS] = starts(&FREQUENCIES);

/// Returns, of each row, the sums of the frequencies before each symbol.
const fn starts<const N: usize>(frequencies: &[[u16; SYMBOLS]; N]) -> [[u16; SYMBOLS]; N] {
    let mut starts = [[0; SYMBOLS]; N];
    let mut row = 0;
    while row < N {
        let mut symbol = 1;
        while symbol < SYMBOLS {
            starts[row][symbol] = starts[row][symbol - 1] + frequencies[row][symbol - 1];
            symbol += 1;
        }
        row += 1;
    }
    starts
}

/// Returns the number of symbols that can occur in `context`: a drop is never larger than the peak it is taken from.
pub const fn symbols_of(context: usize) -> usize {
    if context < QUAD {
        SYMBOLS
    } else if context < COEFFICIENT {
        let peak = (context - QUAD) / QUAD_SUMS % QUAD_PEAKS + 1;
        if peak == QUAD_PEAKS { SYMBOLS } else { peak + 1 }
    } else {
        let peak = (context - COEFFICIENT) / (COEFFICIENT_STATES * COEFFICIENT_SUMS) + 1;
        if peak == COEFFICIENT_PEAKS { SYMBOLS } else { peak + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_a_probability_distribution_over_what_can_occur() {
        for (context, row) in FREQUENCIES.iter().enumerate() {
            assert_eq!(row.iter().map(|&f| u32::from(f)).sum::<u32>(), 1 << PROBABILITY_BITS, "context {context}");
            for (symbol, &frequency) in row.iter().enumerate() {
                assert_eq!(frequency > 0, symbol < symbols_of(context), "context {context} symbol {symbol}");
            }
        }
    }

    #[test]
    fn contexts_stay_in_their_ranges() {
        for peak in 1..=MAX_LENGTH {
            for left in 0..=peak {
                for up in 0..=peak {
                    for diagonal in [false, true] {
                        let context = quad_context(peak, left, up, diagonal);
                        assert!((QUAD..COEFFICIENT).contains(&context));
                        assert!(symbols_of(context) > usize::from(peak).min(ESCAPE_SYMBOL) || peak > 9);
                    }
                    for position in 0..4 {
                        let context = coefficient_context(peak, position, position == 3, left, up);
                        assert!((COEFFICIENT..CONTEXTS).contains(&context));
                    }
                }
            }
        }
    }
}
