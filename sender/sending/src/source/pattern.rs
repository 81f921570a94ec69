//! A moving test picture with its number and time drawn in, for people and for programs.
//!
//! The machine-readable strip lies in the top left corner: two rows of 34 square cells, the first for the frame's
//! number, the second for its time in milliseconds. Each row is one white cell, one black cell, then 32 bits from
//! the most significant, white for 1. A cell's side is a thirty-fourth of the width, at most 16 pixels; a picture
//! that is narrower than 34 pixels or lower than two cells has no strip. [`read_row`] reads a row.

use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Raster};

use super::ticks::Ticks;
use super::{FrameSource, SourceFrame, SourceInfo};

const CELLS: usize = 34;
const CELL_SIDE_MAX: usize = 16;
/// Luma of black in a limited range.
pub const BLACK: u8 = 16;
/// Luma of white in a limited range.
pub const WHITE: u8 = 235;

/// The digits 0 to 9 and a point, 3 x 5 pixels each, a row in three bits, the top row in the highest ones.
const GLYPHS: [u16; 11] = [
    0b111_101_101_101_111,
    0b010_110_010_010_111,
    0b111_001_111_100_111,
    0b111_001_111_001_111,
    0b101_101_111_001_001,
    0b111_100_111_001_111,
    0b111_100_111_101_111,
    0b111_001_010_010_010,
    0b111_101_111_101_111,
    0b111_101_111_001_111,
    0b000_000_000_000_010,
];

/// The test picture as a live source: a zone plate whose rings move, a bar that walks, the number and the time.
#[derive(Debug)]
pub struct Pattern {
    info: SourceInfo,
    /// Ring of each pixel, in 256ths of a wave.
    rings: Vec<u8>,
    wave: [u8; 256],
    number: u32,
    ticks: Ticks,
}

impl Pattern {
    /// Creates a test picture of `size`, `frame_rate` times a second.
    pub fn new(size: FrameSize, frame_rate: FrameRate) -> Self {
        let (width, height) = (size.width(), size.height());
        // The wave is as fine as the picture can hold where the longer side ends: phase r^2 / side, in waves / 4.
        let side = width.max(height) as u64;
        let rings = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| {
            let (dx, dy) = (x.abs_diff(width / 2) as u64, y.abs_diff(height / 2) as u64);
            ((dx * dx + dy * dy) * 64 / side) as u8
        });
        let wave = std::array::from_fn(|i| (126.0 + 90.0 * (i as f32 / 256.0 * std::f32::consts::TAU).cos()) as u8);
        let (colour, raster) = (ColourSpace::BT709_LIMITED, Raster::default());
        let info = SourceInfo { size, frame_rate, colour, raster, is_live: true, is_there: true };
        Self { info, rings: rings.collect(), wave, number: 0, ticks: Ticks::new(frame_rate.interval()) }
    }

    /// Draws frame `number` of time `time_ms` into `data`, 4:2:0 planes.
    pub fn draw(&self, number: u32, time_ms: u32, data: &mut Vec<u8>) {
        let size = self.info.size;
        let (width, height) = (size.width(), size.height());
        data.resize(PixelFormat::I420.bytes(size), 0);
        let (luma, chroma) = data.split_at_mut(size.pixels());
        let shift = (number as u8).wrapping_mul(4);
        for (sample, ring) in luma.iter_mut().zip(&self.rings) {
            *sample = self.wave[usize::from(ring.wrapping_sub(shift))];
        }
        let bar = (width / 32).max(1);
        let left = (number as usize * bar / 2) % width;
        for row in luma.chunks_exact_mut(width) {
            row[left..(left + bar).min(width)].fill(WHITE);
        }
        let half = size.halved();
        let (cb, cr) = chroma.split_at_mut(half.pixels());
        for (y, row) in cb.chunks_exact_mut(half.width()).enumerate() {
            row.fill(96 + (y * 64 / half.height()) as u8);
        }
        for row in cr.chunks_exact_mut(half.width()) {
            for (x, sample) in row.iter_mut().enumerate() {
                *sample = 96 + (x * 64 / half.width()) as u8;
            }
        }
        let cell = cell_side(size);
        if cell > 0 {
            draw_strip(luma, width, 0, cell, number);
            draw_strip(luma, width, cell, cell, time_ms);
        }
        let scale = (height / 72).max(1);
        let text = format!("{number:06}.{:07}", time_ms % 10_000_000);
        draw_text(luma, width, (2 * cell + 4 * scale, 4 * scale), scale, &text);
    }
}

