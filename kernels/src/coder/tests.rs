//! Prediction with vectors: every voice makes the same, and what the README says.

use picture::frame::{Chroma, FrameSize};
use picture::pyramid::Rect;

use super::slice::tests::any_field;
use crate::Picture;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::cpu::motion::dering::CpuDering;
use crate::cpu::motion::planes::Bordered;
use crate::motion::dering::tests::any_dering;
use crate::motion::dering::{GAINS_STEP, Gains, STRENGTHS};
use crate::motion::field::{CELL_WEIGHT, Field, Motion, UNIT, Unit, WINDOW};
use crate::motion::overlap::{WEIGHT, rising, rising_cell};
use crate::motion::predictor::{Predictor, planes};
use crate::reference::compensate::ReferencePredictor;
use crate::reference::dering::dering;

/// Returns a picture of noise and slopes.
pub(crate) fn picture(chroma: Chroma, size: FrameSize) -> Picture {
    let mut picture = Picture::for_stream(chroma, size);
    for (at, sample) in picture.data_mut().iter_mut().enumerate() {
        *sample = ((at as u32).wrapping_mul(2_654_435_761) >> 25) as u8 + (at / 7) as u8 % 128;
    }
    picture
}

/// Returns the same with an eighth of the contrast, of which most differences are below the strengths of the filter.
pub(crate) fn quiet_picture(chroma: Chroma, size: FrameSize) -> Picture {
    let mut picture = picture(chroma, size);
    picture.data_mut().iter_mut().for_each(|sample| *sample /= 8);
    picture
}

/// Place of the window of a unit of luma along an axis, its weights, and those of the second half of its cells.
struct Span {
    start: usize,
    weights: Vec<u16>,
    second: Vec<u8>,
}

fn spans(units: usize, size: usize) -> Vec<Span> {
    let span = |unit: usize| {
        let before = if unit == 0 { UNIT / 2 } else { 0 };
        let start = unit * UNIT + before - UNIT / 2;
        let end = size.min(unit * UNIT + UNIT + UNIT / 2);
        let weight = |at: usize| match at.checked_sub(UNIT) {
            None if unit == 0 => WEIGHT,
            None => rising(at, UNIT),
            Some(_) if unit + 1 == units => WEIGHT,
            Some(at) => WEIGHT - rising(at, UNIT),
        };
        // The middle of the unit is sample `UNIT` of its window.
        let second = |at: usize| match at.checked_sub(UNIT - UNIT / 4) {
            None => 0,
            Some(at) if at >= UNIT / 2 => CELL_WEIGHT,
            Some(at) => rising_cell(at, UNIT),
        };
        let places = before..before + end - start;
        Span { start, weights: places.clone().map(weight).collect(), second: places.map(second).collect() }
    };
    (0..units).map(span).collect()
}

#[test]
fn weights_add_up_everywhere() {
    for size in [1_usize, 7, 8, 9, 15, 16, 17, 31, 33, 100] {
        let mut sums = vec![0; size];
        for span in spans(size.div_ceil(UNIT), size) {
            sums[span.start..].iter_mut().zip(&span.weights).for_each(|(sum, weight)| *sum += weight);
        }
        assert_eq!(sums, vec![WEIGHT; size], "{size} samples");
    }
}

