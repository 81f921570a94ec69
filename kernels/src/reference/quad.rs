//! The block coder: bit-lengths per quad of 2x2 and per coefficient in block-local contexts, the rest raw.
//!
//! The symbols of a block, in decoding order:
//! 1. the *peak*, its largest bit-length (1 to 24);
//! 2. for each quad, row by row, the drop from the peak to the quad's largest bit-length;
//! 3. for each quad that is not all zero, in the same order, the drop from the quad's bit-length to that of its
//!    coefficients (0,0), (0,1), (1,0), (1,1); the fourth is left out when no other has the quad's bit-length,
//!    because then it must have it.
//!
//! Coefficients beyond an odd width or height are zeros. Then come raw bits, lowest bit first: of each non-zero
//! coefficient, in the order of 3, the sign (1: negative) and the bits below the leading one, lowest first.
//!
//! The last [`rans::payload_bits`] raw bits travel in the first state of the rANS encoder, which leaves whole bytes
//! of the others. A block's bytes are these, then the rANS bytes. An all-zero block has no bytes.

use picture::pyramid::{BLOCK_SIDE, Block, Orientation};

use super::rans;
use crate::tables::{ESCAPE, ESCAPE_SYMBOL, MAX_LENGTH, coefficient_context, peak_context, quad_context};

/// The properties of a block that decide its code, besides its coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns, at most [`BLOCK_SIDE`].
    pub width: usize,
    /// Rows, at most [`BLOCK_SIDE`].
    pub height: usize,
    /// See `peak_context`.
    pub class: usize,
    /// In an HH band.
    pub diagonal: bool,
}

impl From<&Block> for Shape {
    fn from(block: &Block) -> Self {
        let class = if block.orientation == Orientation::LL { 0 } else { block.level.min(7) };
        let diagonal = block.orientation == Orientation::HH;
        Self { width: block.rect.width, height: block.rect.height, class, diagonal }
    }
}

/// Bytes that no encoder makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Bit-lengths of a block's coefficients and quads; zero beyond the shape.
struct BitLengths {
    columns: usize,
    rows: usize,
    coefficients: [[u8; BLOCK_SIDE]; BLOCK_SIDE],
    quads: [[u8; BLOCK_SIDE / 2]; BLOCK_SIDE / 2],
}

impl BitLengths {
    fn zero(shape: Shape) -> Self {
        Self {
            columns: shape.width.div_ceil(2),
            rows: shape.height.div_ceil(2),
            coefficients: [[0; BLOCK_SIDE]; BLOCK_SIDE],
            quads: [[0; BLOCK_SIDE / 2]; BLOCK_SIDE / 2],
        }
    }

    /// Positions of the quads, row by row.
    fn positions(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = (self.rows, self.columns);
        (0..rows).flat_map(move |y| (0..columns).map(move |x| (y, x)))
    }

    fn quad_context(&self, y: usize, x: usize, peak: u8, shape: Shape) -> usize {
        let left = x.checked_sub(1).map(|x| peak - self.quads[y][x]);
        let up = y.checked_sub(1).map(|y| peak - self.quads[y][x]);
        let (left, up) = (left.or(up).unwrap_or(0), up.or(left).unwrap_or(0));
        quad_context(peak, left, up, shape.diagonal)
    }

    fn coefficient_context(&self, y: usize, x: usize, position: usize, reached: bool) -> usize {
        let beside = match position % 2 {
            0 => x.checked_sub(1).map_or(0, |x| self.coefficients[2 * y + position / 2][2 * x + 1]),
            _ => self.quads[y].get(x + 1).copied().unwrap_or(0),
        };
        let across = match position / 2 {
            0 => y.checked_sub(1).map_or(0, |y| self.coefficients[2 * y + 1][2 * x + position % 2]),
            _ => self.quads.get(y + 1).map_or(0, |row| row[x]),
        };
        coefficient_context(self.quads[y][x], position, reached, beside, across)
    }
}

/// Returns row and column in the block of coefficient `position` of quad (y, x).
fn place(y: usize, x: usize, position: usize) -> (usize, usize) {
    (2 * y + position / 2, 2 * x + position % 2)
}

/// Returns the number of bits of a magnitude without leading zeros.
fn bit_length(magnitude: u32) -> u8 {
    (u32::BITS - magnitude.leading_zeros()) as u8
}

