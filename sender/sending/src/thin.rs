//! The rate of pictures that a machine has time to code: all of a live source, or one in two, four or eight.
//!
//! | while | from then on |
//! |---|---|
//! | a frame has taken nearly all of the time between two, or more, for two seconds | half as many frames |
//! | it has long taken little of the time that there would be between twice as many | twice as many |
//!
//! Coding each newest picture as soon as the one before is done would give some more, at uneven times, each of them late, and
//! leave no time to who shows the other side's picture on the same machine.

use std::time::Duration;

use common::units::Timestamp;

/// Share of the time between two frames above which a machine is too slow, percent.
pub(crate) const SLOW: u32 = 90;
/// Share, of the time between frames of twice the rate, below which it is fast enough for these, percent.
const FAST: u32 = 60;
/// Time for which it must have been too slow.
const SLOW_FOR: Duration = Duration::from_secs(2);
/// Time for which it must have been fast enough, at first and at most: each return that fails doubles it.
const FAST_FOR: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(320)];
/// A return that has gone well for so long has not failed.
const WELL: Duration = Duration::from_secs(60);
/// Without a frame for longer, nothing is known.
const PAUSE: Duration = Duration::from_secs(1);
/// One in so many at least.
const MOST: u32 = 8;

/// Chooses the pictures of a live source that are coded.
#[derive(Debug)]
pub(crate) struct Thinning {
    interval: Duration,
    /// One picture in so many is coded.
    one_in: u32,
    /// The time of a frame: an average in which the last one counts an eighth.
    took: Option<Duration>,
    /// Capture of the last picture that was coded.
    captured: Option<Timestamp>,
    /// End of the last frame.
    at: Timestamp,
    /// Times since when frames take too long, or little.
    slow_since: Option<Timestamp>,
    fast_since: Option<Timestamp>,
    fast_for: Duration,
    /// Time of the last return to more frames.
    returned: Option<Timestamp>,
}

