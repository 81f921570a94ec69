//! Cost of an attack, and the bars that it broke.

/// Most that a program's memory may grow by, whatever is done to it, megabytes.
pub(crate) const GROWTH_MAX_MB: f64 = 16.0;
/// Most lines that a victim may write to its log.
const LINES_MAX: usize = 20;

/// Cost of an attack. A figure that an attack does not measure is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Largest growth of the victim's resident memory, megabytes.
    pub growth_mb: Option<f64>,
    /// Processor time that the victim took meanwhile, seconds.
    pub cpu_s: Option<f64>,
    /// Lines that the victim wrote to its log meanwhile.
    pub log_lines: Option<usize>,
    /// Exit code of a victim that ended; 128 and the signal's number after a signal.
    pub exit_code: Option<i32>,
    /// Longest time without a new picture in a call that was running, milliseconds.
    pub gap_ms: Option<f64>,
    /// Remarks for the table.
    pub note: String,
    /// Bars that were not held, one sentence each.
    pub faults: Vec<String>,
    /// Reason for which nothing was tried: what this machine lacks.
    pub lacks: Option<&'static str>,
}

impl Outcome {
    /// Returns the outcome of an attack for which this machine lacks something.
    pub(crate) fn not_tried(lacks: &'static str) -> Self {
        Self { lacks: Some(lacks), ..Self::default() }
    }

    /// Adds a sentence unless `holds`.
    pub fn expect(&mut self, holds: bool, otherwise: impl Into<String>) {
        if !holds {
            self.faults.push(otherwise.into());
        }
    }

    /// Adds a sentence if the victim grew too much.
    pub fn expect_little_growth(&mut self) {
        self.at_most("growth, MB", self.growth_mb, GROWTH_MAX_MB);
    }

    /// Adds a sentence if the victim wrote too many lines.
    pub fn expect_few_lines(&mut self) {
        let lines = self.log_lines.unwrap_or_default();
        self.expect(lines <= LINES_MAX, format!("{lines} lines in the log"));
    }

    /// Adds a sentence unless the figure is known and at most `limit`.
    pub fn at_most(&mut self, what: &str, figure: Option<f64>, limit: f64) {
        match figure {
            Some(figure) if figure <= limit => {}
            Some(figure) => self.faults.push(format!("{what} {figure:.1} > {limit:.1}")),
            None => self.faults.push(format!("{what} was not measured")),
        }
    }
}
