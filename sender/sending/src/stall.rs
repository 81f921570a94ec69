//! Sources that give nothing.

use std::time::Duration;

use common::units::Timestamp;

/// Detects a source that gives nothing while a receiver watches.
pub(crate) struct Stall {
    /// Longest normal pause between two pictures.
    pause: Duration,
    /// Time of the last picture, or of the receiver's begin.
    since: Option<Timestamp>,
    /// False of a source that is waited for.
    is_there: bool,
    /// True if a picture has come since then: a camera takes a while to start.
    runs: bool,
    told: bool,
}

impl Stall {
    /// Creates it for a source with a picture each `interval`. One that is waited for, and is not there yet, has no
    /// time to start.
    pub(crate) fn new(interval: Duration, is_there: bool) -> Self {
        Self { pause: (3 * interval).max(PAUSE_MIN), since: None, is_there, runs: !is_there, told: false }
    }

    /// Notes that no picture has come; returns true if that must be told now.
    pub(crate) fn on_nothing(&mut self, is_watched: bool, now: Timestamp) -> bool {
        if !is_watched {
            (self.since, self.runs, self.told) = (None, !self.is_there, false);
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let pause = if self.runs { self.pause } else { self.pause.max(BEGIN_MAX) };
        now.since(since) >= pause && !std::mem::replace(&mut self.told, true)
    }

    /// Notes that a picture has come; returns the length of a pause that was told.
    pub(crate) fn on_picture(&mut self, now: Timestamp) -> Option<Duration> {
        let since = self.since.replace(now);
        (self.is_there, self.runs) = (true, true);
        since.filter(|_| std::mem::take(&mut self.told)).map(|since| now.since(since))
    }
}

/// Time without a picture after which a source has stalled, whatever its rate.
const PAUSE_MIN: Duration = Duration::from_millis(300);
/// Time likewise, for the first picture.
const BEGIN_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_stalls_is_told_once_and_in_time() {
        let at = |ms: u64| Timestamp::from_us(1000 * ms);
        let mut stall = Stall::new(Duration::from_millis(33), true);
        assert!(!stall.on_nothing(false, at(0)) && !stall.on_nothing(false, at(60_000)), "nobody watches");
        assert!(!stall.on_nothing(true, at(60_000)) && !stall.on_nothing(true, at(62_900)), "a camera starts");
        assert_eq!(stall.on_picture(at(62_950)), None);
        let told: Vec<u64> = (62_950..66_000).step_by(100).filter(|&ms| stall.on_nothing(true, at(ms))).collect();
        assert_eq!(told, [63_250], "with looks 100 ms apart");
        assert_eq!(stall.on_picture(at(66_950)), Some(Duration::from_secs(4)));
        assert_eq!(stall.on_picture(at(66_980)), None);
        let mut awaited = Stall::new(Duration::from_millis(33), false);
        assert!(!awaited.on_nothing(false, at(0)) && !awaited.on_nothing(true, at(5_000)));
        let told: Vec<u64> = (5_000..9_000).step_by(100).filter(|&ms| awaited.on_nothing(true, at(ms))).collect();
        assert_eq!(told, [5_300], "a camera that is waited for");
    }
}
