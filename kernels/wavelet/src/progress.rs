//! Words for people while a command runs: the share of a file that is done, sentences, and numbers.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};

/// Shows how much of `file` has been read, on standard error, if that is a terminal, until the value is dropped.
pub(crate) fn watched(file: File) -> Result<ProgressBarIter<File>> {
    let template = "{bar:30} {percent} % of {total_bytes}, {eta} left";
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = ProgressBar::new(length).with_style(ProgressStyle::with_template(template)?);
    Ok(bar.with_finish(indicatif::ProgressFinish::AndClear).wrap_read(file))
}

/// Says a sentence on standard error.
pub(crate) fn say(sentence: impl Display) {
    // Nobody may be reading, which is no failure of ours.
    let _ = writeln!(std::io::stderr(), "wavelet: {sentence}");
}

/// Returns a number of frames as text.
pub(crate) fn count(frames: u64) -> String {
    if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") }
}
