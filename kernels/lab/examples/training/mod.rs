//! Tables of frequencies, from weights to a file.

use kernels::parts::tables::{PROBABILITY_BITS, SYMBOLS};

/// Returns frequencies in proportion to the weights that add up to 2^12: at least 1 for each symbol that can occur.
pub(crate) fn shares(can_occur: impl Fn(usize) -> bool, weight: impl Fn(usize) -> f64) -> [u16; SYMBOLS] {
    let possible: Vec<_> = (0..SYMBOLS).filter(|&symbol| can_occur(symbol)).collect();
    let total: f64 = possible.iter().map(|&symbol| weight(symbol)).sum();
    let spread = f64::from((1 << PROBABILITY_BITS) - possible.len() as u32);
    let mut row = [0; SYMBOLS];
    for symbol in possible {
        row[symbol] = 1 + (weight(symbol) / total * spread) as u16;
    }
    let missing = (1 << PROBABILITY_BITS) - row.iter().sum::<u16>();
    if let Some(largest) = row.iter_mut().max() {
        *largest += missing;
    }
    row
}

/// Returns the tables as a file of comma-separated numbers.
pub(crate) fn file(tables: &[[u16; SYMBOLS]]) -> String {
    tables.iter().map(|row| row.map(|frequency| frequency.to_string()).join(",") + "\n").collect()
}
