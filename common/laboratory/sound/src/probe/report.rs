//! The report of a probe that has ended.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::heard::Runs;

/// A sample of 48 kHz, us.
const NOMINAL_US: f64 = 1e6 / 48_000.0;
/// Most by which a period may be away from where the samples before put it, us; a new line begins with one that is farther.
const AWAY_US: f64 = 250.0;

/// The machine's clock by the samples of a JACK client: lines of nominal slope. They break where the card is off, where the server
/// was late, and where the client was not called, as none is while a program before it in JACK's graph stands still.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clock {
    /// The first period of each line: sample and microseconds.
    anchors: Vec<[f64; 2]>,
    /// Samples that the server has counted since the first period, with those of calls that were missed, and microseconds.
    counted: [f64; 2],
    /// Time of the first period, and the server's count at the last one.
    ends: Option<(u64, u32)>,
}

impl Clock {
    /// Notes that the period of sample `at` began at `us`, when the server's count was `frames`.
    pub(crate) fn note(&mut self, at: u64, us: u64, frames: u32) {
        let here = [at as f64, us as f64];
        if self.anchors.is_empty() || (self.us(here[0]) - here[1]).abs() > AWAY_US {
            self.anchors.push(here);
        }
        let (first, last) = self.ends.unwrap_or((us, frames));
        self.counted = [self.counted[0] + f64::from(frames.wrapping_sub(last)), (us - first) as f64];
        self.ends = Some((first, frames));
    }

    /// Returns the first sample noted.
    pub(crate) fn first_sample(&self) -> u64 {
        self.anchors.first().map_or(0, |first| first[0] as u64)
    }

    /// Returns microseconds a sample of the server's count; not a number before two periods.
    pub(crate) fn us_a_sample(&self) -> f64 {
        self.counted[1] / self.counted[0]
    }

    /// Returns the time of a sample, us.
    pub(crate) fn us(&self, at: f64) -> f64 {
        let next = self.anchors.partition_point(|anchor| anchor[0] <= at);
        let [sample, us] = self.anchors.get(next.saturating_sub(1)).copied().unwrap_or_default();
        us + (at - sample) * NOMINAL_US
    }

    /// Returns the first sample at or after a time.
    pub(crate) fn sample(&self, at_us: f64) -> f64 {
        let next = self.anchors.partition_point(|anchor| anchor[1] <= at_us);
        let [sample, us] = self.anchors.get(next.saturating_sub(1)).copied().unwrap_or_default();
        let end = self.anchors.get(next).map_or(f64::INFINITY, |next| next[0]);
        (sample + (at_us - us) / NOMINAL_US).min(end)
    }
}

/// Sound that was sent and heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Samples of a period.
    pub(crate) period: u32,
    /// Samples a second, as JACK says.
    pub(crate) rate: u32,
    /// Samples heard.
    pub(crate) samples: u64,
    /// Number of the sample at which all ports were connected.
    pub(crate) connected: Option<u64>,
    /// True if the server has gone before the end.
    pub(crate) is_gone: bool,
    pub(crate) xruns: u64,
    /// Callbacks late by more than 0.5, 2 and 10 ms.
    pub(crate) late: [u64; 3],
    /// Chunks that were not looked at, since there was no time.
    pub(crate) lost: u64,
    pub(crate) clock: Clock,
    /// Microseconds since 1970 less those of the clock.
    pub(crate) unix_us: f64,
    pub(crate) runs: Runs,
    /// Good samples that are equal to those sent.
    pub(crate) exact: u64,
    /// Signal by noise of the good sound, where it is coded or resampled.
    pub(crate) snr_db: Option<f64>,
    /// Times of claps, us.
    pub(crate) claps_sent: Vec<f64>,
    pub(crate) claps_heard: Vec<f64>,
}

