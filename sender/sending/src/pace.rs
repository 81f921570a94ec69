//! The governor of time: how much is done to find motion, so that a frame is coded in its time, whatever the machine.
//!
//! A frame's time is latency, and medium effort saves some 4 % of the bits for twice the search: live pictures begin with low effort.
//! Below it a ladder of [`RUNGS`] leads down to pictures of which one in [`PERIOD`] is searched for motion, each a little worse than the
//! one above it, since the frames of a rung take turns with two efforts. All are predicted: a frame is coded alone where that needs fewer
//! bits. Where the lowest rung takes too long, frames that have the bits for it are coded alone, which takes least; with fewer bits, or
//! where that takes too long as well, fewer pictures are coded ([`crate::thin`]).
//!
//! | a turn's frames take, of the time between two | from then on |
//! |---|---|
//! | more than all of it; at a start, one frame half as much again | three rungs down |
//! | more than a rung's share, which is the larger the lower it is: there a rung is worth more | one down |
//! | so little, for some turns, that those of higher rungs should take less than their share | up, half of the way to the highest of these |
//! | more than its share on the lowest rung, for two turns, and there are the bits for it | frames alone for a [pause](Pauses) |
//!
//! With the bits for it, three frames in a row that take too long are enough for that, after a start. At a start, three on the lowest
//! rung are, with any bits: frames are coded alone for two seconds, in which the line's rate is found. It grows no further than what is
//! sent, and late frames send little, so that they would never have the bits.
//!
//! After the pause a trial begins, on the lowest rung. Two frames that take too long end it: the second one comes a second after the
//! first one, so that no two pictures in a row are late. After many frames coded alone for other reasons, those with the bits for it begin
//! with a trial, too; with the pause if the last predicted ones took more than the share of low effort.

use std::time::Duration;

use common::units::Timestamp;
use kernels::Effort;

use crate::pauses::Pauses;

/// A rung: so many of [`PERIOD`] frames have the second effort, the others the first one.
type Rung = (u32, [Effort; 2]);

/// From nothing to most.
const RUNGS: [Rung; 17] = [
    (1, [Effort::Still, Effort::Near]),
    (2, [Effort::Still, Effort::Near]),
    (4, [Effort::Still, Effort::Near]),
    (8, [Effort::Still, Effort::Near]),
    (16, [Effort::Still, Effort::Near]),
    (24, [Effort::Still, Effort::Near]),
    (16, [Effort::Last, Effort::Near]),
    (32, [Effort::Last, Effort::Near]),
    (0, [Effort::Near, Effort::Low]),
    (16, [Effort::Near, Effort::Low]),
    (32, [Effort::Near, Effort::Low]),
    (48, [Effort::Near, Effort::Low]),
    (0, [Effort::Low, Effort::Medium]),
    (16, [Effort::Low, Effort::Medium]),
    (32, [Effort::Low, Effort::Medium]),
    (48, [Effort::Low, Effort::Medium]),
    (64, [Effort::Low, Effort::Medium]),
];
/// The rung of low effort.
const LOW: usize = 12;
/// Frames after which a rung begins anew.
const PERIOD: u32 = 64;
/// The first time for which frames are coded alone: a trial of predicted ones makes two late.
const PAUSE_FIRST: Duration = Duration::from_secs(20);
/// The time between these two.
const PAUSE_OF_TRIAL: Duration = Duration::from_secs(1);
/// The time for which frames are coded alone at a start, with any bits.
const PAUSE_OF_START: Duration = Duration::from_secs(2);
/// Frames of a turn.
const TURN: u32 = 8;

/// Returns the time of a frame, in parts of which only the ratios count: what is looked for on the processor, the rest, too.
fn cost(effort: Effort) -> u32 {
    match effort {
        Effort::Still => 117,
        Effort::Last => 140,
        Effort::Near => 180,
        Effort::Low => 235,
        _ => 305,
    }
}

/// Returns the time of [`PERIOD`] frames of a rung, likewise.
fn cost_of((searched, [less, more]): Rung) -> u32 {
    searched * cost(more) + (PERIOD - searched) * cost(less)
}

/// Shares of the time between two frames that a frame may take, percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Share of low effort below which more is done, and share of more above which it is not.
    medium: [u32; 2],
    /// Shares of low effort and of the lowest rung.
    low: [u32; 2],
    /// Share after which no more vectors are looked for.
    search: u32,
    /// True if frames that start late are coded alone, with any bits.
    alone_at_start: bool,
}

