//! Reads the time of a strip whose frame has been found.

use std::f64::consts::TAU;

use sending::source::strip::{BITS, CELLS, FRAME, LANE, time_ms};

use crate::delay::Seen;
use crate::find::Luma;
use crate::quad::Quad;

/// Samples along a side of the frame, and of the white within it.
const AROUND: usize = 24;
/// Of the samples that must be black, or white, so many percent may be neither.
const WRONG_MAX: usize = 12;
/// White must be so much brighter than black.
const CONTRAST_MIN: f64 = 30.0;
/// Samples of the lane: along it, and across.
const ALONG: usize = 160;
const ACROSS: usize = 5;
/// Least strength of the lane's wave. Half of a lane in black has 1 / pi; what a long exposure mixes has less.
const STRENGTH_MIN: f64 = 0.12;

/// Returns what the strip in the frame says; none if it is no strip.
pub fn strip(luma: &Luma, quad: &Quad) -> Option<Seen> {
    let at = |x: f64, y: f64| luma.at(quad.at(x / FRAME.0, y / FRAME.1)).map(f64::from);
    let black = ring(0.5, at)?;
    let white = ring(1.5, at)?;
    let (dark, light) = (median(&black), median(&white));
    if light - dark < CONTRAST_MIN {
        return None;
    }
    let middle = (dark + light) / 2.0;
    let wrong = black.iter().filter(|&&sample| sample >= middle).count()
        + white.iter().filter(|&&sample| sample <= middle).count();
    if 100 * wrong > WRONG_MAX * (black.len() + white.len()) {
        return None;
    }
    let cells = (0..BITS + 2).map(|cell| is_black(cell, middle, at)).collect::<Option<Vec<_>>>()?;
    if !cells[0] || cells[BITS + 1] {
        return None;
    }
    let code = cells[1..=BITS].iter().fold(0, |code, &is_black| code << 1 | u64::from(is_black));
    let lane = lane(|x, y| Some(((light - at(x, y)?) / (light - dark)).clamp(0.0, 1.0)))?;
    let [top, _, bottom, _] = quad.sides();
    Some(Seen { time_ms: time_ms(code, lane), centre: quad.at(0.5, 0.5), width: (top + bottom) / 2.0 })
}

/// Samples the line that lies so many units within the frame's outer edge.
fn ring(within: f64, at: impl Fn(f64, f64) -> Option<f64>) -> Option<Vec<f64>> {
    let (right, bottom) = (FRAME.0 - within, FRAME.1 - within);
    let mut samples = Vec::with_capacity(4 * AROUND);
    for step in 0..AROUND {
        let part = (step as f64 + 0.5) / AROUND as f64;
        let (x, y) = (within + part * (right - within), within + part * (bottom - within));
        for (x, y) in [(x, within), (x, bottom), (within, y), (right, y)] {
            samples.push(at(x, y)?);
        }
    }
    Some(samples)
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Returns true if the middle of a cell is darker than `middle`.
fn is_black(cell: usize, middle: f64, at: impl Fn(f64, f64) -> Option<f64>) -> Option<bool> {
    let (left, top, side) = CELLS;
    let mut sum = 0.0;
    for step in 0..25 {
        let part = |step: usize| side * (0.3 + 0.1 * step as f64);
        sum += at(left + side * cell as f64 + part(step % 5), top + part(step / 5))?;
    }
    Some(sum / 25.0 < middle)
}

/// Returns the place at which the lane's black half begins, 0 to 1, from the phase of its first harmonic. `blackness` is 0 to 1.
fn lane(blackness: impl Fn(f64, f64) -> Option<f64>) -> Option<f64> {
    let (left, top, width, height) = LANE;
    let (mut cosine, mut sine) = (0.0, 0.0);
    for step in 0..ALONG {
        let part = (step as f64 + 0.5) / ALONG as f64;
        for row in 0..ACROSS {
            let y = top + height * (0.2 + 0.6 * (row as f64 + 0.5) / ACROSS as f64);
            let black = blackness(left + part * width, y)?;
            cosine += black * (TAU * part).cos();
            sine += black * (TAU * part).sin();
        }
    }
    let strength = cosine.hypot(sine) / (ALONG * ACROSS) as f64;
    // The middle of the black half lies a quarter behind its begin.
    (strength >= STRENGTH_MIN).then(|| (sine.atan2(cosine) / TAU - 0.25).rem_euclid(1.0))
}
