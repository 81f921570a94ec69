//! A stretch of time as it was heard, in runs of samples of one kind, and the figures of it.

use serde_json::{Value, json};

/// Fewest bad samples that are a dropout; fewer are a rounding.
const DROPOUT_MIN: u64 = 8;
/// Good samples that end a dropout.
const GOOD_MIN: u64 = 16;
/// Samples a minute.
const A_MINUTE: f64 = 60.0 * 48_000.0;

/// Samples of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those sent, so many samples later.
    Same(u32),
    /// Like those sent, as coarse copies are.
    Like(u32),
    /// Digital silence.
    Silent,
    /// Anything else.
    Other,
}

impl Kind {
    /// Returns the delay of good samples.
    pub(crate) fn delay(self) -> Option<u32> {
        match self {
            Self::Same(delay) | Self::Like(delay) => Some(delay),
            Self::Silent | Self::Other => None,
        }
    }
}

/// A run of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Number of its first sample, by the listener's clock.
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) kind: Kind,
}

impl Run {
    /// Returns the number of the sample after it.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }
}

/// Runs that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs(pub(crate) Vec<Run>);

impl Runs {
    /// Adds samples.
    pub(crate) fn push(&mut self, start: u64, length: u64, kind: Kind) {
        match self.0.last_mut() {
            Some(last) if last.kind == kind && last.end() == start => last.length += length,
            _ if length == 0 => {}
            _ => self.0.push(Run { start, length, kind }),
        }
    }

    /// Lets the last samples be of another kind.
    pub(crate) fn retag(&mut self, mut length: u64, kind: Kind) {
        let Some(end) = self.0.last().map(Run::end) else { return };
        let start = end.saturating_sub(length);
        while let Some(last) = self.0.last_mut() {
            if last.length > length {
                last.length -= length;
                break;
            }
            length -= last.length;
            self.0.pop();
        }
        self.push(start, end - start, kind);
    }

    /// Returns what is heard from this sample on.
    pub(crate) fn from(&self, start: u64) -> Self {
        let mut runs = Self::default();
        for run in self.0.iter().filter(|run| run.end() > start) {
            let from = run.start.max(start);
            runs.push(from, run.end() - from, run.kind);
        }
        runs
    }

    /// Returns the number of samples that are those sent.
    pub(crate) fn same(&self) -> u64 {
        self.0.iter().filter(|run| matches!(run.kind, Kind::Same(_))).map(|run| run.length).sum()
    }

    /// Returns the first sample at or after `from` with which good sound of at least `length` begins.
    pub(crate) fn good_from(&self, from: u64, length: u64) -> Option<u64> {
        let mut began = None;
        for run in self.0.iter().filter(|run| run.end() > from) {
            let start = run.start.max(from);
            began = run.kind.delay().map(|_| began.unwrap_or(start));
            if began.is_some_and(|began| run.end() - began >= length) {
                return began;
            }
        }
        None
    }

    /// Returns the runs for a file.
    pub(crate) fn to_json(&self) -> Value {
        let line = |run: &Run| {
            let (kind, delay) = match run.kind {
                Kind::Same(delay) => ("same", Some(delay)),
                Kind::Like(delay) => ("like", Some(delay)),
                Kind::Silent => ("silent", None),
                Kind::Other => ("other", None),
            };
            json!([run.start, run.length, kind, delay])
        };
        self.0.iter().map(line).collect()
    }

    /// Returns the runs of a file.
    pub(crate) fn from_json(value: &Value) -> Self {
        let run = |line: &Value| {
            let delay = || Some(line[3].as_u64()? as u32);
            let kind = match line[2].as_str()? {
                "same" => Kind::Same(delay()?),
                "like" => Kind::Like(delay()?),
                "silent" => Kind::Silent,
                _ => Kind::Other,
            };
            Some(Run { start: line[0].as_u64()?, length: line[1].as_u64()?, kind })
        };
        Self(value.as_array().into_iter().flatten().filter_map(run).collect())
    }