impl Limits {
    /// For one who asks for prediction: as long as frames are coded as fast as they come, with a little to spare.
    pub(crate) const ASKED: Self = Self { medium: [20, 50], low: [80, 88], search: 50, alone_at_start: false };
    /// For one who does not: the receiver and the camera of this machine have their time, and no frame waits for the one before.
    pub(crate) const SPARE: Self = Self { medium: [15, 40], low: [70, 80], search: 25, alone_at_start: true };

    /// Returns the share of a rung.
    fn of(self, rung: usize) -> u32 {
        let [low, least] = self.low;
        if rung > LOW { self.medium[1] } else { least - (least - low) * rung as u32 / LOW as u32 }
    }
}

/// Chooses the effort.
#[derive(Debug)]
pub(crate) struct Pace {
    limits: Limits,
    interval: Duration,
    rung: usize,
    /// Frames of this period.
    frames: u32,
    /// Time of this turn's, had all of them low effort.
    sum: Duration,
    /// The average of the last turn, likewise.
    took: Duration,
    /// Turns in a row in which there was time for more.
    calm: u32,
    /// Turns in a row in which the lowest rung took too long, and frames in a row that took more than the time between two, or than the
    /// share of the lowest rung.
    slow: u32,
    late: u32,
    /// True from a pause, or the begin of a trial, until a predicted frame is in time.
    is_trial: bool,
    /// Frames in a row that were coded alone.
    alone: u32,
    /// Frames of the stream, [`PERIOD`] at most.
    coded: u32,
    /// True while frames have the bits to be coded alone.
    has_bits: bool,
    /// Time until which they are.
    alone_until: Option<Timestamp>,
    /// True if they are, with any bits, since they were late at a start.
    is_start: bool,
    pauses: Pauses,
}

impl Pace {
    /// Times from one frame to the next that one frame counts at most: a stall of the computer, however long, is one late frame.
    const STALL: u32 = 2;
    /// Turns after which there is time for more.
    const CALM: u32 = 4;
    /// Share by which the next rung must lie below its own to be tried.
    const TO_SPARE: u32 = 3;
    /// Rungs down from one at which frames take longer than they are apart.
    const FAR: usize = 3;
    /// Turns after which the lowest rung takes too long: the first frame after a pause decodes what it is predicted from.
    const SLOW: u32 = 2;
    /// Frames after which the machine is too slow for any rung.
    const LATE: u32 = 3;

    /// Creates the pace of a stream with a frame each `interval`.
    pub(crate) fn new(limits: Limits, interval: Duration) -> Self {
        let (sum, took) = (Duration::ZERO, Duration::ZERO);
        Self {
            limits,
            interval,
            rung: LOW,
            frames: 0,
            sum,
            took,
            calm: 0,
            slow: 0,
            late: 0,
            is_trial: false,
            alone: 0,
            coded: 0,
            has_bits: false,
            alone_until: None,
            is_start: false,
            pauses: Pauses::new(PAUSE_FIRST),
        }
    }

    /// Returns the effort of the next frame.
    pub(crate) fn effort(&self) -> Effort {
        let (searched, [less, more]) = RUNGS[self.rung];
        // Evenly apart.
        let is_searched = (self.frames + 1) * searched / PERIOD > self.frames * searched / PERIOD;
        if is_searched { more } else { less }
    }

    /// Returns the highest effort of the rung.
    fn highest(&self) -> Effort {
        let (searched, [less, more]) = RUNGS[self.rung];
        if searched > 0 { more } else { less }
    }

    /// Returns true if there is no less to do.
    pub(crate) fn is_least(&self) -> bool {
        self.is_alone() || self.rung == 0 && !self.has_bits
    }

