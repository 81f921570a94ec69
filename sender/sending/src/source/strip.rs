//! A strip chart of the time, to be filmed: the delay between two screens is the difference of what their strips say.
//!
//! The strip stands in the middle of a grey picture, in units that are as large as fit. On a white ground of 26 x 12 units
//! lies a black frame, one unit thick and [`FRAME`] large outside, by which a program finds it. Inside, from the frame's outer
//! corner:
//!
//! - from (2, 2) ten cells of 2 x 2 units: a black one, [`BITS`] bits of the number of the [`STEP_MS`] as a Gray code (Gray, US
//!   2632058, 1953), the highest first and black for 1, and a white one. When a film's exposure mixes two neighbours, only one
//!   cell is doubtful, and either reading of it is a neighbour;
//! - from (2, 5) a lane of 20 x 3 units, of which the half that begins at the part of [`LANE_MS`] that has passed is black, around
//!   the end. A mixture of two times has, nearly, the phase between them.

use net::clock;
use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Raster};

use super::pattern::{BLACK, WHITE};
use super::ticks::Ticks;
use super::{FrameSource, SourceFrame, SourceInfo};

/// Size of the frame, outside, units.
pub const FRAME: (f64, f64) = (24.0, 10.0);
/// Width of the white ground around the frame, units.
const GROUND: f64 = 1.0;
/// Number of bits of the code.
pub const BITS: usize = 8;
/// Time for which the code stays, milliseconds.
pub const STEP_MS: u64 = 128;
/// Time in which the lane's black half goes around, milliseconds: twice a step, so that it says which of two neighbours is meant.
pub const LANE_MS: u64 = 2 * STEP_MS;
/// Time after which the strip begins anew, milliseconds.
pub const CYCLE_MS: u64 = STEP_MS << BITS;

/// The row of cells: left end, top, and side of one, units.
pub const CELLS: (f64, f64, f64) = (2.0, 2.0, 2.0);
/// The lane: left, top, width and height, units.
pub const LANE: (f64, f64, f64, f64) = (2.0, 5.0, 20.0, 3.0);

const GREY: u8 = 110;

/// Returns true if the strip of `time_ms` is black at a point within its white ground, in units from the frame's outer corner.
pub fn is_black(time_ms: f64, x: f64, y: f64) -> bool {
    let is_in = |left: f64, top: f64, width: f64, height: f64| {
        (left..left + width).contains(&x) && (top..top + height).contains(&y)
    };
    if !is_in(1.0, 1.0, FRAME.0 - 2.0, FRAME.1 - 2.0) {
        return is_in(0.0, 0.0, FRAME.0, FRAME.1);
    }
    let (left, top, side) = CELLS;
    if is_in(left, top, side * (BITS + 2) as f64, side) {
        return match ((x - left) / side) as usize {
            0 => true,
            bit @ 1..=BITS => gray(time_ms) >> (BITS - bit) & 1 == 1,
            _ => false,
        };
    }
    let (left, top, width, height) = LANE;
    is_in(left, top, width, height) && ((x - left) / width - time_ms / LANE_MS as f64).rem_euclid(1.0) < 0.5
}

/// Returns the code of a time.
fn gray(time_ms: f64) -> u64 {
    let number = (time_ms.max(0.0) as u64 / STEP_MS) % (1 << BITS);
    number ^ (number >> 1)
}

/// Returns the time of a strip, milliseconds within [`CYCLE_MS`]: that of the lane, which has gone `lane` of its way around, 0 to
/// 1, nearest to that of the code.
pub fn time_ms(code: u64, lane: f64) -> f64 {
    let number = (0..BITS).fold(0, |number, shift| number ^ (code >> shift));
    let (step, around) = (STEP_MS as f64, LANE_MS as f64);
    let middle = (number as f64 + 0.5) * step;
    let fine = lane * around;
    (fine + ((middle - fine) / around).round() * around).rem_euclid(CYCLE_MS as f64)
}