impl Thinning {
    /// Creates the choice of a source with a picture each `interval`: all of them.
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            one_in: 1,
            took: None,
            captured: None,
            at: Timestamp::default(),
            slow_since: None,
            fast_since: None,
            fast_for: FAST_FOR[0],
            returned: None,
        }
    }

    /// Returns how many pictures there are for one that is coded.
    pub(crate) fn one_in(&self) -> u32 {
        self.one_in
    }

    /// Returns true if the picture taken at `capture` is to be coded.
    pub(crate) fn takes(&mut self, capture: Timestamp) -> bool {
        // Cameras are not exact.
        let least = self.interval * self.one_in - self.interval / 2;
        let takes = self.one_in == 1 || self.captured.is_none_or(|last| capture.since(last) >= least);
        if takes {
            self.captured = Some(capture);
        }
        takes
    }

    /// Notes that a frame took so long, which ended at `now`; returns true if [`Self::one_in`] has changed.
    pub(crate) fn on_took(&mut self, took: Duration, now: Timestamp) -> bool {
        if now.since(std::mem::replace(&mut self.at, now)) > PAUSE {
            (self.slow_since, self.fast_since, self.took) = (None, None, None);
        }
        let took = self.took.map_or(took, |mean| (7 * mean + took) / 8);
        self.took = Some(took);
        let is_slow = 100 * took > SLOW * self.one_in * self.interval;
        let is_fast = self.one_in > 1 && 200 * took < FAST * self.one_in * self.interval;
        let lasted = |since: &mut Option<Timestamp>, holds: bool| match holds {
            true => now.since(*since.get_or_insert(now)),
            false => {
                *since = None;
                Duration::ZERO
            }
        };
        let (slow, fast) = (lasted(&mut self.slow_since, is_slow), lasted(&mut self.fast_since, is_fast));
        if is_slow && slow >= SLOW_FOR && self.one_in < MOST {
            let failed = self.returned.is_some_and(|returned| now.since(returned) < WELL);
            self.fast_for = if failed { (2 * self.fast_for).min(FAST_FOR[1]) } else { FAST_FOR[0] };
            self.one_in *= 2;
        } else if is_fast && fast >= self.fast_for {
            self.one_in /= 2;
            self.returned = Some(now);
        } else {
            return false;
        }
        (self.slow_since, self.fast_since) = (None, None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(20);

    /// A sender of 50 pictures a second and its time.
    struct Run(Thinning, Timestamp);

    impl Run {
        fn new() -> Self {
            Self(Thinning::new(INTERVAL), Timestamp::from_us(5_000_000))
        }

        /// Goes on for so many seconds in which a frame takes so long; returns the changes: after how many tenths of a second, to
        /// one in how many.
        fn seconds(&mut self, seconds: u64, took_ms: u64) -> Vec<(u64, u32)> {
            let began = self.1;
            let mut changes = Vec::new();
            while self.1.since(began) < Duration::from_secs(seconds) {
                self.1 = self.1 + INTERVAL;
                if self.0.takes(self.1) && self.0.on_took(Duration::from_millis(took_ms), self.1) {
                    changes.push((self.1.since(began).as_millis() as u64 / 100, self.0.one_in()));
                }
            }
            changes
        }
    }

    #[test]
    fn a_machine_that_is_too_slow_sends_half_as_many_until_they_fit() {
        let mut run = Run::new();
        assert_eq!(run.seconds(60, 17), []);
        assert_eq!(run.seconds(60, 25), [(20, 2)]);
        let mut run = Run::new();
        assert_eq!(run.seconds(60, 65), [(20, 2), (40, 4)]);
        assert!(matches!(run.seconds(60, 500)[..], [(20 | 21, 8)]), "and no fewer");
    }

    #[test]
    fn pictures_that_are_coded_are_evenly_apart() {
        let mut run = Run::new();
        run.seconds(10, 25);
        let mut taken = Vec::new();
        for number in 0..20u64 {
            // A camera that is 3 ms early or late.
            let capture = Timestamp::from_us(60_000_000 + 20_000 * number + 3_000 * (number % 3));
            if run.0.takes(capture) {
                taken.push(number);
            }
        }
        assert!(taken.windows(2).all(|pair| pair[1] - pair[0] == 2) && taken.len() == 10, "{taken:?}");
    }

    #[test]
    fn a_busy_second_changes_nothing_and_a_pause_is_forgotten() {
        let mut run = Run::new();
        assert_eq!([run.seconds(1, 60), run.seconds(10, 10)].concat(), []);
        assert_eq!(run.seconds(1, 60), []);
        // Nobody watches for a while; the first frames after that take long.
        run.1 = run.1 + Duration::from_secs(100);
        assert_eq!([run.seconds(1, 60), run.seconds(5, 10)].concat(), []);
    }

    #[test]
    fn it_returns_after_growing_pauses_and_soon_if_it_went_well() {
        let mut run = Run::new();
        run.seconds(5, 25);
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let [(tenths, 1)] = run.seconds(400, 5)[..] else { panic!("no return") };
            pauses.push(tenths / 10);
            // The return ends in a machine that is too slow at once.
            run.0.returned = Some(run.1);
            assert!(matches!(run.seconds(10, 25)[..], [(20..=22, 2)]));
        }
        assert!(pauses.is_sorted() && pauses[0] <= 11 && pauses[5] >= 300, "{pauses:?}");
        assert_eq!(run.seconds(330, 5).len(), 1);
        assert_eq!(run.seconds(90, 10), [], "a minute and a half of all frames");
        assert!(matches!(run.seconds(5, 25)[..], [(20..=22, 2)]));
        assert!(run.seconds(30, 5)[0].0 <= 115, "the pauses begin anew");
    }

    #[test]
    fn between_too_slow_and_fast_enough_nothing_changes() {
        let mut run = Run::new();
        run.seconds(5, 25);
        // 13 ms are more than 60 % of 20, and much less than 40.
        assert_eq!(run.seconds(500, 13), []);
    }
}
