//! Tables of frequencies, read when this is compiled.

use super::contexts::SYMBOLS;

/// Returns the rows of a file: a line each, with a number and a comma for each symbol, the last one without.
pub(super) const fn rows<const N: usize>(file: &str) -> [[u16; SYMBOLS]; N] {
    let (mut rows, bytes) = ([[0; SYMBOLS]; N], file.as_bytes());
    let (mut row, mut symbol, mut at) = (0, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b',' => symbol += 1,
            b'\n' => {
                assert!(symbol + 1 == SYMBOLS);
                (row, symbol) = (row + 1, 0);
            }
            digit => {
                assert!(digit.is_ascii_digit());
                rows[row][symbol] = 10 * rows[row][symbol] + (digit - b'0') as u16;
            }
        }
        at += 1;
    }
    assert!(row == N);
    rows
}
