//! The symbols of a block of a group: squares of ever smaller sides, the magnitudes of what is not zero, and the signs. One walk through
//! them encodes, decodes and counts.

use picture::pyramid::BLOCK_SIDE;

use crate::reference::quad::{Damaged, Shape};
use crate::reference::rans;
use crate::tables::residual::{FREQUENCIES, START, cost, magnitude_row, square_row};
use crate::tables::{MAX_LENGTH, PROBABILITY_BITS, SYMBOLS};

/// The magnitude from which on it is written as a number.
const LARGE: u32 = SYMBOLS as u32;
/// Bits of the length of such a number.
const LARGE_BITS: u32 = 5;
/// Bits that are written at once without a context.
const PLAIN_MAX: u32 = 8;

/// Coefficients of a block, rows [`BLOCK_SIDE`] apart, zero beyond its width and height.
pub(super) type Tile = [i32; BLOCK_SIDE * BLOCK_SIDE];

/// The symbols of a block that is not all zero, but for its own pattern: each start and frequency.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    pub(super) pattern: usize,
    pub(super) ranges: Vec<(u16, u16)>,
    pub(super) cost: u32,
}

/// The coder or the decoder of a block's symbols.
pub(super) trait Coder {
    /// Codes a symbol in a row: `symbol` for an encoder, what was coded for a decoder.
    fn symbol(&mut self, row: usize, symbol: usize) -> usize;

    /// Codes `count` bits, at most [`PLAIN_MAX`], that have no row, likewise.
    fn plain(&mut self, count: u32, value: u32) -> u32;
}

/// Keeps what is coded, to be written last one first.
#[derive(Default)]
pub(super) struct Writer(pub(super) Symbols);

impl Coder for &mut Writer {
    fn symbol(&mut self, row: usize, symbol: usize) -> usize {
        let frequency = FREQUENCIES[row][symbol];
        self.0.ranges.push((START[row][symbol], frequency));
        self.0.cost += cost(frequency);
        symbol
    }

    fn plain(&mut self, count: u32, value: u32) -> u32 {
        let frequency = 1 << (PROBABILITY_BITS - count);
        self.0.ranges.push(((value * frequency) as u16, frequency as u16));
        self.0.cost += count << 8;
        value
    }
}

/// Reads what was written.
pub(super) struct Reader<'a>(pub(super) rans::RansDecoder<'a>);

impl Reader<'_> {
    /// Reads a symbol in a row.
    pub(super) fn get(&mut self, row: usize) -> usize {
        let slot = self.0.slot() as u16;
        // Of symbols that cannot occur, the start is that of the next one.
        let symbol = START[row].iter().filter(|&&start| start <= slot).count() - 1;
        self.0.take(START[row][symbol].into(), FREQUENCIES[row][symbol].into());
        symbol
    }
}

impl Coder for &mut Reader<'_> {
    fn symbol(&mut self, row: usize, _symbol: usize) -> usize {
        self.get(row)
    }

    fn plain(&mut self, count: u32, _value: u32) -> u32 {
        let frequency = 1 << (PROBABILITY_BITS - count);
        let value = self.0.slot() / frequency;
        self.0.take(value * frequency, frequency);
        value
    }
}

/// Tells of symbols.
pub(super) struct Counter<F>(pub(super) F);

impl<F: FnMut(usize, usize)> Coder for Counter<F> {
    fn symbol(&mut self, row: usize, symbol: usize) -> usize {
        self.0(row, symbol);
        symbol
    }

    fn plain(&mut self, _count: u32, value: u32) -> u32 {
        value
    }
}

/// Depth of squares of one coefficient.
const LEAVES: usize = 5;
const _: () = assert!(BLOCK_SIDE == 1 << LEAVES);

/// Squares that are not zero: for each depth, of side `32 >> depth`, rows of bits; the square (x, y) has bit `x + 1` of row `y + 1`.
struct Squares([[u64; BLOCK_SIDE + 2]; LEAVES + 1]);

impl Squares {
    const NONE: Self = Self([[0; BLOCK_SIDE + 2]; LEAVES + 1]);

    fn of(tile: &Tile) -> Self {
        let mut squares = Self::NONE;
        for (row, values) in squares.0[LEAVES][1..].iter_mut().zip(tile.chunks_exact(BLOCK_SIDE)) {
            for (x, &value) in values.iter().enumerate() {
                *row |= u64::from(value != 0) << (x + 1);
            }
        }
        for depth in (0..LEAVES).rev() {
            for y in 0..1 << depth {
                let both = squares.0[depth + 1][2 * y + 1] | squares.0[depth + 1][2 * y + 2];
                for x in 0..1 << depth {
                    squares.0[depth][y + 1] |= u64::from(both >> (2 * x + 1) & 3 > 0) << (x + 1);
                }
            }
        }
        squares
    }

    /// Returns the squares that are not zero of the four in square (x, y) of this depth: left upper, right upper, left lower,
    /// right lower.
    fn pattern(&self, depth: usize, x: usize, y: usize) -> usize {
        let [upper, lower] = [1, 2].map(|row| self.0[depth + 1][2 * y + row] >> (2 * x + 1) & 3);
        (upper | lower << 2) as usize
    }

