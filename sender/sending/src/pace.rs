//! The effort that a machine has time for: whether frames are predicted, and how much is done to find motion.
//!
//! A frame's time is latency, and medium effort saves some 4 % of the bits for twice the search: live pictures begin with low effort.
//!
//! | while | and | from then on |
//! |---|---|---|
//! | motion is searched with more than low effort | a frame takes too much of the time between two, or some take all of it | low effort |
//! | it is searched with low effort | likewise | frames are coded alone, for a pause |
//! | it is searched with low effort | a frame has long taken little of that time | medium effort |
//! | frames are coded alone | the pause is over | low effort |
//!
//! Each pause is twice as long as the one before it, until prediction has gone well for a minute.

use std::time::Duration;

use common::units::Timestamp;
use kernels::Effort;

use crate::thin;

/// Shares of the time between two frames that a frame may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Share below which low effort becomes medium, percent.
    more: u32,
    /// Share above which effort becomes low, percent.
    less: u32,
    /// Share above which there is no prediction, percent.
    none: u32,
    /// Frames, of the last [`Pace::LATE`], that may take longer than from one frame to the next.
    late: u32,
    /// Share after which no more vectors are looked for, percent.
    search: u32,
}

impl Limits {
    /// For one who asks for prediction: as long as frames are coded as fast as they come, with a little to spare.
    pub(crate) const ASKED: Self = Self { more: 20, less: 50, none: 85, late: Pace::LATE, search: 50 };
    /// For one who does not: the receiver and the camera of this machine have their time, and no frame waits for the one before.
    pub(crate) const SPARE: Self = Self { more: 15, less: 40, none: 80, late: 16, search: 25 };
}

// A machine that is too slow gives up prediction, and only then pictures.
const _: () = assert!(Limits::ASKED.none < thin::SLOW && Limits::SPARE.none < thin::SLOW);

/// Chooses the effort.
#[derive(Debug)]
pub(crate) struct Pace {
    limits: Limits,
    interval: Duration,
    mode: Mode,
    /// Frames since the last change.
    frames: u32,
    /// The time of a frame: the average since the last change, in which the last one counts one part of [`Self::WEIGHT`] at least.
    took: Duration,
    /// A bit for each of the last frames since the last change: 1 if it took longer than from one frame to the next.
    late: u64,
    /// Frames predicted since prediction was given up the last time.
    predicted: u32,
    /// The next pause.
    pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Predicts(Effort),
    Alone { until: Timestamp },
}

