//! Clock of a JACK server, which need not be ours: newer servers count on `CLOCK_MONOTONIC_RAW`, which nobody corrects, so that the two
//! are a quarter of a second apart after half a day.

/// Longest time between two readings of ours around one of theirs, us: what took longer was interrupted.
const TIGHT_US: u64 = 20;
/// Weight of the newest reading: a second of 128 samples.
const WEIGHT: f64 = 1.0 / 375.0;
/// Distance from which on a reading is no noise but another clock, us: a computer that slept.
const JUMP_US: f64 = 1_000.0;

/// Distance of `CLOCK_MONOTONIC` from a server's clock.
#[derive(Debug, Default)]
pub(crate) struct ServerClock {
    offset_us: Option<f64>,
}

impl ServerClock {
    /// Takes a reading of theirs between two of ours.
    pub(crate) fn read(&mut self, before_us: u64, theirs_us: u64, after_us: u64) {
        if after_us.saturating_sub(before_us) > TIGHT_US && self.offset_us.is_some() {
            return;
        }
        let seen = (before_us as f64 + after_us as f64) / 2.0 - theirs_us as f64;
        let offset = self.offset_us.filter(|offset| (seen - offset).abs() < JUMP_US);
        self.offset_us = Some(offset.map_or(seen, |offset| offset + WEIGHT * (seen - offset)));
    }

    /// Returns a time of theirs on `CLOCK_MONOTONIC`, us.
    pub(crate) fn ours(&self, theirs_us: u64) -> u64 {
        (theirs_us as f64 + self.offset_us.unwrap_or(0.0)).max(0.0).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_clock_is_followed_and_an_interruption_is_not() {
        let mut clock = ServerClock::default();
        // Theirs is 250 ms behind and 50 millionths slower.
        let theirs = |ours: u64| ours - 250_000 - ours / 20_000;
        for n in 0..5_000_u64 {
            let now = 40_000_000_000 + n * 2_667;
            let late = if n % 7 == 3 { 9_000 } else { 2 };
            clock.read(now, theirs(now + 1), now + late);
            if n > 0 {
                assert!(clock.ours(theirs(now)).abs_diff(now) < 60, "{n}");
            }
        }
        // After a sleep theirs may be anywhere.
        let now = 90_000_000_000;
        clock.read(now, 7_000_000, now + 2);
        assert_eq!(clock.ours(7_000_000), now + 1);
    }
}