impl FrameSource for Pattern {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let capture = self.ticks.wait();
        self.draw(self.number, (capture.as_us() / 1000) as u32, &mut data);
        self.number = self.number.wrapping_add(1);
        Ok(Some(SourceFrame { format: PixelFormat::I420, data: data.into(), capture, info: None }))
    }
}

/// Reads the strip's row 0, the frame's number, or 1, its time in milliseconds, from the luma plane of a (decoded) test
/// picture; `None` if there is no such row.
pub fn read_row(luma: &[u8], size: FrameSize, row: usize) -> Option<u32> {
    let cell = cell_side(size);
    if cell == 0 || row > 1 || luma.len() < size.pixels() {
        return None;
    }
    let is_white = |index: usize| {
        let rows = luma.chunks_exact(size.width()).skip(row * cell).take(cell);
        let sum: usize = rows.flat_map(|row| &row[index * cell..(index + 1) * cell]).map(|&s| usize::from(s)).sum();
        sum > 126 * cell * cell
    };
    if !is_white(0) || is_white(1) {
        return None;
    }
    Some((2..CELLS).fold(0, |number, index| number << 1 | u32::from(is_white(index))))
}

/// Draws `number` into the luma plane of any picture, where the test pattern has its own, if it is large enough.
pub fn draw_number(luma: &mut [u8], size: FrameSize, number: u32) {
    let cell = cell_side(size);
    if cell > 0 {
        draw_strip(luma, size.width(), 0, cell, number);
    }
}

/// Returns the side of a strip's cell; 0: no strip.
fn cell_side(size: FrameSize) -> usize {
    let cell = (size.width() / CELLS).min(CELL_SIDE_MAX);
    if size.height() < 2 * cell { 0 } else { cell }
}

fn draw_strip(luma: &mut [u8], width: usize, top: usize, cell: usize, bits: u32) {
    for row in luma.chunks_exact_mut(width).skip(top).take(cell) {
        for (index, samples) in row.chunks_exact_mut(cell).take(CELLS).enumerate() {
            let white = match index {
                0 => true,
                1 => false,
                _ => bits >> (CELLS - 1 - index) & 1 == 1,
            };
            samples.fill(if white { WHITE } else { BLACK });
        }
    }
}

/// Draws digits and points, white on black, as far as they fit. `place`: top and left.
fn draw_text(luma: &mut [u8], width: usize, place: (usize, usize), scale: usize, text: &str) {
    let (top, left) = place;
    for (y, row) in luma.chunks_exact_mut(width).skip(top).take(7 * scale).enumerate() {
        for (position, character) in text.chars().enumerate() {
            let glyph = GLYPHS[character.to_digit(10).map_or(10, |digit| digit as usize)];
            let start = left + position * 4 * scale;
            let samples = row.iter_mut().skip(start).take(4 * scale);
            for (x, sample) in samples.enumerate() {
                let (line, column) = (y / scale, x / scale);
                let inside = (1..6).contains(&line) && column < 3;
                let is_white = inside && glyph >> (3 * (5 - line) + 2 - column) & 1 == 1;
                *sample = if is_white { WHITE } else { BLACK };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(width: u32, height: u32) -> Pattern {
        Pattern::new(FrameSize::new(width, height).unwrap(), FrameRate::USUAL)
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 3), (17, 31), (33, 2), (34, 1), (1919, 1079), (1, 500)] {
            let mut data = Vec::new();
            for number in [0, 1, 999, u32::MAX] {
                pattern(width, height).draw(number, number, &mut data);
            }
            assert_eq!(data.len(), PixelFormat::I420.bytes(FrameSize::new(width, height).unwrap()));
        }
    }

    #[test]
    fn the_number_can_be_read_back() {
        let pattern = pattern(640, 360);
        let size = pattern.info.size;
        let mut data = Vec::new();
        for number in [0, 1, 0x8000_0000, 0xdead_beef, u32::MAX] {
            pattern.draw(number, 77, &mut data);
            assert_eq!((read_row(&data, size, 0), read_row(&data, size, 1)), (Some(number), Some(77)));
            let luma = &mut data[..size.pixels()];
            draw_number(luma, size, !number);
            assert_eq!((read_row(luma, size, 0), read_row(luma, size, 2)), (Some(!number), None));
        }
        data.fill(128);
        assert_eq!(read_row(&data, size, 0), None);
        assert_eq!(read_row(&[], size, 0), None);
    }

    #[test]
    fn it_moves() {
        let pattern = pattern(64, 48);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        pattern.draw(1, 0, &mut one);
        pattern.draw(2, 0, &mut two);
        let changed = one.iter().zip(&two).filter(|(a, b)| a != b).count();
        assert!(changed > 64 * 48 / 2, "{changed}");
    }
}
