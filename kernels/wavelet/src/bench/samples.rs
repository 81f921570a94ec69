//! Repeated measurements: a warm-up, then runs until there are enough of them or time is up.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::args::BenchArgs;

/// Runs before the measured ones.
const WARM_UP_RUNS: u32 = 3;

/// Durations of the same work, rising.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Returns the median; the upper one of two.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Returns the 95th percentile.
    pub(crate) fn p95(&self) -> Duration {
        self.quantile(0.95)
    }

    /// Returns the mean.
    pub(crate) fn mean(&self) -> Duration {
        self.0.iter().sum::<Duration>() / self.runs().max(1)
    }

    /// Returns the number of runs.
    pub(crate) fn runs(&self) -> u32 {
        self.0.len() as u32
    }

    fn quantile(&self, share: f64) -> Duration {
        let rank = (self.0.len() as f64 * share) as usize;
        self.0.get(rank).copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut all: Vec<_> = durations.into_iter().collect();
        all.sort_unstable();
        Self(all)
    }
}

/// Limit of a measurement's duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Most runs, at least 1.
    pub(crate) runs: u32,
    /// No run starts after this time, but one always does.
    pub(crate) time: Duration,
}

impl Limit {
    /// Returns the limit asked for.
    pub(crate) fn of(args: &BenchArgs) -> Self {
        Self { runs: args.runs, time: Duration::from_secs_f64(args.seconds) }
    }
}

/// Calls `run` a few times unmeasured, then as often as `limit` allows, and returns what the measured calls returned.
pub(crate) fn repeat<T>(limit: Limit, mut run: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    let start = Instant::now();
    for _ in 0..WARM_UP_RUNS.min(limit.runs) {
        run()?;
        if start.elapsed() > limit.time {
            break;
        }
    }
    let mut results = Vec::new();
    let start = Instant::now();
    while results.is_empty() || (results.len() < limit.runs as usize && start.elapsed() < limit.time) {
        results.push(run()?);
    }
    Ok(results)
}

/// Returns the median of each of the durations that `run` returns.
pub(crate) fn medians<const N: usize>(
    limit: Limit,
    run: impl FnMut() -> Result<[Duration; N]>,
) -> Result<[Duration; N]> {
    let results = repeat(limit, run)?;
    Ok(std::array::from_fn(|index| results.iter().map(|run| run[index]).collect::<Samples>().median()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_mean_and_p95_are_where_they_belong() {
        let samples: Samples = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(samples.median(), Duration::from_millis(51));
        assert_eq!(samples.p95(), Duration::from_millis(96));
        assert_eq!(samples.mean(), Duration::from_micros(50_500));
        let one: Samples = [Duration::from_secs(7)].into_iter().collect();
        assert_eq!([one.median(), one.p95(), one.mean()], [Duration::from_secs(7); 3]);
        assert_eq!(Samples::default().mean(), Duration::ZERO);
    }

    #[test]
    fn the_warm_up_is_not_measured() {
        let mut next = 0;
        let [median] = medians(Limit { runs: 5, time: Duration::MAX }, || {
            next += 1;
            Ok([Duration::from_secs(if next <= WARM_UP_RUNS.into() { 1000 } else { 20 - next })])
        })
        .unwrap();
        assert_eq!((median, next), (Duration::from_secs(14), 8));
    }

    #[test]
    fn time_ends_a_measurement_but_one_run_is_always_made() {
        let mut calls = 0;
        let mut count = |limit| {
            calls = 0;
            let results = repeat(limit, || {
                calls += 1;
                std::thread::sleep(Duration::from_millis(2));
                Ok(())
            });
            (results.unwrap().len(), calls)
        };
        assert_eq!(count(Limit { runs: 1000, time: Duration::ZERO }), (1, 2));
        let (runs, calls) = count(Limit { runs: 1_000_000, time: Duration::from_millis(50) });
        assert!(runs <= 25 && calls <= 28, "{runs} {calls}");
    }
}