    fn set(&mut self, depth: usize, x: usize, y: usize, pattern: usize) {
        for row in 0..2 {
            self.0[depth + 1][2 * y + row + 1] |= ((pattern >> (2 * row) & 3) as u64) << (2 * x + 1);
        }
    }

    /// The row of the pattern of square (x, y), of which those before it, row by row, are known, and of all the square itself.
    fn row(&self, depth: usize, x: usize, y: usize) -> usize {
        let (own, inner) = (&self.0[depth], &self.0[depth + 1]);
        let bit = |row: u64, at: usize| (row >> at & 1) as usize;
        let left = bit(inner[2 * y + 1], 2 * x) * 2 + bit(inner[2 * y + 2], 2 * x);
        let above = bit(inner[2 * y], 2 * x + 1) * 2 + bit(inner[2 * y], 2 * x + 2);
        square_row(depth, left, above, bit(own[y + 1], x + 2) + bit(own[y + 2], x + 1))
    }

    /// The squares of a depth that are not zero, row by row.
    fn each(&self, depth: usize, mut work: impl FnMut(usize, usize) -> Result<(), Damaged>) -> Result<(), Damaged> {
        for y in 0..1 << depth {
            let mut row = self.0[depth][y + 1];
            while row > 0 {
                work(row.trailing_zeros() as usize - 1, y)?;
                row &= row - 1;
            }
        }
        Ok(())
    }
}

/// Codes a block that is not zero: the one in `tile` for an encoder, and into it for a decoder, which has read its `pattern`.
/// Returns that.
pub(super) fn walk(
    mut coder: impl Coder,
    tile: &mut Tile,
    shape: Shape,
    pattern: Option<usize>,
) -> Result<usize, Damaged> {
    let wanted = if pattern.is_some() { Squares::NONE } else { Squares::of(tile) };
    let pattern = match pattern {
        Some(pattern) => {
            tile.fill(0);
            pattern
        }
        None => wanted.pattern(0, 0, 0),
    };
    let mut squares = Squares::NONE;
    squares.set(0, 0, 0, pattern);
    for depth in 1..LEAVES {
        for y in 0..1 << depth {
            let mut row = squares.0[depth][y + 1];
            while row > 0 {
                let x = row.trailing_zeros() as usize - 1;
                row &= row - 1;
                let pattern = coder.symbol(squares.row(depth, x, y), wanted.pattern(depth, x, y));
                squares.set(depth, x, y, pattern);
            }
        }
    }
    // No encoder has anything beyond the block.
    let beyond = !0 << (shape.width + 1);
    let rows = &squares.0[LEAVES][1..];
    if rows.iter().any(|row| row & beyond > 0) || rows[shape.height..].iter().any(|&row| row > 0) {
        return Err(Damaged);
    }
    squares.each(LEAVES - 1, |x, y| quad(&mut coder, &squares, tile, shape, (x, y)))?;
    Ok(pattern)
}

/// Codes the magnitudes and the signs of quad (x, y).
#[inline(always)]
fn quad(
    coder: &mut impl Coder,
    squares: &Squares,
    tile: &mut Tile,
    shape: Shape,
    (x, y): (usize, usize),
) -> Result<(), Damaged> {
    let pattern = squares.pattern(LEAVES - 1, x, y);
    let (mut negative, mut count) = (0, 0);
    for position in (0..4).filter(|position| pattern >> position & 1 == 1) {
        let (x, y) = (2 * x + position % 2, 2 * y + position / 2);
        let at = y * BLOCK_SIDE + x;
        let before =
            |is_there: bool, back: usize| if is_there { tile[at - back].unsigned_abs().min(3) as usize } else { 0 };
        let leaves = &squares.0[LEAVES];
        let after = (leaves[y + 1] >> (x + 2) & 1) + (leaves[y + 2] >> (x + 1) & 1);
        let row = magnitude_row(shape.class, before(x > 0, 1) + before(y > 0, BLOCK_SIDE) + after as usize);
        let value = tile[at];
        let magnitude = value.unsigned_abs().max(1);
        let symbol = coder.symbol(row, (magnitude - 1).min(LARGE - 1) as usize) as u32;
        let read =
            if symbol < LARGE - 1 { symbol + 1 } else { LARGE - 1 + large(coder, magnitude.max(LARGE) - LARGE + 1)? };
        if read >> MAX_LENGTH > 0 {
            return Err(Damaged);
        }
        tile[at] = read as i32;
        negative |= u32::from(value < 0) << count;
        count += 1;
    }
    let mut negative = coder.plain(count, negative);
    for position in (0..4).filter(|position| pattern >> position & 1 == 1) {
        if negative & 1 == 1 {
            let value = &mut tile[(2 * y + position / 2) * BLOCK_SIDE + 2 * x + position % 2];
            *value = -*value;
        }
        negative >>= 1;
    }
    Ok(())
}

/// Codes a number of 1 to 25 bits: how many are below the first one, and these, the lowest first.
fn large(coder: &mut impl Coder, number: u32) -> Result<u32, Damaged> {
    let below = coder.plain(LARGE_BITS, number.ilog2());
    if below > MAX_LENGTH.into() {
        return Err(Damaged);
    }
    let (mut read, mut done) = (1 << below, 0);
    while done < below {
        let count = (below - done).min(PLAIN_MAX);
        read |= coder.plain(count, number >> done & ((1 << count) - 1)) << done;
        done += count;
    }
    Ok(read)
}
