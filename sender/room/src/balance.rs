//! Latency against quality, as one slider has it.

use std::time::Duration;

use common::units::Bitrate;

/// Steps of the slider to either side of what the configuration says.
pub(crate) const STEPS: i32 = 2;

/// Returns the highest rate to send at and the time for which missing parts of a picture are waited for (none: as usual) at a step:
/// below 0 small pictures that are soon there, above it fine ones. `first`: the rate of the configuration; `least` and `most`: what may
/// be asked for.
pub(crate) fn at(step: i32, first: Bitrate, [least, most]: [Bitrate; 2]) -> (Bitrate, Option<Duration>) {
    let (first, most_bps) = (first.as_bps() as f64, most.as_bps() as f64);
    let (rate, wait_ms) = match step.clamp(-STEPS, STEPS) {
        -2 => (first / 4.0, Some(5)),
        -1 => (first / 2.0, Some(10)),
        0 => (first, None),
        1 => ((first * most_bps).sqrt(), Some(40)),
        _ => (most_bps, Some(80)),
    };
    (Bitrate::from_bps(rate as u64).clamp(least, most), wait_ms.map(Duration::from_millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_more_quality_and_more_latency_and_the_middle_is_as_configured() {
        let rates = [500_000, 16_000_000].map(Bitrate::from_bps);
        let all = [-2, -1, 0, 1, 2].map(|step| at(step, Bitrate::from_bps(8_000_000), rates));
        assert!(all.is_sorted_by(|one, next| one.0 < next.0), "{all:?}");
        // The usual wait is three quarters of an interval: 25 ms at 30 pictures a second.
        let waits = all.map(|(_, wait)| wait.map_or(25, |wait| wait.as_millis()));
        assert!(waits.is_sorted_by(|one, next| one < next), "{waits:?}");
        assert_eq!(all[2], (Bitrate::from_bps(8_000_000), None));
        // Whatever is asked for stays within what may be.
        assert_eq!(at(-9, Bitrate::from_bps(1_000_000), rates).0, rates[0]);
        assert_eq!(at(9, rates[1], rates).0, rates[1]);
    }
}
