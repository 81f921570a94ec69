//! Bars that a run must hold, and what it cost.

use std::path::Path;

use anyhow::{Result, bail};

/// Most that a program's memory may grow by, whatever is done to it, megabytes.
pub(crate) const GROWTH_MAX_MB: f64 = 16.0;

/// Bars that were not held, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bars(pub Vec<String>);

impl Bars {
    /// Adds a sentence unless `holds`.
    pub(crate) fn expect(&mut self, holds: bool, otherwise: impl Into<String>) {
        if !holds {
            self.0.push(otherwise.into());
        }
    }

    /// Adds a sentence unless the figure is known and at most `limit`.
    #[must_use]
    pub(crate) fn at_most(mut self, what: &str, figure: impl Into<Option<f64>>, limit: f64) -> Self {
        match figure.into().filter(|figure| !figure.is_nan()) {
            Some(figure) => self.expect(figure <= limit, format!("{what} {figure:.1} > {limit:.1}")),
            None => self.0.push(format!("{what} was not measured")),
        }
        self
    }

    /// Adds a sentence unless the share is known and at least `limit`.
    #[must_use]
    pub(crate) fn at_least(mut self, what: &str, share: f64, limit: f64) -> Self {
        self.expect(share >= limit, format!("{what} {:.1} % < {:.1} %", 100.0 * share, 100.0 * limit));
        self
    }

    /// Returns what stands in the last column of a table.
    pub(crate) fn verdict(&self, held: &str) -> String {
        if self.0.is_empty() { held.to_owned() } else { self.0.join("; ") }
    }
}

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
    /// Bars that were not held.
    pub bars: Bars,
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
        self.bars.expect(holds, otherwise);
    }

    /// Adds a sentence unless the figure is known and at most `limit`.
    pub fn at_most(&mut self, what: &str, figure: impl Into<Option<f64>>, limit: f64) {
        self.bars = std::mem::take(&mut self.bars).at_most(what, figure, limit);
    }
}

/// Rows of a run's table: prints each as it is known, and says at the end which were not held.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<String>);

impl Report {
    /// Prints a row; `name` is named at the end unless its bars were held.
    pub(crate) fn row(&mut self, row: impl std::fmt::Display, name: &str, is_held: bool) {
        println!("{row}");
        if !is_held {
            self.0.push(name.to_owned());
        }
    }

    /// Adds the sentences of bars that belong to no row.
    pub(crate) fn add(&mut self, of: &str, bars: Bars) {
        self.0.extend(bars.0.into_iter().map(|fault| format!("{of}: {fault}")));
    }

    /// Tells where the files are; an error with `sentence` and what was not held, if anything.
    pub(crate) fn end(self, folder: &Path, sentence: &str) -> Result<()> {
        println!("\nFiles of each run: {}", folder.display());
        if !self.0.is_empty() {
            bail!("{sentence} {}", self.0.join(", "));
        }
        Ok(())
    }
}

/// Returns an error that lists the names there are, unless each one `asked` for is among them.
pub(crate) fn check_names<'a>(
    what: &str,
    asked: &[String],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<()> {
    match asked.iter().find(|name| !known.clone().any(|known| known == name.as_str())) {
        Some(unknown) => bail!("there is no {what} `{unknown}`: there are {}", known.collect::<Vec<_>>().join(", ")),
        None => Ok(()),
    }
}