/// The strip as a live source. Its time is the wall clock, so that all strips of a machine agree.
#[derive(Debug)]
pub struct Strip {
    info: SourceInfo,
    ticks: Ticks,
}

impl Strip {
    /// Creates a strip in pictures of `size`, `frame_rate` times a second.
    pub fn new(size: FrameSize, frame_rate: FrameRate) -> Self {
        let (colour, raster) = (ColourSpace::BT709_LIMITED, Raster::default());
        let info = SourceInfo { size, frame_rate, colour, raster, is_live: true, is_there: true };
        Self { info, ticks: Ticks::new(frame_rate.interval()) }
    }

    /// Draws the strip of `time_ms` into `data`, 4:2:0 planes.
    pub fn draw(&self, time_ms: u64, data: &mut Vec<u8>) {
        let size = self.info.size;
        let (width, height) = (size.width(), size.height());
        data.clear();
        data.resize(size.pixels(), GREY);
        data.resize(PixelFormat::I420.bytes(size), 128);
        let (wide, high) = (FRAME.0 + 2.0 * GROUND, FRAME.1 + 2.0 * GROUND);
        let unit = (0.9 * width as f64 / wide).min(0.6 * height as f64 / high);
        let (left, top) = ((width as f64 - wide * unit) / 2.0, (height as f64 - high * unit) / 2.0);
        let time_ms = (time_ms % CYCLE_MS) as f64;
        for (row, samples) in data.chunks_exact_mut(width).take(height).enumerate() {
            let y = (row as f64 + 0.5 - top) / unit;
            if !(0.0..high).contains(&y) {
                continue;
            }
            for (column, sample) in samples.iter_mut().enumerate() {
                let x = (column as f64 + 0.5 - left) / unit;
                if (0.0..wide).contains(&x) {
                    *sample = if is_black(time_ms, x - GROUND, y - GROUND) { BLACK } else { WHITE };
                }
            }
        }
    }
}

impl FrameSource for Strip {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let capture = self.ticks.wait();
        self.draw(clock::unix_ms(), &mut data);
        Ok(Some(SourceFrame { format: PixelFormat::I420, data: data.into(), capture, info: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_read_back_and_a_neighbouring_code_changes_nothing() {
        for ms in (0..CYCLE_MS).step_by(7) {
            let lane = (ms % LANE_MS) as f64 / LANE_MS as f64;
            assert_eq!(time_ms(gray(ms as f64), lane), ms as f64);
            let (before, after) = (ms as f64 - 40.0, (ms + 40) as f64);
            for other in [before.rem_euclid(CYCLE_MS as f64), after] {
                assert_eq!(time_ms(gray(other), lane), ms as f64, "with the code of {other}");
            }
        }
    }

    #[test]
    fn neighbouring_codes_differ_in_one_cell() {
        for step in 0..1 << BITS {
            let at = |step: u64| gray((step * STEP_MS) as f64);
            assert_eq!((at(step) ^ at(step + 1)).count_ones(), 1, "{step}");
        }
    }

    #[test]
    fn a_picture_has_the_strip_in_its_middle_and_any_size_is_drawn() {
        let rate = FrameRate::USUAL;
        let mut data = Vec::new();
        Strip::new(FrameSize::USUAL, rate).draw(1_000, &mut data);
        let at = |x: usize, y: usize| data[y * 1280 + x];
        assert_eq!((at(0, 0), at(640, 100), at(640, 719)), (GREY, GREY, GREY));
        // 36 pixels a unit: the ground, the frame, the gap, and the first cell.
        let (left, top) = (172 + 18, 144 + 18);
        let row: Vec<_> = (0..4).map(|unit| at(left + 36 * unit, top + 3 * 36)).collect();
        assert_eq!(row, [WHITE, BLACK, WHITE, BLACK]);
        for (width, height) in [(1, 1), (17, 3), (3, 200)] {
            Strip::new(FrameSize::new(width, height).unwrap(), rate).draw(5, &mut data);
            assert_eq!(data.len(), PixelFormat::I420.bytes(FrameSize::new(width, height).unwrap()));
        }
    }
}