    /// Returns true if frames are coded alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone_until.is_some()
    }

    /// Returns true if frames are coded alone as long as they have the bits for it.
    pub(crate) fn stays_alone(&self) -> bool {
        self.is_alone() && !self.is_start
    }

    /// Says if frames have the bits to be coded alone from now on.
    pub(crate) fn set_has_bits(&mut self, has_bits: bool) {
        self.has_bits = has_bits;
        if !has_bits && self.stays_alone() {
            self.alone_until = None;
        }
    }

    /// Notes that a frame was coded alone, for whatever reason; `may_rise`: more may be done for the next one.
    pub(crate) fn on_alone(&mut self, may_rise: bool, now: Timestamp) {
        self.coded = (self.coded + 1).min(PERIOD);
        self.alone = (self.alone + 1).min(PERIOD);
        let may_end = may_rise || self.is_start;
        if may_end && self.alone_until.take_if(|until| now >= *until).is_some() {
            if std::mem::take(&mut self.is_start) && self.has_bits {
                self.stop(now);
            } else {
                self.pauses.on_trial(now);
            }
        }
    }

    /// Returns the longest time that may go into a frame's search for vectors.
    pub(crate) fn search_time(&self) -> Duration {
        self.interval * self.limits.search / 100
    }

    /// Returns the average time of a frame, as the last turn has it.
    pub(crate) fn took(&self) -> Duration {
        self.took_on(self.rung)
    }

    /// Returns the same of another rung.
    fn took_on(&self, rung: usize) -> Duration {
        self.took * cost_of(RUNGS[rung]) / cost_of(RUNGS[LOW])
    }

    /// Notes that the next frame, at `now`, is to be predicted; returns false if it is coded alone nevertheless. After many that were not
    /// predicted, a frame that might as well be coded alone is not worth a late one.
    pub(crate) fn on_predicted(&mut self, now: Timestamp) -> bool {
        if self.has_bits && self.alone == PERIOD {
            if !self.is_trial && self.takes_more(LOW, self.limits.of(LOW)) {
                self.stop(now);
            } else {
                self.begin_trial();
            }
        }
        !self.is_alone()
    }

    /// Codes frames alone for a pause, and tries predicted ones after it.
    fn stop(&mut self, now: Timestamp) {
        self.alone_until = Some(now + self.pauses.on_failure(now));
        self.begin_trial();
    }

    /// Begins anew, with the lowest rung.
    fn begin_trial(&mut self) {
        (self.rung, self.frames, self.sum) = (0, 0, Duration::ZERO);
        (self.calm, self.slow) = (0, 0);
        // If two are late, the third one need not be.
        (self.is_trial, self.late) = (true, 1);
    }

    /// Notes that a predicted frame took so long, which ended at `now`; `may_rise`: more may be done than before. Returns the highest
    /// effort from now on if that is another one.
    pub(crate) fn on_took(&mut self, took: Duration, may_rise: bool, now: Timestamp) -> Option<Effort> {
        self.coded = (self.coded + 1).min(PERIOD);
        self.alone = 0;
        // While both ends start, frames are late on any machine.
        let is_start = self.coded < PERIOD;
        let share = if self.rung == 0 && !is_start { self.limits.of(0) } else { 100 };
        let counts = self.rung == 0 || !is_start;
        self.late = if 100 * took > share * self.interval && counts { self.late + 1 } else { 0 };
        self.sum += took.min(Self::STALL * self.interval) * cost(Effort::Low) / cost(self.effort());
        self.frames = (self.frames + 1) % PERIOD;
        let is_turn = self.frames.is_multiple_of(TURN);
        if is_turn {
            self.took = std::mem::take(&mut self.sum) / TURN;
            let takes_more = self.takes_more(self.rung, self.limits.of(self.rung));
            self.slow = if takes_more && self.rung == 0 { self.slow + 1 } else { 0 };
        }
        if is_start && self.late >= Self::LATE && self.limits.alone_at_start {
            (self.is_start, self.alone_until) = (true, Some(now + PAUSE_OF_START));
            return None;
        }
        if self.has_bits && (self.late >= Self::LATE || self.slow >= Self::SLOW) {
            self.stop(now);
            return None;
        }
        self.is_trial &= self.late > 0;
        if self.is_trial && self.has_bits {
            self.alone_until = Some(now + PAUSE_OF_TRIAL);
            return None;
        }
        if is_start && 2 * took > 3 * self.interval {
            self.rung = self.rung.saturating_sub(Self::FAR);
        }
        if !is_turn {
            return None;
        }
        let before = self.highest();
        self.calm = if may_rise && self.has_time() { self.calm + 1 } else { 0 };
        if self.takes_more(self.rung, self.limits.of(self.rung)) {
            self.rung = self.rung.saturating_sub(if self.takes_more(self.rung, 100) { Self::FAR } else { 1 });
        } else if self.calm >= Self::CALM {
            (self.rung, self.calm) = (self.rung.midpoint(self.highest_in_time() + 1).max(self.rung + 1), 0);
        }
        (self.highest() != before).then(|| self.highest())
    }

    /// Returns true if a frame of a rung takes more than so many percent of the time between two.
    fn takes_more(&self, rung: usize, percent: u32) -> bool {
        100 * self.took_on(rung) > percent * self.interval
    }

    /// Returns true if there is time for the next rung.
    fn has_time(&self) -> bool {
        self.rung + 1 < RUNGS.len() && self.is_in_time(self.rung + 1)
    }

    /// Returns the highest rung, up to low effort, for which there should be time.
    fn highest_in_time(&self) -> usize {
        (0..=LOW).rev().find(|&rung| self.is_in_time(rung)).unwrap_or_default()
    }

    /// Returns true if there should be time for a rung.
    fn is_in_time(&self, rung: usize) -> bool {
        let share = match rung {
            ..=LOW => self.limits.of(rung) - Self::TO_SPARE,
            // Latency is worth more than what is to be had above low effort.
            _ => self.limits.medium[0],
        };
        !self.takes_more(rung.min(LOW), share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(33);

    impl Pace {
        /// Goes on for so many turns of frames that take so many milliseconds; returns the rungs.
        fn turns(&mut self, turns: u32, ms: u64) -> Vec<usize> {
            let mut turn = |_| {
                for _ in 0..TURN {
                    self.on_took(Duration::from_millis(ms), true, Timestamp::default());
                }
                self.rung
            };
            (0..turns).map(&mut turn).collect()
        }

        /// Goes on with frames that take what they cost, in ms of low effort, until it has settled; returns the rungs after that.
        fn settled(&mut self, cost: impl Fn(Effort) -> f64) -> [usize; 2] {
            let mut range = [usize::MAX, 0];
            for frame in 0..4_000 {
                let took = Duration::from_secs_f64(cost(self.effort()) / 1e3);
                self.on_took(took, true, Timestamp::default());
                if frame >= 2_000 {
                    range = [range[0].min(self.rung), range[1].max(self.rung)];
                }
            }
            range
        }
    }

    #[test]
    fn each_rung_does_more_than_the_one_below() {
        assert!(RUNGS.windows(2).all(|pair| cost_of(pair[0]) < cost_of(pair[1])));
        assert_eq!((RUNGS[LOW], cost_of(RUNGS[LOW])), ((0, [Effort::Low, Effort::Medium]), PERIOD * cost(Effort::Low)));
        let mut pace = Pace::new(Limits::ASKED, INTERVAL);
        for (rung, (searched, [less, more])) in RUNGS.into_iter().enumerate() {
            pace.rung = rung;
            let mut efforts = Vec::new();
            for frame in 0..PERIOD {
                pace.frames = frame;
                efforts.push(pace.effort());
            }
            assert_eq!(efforts.iter().filter(|&&effort| effort == more).count(), searched as usize);
            assert!(efforts.iter().all(|&effort| effort == less || effort == more));
            // Evenly apart.
            let between: Vec<_> = (0..PERIOD as usize).filter(|&at| efforts[at] == more).collect();
            assert!(
                between.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(PERIOD as usize / searched as usize) <= 1)
            );
        }
    }

    #[test]
    fn a_slow_machine_searches_less_and_a_fast_one_more() {
        let mut pace = Pace::new(Limits::ASKED, INTERVAL);
        assert_eq!(pace.turns(50, 25), [LOW; 50], "as long as frames are faster than they come");
        assert_eq!(pace.turns(3, 28), [11, 10, 9]);
        assert_eq!(pace.turns(5, 40), [6, 3, 0, 0, 0]);
        assert!(pace.is_least() && pace.effort() == Effort::Still);
        assert_eq!(pace.turns(13, 20), [0, 0, 0, 3, 3, 3, 3, 5, 5, 5, 5, 6, 6], "half of the way each time");
        assert_eq!(pace.turns(200, 10)[199], LOW, "and no more");
        assert_eq!(pace.turns(200, 6)[199], RUNGS.len() - 1);
        assert_eq!(pace.turns(20, 15), [RUNGS.len() - 1; 20]);
        assert_eq!(pace.turns(12, 17)[11], LOW, "and no less");
    }

    #[test]
    fn who_did_not_ask_for_it_keeps_time_for_others() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        assert_eq!(pace.turns(50, 20), [LOW; 50]);
        assert_eq!(pace.turns(2, 25), [LOW - 1, LOW - 2]);
        assert_eq!(pace.turns(100, 4)[99], RUNGS.len() - 1);
        assert_eq!(pace.turns(1, 15), [RUNGS.len() - 2]);
    }

    #[test]
    fn nothing_rises_while_there_are_too_few_pictures() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        pace.turns(9, 40);
        for _ in 0..500 {
            pace.on_took(Duration::from_millis(5), false, Timestamp::default());
            assert!(pace.is_least());
        }
        pace.frames = 0;
        assert_eq!(pace.turns(4, 5), [0, 0, 0, 6], "calm is counted from then on");
    }

    /// A stall, and a loss of which the pictures of a round trip are computed anew.
    #[test]
    fn a_late_frame_is_one_however_long_it_took() {
        for limits in [Limits::ASKED, Limits::SPARE] {
            let mut pace = Pace::new(limits, INTERVAL);
            pace.turns(PERIOD / TURN, 13);
            for frame in 0..900 {
                let ms = if frame % 21 == 0 { 2_000 } else { 13 };
                pace.on_took(Duration::from_millis(ms), true, Timestamp::default());
                assert_eq!(pace.rung, LOW, "frame {frame}");
            }
        }
    }

    /// Runs a minute of frames of which predicted ones take so many ms; returns the tenths of a second at which they begin to be coded
    /// alone, and to be predicted.
    fn minute(pace: &mut Pace, began: u64, ms: u64, may_rise: bool) -> Vec<(u64, bool)> {
        let mut changes = Vec::new();
        for frame in 0..1_800 {
            let (now, was_alone) = (Timestamp::from_us(1_000_000 * began + 33_333 * frame), pace.is_alone());
            match was_alone {
                true => pace.on_alone(may_rise, now),
                false => _ = pace.on_took(Duration::from_millis(ms), may_rise, now),
            }
            if pace.is_alone() != was_alone {
                changes.push((frame / 3, !was_alone));
            }
        }
        changes
    }

    #[test]
    fn frames_with_the_bits_for_it_are_coded_alone_where_the_lowest_rung_takes_too_long() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        assert_eq!(minute(&mut pace, 0, 30, true), [], "they have no bits");
        assert!(pace.is_least());
        pace.set_has_bits(true);
        assert!(!pace.is_least(), "there is less to do");
        let trials = minute(&mut pace, 60, 30, true);
        // The first trial is one frame, and one more a second later.
        assert_eq!(trials, [(0, true), (200, false), (200, true), (211, false), (211, true)]);
        assert!(pace.is_least() && pace.is_alone());
        // The pause of 40 s is over, but there are too few pictures.
        assert_eq!(minute(&mut pace, 120, 30, false), []);
        // With fewer bits prediction is worth it at once, however slow it is.
        pace.set_has_bits(false);
        assert!(!pace.is_alone());
        assert_eq!(minute(&mut pace, 180, 30, true), []);
        // A trial that goes well.
        pace.set_has_bits(true);
        let trials = minute(&mut pace, 240, 40, true);
        assert_eq!(trials, [(0, true), (200, false), (200, true), (211, false), (211, true)]);
        let trials = minute(&mut pace, 300, 15, true);
        assert!(matches!(trials[..], [(_, false)]) && pace.rung == LOW, "{trials:?}, {}", pace.rung);
        assert_eq!(minute(&mut pace, 360, 15, true), []);
    }

    #[test]
    fn after_many_frames_coded_alone_those_with_the_bits_for_it_begin_with_a_trial() {
        let cases = [(PERIOD - 1, true, LOW), (PERIOD, true, 0), (PERIOD, false, LOW)];
        for (frames, has_bits, rung) in cases {
            let mut pace = Pace::new(Limits::SPARE, INTERVAL);
            pace.turns(1, 20);
            pace.set_has_bits(true);
            (0..frames).for_each(|_| pace.on_alone(true, Timestamp::default()));
            pace.set_has_bits(has_bits);
            assert!(pace.on_predicted(Timestamp::default()));
            assert_eq!(pace.rung, rung, "{frames} frames alone, has the bits: {has_bits}");
        }
    }

    /// The time of earlier predicted frames spares the trial, until the pause is over.
    #[test]
    fn a_trial_waits_for_a_pause_where_low_effort_took_too_long() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        pace.turns(1, 25);
        pace.set_has_bits(true);
        let predicted = (0..900).map(|frame| {
            let now = Timestamp::from_us(33_333 * frame);
            let is_predicted = !pace.is_alone() && frame >= 64 && pace.on_predicted(now);
            pace.on_alone(true, now);
            is_predicted
        });
        // 64 frames, and 20 s.
        assert_eq!(predicted.take_while(|is_predicted| !is_predicted).count(), 64 + 602);
        assert_eq!((pace.rung, pace.is_alone()), (0, false));
    }

    /// A late frame that is the computer's, or a loss's, ends no trial.
    #[test]
    fn one_late_frame_ends_no_trial() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        pace.set_has_bits(true);
        minute(&mut pace, 0, 30, true);
        let mut predicted = Vec::new();
        for frame in 0..1_800 {
            let now = Timestamp::from_us(60_000_000 + 33_333 * frame);
            if pace.is_alone() {
                pace.on_alone(true, now);
                continue;
            }
            pace.on_took(Duration::from_millis(if predicted.is_empty() { 30 } else { 10 }), true, now);
            predicted.push(frame);
        }
        let apart: std::collections::BTreeMap<_, _> =
            predicted.windows(2).map(|pair| (pair[1] - pair[0], pair[0])).collect();
        // A second, from the first to the second one.
        assert_eq!(apart.into_iter().collect::<Vec<_>>(), [(1, 1_799 - 1), (32, predicted[0])]);
    }

    /// A line's rate is found in the first second, and a computer that lags looks like a line that does.
    #[test]
    fn late_frames_at_a_start_lead_down_at_once_and_end_no_prediction() {
        let mut pace = Pace::new(Limits::SPARE, INTERVAL);
        pace.set_has_bits(true);
        for frame in 0..PERIOD + 3 {
            let ms = if frame % 8 < 2 || frame >= PERIOD { 51 } else { 5 };
            assert!(!pace.is_alone(), "frame {frame}");
            assert_eq!(pace.rung, [12, 9, 6, 6].get(frame as usize).copied().unwrap_or(pace.rung), "frame {frame}");
            pace.on_took(Duration::from_millis(ms), true, Timestamp::default());
        }
        assert!(pace.is_alone());
    }

    /// A line that has yet to be found has few bits, and is not found while frames are late.
    #[test]
    fn a_start_that_is_late_on_the_lowest_rung_is_coded_alone_until_the_rate_is_found() {
        for (has_bits, pause) in [(false, 61), (true, 62 + 600)] {
            let mut pace = Pace::new(Limits::SPARE, INTERVAL);
            let mut alone = Vec::new();
            for frame in 0..1_000 {
                let now = Timestamp::from_us(33_333 * frame);
                pace.set_has_bits(has_bits && frame > 30);
                if pace.is_alone() {
                    alone.push(frame);
                    pace.on_alone(true, now);
                } else {
                    pace.on_took(Duration::from_millis(51), true, now);
                }
                if alone.last().is_some_and(|&last| last < frame) {
                    break;
                }
            }
            // Four rungs, and three frames on the lowest one.
            assert_eq!((alone[0], alone.len() as u64), (7, pause), "the bits for it: {has_bits}");
        }
        let mut asked = Pace::new(Limits::ASKED, INTERVAL);
        asked.turns(9, 51);
        assert!(asked.is_least() && !asked.is_alone(), "who asks for prediction gets it");
    }

    /// Frames that take what their effort takes: the rung settles, and stays; where costs are others it moves by one.
    #[test]
    fn rungs_settle_at_any_share() {
        let on_a_card = |effort| match effort {
            Effort::Still => 60.0,
            Effort::Last => 65.0,
            Effort::Near => 120.0,
            Effort::Low => 235.0,
            _ => 350.0,
        };
        let mut settled = Vec::new();
        for limits in [Limits::ASKED, Limits::SPARE] {
            for percent in (20..250).step_by(2) {
                let part = f64::from(percent) / 1e3;
                let rungs = Pace::new(limits, INTERVAL).settled(|effort| f64::from(cost(effort)) * part);
                assert!(rungs[0] == rungs[1], "{limits:?}, {percent} %: {rungs:?}");
                settled.push(rungs[0]);
                let rungs = Pace::new(limits, INTERVAL).settled(|effort| on_a_card(effort) * part);
                assert!(rungs[0] + 1 >= rungs[1], "{limits:?}, {percent} %: {rungs:?}");
            }
        }
        assert!((0..=LOW).all(|rung| settled.contains(&rung)), "{settled:?}");
        let (asked, spare) = settled.split_at(settled.len() / 2);
        assert!(asked.is_sorted_by(|a, b| a >= b) && asked.iter().zip(spare).all(|(asked, spare)| asked >= spare));
    }
}
