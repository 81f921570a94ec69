//! Lines of the table, for people and as JSON.

use serde_json::{Value, json};

use crate::measure::Figures;

/// The head.
pub(crate) const HEAD: &str = "\
| line | program | samples | added p50, ms | p99 | most | dropouts a minute | lost sound, % | coarse, % | jumps a minute | Mbit/s | \
processor send + receive, % of a core | bit-exact, % | signal by noise, dB | xruns | late > 0.5, 2, 10 ms | load |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---|---:|";

/// One case: line, program, samples of a period.
pub(crate) struct Case<'a> {
    pub(crate) line: &'a str,
    pub(crate) program: &'a str,
    pub(crate) period: u32,
    pub(crate) seed: u64,
}

impl Case<'_> {
    /// Returns the row of what was measured.
    pub(crate) fn row(&self, figures: &Figures) -> String {
        let heard = &figures.heard;
        let added = |samples: f64| number((samples - figures.wire) / 48.0, 1);
        let [sends, receives] = figures.processor.map(|share| number(100.0 * share, 1));
        let [half, two, ten] = figures.late;
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {sends} + {receives} | {} | {} | {} | {half}, {two}, {ten} | {} |",
            self.line,
            self.program,
            self.period,
            added(heard.p50),
            added(heard.p99),
            added(heard.most),
            number(heard.dropouts, 1),
            number(100.0 * heard.bad, 2),
            number(100.0 * heard.like, 2),
            number(heard.jumps, 1),
            number(figures.rate / 1e6, 2),
            number(100.0 * figures.exact, 1),
            number(figures.snr_db.unwrap_or(f64::NAN), 1),
            figures.xruns,
            number(figures.load, 1),
        )
    }

    /// Returns the row of what could not be measured.
    pub(crate) fn failed(&self, why: &str) -> String {
        format!("| {} | {} | {} | not measured: {why} |{}", self.line, self.program, self.period, " |".repeat(13))
    }

    /// Returns the same as JSON.
    pub(crate) fn json(&self, figures: &Figures) -> Value {
        let heard = &figures.heard;
        let [p50, p99, least, most] =
            [heard.p50, heard.p99, heard.least, heard.most].map(|samples| (samples - figures.wire) / 48.0);
        json!({
            "line": self.line, "program": self.program, "period": self.period, "seed": self.seed,
            "added_ms": { "p50": p50, "p99": p99, "least": least, "most": most },
            "dropouts_a_minute": heard.dropouts, "jumps_a_minute": heard.jumps, "bad": heard.bad, "coarse": heard.like,
            "longest_dropout_ms": heard.longest / 48.0, "seconds": heard.seconds, "bits_a_second": figures.rate,
            "processor": figures.processor, "exact": figures.exact, "snr_db": figures.snr_db, "xruns": figures.xruns,
            "late": figures.late, "load": figures.load,
        })
    }
}

/// Returns a number with so many places, or a dash where there is none.
pub(crate) fn number(value: f64, places: usize) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.places$}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Runs;

    #[test]
    fn a_row_has_the_cells_of_the_head_and_delays_without_the_line() {
        let runs = Runs::from_json(&json!([[0, 2_880_000, "same", 1_344], [2_880_000, 64, "silent", null]]));
        let figures = Figures {
            heard: runs.figures(0),
            wire: 1_200.0,
            exact: 1.0,
            snr_db: None,
            rate: f64::NAN,
            processor: [0.031, f64::NAN],
            xruns: 1,
            late: [3, 2, 1],
            load: 0.5,
        };
        let case = Case { line: "quiet", program: "x", period: 64, seed: 1 };
        let row = case.row(&figures);
        assert_eq!(
            row,
            "| quiet | x | 64 | 3.0 | 3.0 | 3.0 | 1.0 | 0.00 | 0.00 | 0.0 | - | 3.1 + - | 100.0 | - | 1 | 3, 2, 1 | 0.5 |"
        );
        let cells = |row: &str| row.matches('|').count();
        assert!(HEAD.lines().all(|line| cells(line) == cells(&row)));
        assert_eq!(cells(&case.failed("why")), cells(&row));
        assert_eq!(case.json(&figures)["added_ms"]["p50"], 3.0);
    }
}
