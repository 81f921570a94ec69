//! The context model of the block coder: which of the fixed probability tables codes which symbol.
//!
//! A context is a row of [`FREQUENCIES`]; every function here is a pure integer function of values that the
//! decoder already knows. Rows, in this order: [`ESCAPE`], the levels of [`peak_context`], the contexts of
//! [`quad_context`], those of [`coefficient_context`].

pub use self::trained::FREQUENCIES;

pub(crate) mod residual;
mod trained;

/// Symbols of a table. The last one, `ESCAPE_SYMBOL`, says that the value is at least 15 and that a second
/// symbol in the context [`ESCAPE`] gives the rest.
pub const SYMBOLS: usize = 16;
/// The symbol for a value of 15 or more.
pub(crate) const ESCAPE_SYMBOL: usize = SYMBOLS - 1;
/// Each row of [`FREQUENCIES`] adds up to 2^12.
pub const PROBABILITY_BITS: u32 = 12;
/// Largest bit-length of a quantised magnitude.
pub(crate) const MAX_LENGTH: u8 = 24;

/// Context of the second symbol of an escaped value: all symbols equally likely.
pub const ESCAPE: usize = 0;

const PEAK_CONTEXTS: usize = 8;
pub(crate) const PEAK: usize = ESCAPE + 1;
pub(crate) const QUAD_PEAKS: usize = 9;
pub(crate) const QUAD_SUMS: usize = 13;
pub(crate) const QUAD: usize = PEAK + PEAK_CONTEXTS;
pub(crate) const COEFFICIENT_PEAKS: usize = 5;
pub(crate) const COEFFICIENT_STATES: usize = 6;
pub(crate) const COEFFICIENT_SUMS: usize = 9;
pub(crate) const COEFFICIENT: usize = QUAD + 2 * QUAD_PEAKS * QUAD_SUMS;
/// Number of contexts.
pub const CONTEXTS: usize = COEFFICIENT + COEFFICIENT_PEAKS * COEFFICIENT_STATES * COEFFICIENT_SUMS;

/// Returns the context of a block's peak (its largest bit-length), by `class`: 0 for low bands and root blocks, else
/// the decomposition level, at most 7.
pub(crate) const fn peak_context(class: usize) -> usize {
    PEAK + class
}

/// Returns the context of a quad's drop `peak - largest bit-length of the quad`.
///
/// `left` and `up` are the drops of the quads beside and above in the block. A missing one is replaced by the
/// other; both are 0 for the first quad. `diagonal` is true in HH bands.
pub(crate) const fn quad_context(peak: u8, left: u8, up: u8, diagonal: bool) -> usize {
    let sum = min(left as usize + up as usize, QUAD_SUMS - 1);
    QUAD + ((diagonal as usize) * QUAD_PEAKS + min(peak as usize, QUAD_PEAKS) - 1) * QUAD_SUMS + sum
}

/// Returns the context of a coefficient's drop `quad - bit-length of the coefficient`, where `quad` >= 1 is its quad's
/// largest bit-length.
///
/// `position` is 0 to 3 in the order (0,0), (0,1), (1,0), (1,1) of (row, column); `reached` tells whether an
/// earlier coefficient of the quad has the length `quad`. `beside` and `across` are the neighbours outside the
/// quad in the row and in the column: the bit-length of the adjoining coefficient to the left or above, and the
/// largest bit-length of the adjoining quad to the right or below, 0 outside the block.
pub(crate) const fn coefficient_context(quad: u8, position: usize, reached: bool, beside: u8, across: u8) -> usize {
    coefficient_row(quad, position, reached) + nearness(beside, quad) + nearness(across, quad)
}

/// Returns [`coefficient_context`] without what the neighbours outside the quad add.
#[inline(always)]
pub(crate) const fn coefficient_row(quad: u8, position: usize, reached: bool) -> usize {
    // (position, reached) pairs that occur: position 0 is never reached, position 3 is coded only if reached.
    let state = match position {
        0 => 0,
        1 => 1 + reached as usize,
        2 => 3 + reached as usize,
        _ => 5,
    };
    let peak = min(quad as usize, COEFFICIENT_PEAKS) - 1;
    COEFFICIENT + (peak * COEFFICIENT_STATES + state) * COEFFICIENT_SUMS
}

/// Returns the closeness of a neighbour's bit-length to `quad`: 3 if equal, 4 if larger, 0 if three or more smaller.
pub(crate) const fn nearness(length: u8, quad: u8) -> usize {
    min((length as usize + 3).saturating_sub(quad as usize), 4)
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

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