/// Calls `put(context, symbol)` for every symbol of a block that is not all zero, in decoding order.
pub fn for_each_symbol(quantised: &[i32], shape: Shape, mut put: impl FnMut(usize, usize)) {
    let mut lengths = BitLengths::zero(shape);
    for (y, row) in quantised.chunks_exact(shape.width).enumerate() {
        for (x, value) in row.iter().enumerate() {
            let length = bit_length(value.unsigned_abs());
            lengths.coefficients[y][x] = length;
            lengths.quads[y / 2][x / 2] = lengths.quads[y / 2][x / 2].max(length);
        }
    }
    let mut put_value = |context, value: u8| {
        let value = usize::from(value);
        put(context, value.min(ESCAPE_SYMBOL));
        if value >= ESCAPE_SYMBOL {
            put(ESCAPE, value - ESCAPE_SYMBOL);
        }
    };
    let peak = lengths.quads.iter().flatten().copied().max().unwrap_or(0);
    put_value(peak_context(shape.class), peak);
    for (y, x) in lengths.positions() {
        put_value(lengths.quad_context(y, x, peak, shape), peak - lengths.quads[y][x]);
    }
    for (y, x) in lengths.positions().filter(|&(y, x)| lengths.quads[y][x] > 0) {
        let mut reached = false;
        for position in 0..4 {
            if position < 3 || reached {
                let (row, column) = place(y, x, position);
                let drop = lengths.quads[y][x] - lengths.coefficients[row][column];
                put_value(lengths.coefficient_context(y, x, position, reached), drop);
                reached |= drop == 0;
            }
        }
    }
}

/// Appends the code of a block to `out`; nothing if it is all zero. `quantised` has `width * height` values row
/// by row, magnitudes below 2^24.
pub(crate) fn encode(quantised: &[i32], shape: Shape, out: &mut Vec<u8>) {
    if quantised.iter().all(|&value| value == 0) {
        return;
    }
    let mut symbols = Vec::new();
    for_each_symbol(quantised, shape, |context, symbol| symbols.push((context, symbol)));
    let bits = raw_bits(quantised, shape);
    let pack = |bits: &[bool]| bits.iter().rev().fold(0_u32, |word, &bit| (word << 1) | u32::from(bit));
    let (raw, payload) = bits.split_at(8 * rans::raw_bytes(bits.len()));
    out.extend(raw.chunks(8).map(|bits| pack(bits) as u8));
    let mut encoder = rans::RansEncoder::new(pack(payload), rans::payload_bits(bits.len()), out);
    for &(context, symbol) in symbols.iter().rev() {
        encoder.put(context, symbol);
    }
    encoder.finish();
}

fn raw_bits(quantised: &[i32], shape: Shape) -> Vec<bool> {
    let mut bits = Vec::new();
    for (y, x) in BitLengths::zero(shape).positions() {
        for (row, column) in (0..4).map(|position| place(y, x, position)) {
            if row < shape.height && column < shape.width {
                let value = quantised[row * shape.width + column];
                let magnitude = value.unsigned_abs();
                if magnitude > 0 {
                    bits.push(value < 0);
                    bits.extend((0..bit_length(magnitude) - 1).map(|bit| (magnitude >> bit) & 1 == 1));
                }
            }
        }
    }
    bits
}

/// Decodes the bytes of a block into `quantised` (`width * height` values, row by row). Whatever the bytes are,
/// this ends and stays in bounds; after `Err` the values mean nothing.
pub fn decode(bytes: &[u8], shape: Shape, quantised: &mut [i32]) -> Result<(), Damaged> {
    quantised.fill(0);
    if bytes.is_empty() {
        return Ok(());
    }
    let mut rans = rans::RansDecoder::new(bytes);
    let mut get_value = |context| {
        let symbol = rans.get(context);
        if symbol < ESCAPE_SYMBOL { symbol as u8 } else { (symbol + rans.get(ESCAPE)) as u8 }
    };
    let mut lengths = BitLengths::zero(shape);
    let peak = get_value(peak_context(shape.class));
    if peak == 0 || peak > MAX_LENGTH {
        return Err(Damaged);
    }
    for (y, x) in lengths.positions() {
        let drop = get_value(lengths.quad_context(y, x, peak, shape));
        lengths.quads[y][x] = peak.checked_sub(drop).ok_or(Damaged)?;
    }
    for (y, x) in lengths.positions() {
        let quad = lengths.quads[y][x];
        let mut reached = false;
        for position in 0..4 {
            if quad > 0 {
                let drop = match position {
                    3 if !reached => 0,
                    _ => get_value(lengths.coefficient_context(y, x, position, reached)),
                };
                let (row, column) = place(y, x, position);
                lengths.coefficients[row][column] = quad.checked_sub(drop).ok_or(Damaged)?;
                reached |= drop == 0;
            }
        }
    }
    let (state, raw_len) = rans.finish().ok_or(Damaged)?;
    read_raw_bits(&lengths, state, &bytes[..raw_len], shape, quantised)
}