    /// Returns the figures. A delay that changes by up to `wander` samples has not jumped: resampling moves it.
    pub(crate) fn figures(&self, wander: u32) -> HeardFigures {
        let total: u64 = self.0.iter().map(|run| run.length).sum();
        let mut delays: Vec<(u32, u64)> =
            self.0.iter().filter_map(|run| Some((run.kind.delay()?, run.length))).collect();
        delays.sort_unstable();
        let good: u64 = delays.iter().map(|delay| delay.1).sum();
        let quantile = |share: f64| {
            let mut left = (share * good as f64).ceil() as u64;
            let at = delays.iter().find(|(_, length)| {
                let is_there = left <= *length;
                left = left.saturating_sub(*length);
                is_there
            });
            at.map_or(f64::NAN, |delay| f64::from(delay.0))
        };
        let like = self.0.iter().filter(|run| matches!(run.kind, Kind::Like(_))).map(|run| run.length).sum::<u64>();
        let (mut dropouts, mut bad, mut longest, mut jumps) = (0, 0, 0, 0);
        // Bad samples in a row, and good ones since.
        let (mut open, mut since, mut before) = (0, GOOD_MIN, None::<u32>);
        for run in &self.0 {
            let Some(delay) = run.kind.delay() else {
                if since >= GOOD_MIN {
                    open = 0;
                }
                let was = open >= DROPOUT_MIN;
                (open, since) = (open + run.length, 0);
                dropouts += u64::from(open >= DROPOUT_MIN && !was);
                bad += run.length;
                longest = longest.max(open);
                continue;
            };
            since += run.length;
            jumps += u64::from(before.is_some_and(|before| before.abs_diff(delay) > wander));
            before = Some(delay);
        }
        let minutes = total as f64 / A_MINUTE;
        HeardFigures {
            p50: quantile(0.5),
            p99: quantile(0.99),
            least: quantile(0.0),
            most: quantile(1.0),
            dropouts: dropouts as f64 / minutes,
            jumps: jumps as f64 / minutes,
            bad: bad as f64 / total as f64,
            like: like as f64 / total as f64,
            longest: longest as f64,
            seconds: minutes * 60.0,
        }
    }
}

/// Figures of what was heard. Delays and lengths are in samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeardFigures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// A minute.
    pub(crate) dropouts: f64,
    /// Changes of the delay, a minute.
    pub(crate) jumps: f64,
    /// Share of samples that are not those sent.
    pub(crate) bad: f64,
    /// Share of samples that are only like those sent.
    pub(crate) like: f64,
    /// Longest dropout.
    pub(crate) longest: f64,
    pub(crate) seconds: f64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "tests")]

    use super::*;

    fn runs(runs: &[(u64, Kind)]) -> Runs {
        let mut all = Runs::default();
        for &(length, kind) in runs {
            all.push(all.0.last().map_or(0, Run::end), length, kind);
        }
        all
    }

    #[test]
    fn dropouts_are_counted_once_and_jumps_of_the_delay_apart() {
        let heard = runs(&[
            (47_000, Kind::Same(100)),
            (7, Kind::Other),
            (500, Kind::Same(100)),
            // One dropout: what is good between is too short.
            (64, Kind::Other),
            (10, Kind::Same(100)),
            (64, Kind::Silent),
            (100, Kind::Same(164)),
            (255, Kind::Like(164)),
        ]);
        let figures = heard.figures(0);
        assert_eq!((figures.dropouts, figures.jumps), (60.0, 60.0));
        assert_eq!((figures.longest, figures.bad, figures.like), (128.0, 135.0 / 48_000.0, 255.0 / 48_000.0));
        assert_eq!((figures.p50, figures.p99, figures.least, figures.most), (100.0, 100.0, 100.0, 164.0));
        assert_eq!((heard.figures(64).jumps, figures.seconds), (0.0, 1.0));
        assert_eq!(heard.from(47_507).figures(0).dropouts, 60.0 * 48_000.0 / 493.0);
        assert!(runs(&[(9, Kind::Silent)]).figures(0).p50.is_nan());
    }

    #[test]
    fn the_last_samples_can_be_of_another_kind_and_sound_that_is_back_is_found() {
        let mut heard = runs(&[(10, Kind::Same(3)), (4, Kind::Silent), (5, Kind::Other)]);
        heard.retag(7, Kind::Same(9));
        assert_eq!(heard, runs(&[(10, Kind::Same(3)), (2, Kind::Silent), (7, Kind::Same(9))]));
        heard.push(19, 3, Kind::Like(9));
        assert_eq!([heard.good_from(0, 10), heard.good_from(5, 6), heard.good_from(5, 11)], [Some(0), Some(12), None]);
        assert_eq!(Runs::from_json(&heard.to_json()), heard);
    }
}
