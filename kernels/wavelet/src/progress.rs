//! The share of a file that is done, on a terminal.

use std::fs::File;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};

/// Shows how much of `file` has been read, on standard error, if that is a terminal, until the value is dropped.
pub(crate) fn watched(file: File) -> Result<ProgressBarIter<File>> {
    let template = "{bar:30} {percent} % of {total_bytes}, {eta} left";
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = ProgressBar::new(length).with_style(ProgressStyle::with_template(template)?);
    Ok(bar.with_finish(indicatif::ProgressFinish::AndClear).wrap_read(file))
}

/// Returns a number of frames as text.
pub(crate) fn count(frames: u64) -> String {
    if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") }
}