impl Pace {
    /// Frames that are looked back to for late ones.
    const LATE: u32 = u64::BITS;
    /// Frames of which the last one has the weight of one: a second. What was lost is computed anew for some frames in a row,
    /// which must not end prediction.
    const WEIGHT: u32 = 32;
    /// Times from one frame to the next that one frame counts at most: a stall of the computer, however long, is one late frame.
    const STALL: u32 = 2;
    /// Frames after a change before the average counts.
    const SETTLED: u32 = 32;
    /// Frames after a change before the effort becomes more.
    const CALM: u32 = 120;
    /// Time without prediction before it is tried again, at first and at most.
    const PAUSES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(640)];
    /// Time of prediction after which the pauses begin anew.
    const WELL: Duration = Duration::from_secs(60);

    /// Creates the pace of a stream with a frame each `interval`.
    pub(crate) fn new(limits: Limits, interval: Duration) -> Self {
        Self {
            limits,
            interval,
            mode: Mode::Predicts(Effort::Low),
            frames: 0,
            took: Duration::ZERO,
            late: 0,
            predicted: 0,
            pause: Self::PAUSES[0],
        }
    }

    /// Returns the effort of the next frame; none if it is to be coded alone.
    pub(crate) fn effort(&self) -> Option<Effort> {
        match self.mode {
            Mode::Predicts(effort) => Some(effort),
            Mode::Alone { .. } => None,
        }
    }

    /// Returns the longest time that may go into a frame's search for vectors.
    pub(crate) fn search_time(&self) -> Duration {
        self.interval * self.limits.search / 100
    }

    /// Returns the average time of a frame, until the last change if it has just changed.
    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    /// Notes that a frame took so long, which ended at `now`; returns true if [`Self::effort`] has changed.
    pub(crate) fn on_took(&mut self, took: Duration, now: Timestamp) -> bool {
        let next = match self.mode {
            Mode::Alone { until } => (now >= until).then_some(Mode::Predicts(Effort::Low)),
            Mode::Predicts(effort) => self.judge(effort, took, now),
        };
        if let Some(next) = next {
            (self.mode, self.frames, self.late) = (next, 0, 0);
        }
        next.is_some()
    }

    fn judge(&mut self, effort: Effort, took: Duration, now: Timestamp) -> Option<Mode> {
        self.frames += 1;
        self.predicted += 1;
        // The first one had to wait for what it refers to.
        if self.frames == 1 {
            return None;
        }
        let weight = (self.frames - 1).min(Self::WEIGHT);
        self.took = ((weight - 1) * self.took + took.min(Self::STALL * self.interval)) / weight;
        self.late = self.late << 1 | u64::from(took > self.interval);
        let Limits { more, less, none, late, .. } = self.limits;
        let is_late = self.late.count_ones() > late;
        let is_above = |percent: u32| is_late || 100 * self.took > percent * self.interval;
        if self.frames <= Self::SETTLED && !is_late {
            return None;
        }
        match effort {
            Effort::High | Effort::Medium if is_above(less) => Some(Mode::Predicts(Effort::Low)),
            Effort::Low if is_above(none) => Some(Mode::Alone { until: now + self.pause() }),
            Effort::Low if self.frames > Self::CALM && !is_above(more) => Some(Mode::Predicts(Effort::Medium)),
            _ => None,
        }
    }

    /// Returns the pause of a prediction that is given up, and makes the next one longer.
    fn pause(&mut self) -> Duration {
        let [first, most] = Self::PAUSES;
        let went_well = std::mem::take(&mut self.predicted) * self.interval >= Self::WELL;
        let pause = if went_well { first } else { self.pause };
        self.pause = (2 * pause).min(most);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(33);

    /// A pace and its time.
    struct Run(Pace, Timestamp);

    impl Run {
        fn new(limits: Limits) -> Self {
            Self(Pace::new(limits, INTERVAL), Timestamp::from_us(5_000_000))
        }

        /// Goes on for so many frames of so many milliseconds; returns the efforts that it changed to, and after how many frames.
        fn frames(&mut self, frames: u32, ms: u64) -> Vec<(u32, Option<Effort>)> {
            let mut changes = Vec::new();
            for frame in 1..=frames {
                self.1 = self.1 + INTERVAL;
                if self.0.on_took(Duration::from_millis(ms), self.1) {
                    changes.push((frame, self.0.effort()));
                }
            }
            changes
        }

        /// Goes on until prediction is tried again; returns the whole seconds until then.
        fn pause(&mut self) -> u64 {
            let began = self.1;
            assert_eq!(self.0.effort(), None);
            while self.0.effort().is_none() {
                self.frames(1, 40);
            }
            self.1.since(began).as_secs()
        }
    }

    #[test]
    fn a_slow_machine_searches_less_and_a_fast_one_more() {
        let mut run = Run::new(Limits::ASKED);
        assert_eq!((run.0.effort(), run.frames(500, 15)), (Some(Effort::Low), vec![]));
        assert_eq!(run.frames(500, 6), [(86, Some(Effort::Medium))]);
        assert_eq!(run.frames(500, 15), []);
        assert_eq!(run.frames(500, 20), [(12, Some(Effort::Low))]);
        // What was asked for stays as long as frames are faster than they come.
        assert_eq!(run.frames(500, 27), []);
        assert_eq!(run.frames(100, 40), [(3, None)]);
    }

    #[test]
    fn who_did_not_ask_for_it_keeps_time_for_others() {
        let mut run = Run::new(Limits::SPARE);
        assert_eq!((run.0.effort(), run.frames(500, 10)), (Some(Effort::Low), vec![]));
        assert_eq!(run.frames(500, 20), []);
        assert_eq!(run.frames(18, 35), [(17, None)]);
        let mut run = Run::new(Limits::SPARE);
        assert_eq!(run.frames(500, 4), [(121, Some(Effort::Medium))]);
        assert_eq!(run.frames(500, 10), []);
        assert_eq!(run.frames(200, 15), [(33, Some(Effort::Low))]);
    }

    /// A few frames tell nothing of a machine, and the first one has more to do.
    #[test]
    fn single_frames_change_nothing() {
        let mut run = Run::new(Limits::SPARE);
        assert_eq!([run.frames(1, 500), run.frames(300, 10)].concat(), []);
        for _ in 0..40 {
            assert_eq!([run.frames(4, 35), run.frames(12, 10)].concat(), []);
        }
        // A seventeenth one within 64 does, however fast the others are.
        assert_eq!(run.frames(60, 10), []);
        for _ in 0..4 {
            assert_eq!([run.frames(4, 35), run.frames(10, 10)].concat(), []);
        }
        assert_eq!(run.frames(1, 35), [(1, None)]);
        // All of the first ones do.
        let mut run = Run::new(Limits::SPARE);
        assert_eq!(run.frames(18, 40), [(18, None)]);
    }

    /// One stall in 700 ms, and frames of which the pictures of a round trip are computed anew.
    #[test]
    fn stalls_and_losses_do_not_end_prediction() {
        for limits in [Limits::ASKED, Limits::SPARE] {
            let mut run = Run::new(limits);
            for _ in 0..40 {
                assert_eq!([run.frames(1, 2_000), run.frames(20, 15)].concat(), []);
            }
            for _ in 0..40 {
                assert_eq!([run.frames(3, 50), run.frames(20, 15)].concat(), []);
            }
        }
    }

    #[test]
    fn it_is_tried_again_after_growing_pauses_and_soon_if_it_went_well() {
        let mut run = Run::new(Limits::SPARE);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            assert_eq!(run.frames(18, 40), [(18, None)]);
            pauses.push(run.pause());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 640]);
        assert_eq!(run.0.effort(), Some(Effort::Low));
        // A minute.
        assert_eq!(run.frames(1820, 10), []);
        assert_eq!(run.frames(17, 40), [(17, None)]);
        assert_eq!(run.pause(), 10);
        assert_eq!(run.frames(18, 40), [(18, None)]);
        assert_eq!(run.pause(), 20);
    }

    /// Whatever the machine does, changes are rare: more effort takes a long calm, and prediction a pause.
    #[test]
    fn effort_never_flaps() {
        let mut random = 11_u64;
        for limits in [Limits::ASKED, Limits::SPARE] {
            for seed in 0..200_u64 {
                let mut run = Run::new(limits);
                let (mut changed, mut gave_up) = (None, None);
                for frame in 0..2_000_u32 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let before = run.0.effort();
                    if run.frames(1, (random >> 33) % (3 + seed)).is_empty() {
                        continue;
                    }
                    let after = run.0.effort();
                    let rest = changed.replace(frame).map_or(frame + 1, |last| frame - last);
                    assert!(rest >= 3, "seed {seed}, frame {frame}: {before:?} to {after:?}");
                    match (before, after) {
                        (None, _) => assert!(gave_up.is_some_and(|at| run.1.since(at) >= Pace::PAUSES[0])),
                        (_, None) => gave_up = Some(run.1),
                        (Some(before), Some(after)) => {
                            assert!(after < before || rest > Pace::CALM, "seed {seed}, frame {frame}");
                        }
                    }
                }
            }
        }
    }
}
