//! The rate of pictures that a machine has time to code: all of a live source, or one in two, four or eight.
//!
//! | while | from then on |
//! |---|---|
//! | a frame has taken nearly all of the time between two, or more, for two seconds, with the least effort | half as many frames |
//! | it has long taken little of the time that there would be between twice as many | twice as many |
//! | one in eight is too many, and there is sound | none for a pause, each twice as long as the one before it |
//!
//! Coding each newest picture as soon as the one before is done would give some more, at uneven times, each of them late, and
//! leave no time to who shows the other side's picture on the same machine.

use std::time::Duration;

use common::units::Timestamp;

use crate::pauses::Pauses;

/// Share of the time between two frames above which a machine is too slow, percent.
const SLOW: u32 = 90;
/// Share, of the time between frames of twice the rate, below which it is fast enough for these, percent.
const FAST: u32 = 60;
/// Time for which it must have been too slow.
const SLOW_FOR: Duration = Duration::from_secs(2);
/// The first time for which it must have been fast enough, and the first pause without pictures.
const PAUSE_FIRST: Duration = Duration::from_secs(10);
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
    /// The last of these is the time for which it must have been fast enough to return to more frames.
    returns: Pauses,
    /// Pictures are given up where one in [`MOST`] is too many: sound goes on.
    gives_up: bool,
    /// The end of the pause without any, if there has been one.
    rests_until: Option<Timestamp>,
    rests: Pauses,
}

impl Thinning {
    /// Creates the choice of a source with a picture each `interval`: all of them. `gives_up`: none is a choice, too.
    pub(crate) fn new(interval: Duration, gives_up: bool) -> Self {
        Self {
            interval,
            one_in: 1,
            took: None,
            captured: None,
            at: Timestamp::default(),
            slow_since: None,
            fast_since: None,
            returns: Pauses::new(PAUSE_FIRST),
            gives_up,
            rests_until: None,
            rests: Pauses::new(PAUSE_FIRST),
        }
    }

    /// Returns how many pictures there are for one that is coded; 0: none is.
    pub(crate) fn one_in(&self) -> u32 {
        if self.rests(self.at) { 0 } else { self.one_in }
    }

    /// Returns true while pictures are given up.
    pub(crate) fn rests(&self, now: Timestamp) -> bool {
        self.rests_until.is_some_and(|until| now < until)
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

    /// Notes that a frame took so long, which ended at `now`; `has_less`: frames may take less time, so that there need not be fewer.
    /// Returns true if [`Self::one_in`] has changed.
    pub(crate) fn on_took(&mut self, took: Duration, now: Timestamp, has_less: bool) -> bool {
        // A frame that takes long is no pause.
        if now.since(std::mem::replace(&mut self.at, now)) > PAUSE + took {
            (self.slow_since, self.fast_since, self.took) = (None, None, None);
        }
        let took = self.took.map_or(took, |mean| (7 * mean + took) / 8);
        self.took = Some(took);
        let is_slow = !has_less && 100 * took > SLOW * self.one_in * self.interval;
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
            self.returns.on_failure(now);
            self.one_in *= 2;
        } else if is_slow && slow >= SLOW_FOR && self.gives_up {
            let until = now + self.rests.on_failure(now);
            self.rests.on_trial(until);
            self.rests_until = Some(until);
        } else if is_fast && fast >= self.returns.last() {
            self.one_in /= 2;
            self.returns.on_trial(now);
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
            Self(Thinning::new(INTERVAL, false), Timestamp::from_us(5_000_000))
        }

        /// Goes on for so many seconds in which a frame takes so long; returns the changes: after how many tenths of a second, to
        /// one in how many.
        fn seconds(&mut self, seconds: u64, took_ms: u64) -> Vec<(u64, u32)> {
            let began = self.1;
            let mut changes = Vec::new();
            while self.1.since(began) < Duration::from_secs(seconds) {
                self.1 = self.1 + INTERVAL;
                if self.0.takes(self.1) && self.0.on_took(Duration::from_millis(took_ms), self.1, false) {
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
    fn all_pictures_are_coded_while_less_can_be_done_for_each() {
        let mut run = Run::new();
        for _ in 0..500 {
            run.1 = run.1 + INTERVAL;
            assert!(!run.0.on_took(Duration::from_millis(25), run.1, true));
        }
        assert_eq!(run.seconds(10, 25), [(20, 2)]);
    }

    /// Frames of two seconds each: as slow as it can be.
    #[test]
    fn with_sound_pictures_are_given_up_and_tried_again_after_growing_pauses() {
        for (gives_up, wanted) in [(true, vec![10, 20, 40, 80, 160, 320, 320]), (false, vec![])] {
            let mut thinning = Thinning::new(INTERVAL, gives_up);
            let (mut now, mut pauses) = (Timestamp::from_us(5_000_000), Vec::new());
            let mut coded = 0;
            while pauses.len() < wanted.len() || coded < 100 && !gives_up {
                if thinning.rests(now) || !thinning.takes(now) {
                    now = now + INTERVAL;
                    continue;
                }
                now = now + Duration::from_secs(2);
                coded += 1;
                if thinning.on_took(Duration::from_secs(2), now, false) && thinning.one_in() == 0 {
                    let begun = now;
                    while thinning.rests(now) {
                        now = now + INTERVAL;
                    }
                    pauses.push(now.since(begun).as_secs());
                }
                // It has been tried, with the fewest.
                assert!(pauses.is_empty() || thinning.one_in == MOST);
            }
            assert_eq!(pauses, wanted);
        }
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
            run.0.returns.on_trial(run.1);
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
