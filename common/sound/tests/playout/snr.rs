//! Signal by noise of what is heard while two clocks are made one.

use crate::trial::Trial;
use crate::tried::run;

/// Frames of a block, in which the clocks' ratio changes evenly.
const BLOCK: usize = 4_800;
/// Functions that a tone may be: sine and cosine, their size changing by time, its square and its cube, which is what a ratio that
/// changes makes of phase.
const SHAPES: usize = 8;

/// Takes out of a block what of it is a tone, by least squares. Returns the energies of the tone and of the rest.
fn split(block: &[f32], hz: f64) -> (f64, f64) {
    let shapes = |at: usize| -> [f64; SHAPES] {
        let (sine, cosine) = (std::f64::consts::TAU * hz * at as f64 / 48_000.0).sin_cos();
        let time = 2.0 * at as f64 / block.len() as f64 - 1.0;
        std::array::from_fn(|shape| time.powi(shape as i32 / 2) * if shape % 2 == 0 { sine } else { cosine })
    };
    let mut rows = [[0.0; SHAPES + 1]; SHAPES];
    for (at, &sample) in block.iter().enumerate() {
        let values = shapes(at);
        for (row, one) in rows.iter_mut().zip(values) {
            for (place, other) in row.iter_mut().zip(values.into_iter().chain([f64::from(sample)])) {
                *place += one * other;
            }
        }
    }
    for pivot in 0..SHAPES {
        let row = rows[pivot];
        for (place, other) in rows.iter_mut().enumerate().filter(|(place, _)| *place != pivot) {
            let share = other[pivot] / row[pivot];
            let _ = place;
            other.iter_mut().zip(row).for_each(|(value, above)| *value -= share * above);
        }
    }
    let weights: [f64; SHAPES] = std::array::from_fn(|shape| rows[shape][SHAPES] / rows[shape][shape]);
    let (mut tone, mut rest) = (0.0, 0.0);
    for (at, &sample) in block.iter().enumerate() {
        let fitted: f64 = shapes(at).iter().zip(weights).map(|(shape, weight)| shape * weight).sum();
        tone += fitted * fitted;
        rest += (f64::from(sample) - fitted).powi(2);
    }
    (tone, rest)
}

#[test]
fn two_clocks_made_one_leave_tones_clean() {
    for (frames, ppm) in [(64, 100.0), (128, -100.0)] {
        for (hz, least_db) in [(100, 120.0), (1_000, 120.0), (3_000, 115.0), (10_000, 105.0), (15_000, 100.0)] {
            let trial = Trial { sender_ppm: ppm, receiver_ppm: -ppm, tone_hz: Some(hz), ..Trial::quiet(frames, 90.0) };
            let tried = run(&trial, true);
            assert!(tried.is_resampling);
            let heard_hz = f64::from(hz) * (1.0 + 2.0 * ppm * 1e-6);
            let end = tried.heard.len() - 15 * 48_000;
            let blocks = tried.heard[end..].chunks_exact(BLOCK).map(|block| split(block, heard_hz));
            let (tone, rest) = blocks.fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
            let snr_db = 10.0 * f64::log10(tone / rest);
            println!("{frames} frames, {hz} Hz: {snr_db:.1} dB");
            assert!(snr_db > least_db, "{frames} frames, {hz} Hz: {snr_db:.1} dB");
        }
    }
}
