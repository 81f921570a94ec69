//! The number of a picture, drawn into its luma so that a picture of any size tells which one it is.
//!
//! The strip lies along the top edge, a thirtieth of the height high and as wide as the picture: cells of equal width,
//! one white, one black, then [`BITS`] bits of the number and [`CHECK_BITS`] of a check sum, white for 1. A reader
//! looks at the middle of each cell only, and takes nothing that is neither clearly white nor clearly black.

use picture::frame::FrameSize;
use sending::source::pattern::{BLACK, WHITE};

/// Bits of the number.
const BITS: u32 = 10;
/// Bits of its check sum.
const CHECK_BITS: u32 = 6;
/// x^6 + x + 1, without its highest power: finds every two wrong bits.
const CHECK: u32 = 0b00_0011;
/// White, black, number, check sum.
const CELLS: usize = 2 + (BITS + CHECK_BITS) as usize;
/// Ratio of the picture's height to the strip's.
pub(super) const PARTS: usize = 30;

/// A cell below the first is black, one above the second is white; between them it cannot be read.
const DARK: f64 = 96.0;
const LIGHT: f64 = 155.0;

/// Number of numbers.
pub(crate) const NUMBERS: usize = 1 << BITS;

/// Returns the height of the strip in a picture of this height.
pub(crate) const fn height(of: usize) -> usize {
    of / PARTS
}

/// Draws `number`, of which the lowest [`BITS`] bits count, into a plane of luma.
pub(crate) fn draw(luma: &mut [u8], size: FrameSize, number: u32) {
    let number = number % NUMBERS as u32;
    let bits = number << CHECK_BITS | check(number);
    for row in luma.chunks_exact_mut(size.width()).take(height(size.height())) {
        for cell in 0..CELLS {
            let is_white = match cell {
                0 => true,
                1 => false,
                _ => bits >> (CELLS - 1 - cell) & 1 == 1,
            };
            row[border(cell, size.width())..border(cell + 1, size.width())].fill(if is_white { WHITE } else { BLACK });
        }
    }
}

/// Returns the number in a plane of luma; `None` if there is none or it is broken.
pub(crate) fn read(luma: &[u8], size: FrameSize) -> Option<u32> {
    read_row(&middle(luma, size)?)
}

/// Returns the number in the strip's middle rows, taken together as [`middle`] does.
pub(crate) fn read_row(row: &[u8]) -> Option<u32> {
    if row.len() < 4 * CELLS {
        return None;
    }
    let is_white = |cell: usize| {
        let (from, to) = (border(cell, row.len()), border(cell + 1, row.len()));
        let quarter = (to - from) / 4;
        let inside = &row[from + quarter..to - quarter];
        let mean = inside.iter().map(|&sample| f64::from(sample)).sum::<f64>() / inside.len() as f64;
        if mean <= DARK { Some(false) } else { (mean >= LIGHT).then_some(true) }
    };
    if !is_white(0)? || is_white(1)? {
        return None;
    }
    let mut bits = 0;
    for cell in 2..CELLS {
        bits = bits << 1 | u32::from(is_white(cell)?);
    }
    let number = bits >> CHECK_BITS;
    (bits & ((1 << CHECK_BITS) - 1) == check(number)).then_some(number)
}

/// Returns the mean of the strip's rows in its middle half; `None`: the picture is too low for a strip.
fn middle(luma: &[u8], size: FrameSize) -> Option<Vec<u8>> {
    let (width, height) = (size.width(), height(size.height()));
    let (from, to) = (height / 4, height - height / 4);
    if height == 0 || luma.len() < size.pixels() {
        return None;
    }
    let rows = &luma[from * width..to * width];
    let mean = |x: usize| {
        let column = rows[x..].iter().step_by(width).map(|&sample| usize::from(sample));
        (column.sum::<usize>() / (to - from)) as u8
    };
    Some((0..width).map(mean).collect())
}

/// Returns the beginning of a cell in a picture of this width.
const fn border(cell: usize, width: usize) -> usize {
    cell * width / CELLS
}

/// Returns the check sum of a number: the rest after division by [`CHECK`], of the number's complement, so that the sum
/// of zero is not zero.
fn check(number: u32) -> u32 {
    let mut rest = !number % NUMBERS as u32;
    let top = 1 << (BITS - 1);
    let mut sum = 0;
    for _ in 0..BITS {
        let bit = u32::from(rest & top != 0) ^ (sum >> (CHECK_BITS - 1));
        sum = ((sum << 1) % (1 << CHECK_BITS)) ^ (bit * CHECK);
        rest <<= 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> FrameSize {
        FrameSize::new(width, height).unwrap()
    }

    fn drawn(number: u32) -> Vec<u8> {
        let mut luma: Vec<u8> = (0..640 * 480).map(|at| (at * 7 % 251) as u8).collect();
        draw(&mut luma, size(640, 480), number);
        luma
    }

    /// Returns a picture of half the size, each sample the mean of four.
    fn halved(luma: &[u8], width: usize) -> Vec<u8> {
        let pairs = luma.chunks_exact(2 * width);
        let half = pairs.flat_map(|rows| {
            (0..width / 2).map(|x| {
                let four = [rows[2 * x], rows[2 * x + 1], rows[width + 2 * x], rows[width + 2 * x + 1]];
                (four.iter().map(|&sample| u16::from(sample)).sum::<u16>() / 4) as u8
            })
        });
        half.collect()
    }

    #[test]
    fn every_number_is_read_back_at_full_half_and_quarter_size() {
        for number in 0..NUMBERS as u32 {
            let luma = drawn(number);
            assert_eq!(read(&luma, size(640, 480)), Some(number));
            let half = halved(&luma, 640);
            assert_eq!(read(&half, size(320, 240)), Some(number));
            assert_eq!(read(&halved(&half, 320), size(160, 120)), Some(number));
        }
    }

    #[test]
    fn a_strip_with_noise_is_read() {
        let mut luma = drawn(777);
        for (at, sample) in luma.iter_mut().enumerate() {
            *sample = sample.saturating_add((at * 31 % 61) as u8).saturating_sub(30);
        }
        assert_eq!(read(&luma, size(640, 480)), Some(777));
    }

    #[test]
    fn a_broken_strip_is_not_taken() {
        let cell = 640 / CELLS;
        for first in 0..CELLS {
            for second in first..CELLS {
                let mut row = middle(&drawn(419), size(640, 480)).unwrap();
                for turned in [first, second] {
                    let samples = border(turned, 640)..border(turned + 1, 640);
                    row[samples].iter_mut().for_each(|sample| *sample = WHITE + BLACK - *sample);
                    if first == second {
                        break;
                    }
                }
                assert_eq!(read_row(&row), None, "cells {first} and {second} are turned");
            }
            let mut row = middle(&drawn(419), size(640, 480)).unwrap();
            row[border(first, 640)..border(first, 640) + cell].fill(126);
            assert_eq!(read_row(&row), None, "cell {first} is grey");
        }
    }

    #[test]
    fn a_picture_without_a_strip_has_no_number() {
        assert_eq!(read(&[90; 640 * 480], size(640, 480)), None);
        assert_eq!(read(&[], size(640, 480)), None);
        assert_eq!(read(&[255; 29 * 29], size(29, 29)), None);
        assert_eq!(read_row(&[]), None);
        assert_eq!(read_row(&[255; 4 * CELLS - 1]), None);
    }
}