/// One sample of luma, as the README has it and with other words than the reference.
fn plain_luma(samples: &[u8], (width, height): (i32, i32), field: &Field, x: i32, y: i32) -> u8 {
    let clamped =
        |x: i32, y: i32| f64::from(samples[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize]);
    let taps = [-1.0, 4.0, -11.0, 40.0, 40.0, -11.0, 4.0, -1.0];
    let round = |value: f64| (value + 0.5).floor().clamp(0.0, 255.0);
    let down = |x: i32, y2: i32| match y2.rem_euclid(2) {
        0 => clamped(x, y2.div_euclid(2)),
        _ => round((0..8).map(|k| taps[k as usize] * clamped(x, y2.div_euclid(2) - 3 + k)).sum::<f64>() / 64.0),
    };
    let half = |x2: i32, y2: i32| match x2.rem_euclid(2) {
        0 => down(x2.div_euclid(2), y2),
        _ => round((0..8).map(|k| taps[k as usize] * down(x2.div_euclid(2) - 3 + k, y2)).sum::<f64>() / 64.0),
    };
    let quarter = |motion: Motion| {
        let Motion::Vector { x: right, y: below } = motion else {
            let Motion::Flat(samples) = motion else { unreachable!() };
            return f64::from(samples[0]);
        };
        let (x4, y4) = (4 * x + i32::from(right), 4 * y + i32::from(below));
        let (left, top) = (x4.div_euclid(2), y4.div_euclid(2));
        let (right, bottom) = (-(-x4).div_euclid(2), -(-y4).div_euclid(2));
        round((half(left, top) + half(right, top) + half(left, bottom) + half(right, bottom)) / 4.0)
    };
    let (across, down) = (spans(field.units()[0], width as usize), spans(field.units()[1], height as usize));
    let mut sum = 0.0;
    for (unit_y, down) in down.iter().enumerate() {
        for (unit_x, across) in across.iter().enumerate() {
            let place =
                |at: i32, span: &Span| (at as usize).checked_sub(span.start).filter(|&at| at < span.weights.len());
            let (Some(dx), Some(dy)) = (place(x, across), place(y, down)) else { continue };
            let value = match field.unit(unit_x, unit_y) {
                Unit::One(motion) => quarter(motion),
                Unit::Four(cells) => {
                    let (a, b) = (f64::from(across.second[dx]), f64::from(down.second[dy]));
                    let [upper, lower] =
                        [0, 2].map(|row| (8.0 - a) * quarter(cells[row]) + a * quarter(cells[row + 1]));
                    round(((8.0 - b) * upper + b * lower) / 64.0)
                }
            };
            sum += f64::from(across.weights[dx]) * f64::from(down.weights[dy]) * value;
        }
    }
    round(sum / 256.0) as u8
}

#[test]
fn compensation_is_the_same_at_ugly_sizes() {
    let chromas = [Chroma::C420, Chroma::C444, Chroma::Grey];
    for (at, (width, height)) in [(1, 1), (1, 40), (65, 1), (47, 33), (100, 7), (130, 71)].into_iter().enumerate() {
        let (chroma, size) = (chromas[at % 3], FrameSize::new(width, height).unwrap());
        let reference = picture(chroma, size);
        let (mut plain, mut cpu) = (ReferencePredictor::new(chroma, size), CpuPredictor::new(chroma, size));
        plain.refer(&reference);
        cpu.refer(&reference);
        for wild in 0..4 {
            let field = any_field(size, wild, 1 + u64::from(wild), chroma.channels().len());
            let (mut wanted, mut found) = (reference.clone(), reference.clone());
            plain.compensate(&field, &mut wanted);
            cpu.compensate(&field, &mut found);
            assert!(wanted == found, "{size} {chroma:?} {wild}");
            let bounds = (width as i32, height as i32);
            for (x, y) in (0..bounds.1).flat_map(|y| (0..bounds.0).map(move |x| (x, y))).step_by(5) {
                let sample = plain_luma(&reference.data()[..size.pixels()], bounds, &field, x, y);
                assert_eq!(wanted.data()[(y * bounds.0 + x) as usize], sample, "{size} {wild}: {x}, {y}");
            }
        }
    }
}

#[test]
fn windows_are_the_same_wherever_a_vector_points() {
    let (chroma, size) = (Chroma::C420, FrameSize::new(70, 45).unwrap());
    let reference = picture(chroma, size);
    let (mut plain, mut cpu) = (ReferencePredictor::new(chroma, size), CpuPredictor::new(chroma, size));
    plain.refer(&reference);
    cpu.refer(&reference);
    for (x, y) in [(0, 0), (1, -2), (-3, 3), (-2047, 2047), (2047, -2047), (-221, 223), (401, -399), (2, 1)] {
        for channel in 0..3 {
            for (left, top, width, height) in [(0, 0, 32, 22), (3, 1, 32, 21), (20, 9, 15, 13), (34, 21, 1, 1)] {
                let rect = Rect { x: left, y: top, width, height };
                let (mut wanted, mut found) = ([0; WINDOW * WINDOW], [0; WINDOW * WINDOW]);
                plain.block(channel, rect, Motion::vector(x, y), &mut wanted);
                cpu.block(channel, rect, Motion::vector(x, y), &mut found);
                assert!(wanted == found, "{x} {y} channel {channel} {rect:?}");
            }
        }
    }
}

