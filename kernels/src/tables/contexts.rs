//! The contexts, and which of them a symbol has.

/// Symbols of a table. The last one, `ESCAPE_SYMBOL`, says that the value is at least 15 and that a second
/// symbol in the context [`ESCAPE`] gives the rest.
pub const SYMBOLS: usize = 16;
/// The symbol for a value of 15 or more.
pub(crate) const ESCAPE_SYMBOL: usize = SYMBOLS - 1;
/// Each row of [`super::FREQUENCIES`] adds up to 2^12.
pub const PROBABILITY_BITS: u32 = 12;
/// Largest bit-length of a quantised magnitude.
pub(crate) const MAX_LENGTH: u8 = 24;
const _: () = assert!(MAX_LENGTH as usize <= 2 * ESCAPE_SYMBOL, "two symbols tell each length");

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