/// Reads signs and low bits; the raw bytes and the state left must be as long as the bit-lengths ask for.
fn read_raw_bits(
    lengths: &BitLengths,
    state: u32,
    raw: &[u8],
    shape: Shape,
    quantised: &mut [i32],
) -> Result<(), Damaged> {
    let total: usize = lengths.coefficients.iter().flatten().map(|&length| usize::from(length)).sum();
    if raw.len() != rans::raw_bytes(total) || state.ilog2() != rans::payload_bits(total) {
        return Err(Damaged);
    }
    let bit_at = |at: usize| match raw.get(at / 8) {
        Some(byte) => u32::from(byte >> (at % 8)) & 1,
        None => (state >> (at - 8 * raw.len())) & 1,
    };
    let mut at = 0;
    for (y, x) in lengths.positions() {
        for (row, column) in (0..4).map(|position| place(y, x, position)) {
            let length = usize::from(lengths.coefficients[row][column]);
            if length > 0 {
                let mut magnitude = 1 << (length - 1);
                for bit in 0..length - 1 {
                    magnitude |= bit_at(at + 1 + bit) << bit;
                }
                let value = magnitude as i32;
                // A coefficient outside an odd width or height is zero; no encoder says otherwise.
                let inside = row < shape.height && column < shape.width;
                *quantised.get_mut(row * shape.width + column).filter(|_| inside).ok_or(Damaged)? =
                    if bit_at(at) == 1 { -value } else { value };
                at += length;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        (1..=32_usize, 1..=32_usize, 0..8_usize, any::<bool>()).prop_map(|(width, height, class, diagonal)| Shape {
            width,
            height,
            class,
            diagonal,
        })
    }

    /// Returns a block whose magnitudes fall off as fast as `spread` says, up to the largest there are.
    fn blocks() -> impl Strategy<Value = (Shape, Vec<i32>)> {
        (shapes(), 0..=24_u32).prop_flat_map(|(shape, bits)| {
            let value = (any::<u32>(), 0..=bits, any::<bool>()).prop_map(|(value, bits, negative)| {
                let magnitude = (value & ((1_u32 << bits) - 1)) as i32;
                if negative { -magnitude } else { magnitude }
            });
            (Just(shape), prop::collection::vec(value, shape.width * shape.height))
        })
    }

    proptest! {
        #[test]
        fn a_block_comes_back((shape, block) in blocks()) {
            let mut bytes = Vec::new();
            encode(&block, shape, &mut bytes);
            prop_assert!(bytes.len() <= picture::run::BLOCK_BYTES_MAX);
            let mut decoded = vec![7; block.len()];
            decode(&bytes, shape, &mut decoded).unwrap();
            prop_assert_eq!(decoded, block);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(shape in shapes(), bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            let mut decoded = vec![0; shape.width * shape.height];
            if decode(&bytes, shape, &mut decoded).is_ok() {
                prop_assert!(decoded.iter().all(|value| value.unsigned_abs() < 1 << MAX_LENGTH));
            }
        }

        #[test]
        fn a_block_with_a_wrong_byte_is_decoded_or_refused(
            (shape, block) in blocks(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<bool>(),
        ) {
            let mut bytes = Vec::new();
            encode(&block, shape, &mut bytes);
            prop_assume!(!bytes.is_empty());
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if cut {
                bytes.truncate(at);
            }
            let mut decoded = vec![0; block.len()];
            if decode(&bytes, shape, &mut decoded).is_ok() {
                prop_assert!(decoded.iter().all(|value| value.unsigned_abs() < 1 << MAX_LENGTH));
            }
        }
    }
}