impl Report {
    /// Writes it as JSON.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let report = json!({
            "period": self.period,
            "rate": self.rate,
            "samples": self.samples,
            "connected": self.connected,
            "is_gone": self.is_gone,
            "xruns": self.xruns,
            "late": self.late,
            "lost": self.lost,
            "clock": { "anchors": self.clock.anchors, "counted": self.clock.counted },
            "unix_us": self.unix_us,
            "exact": self.exact,
            "snr_db": self.snr_db,
            "claps_sent_us": self.claps_sent,
            "claps_heard_us": self.claps_heard,
            "runs": self.runs.to_json(),
        });
        std::fs::write(path, report.to_string()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads it.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("the probe has left no {}", path.display()))?;
        let report: Value = serde_json::from_str(&text)?;
        let number = |key: &str| report[key].as_u64().unwrap_or(0);
        let numbers =
            |value: &Value| -> Vec<f64> { value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
        Ok(Self {
            period: number("period") as u32,
            rate: number("rate") as u32,
            samples: number("samples"),
            connected: report["connected"].as_u64(),
            is_gone: report["is_gone"] == true,
            xruns: number("xruns"),
            late: numbers(&report["late"])
                .iter()
                .map(|&late| late as u64)
                .collect::<Vec<_>>()
                .try_into()
                .unwrap_or_default(),
            lost: number("lost"),
            clock: Clock {
                counted: numbers(&report["clock"]["counted"]).try_into().unwrap_or_default(),
                ends: None,
                anchors: report["clock"]["anchors"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|anchor| numbers(anchor).try_into().ok())
                    .collect(),
            },
            unix_us: report["unix_us"].as_f64().unwrap_or(f64::NAN),
            exact: number("exact"),
            snr_db: report["snr_db"].as_f64(),
            claps_sent: numbers(&report["claps_sent_us"]),
            claps_heard: numbers(&report["claps_heard_us"]),
            runs: Runs::from_json(&report["runs"]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::heard::Kind;
    use super::*;

    #[test]
    fn a_clock_knows_how_fast_its_card_is() {
        let mut clock = Clock::default();
        for period in 0..100_000u64 {
            // A card that is 100 ppm fast, periods that are up to 100 us late, and a count that wraps around.
            let us = 64.0 * period as f64 / 0.0480048 + 1e12 + (period * 37 % 101) as f64;
            clock.note(1_000 + 64 * period, us as u64, (64 * period as u32).wrapping_sub(9_000));
        }
        assert!((clock.us_a_sample() * 0.048_004_8 - 1.0).abs() < 1e-6, "{}", clock.us_a_sample());
        for period in [0u32, 5_000, 99_999].map(f64::from) {
            let (sample, us) = (1_000.0 + 64.0 * period, 64.0 * period / 0.0480048 + 1e12);
            assert!((clock.us(sample) - us).abs() < AWAY_US + 100.0, "{}", clock.us(sample) - us);
            assert!((clock.sample(clock.us(sample)) - sample).abs() < 0.01);
        }
    }

    #[test]
    fn calls_that_were_missed_take_their_time() {
        let mut clock = Clock::default();
        for period in 0..1_000u64 {
            // 200 ms without a callback after the 500th.
            let missed = if period < 500 { 0 } else { 20 };
            clock.note(480 * period, 10_000 * (period + missed), 480 * (period + missed) as u32);
        }
        assert_eq!(clock.anchors.len(), 2);
        assert!((clock.us(239_999.0) - 4_999_979.0).abs() < 1.0 && (clock.us(240_000.0) - 5_200_000.0).abs() < 1.0);
        let at = [1_000_000.0, 5_100_000.0, 5_210_000.0].map(|us| clock.sample(us));
        let expected = [48_000.0, 240_000.0, 240_480.0];
        assert!(expected.iter().zip(at).all(|(expected, at)| (expected - at).abs() < 0.01), "{at:?}");
        assert!((clock.us_a_sample() - NOMINAL_US).abs() < 1e-9, "{}", clock.us_a_sample());
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let mut report =
            Report { period: 64, rate: 48_000, samples: 7, connected: Some(3), late: [3, 2, 1], ..Report::default() };
        report.runs.push(0, 7, Kind::Same(4));
        report.clock.note(4, 5, 6);
        // Of the newest period nobody but the probe knows.
        report.clock.ends = None;
        report.claps_heard = vec![1.5];
        let file = std::env::temp_dir().join(format!("duet-report-{}", std::process::id()));
        report.write(&file).unwrap();
        assert_eq!(format!("{:?}", Report::read(&file).unwrap()), format!("{report:?}"));
        std::fs::remove_file(file).unwrap();
    }
}