/// Sizes that leave squares of all shapes at the ends, with samplings in turn.
const UGLY: [(u32, u32); 9] = [(1, 1), (2, 3), (17, 31), (1, 40), (65, 1), (32, 32), (33, 31), (100, 70), (130, 97)];

fn ugly() -> impl Iterator<Item = (Chroma, FrameSize)> {
    let chromas = [Chroma::C420, Chroma::C444, Chroma::C420, Chroma::Grey];
    let sizes = UGLY.into_iter().enumerate();
    sizes.map(move |(at, (width, height))| (chromas[at % 4], FrameSize::new(width, height).unwrap()))
}

#[test]
fn the_filter_is_the_same_at_ugly_sizes() {
    for (chroma, size) in ugly() {
        let (unfiltered, mut cpu) = (quiet_picture(chroma, size), CpuDering::new(chroma, size));
        let mut changed = 0;
        for seed in 0..12 {
            let squares = any_dering(size, seed);
            let (mut wanted, mut found) = (unfiltered.clone(), unfiltered.clone());
            dering(&mut wanted, chroma, &squares);
            cpu.take(&unfiltered);
            cpu.filter(&squares, &mut found);
            assert!(wanted == found, "{size} {chroma:?} {seed}");
            changed += usize::from(wanted != unfiltered);
        }
        assert!(changed > 0 || size.pixels() == 1, "{size}: nothing was filtered");
    }
}

/// Returns a picture that differs a little everywhere.
fn moved_by_one(picture: &Picture) -> Picture {
    let mut moved = picture.clone();
    moved.data_mut().iter_mut().enumerate().for_each(|(at, sample)| *sample = sample.saturating_add((at % 5) as u8));
    moved
}

#[test]
fn gains_are_what_the_filter_does_to_the_squared_error() {
    for (chroma, size) in ugly() {
        let unfiltered = quiet_picture(chroma, size);
        let (source, mut cpu) = (moved_by_one(&unfiltered), CpuDering::new(chroma, size));
        cpu.take(&unfiltered);
        let mut luma = Bordered::new(size);
        luma.take(size, planes(chroma, size, source.data())[0]);
        let found = cpu.gains(&luma);
        let columns = size.width().div_ceil(32);
        let mut wanted = vec![Gains::default(); found.len()];
        for (index, strength) in STRENGTHS.into_iter().enumerate() {
            let (mut all, mut filtered) = (any_dering(size, 0), unfiltered.clone());
            (0..found.len()).for_each(|at| all.set(at % columns, at / columns, strength));
            dering(&mut filtered, chroma, &all);
            let three = [source.data(), unfiltered.data(), filtered.data()].map(|of| planes(chroma, size, of)[0]);
            for (x, y) in (0..size.height()).flat_map(|y| (0..size.width()).map(move |x| (x, y))) {
                if (y % 32).is_multiple_of(GAINS_STEP) {
                    let [source, before, after] = three.map(|luma| i32::from(luma[y * size.width() + x]));
                    wanted[y / 32 * columns + x / 32][index] += (after - source).pow(2) - (before - source).pow(2);
                }
            }
        }
        assert_eq!(found, wanted, "{size} {chroma:?}");
    }
}

#[test]
fn a_filtered_sample_is_what_the_page_says() {
    let size = FrameSize::new(5, 5).unwrap();
    // The middle one of a flat square, of which one sample leaves.
    let filtered = |[right, below]: [usize; 2], by: u8, strength: u8| {
        let mut picture = Picture::for_stream(Chroma::Grey, size);
        picture.data_mut().fill(100);
        picture.data_mut()[5 * (2 + below) + 2 + right] += by;
        let mut squares = any_dering(size, 0);
        squares.set(0, 0, strength);
        dering(&mut picture, Chroma::Grey, &squares);
        picture.data()[12]
    };
    assert_eq!(filtered([1, 0], 5, 14), 100, "3 (14 - 5) / 64 rounds down");
    assert_eq!(filtered([1, 0], 11, 22), 101, "3 (22 - 11) / 64 rounds up");
    assert_eq!(filtered([1, 1], 7, 22), 100, "2 * 2 * 7 / 64 rounds down");
    assert_eq!(filtered([1, 0], 22, 22), 100, "an edge stays");
    assert_eq!(filtered([0, 0], 11, 22), 105, "all neighbours together: 111 less 32 * 11 / 64, away from zero");
}
