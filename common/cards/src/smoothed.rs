//! Times of a card's periods out of the times at which its callback runs: a delay-locked loop, as JACK has one. Pure.

use sound::{Cycle, RATE_HZ};

/// Nominal time of a frame, us.
const FRAME_US: f64 = 1e6 / RATE_HZ as f64;
/// Cards are nearer to their rate than this part of it.
const OFF_MAX: f64 = 1e-3;
/// Bandwidth of the loop, Hz: at first, to find the card, and later, to average callbacks that come late.
const BANDWIDTH_HZ: (f64, f64) = (2.0, 0.05);
/// Time over which the bandwidth shrinks, us.
const SETTLED_US: f64 = 10e6;

/// Word of a driver on the frames before a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Nothing,
    /// Some were lost.
    Some,
    /// So many were lost, as the driver counts. JACK's count jumps too far where its card has stood still.
    Counted(u64),
}

/// Smooths the times of callbacks, and counts the card's frames.
#[derive(Debug, Default)]
pub(crate) struct Smoothed {
    state: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Time of the first callback, and of the first since frames were lost.
    begin_us: f64,
    anew_us: f64,
    /// Frame and expected time of the next callback.
    frame: u64,
    next_us: f64,
    frame_us: f64,
}

impl Smoothed {
    /// Returns the frame and time of a callback that runs at `now_us` for `frames`. Where frames were lost before it, the count goes on
    /// by as many as the time says, or as the driver says if that fits the time; and the card's rate is what it was.
    pub(crate) fn next(&mut self, now_us: u64, frames: usize, lost: Lost) -> Cycle {
        let now = now_us as f64;
        // Streams of one card count from one zero, that of the clock.
        let mut state = self.state.unwrap_or_else(|| State {
            begin_us: now,
            anew_us: now,
            frame: (now / FRAME_US) as u64,
            next_us: now,
            frame_us: FRAME_US,
        });
        let period_us = frames as f64 * state.frame_us;
        if lost != Lost::Nothing {
            let passed = ((now - state.next_us) / state.frame_us).round().max(0.0);
            let missing = match lost {
                Lost::Counted(missing) if (missing as f64 - passed).abs() <= frames as f64 / 2.0 => missing as f64,
                _ => passed,
            };
            state.frame += missing as u64;
            state.next_us += missing * state.frame_us;
            state.anew_us = state.next_us;
        }
        let (first, last) = BANDWIDTH_HZ;
        // A long period has few callbacks, which a wide loop would follow one by one.
        let omega = |since_us: f64| {
            let settled = ((state.next_us - since_us) / SETTLED_US).clamp(0.0, 1.0);
            (std::f64::consts::TAU * first * (last / first).powf(settled) * period_us / 1e6).min(0.5)
        };
        let (phase, rate) = (omega(state.anew_us), omega(state.begin_us));
        // A stall says nothing about the card.
        let error = (now - state.next_us).clamp(-period_us, period_us);
        let at = state.next_us + std::f64::consts::SQRT_2 * phase * error;
        let frame_us = state.frame_us + rate * rate * error / frames.max(1) as f64;
        let cycle = Cycle { frame: state.frame, us: at.max(0.0).round() as u64 };
        state.frame_us = frame_us.clamp(FRAME_US * (1.0 - OFF_MAX), FRAME_US * (1.0 + OFF_MAX));
        state.next_us = at + frames as f64 * state.frame_us;
        state.frame += frames as u64;
        self.state = Some(state);
        cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Callbacks of a card whose rate is off by `ppm` come late by up to `late_us`; returns the largest error of the smoothed times
    /// against their mean error after a minute of ten, us, and the rate found, ppm.
    fn run(ppm: f64, frames: usize, late_us: f64) -> (f64, f64) {
        let mut smoothed = Smoothed::default();
        let frame_us = FRAME_US * (1.0 - ppm * 1e-6);
        let (mut seed, mut errors) = (1_u64, Vec::new());
        let begin = 7e9;
        let mut cycles = Vec::new();
        for period in 0..(600e6 / (frames as f64 * frame_us)) as u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let late = (seed >> 40) as f64 / (1 << 24) as f64 * late_us;
            let true_us = begin + period as f64 * frames as f64 * frame_us;
            let cycle = smoothed.next((true_us + late) as u64, frames, Lost::Nothing);
            if true_us - begin > 60e6 {
                errors.push(cycle.us as f64 - true_us);
                cycles.push(cycle);
            }
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let (first, last) = (cycles[0], cycles[cycles.len() - 1]);
        let found = (last.frame - first.frame) as f64 * FRAME_US / (last.us - first.us) as f64;
        (errors.iter().map(|error| (error - mean).abs()).fold(0.0, f64::max), (found - 1.0) * 1e6)
    }

    #[test]
    fn times_are_smooth_and_the_rate_is_right() {
        for frames in [16, 64, 256, 1024] {
            for ppm in [-200.0, 0.0, 100.0] {
                let (error_us, found) = run(ppm, frames, 1000.0);
                assert!(error_us < 120.0, "{frames} frames, {ppm} ppm: {error_us} us of 1000");
                assert!((found - ppm).abs() < 0.5, "{frames} frames: {found} ppm of {ppm}");
            }
        }
    }

    #[test]
    fn lost_frames_are_counted_and_a_stall_is_none() {
        let mut smoothed = Smoothed::default();
        let begin = 1_000_000_u64;
        let at = |period: u64| begin + period * 8000 / 3;
        let first = smoothed.next(at(0), 128, Lost::Nothing);
        assert_eq!(first, Cycle { frame: 48_000, us: begin });
        for period in 1..1000 {
            smoothed.next(at(period), 128, Lost::Nothing);
        }
        // A callback that comes 200 ms late while nothing is lost.
        let stalled = smoothed.next(at(1000) + 200_000, 128, Lost::Nothing);
        assert_eq!(stalled.frame, 48_000 + 128_000);
        assert!(stalled.us.abs_diff(at(1000)) < 500, "{}", stalled.us as i64 - at(1000) as i64);
        for period in 1001..1100 {
            smoothed.next(at(period), 128, Lost::Nothing);
        }
        // And 100 periods that are lost.
        let lost = smoothed.next(at(1200), 128, Lost::Some);
        assert!(lost.frame.abs_diff(48_000 + 128 * 1200) < 24, "{}", lost.frame - 48_000 - 128 * 1200);
        assert!(lost.us.abs_diff(at(1200)) < 500);
    }

    #[test]
    fn a_driver_that_counts_too_far_is_not_followed_and_the_rate_stays() {
        for (counted, frame) in [(512, 512), (500, 500), (20_000, 513)] {
            let mut smoothed = Smoothed::default();
            let at = |frame: u64| 1_000_000 + frame * 125 / 6;
            for period in 0..6000 {
                smoothed.next(at(period * 128), 128, Lost::Nothing);
            }
            let before = smoothed.state.unwrap().frame_us;
            // 512 frames are lost, and the callback is late by less than one.
            let cycle = smoothed.next(at(6000 * 128 + 512) + 30, 128, Lost::Counted(counted));
            assert_eq!(cycle.frame, 48_000 + 6000 * 128 + frame, "{counted}");
            for period in 1..400 {
                smoothed.next(at((6000 + period) * 128 + 512), 128, Lost::Nothing);
            }
            let rate = smoothed.state.unwrap().frame_us / before - 1.0;
            assert!(rate.abs() < 20e-6, "{rate}");
        }
    }

    #[test]
    fn no_time_and_no_period_breaks_it() {
        let mut smoothed = Smoothed::default();
        for (now_us, frames, lost) in [
            (0, 0, Lost::Some),
            (u64::MAX, 1, Lost::Counted(u64::MAX)),
            (0, 8192, Lost::Some),
            (5, 0, Lost::Nothing),
            (u64::MAX, usize::MAX >> 20, Lost::Nothing),
            (1, 1, Lost::Some),
        ] {
            smoothed.next(now_us, frames, lost);
        }
    }
}
