//! Times in which nothing moves and nothing is lost: a radio that scans, a program that waits for a processor.

use std::time::Duration;

use super::random::Random;

/// A second, which random pauses come once in each of.
const SECOND_US: u64 = 1_000_000;

/// Spans of time since a beginning, in order, that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses(Vec<(Duration, Duration)>);

impl Pauses {
    /// No pause.
    pub const NONE: Self = Self(Vec::new());

    /// Pauses of the times given, each from when and how long. Those that touch become one.
    pub fn new(spans: impl IntoIterator<Item = (Duration, Duration)>) -> Self {
        let mut spans: Vec<_> = spans.into_iter().map(|(from, span)| (from, from + span)).collect();
        spans.sort_unstable();
        let mut merged: Vec<(Duration, Duration)> = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    /// Returns one pause in each `period` from `from` to `to`, at a random time, `least` to `most` long.
    pub fn random(seed: u64, from: Duration, to: Duration, period: Duration, least: Duration, most: Duration) -> Self {
        let mut random = Random::new(seed ^ 0x009a_05e5);
        let period = period.max(Duration::from_millis(1));
        let count = (to.saturating_sub(from).as_nanos() / period.as_nanos()) as u32;
        Self::new((0..count).map(|number| {
            let span = least + most.saturating_sub(least).mul_f64(random.unit());
            (from + period * number + period.saturating_sub(span).mul_f64(random.unit()), span)
        }))
    }

    /// Returns the pauses of a radio that looks for other stations: ten of `span` within a second, every `period`.
    pub fn scans(from: Duration, to: Duration, period: Duration, span: Duration) -> Self {
        let starts = (0..).map(move |number| from + period * number).take_while(move |&start| start < to);
        let step = Duration::from_micros(SECOND_US / 10);
        Self::new(starts.flat_map(move |start| (0..10).map(move |number| (start + step * number, span))))
    }

    /// Returns the end of the pause that holds at `at`; none: there is none.
    pub fn end(&self, at: Duration) -> Option<Duration> {
        let next = self.0.partition_point(|&(_, to)| to <= at);
        self.0.get(next).filter(|&&(from, _)| from <= at).map(|&(_, to)| to)
    }

    /// Returns the longest pause.
    pub fn longest(&self) -> Duration {
        self.0.iter().map(|&(from, to)| to.saturating_sub(from)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_pause_holds_from_its_begin_to_its_end() {
        let pauses = Pauses::new([(ms(50), ms(10)), (ms(10), ms(20)), (ms(20), ms(15))]);
        let ends: Vec<_> = [9, 10, 34, 35, 49, 50, 59, 60].map(|at| pauses.end(ms(at))).into();
        let [first, second] = [Some(ms(35)), Some(ms(60))];
        assert_eq!(ends, [None, first, first, None, None, second, second, None]);
        assert_eq!((pauses.longest(), Pauses::NONE.end(ms(0))), (ms(25), None));
    }

    #[test]
    fn random_pauses_come_once_a_period_and_scans_ten_in_a_second() {
        let pauses = Pauses::random(3, ms(2_000), ms(7_000), ms(1_000), ms(40), ms(150));
        let count = |pauses: &Pauses, from, to| (from..to).filter(|&at| pauses.end(ms(at)).is_some()).count();
        for second in 2..7 {
            let paused = count(&pauses, second * 1_000, second * 1_000 + 1_000);
            assert!((39..=151).contains(&paused), "{second} {paused}");
        }
        assert_eq!(count(&pauses, 0, 2_000) + count(&pauses, 7_000, 9_000), 0);
        let scans = Pauses::scans(ms(1_000), ms(12_000), ms(10_000), ms(40));
        assert_eq!((scans.0.len(), count(&scans, 1_000, 2_000), count(&scans, 2_000, 11_000)), (20, 400, 0));
    }
}
