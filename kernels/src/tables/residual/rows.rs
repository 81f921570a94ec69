//! The rows, and which of them a symbol has.

const CLASSES: usize = 5;
/// Blocks before a block that its context tells of.
pub(crate) const NEAR: usize = 2;
const BLOCK_ROWS: usize = CLASSES * 2 * 2 * (NEAR + 1);
/// Sides of squares that have a pattern of their own, besides whole blocks: 16, 8, 4, 2.
const SIDES: usize = 4;
const _: () = assert!(picture::pyramid::BLOCK_SIDE == 2 << SIDES, "the sides are those below a block's, down to 2");
const SQUARE_ROWS: usize = SIDES * 16 * 3;
pub(super) const SQUARE: usize = BLOCK_ROWS;
pub(super) const MAGNITUDE: usize = SQUARE + SQUARE_ROWS;
const MAGNITUDE_ROWS: usize = 2 * 9;
/// Number of rows.
pub const ROWS: usize = MAGNITUDE + MAGNITUDE_ROWS;

/// Returns the row of a block's pattern: by its class, whether its channel is chroma, whether it is in an HH band, and how
/// many of the two blocks before it in the group are not zero.
pub(crate) const fn block_row(class: usize, chroma: bool, diagonal: bool, near: usize) -> usize {
    let class = if class < CLASSES { class } else { CLASSES - 1 };
    ((class * 2 + chroma as usize) * 2 + diagonal as usize) * (NEAR + 1) + near
}

/// Returns the row of the pattern of a square of side `32 >> depth` that is not zero: by which of the four half as large
/// squares to the left (upper, lower) and above (left, right) are not, and how many of the two as large squares to
/// the right and below.
pub(crate) const fn square_row(depth: usize, left: usize, above: usize, after: usize) -> usize {
    SQUARE + ((depth - 1) * 16 + left * 4 + above) * 3 + after
}

/// Returns the row of a magnitude: by the class, and by the magnitudes to the left and above, each up to 3, with how many of the
/// coefficients to the right and below are not zero.
pub(crate) const fn magnitude_row(class: usize, near: usize) -> usize {
    MAGNITUDE + if class == 0 { 9 } else { 0 } + near
}
